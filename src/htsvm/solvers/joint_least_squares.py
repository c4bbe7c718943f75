"""A second start for truncated multi-class fits: least squares, scaled to the margin."""

from __future__ import annotations

import math

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.products import scores
from htsvm.solvers.joint_problem import JointProblem
from htsvm.solvers.joint_system import JointSystem

# A start whose convex objective is within this share of that of equal scores says nothing.
SAYS_NOTHING = 0.01
# Do not go down from a point this many times above the objective of equal scores.
PROMISING = 1.15
# How well the normal equations are solved, relative to their right-hand side.
ACCURACY = 1e-3
SCALES = 2.0 ** np.arange(-2.0, 6.5, 0.5)


def says_nothing(problem: JointProblem, W: Array, q: Array) -> bool:
    """Return whether W, with violations q, is as good as equal scores for all classes.

    Where no class is more likely than all others together, those minimise the convex problem,
    whatever C is, and with a cap well above one are still a local minimum. It is the convex
    objective that is compared: near equal scores the truncated one is a matter of chance.
    """
    if math.isinf(problem.loss.cap):
        return False
    slope = float(problem.loss.profile_slope(0.0))
    equal = slope * float(problem.penalty.sum())
    convex = problem.energy(W) + slope * float(problem.penalty @ np.maximum(q, 0.0))
    return abs(convex - equal) <= SAYS_NOTHING * equal


def least_squares_start(problem: JointProblem) -> tuple[Array, Array] | None:
    """Return (W, b) of a least squares fit to the labels, times the best of some numbers.

    Least squares tells classes apart even where none has a majority. The number is that with the
    lowest objective if the cap were one, where the loss all but counts mistakes: for larger caps
    zero may be the lowest point of the line, from where no way leads on. None if the point lies so
    high that going down from it would be in vain.
    """
    W, b = _least_squares(problem)
    F = scores(problem.operator, W, b)
    unit = problem.loss.stretched(1.0 / max(problem.loss.cap, 1.0)) or problem.loss
    best, values = (math.inf, 0.0), np.zeros(len(F))
    for scale in SCALES:
        q = problem.violations(problem.raised(scale * F))
        energy = problem.energy(scale * W)
        value = energy + unit.total(q, problem.penalty)
        if value < best[0]:
            best, values = (value, float(scale)), q
    scale = best[1]
    if problem.objective(scale * W, values) > PROMISING * _equal_scores(problem):
        return None
    return scale * W, scale * b


def _equal_scores(problem: JointProblem) -> float:
    """Return the objective at W = 0, b = 0, where every violation is one."""
    return float(problem.loss.profile(1.0)) * float(problem.penalty.sum())


def _least_squares(problem: JointProblem) -> tuple[Array, Array]:
    """Minimise ``energy(W) + sum_i penalty_i |f_i - t_i|² / 2``, t_i one for the own class.

    Targets and solution are taken less their mean over classes. There the normal equations are
    the Newton system of samples that are undecided among all classes.
    """
    m, k = problem.n_samples, problem.n_classes
    targets = np.full((m, k), -1.0 / k)
    targets[np.arange(m), problem.labels] += 1.0
    targets *= problem.penalty[:, None]
    slope = targets.sum(axis=0) if problem.fit_intercept else np.zeros(k)
    gradient = -problem.pull(targets), -slope
    every = np.ones((m, k)), np.full(m, k, dtype=np.intc)
    return JointSystem(problem).direction(problem, 1.0, *every, gradient, ACCURACY)
