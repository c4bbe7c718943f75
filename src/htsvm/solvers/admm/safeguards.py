"""The safeguards of the ADMM: what each one does, why, and the small rules behind them."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from htsvm._typing import Array
from htsvm.losses import Loss
from htsvm.problems.binary import Problem

SAFEGUARDS: dict[str, str] = {
    "convex-start": (
        "Start from a rough solution of the convex problem whose loss is the hinge with the "
        "loss's slope at zero. The printed start is a small disturbance of w = 0, b = 0, which is "
        "itself a fixed point, and leads to points no better than a constant classifier."
    ),
    "majorize": (
        "Split with the prox of the hinge majoriser at the last reference point (each sample's "
        "penalty times the loss's slope there) instead of the prox of the loss, and move the "
        "reference point whenever the current majoriser is nearly solved. Every majoriser is a "
        "convex problem, for which ADMM converges with any penalty; the true objective falls from "
        "one reference point to the next, and the fixed points are the stationary points. The "
        "non-convex prox cycles where it jumps (C / xi > 5/18) and creeps where it does not. "
        "Needs a loss with a profile; without one it is left out, with a note."
    ),
    "guarded-set": (
        "Update w over the working set and every sample that the step could bring into it: those "
        "within reach, the largest move of a violation in the last step. If a step moves a sample "
        "further than that, it is taken again with a wider guard, in the end over all rows, which "
        "is plain ADMM. Multipliers of guarded samples are kept. The printed w-step has no such "
        "guard (its proximal matrix is negative semidefinite): it overshoots, and samples leave "
        "and re-enter the working set for ever; plain ADMM over all rows creeps."
    ),
    "joint-intercept": (
        "Solve for w and b together. In turns, b moves by a share |F| / m of what it should."
    ),
    "working-set-intercept": (
        "Update b by the mean over the working set, as the code of the 0/1-loss method does, "
        "instead of over all samples. Faster than the printed rule but more often trivial; not "
        "in the default set, and it excludes 'joint-intercept'."
    ),
    "bounded-penalty": (
        "Treat xi as a proposal: bring it into [1/2, 2] times C, the scale of the multipliers. "
        "Far below, nothing converges; far above, steps are so short that the rule holds far from "
        "a solution. (Balancing residuals, tried first, drove xi to 1e4 C.) Without 'majorize' xi "
        "also stays above the value from which on the prox of the loss is single-valued. The "
        "stopping rule is evaluated at that value: the smallest penalty, so the strictest rule, "
        "that a sample in the transition zone can pass."
    ),
    "sparse-finish": (
        "Before stopping, set multipliers outside the working set of the loss's own prox to zero, "
        "and stop only if stationarity, balance and prox residual, recomputed at the violations, "
        "still pass, if need be after a few steps over that set; otherwise go on to half the "
        "tolerance. A run that uses up its iterations this way returns its last point that passed "
        "with all multipliers, with a note. Acts only with 'guarded-set': otherwise those "
        "multipliers are zero anyway."
    ),
    "non-empty": (
        "Halve the penalty while the working set is empty, which would end the run at w = 0. "
        "Acts only without 'guarded-set', whose first step is over all rows."
    ),
    "keep-best": (
        "A run that ends above a point that it passed through, such as its convex start, goes on "
        "from there; if that does not help, or the run does not converge, it returns the iterate "
        "with the smallest true objective, not the last one."
    ),
    "reject-trivial": (
        "A run that ends no better than the best constant classifier is repeated from an accurate "
        "convex start; if that fails too, the constant classifier is returned, with a note."
    ),
}

DEFAULT_SAFEGUARDS = tuple(name for name in SAFEGUARDS if name != "working-set-intercept")

# How far above the weak-convexity limit the penalty of the stopping rule lies.
LIMIT_MARGIN = 1.25


def check_safeguards(names: Iterable[str]) -> frozenset[str]:
    """Return the names as a set; raise ValueError for unknown or incompatible ones."""
    chosen = frozenset((names,) if isinstance(names, str) else names)
    unknown = sorted(chosen - set(SAFEGUARDS))
    if unknown:
        raise ValueError(
            f"safeguards holds unknown names {unknown}; known are {sorted(SAFEGUARDS)}, "
            "() runs the algorithm as printed."
        )
    if {"joint-intercept", "working-set-intercept"} <= chosen:
        raise ValueError(
            "safeguards holds both 'joint-intercept' and 'working-set-intercept': "
            "two rules for the same b; leave one out."
        )
    return chosen


def split(
    loss: Loss, penalty: Array | float, violations: Array, multipliers: Array, xi: float
) -> tuple[Array, Array]:
    """Return q = prox(p) at p = violations - multipliers / xi, and the working set as a mask.

    The working set holds the samples that the prox moves, and those exactly on the margin
    (p = 0). Where the prox has two values, a sample with a non-zero multiplier keeps to the
    smaller one and stays in the set, any other keeps to the larger one and stays out, which is
    the paper's rule for the boundaries of its sets T, J and I.
    """
    p = violations - multipliers / xi
    low, high = loss.prox_bounds(p, penalty / xi)
    q = np.where((low != high) & (multipliers == 0.0), high, low)
    return q, (q != p) | (p == 0.0)


def convex_penalty(problem: Problem) -> float:
    """Return the hinge penalty of the convex start: C times the slope of the loss at zero.

    A loss without a profile, or with an infinite slope, counts as one of slope 1.
    """
    slope = 1.0
    if "profile" in problem.loss.abilities:
        at_zero = float(problem.loss.profile_slope(0.0))
        slope = at_zero if math.isfinite(at_zero) else 1.0
    return slope * problem.C


def single_valued_penalty(problem: Problem) -> float:
    """Return the smallest penalty used with the prox of a weakly convex loss; 0 if no limit."""
    limit = LIMIT_MARGIN * problem.loss.weak_convexity * problem.C
    return limit if math.isfinite(limit) else 0.0


def bounded_penalty(problem: Problem, xi: float) -> float:
    """Return xi brought into [1/2, 2] times C."""
    return float(np.clip(xi, 0.5 * problem.C, 2.0 * problem.C))


def within_reach(loss: Loss, penalty: Array | float, p: Array, xi: float, reach: float) -> Array:
    """Return the mask of the samples that a move of p by at most `reach` brings into play."""
    if not math.isfinite(reach):
        return np.ones(len(p), dtype=bool)
    up, down = p + reach, p - reach
    moved: Array = (loss.prox(up, penalty / xi) != up) | (loss.prox(down, penalty / xi) != down)
    return moved
