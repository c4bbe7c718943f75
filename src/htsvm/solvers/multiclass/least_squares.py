"""A second start for truncated multi-class fits: least squares, scaled to the margin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers.multiclass.system import MulticlassSystem, UndecidedRows

# A start whose convex objective is within this share of that of equal scores is uninformative.
UNINFORMATIVE = 0.01
# Do not go down from a point this many times above the objective of equal scores.
PROMISING = 1.15
# How well the normal equations are solved, relative to their right-hand side.
ACCURACY = 1e-3
SCALES = 2.0 ** np.arange(-2.0, 6.5, 0.5)


def is_uninformative(rows: Any) -> bool:
    """Return whether rows are at a point that is as good as equal scores for all classes.

    Where no class is more likely than all others together, those minimise the convex problem,
    whatever C is, and with a cap well above one are still a local minimum. It is the convex
    objective that is compared: near equal scores the truncated one is a matter of chance. `rows`
    answers like `MulticlassRows`.
    """
    problem: MulticlassProblem = rows.problem
    if math.isinf(problem.loss.cap):
        return False
    slope = float(problem.loss.profile_slope(0.0))
    equal = slope * rows.total
    convex = problem.energy(rows.W) + slope * rows.hinge_total()
    return bool(abs(convex - equal) <= UNINFORMATIVE * equal)


def least_squares_start(rows: Any) -> tuple[Array, Array] | None:
    """Return (W, b) of a least squares fit to the labels, times the best of some numbers.

    Least squares tells classes apart even where none has a majority. The number is that with the
    lowest objective if the cap were one, where the loss all but counts mistakes: for larger caps
    zero may be the lowest point of the line, from where no way leads on. None if the point lies so
    high that going down from it would be in vain. `rows` answers like `MulticlassRows`.
    """
    problem: MulticlassProblem = rows.problem
    W, b = rows.least_squares()
    energies = np.square(SCALES) * problem.energy(W)
    at_cap_one, losses = rows.losses_at_scales(W, b)
    best = int(np.argmin(energies + at_cap_one))
    equal = float(problem.loss.profile(1.0)) * rows.total
    if energies[best] + losses[best] > PROMISING * equal:
        return None
    return SCALES[best] * W, SCALES[best] * b


def solve_least_squares(
    system: MulticlassSystem, rows: Any, pull: Array, totals: Array
) -> tuple[Array, Array]:
    """Minimise ``energy(W) + sum_i penalty_i |f_i - t_i|² / 2``, t_i one for the own class.

    Targets and solution are taken less their mean over classes. There the normal equations are
    the Newton system of samples that are undecided among all classes: `rows` answers like
    `every_row`, `pull` and `totals` are the sums of `target_sums`.
    """
    slope = totals if system.problem.fit_intercept else np.zeros_like(totals)
    return system.direction(rows, 1.0, (-pull, -slope), ACCURACY)


# ------------------------------------------------------------------------- what rows are asked


def target_sums(problem: MulticlassProblem) -> tuple[Array, Array]:
    """Return ``T' X`` and the column sums of T, whose rows are the targets times the penalties."""
    m, k = problem.n_samples, problem.n_classes
    T = np.full((m, k), -1.0 / k)
    T[np.arange(m), problem.labels] += 1.0
    T *= problem.penalty[:, None]
    return problem.pull(T), T.sum(axis=0)


def every_row(problem: MulticlassProblem) -> UndecidedRows:
    """Return all rows, undecided among all classes."""
    m, k = problem.n_samples, problem.n_classes
    return UndecidedRows(problem, 1.0, np.ones((m, k)), np.full(m, k, dtype=np.intc))


def losses_at_scales(problem: MulticlassProblem, W: Array, b: Array) -> Array:
    """Return the total losses at all `SCALES` times (W, b): with a cap of one, and the loss itself.

    A stretched cap below one, or a loss that cannot be stretched, stays as it is.
    """
    F = problem.operator.scores(W, b)
    unit = problem.loss.stretched(1.0 / max(problem.loss.cap, 1.0)) or problem.loss
    totals = np.empty((2, len(SCALES)))
    for place, scale in enumerate(SCALES):
        q = problem.violations(problem.raised(scale * F))
        totals[:, place] = [loss.total(q, problem.penalty) for loss in (unit, problem.loss)]
    return totals
