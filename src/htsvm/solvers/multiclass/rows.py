"""What a multi-class descent keeps per row, and all that it asks of the rows.

`solver.py` decides what happens next and never looks at a single row; it talks to an object with
the methods of `MulticlassRows`. A problem whose rows are elsewhere brings its own
(`MulticlassProblem.rows`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import multiclass_kernels
from htsvm.losses import Loss
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers.multiclass.round import (
    MulticlassIterate,
    MulticlassReport,
    MulticlassRounds,
    MultiplierSums,
    RoundOptions,
    go_to,
    multiplier_sums,
)
from htsvm.solvers.multiclass.sweeps import (
    MulticlassSweeps,
    prefers_sweeps,
    square_sum,
)
from htsvm.solvers.multiclass.system import MulticlassSystem, UndecidedRows

# A start whose convex objective is within this share of that of equal scores is uninformative.
UNINFORMATIVE = 0.01
# Do not go down from a point this many times above the objective of equal scores.
PROMISING = 1.15
# How well the normal equations are solved, relative to their right-hand side.
ACCURACY = 1e-3
SCALES = 2.0 ** np.arange(-2.0, 6.5, 0.5)
# A weighted problem may end above where it began by this share.
ROUGHLY = 1e-3


@dataclass(frozen=True)
class MulticlassClosing:
    """How a round left things.

    Attributes
    ----------
    before, after : MultiplierSums
        How far the multipliers are off for the weights of the round, and for the new ones.
    loss : float
        The total of the loss itself.
    """

    before: MultiplierSums
    after: MultiplierSums
    loss: float


class MulticlassState:
    """Rows with their levels, violations, multipliers and weights."""

    problem: MulticlassProblem
    it: MulticlassIterate
    # The objective of the weighted problem where its weights were taken.
    touched: float = math.inf

    def start_at_zero(self) -> None:
        """Start from W = 0, b = 0 and no multipliers."""
        m, k = self.problem.n_samples, self.problem.n_classes
        U = np.ones((m, k))
        U[np.arange(m), self.problem.labels] = 0.0
        zero = np.zeros((k, self.problem.n_features))
        self.it = MulticlassIterate(zero, np.zeros(k), U, np.ones(m), np.zeros((m, k)), np.zeros(m))

    def start_at(self, W: Array, b: Array) -> None:
        """Start from (W, b), without multipliers."""
        self.start_at_zero()
        go_to(self.it, self.problem, W, b)

    def set_multipliers(self, B: Array | None) -> None:
        """Take the multipliers from pulls B, or guess that they sit at the highest levels."""
        it, labels = self.it, self.problem.labels
        rows = np.arange(len(it.q))
        if B is None:
            guess, counts = np.empty_like(it.alpha), np.empty(len(it.q), dtype=np.intc)
            multiclass_kernels.active.simplex_step(
                it.alpha, it.U, it.U, 0.0, self.problem.penalty, it.weights, guess, counts
            )
            it.alpha = guess
            return
        np.negative(B, out=it.alpha)
        it.alpha[rows, labels] = 0.0
        np.maximum(it.alpha, 0.0, out=it.alpha)
        used = it.alpha.sum(axis=1)
        too_much = used > it.weights
        factor = np.ones(len(used))
        np.divide(it.weights, used, out=factor, where=too_much)
        it.alpha *= factor[:, None]
        it.alpha[rows, labels] = np.maximum(it.weights - np.minimum(used, it.weights), 0.0)

    def weigh(self, loss: Loss) -> None:
        """Set the weights of the majoriser that touches `loss` at the current violations."""
        self.it.weights = np.empty(len(self.it.q))
        loss.slopes(self.it.q, self.problem.penalty, self.it.weights)
        self.touched = self.problem.energy(self.it.W) + self.it.majorised_loss()

    def weigh_convex(self) -> None:
        """Set the weights of the convex start, and give all of them to the own classes."""
        it, problem = self.it, self.problem
        it.weights = float(problem.loss.profile_slope(0.0)) * problem.penalty
        it.alpha[np.arange(len(it.q)), problem.labels] = it.weights

    def largest_violation(self) -> float:
        """Return the largest violation of a sample that counts, at least zero."""
        return float(self.it.q.max(initial=0.0, where=self.problem.penalty > 0.0))

    def loss_total(self) -> float:
        """Return the total of the loss."""
        return self.problem.loss.total(self.it.q, self.problem.penalty)

    def hinge_total(self) -> float:
        """Return the total of the hinge loss."""
        return float(self.problem.penalty @ np.maximum(self.it.q, 0.0))


class MulticlassRows(MulticlassState):
    """The rows of a multi-class problem in this process."""

    def __init__(self, problem: MulticlassProblem, rng: np.random.Generator) -> None:
        self.problem, self.rng = problem, rng
        self.total = float(problem.penalty.sum())
        self.rounds: MulticlassRounds | MulticlassSweeps = (
            MulticlassSweeps(problem, rng) if prefers_sweeps(problem) else MulticlassRounds(problem)
        )

    @cached_property
    def square_length(self) -> float:
        """The mean square of the rows."""
        return square_sum(self.problem) / (self.total or 1.0)

    @property
    def W(self) -> Array:
        """The weights of the classes."""
        return self.it.W

    @property
    def b(self) -> Array:
        """Their intercepts."""
        return self.it.b

    def traffic(self) -> dict[str, float]:
        """Return what went over a network, as further columns of the history: none here."""
        return {}

    def with_random_penalties(self) -> MulticlassRows:
        """Return these rows with their penalties multiplied by exponential random numbers."""
        noise = self.rng.exponential(size=self.problem.n_samples)
        return MulticlassRows(replace(self.problem, penalty=self.problem.penalty * noise), self.rng)

    def adopt(self, varied: MulticlassRows) -> None:
        """Go where these rows with other penalties have gone."""
        self.it = varied.it

    def majoriser(self) -> tuple[float, float]:
        """Return the objective of the weighted convex problem here, and at W = 0, b = 0."""
        it = self.it
        return self.problem.energy(it.W) + it.majorised_loss(), float(it.weights.sum())

    def multipliers(self, copy: bool = False) -> Array:
        """Return the pulls B; unless of a copy, the multipliers are no longer to be had then."""
        return self.problem.own(self.it.alpha.copy() if copy else self.it.alpha)

    @property
    def sweeping(self) -> bool:
        """Whether rounds are sweeps of coordinate descent."""
        return isinstance(self.rounds, MulticlassSweeps)

    def unsettled(self) -> bool:
        """Return whether the weighted problem is above where the weights were taken."""
        return self.majoriser()[0] > (1.0 + ROUGHLY) * self.touched

    def take_newton_steps(self) -> None:
        """Let rounds take Newton steps from now on."""
        self.rounds = MulticlassRounds(self.problem)

    def run(self, xi: float, *, tol: float, max_steps: int, reach: float) -> MulticlassReport:
        """Minimise the function of a round approximately and take the multiplier step."""
        return self.rounds.run(self.it, RoundOptions(xi, tol, max_steps, reach))

    def least_squares(self) -> tuple[Array, Array]:
        """Return (W, b) of a least squares fit to the labels."""
        return solve_least_squares(
            self.rounds.system, every_row(self.problem), *target_sums(self.problem)
        )

    def losses_at_scales(self, W: Array, b: Array) -> Array:
        """Return the total losses at multiples of (W, b): with a cap of one, and as they are."""
        return losses_at_scales(self.problem, W, b)

    def close(self, loss: Loss | None, curvature: float) -> MulticlassClosing:
        """Weigh the samples for `loss` (None: as they are) and look at the result."""
        before = after = self.residual(curvature)
        if loss is not None:
            self.weigh(loss)
            after = multiplier_sums(self.it, self.problem, curvature, loss.curved_interval[0])
        return MulticlassClosing(before, after, self.loss_total())

    def residual(self, curvature: float) -> MultiplierSums:
        """Return how far the multipliers are from the levels they belong to."""
        return multiplier_sums(self.it, self.problem, curvature)


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
