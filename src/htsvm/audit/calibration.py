"""From an order of suspicion to a trust between 0 and 1."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from htsvm._typing import Array
from htsvm.audit.scoring import Scores, violation

# Scores whose spread is below this are equal up to rounding.
LEAST_SPREAD = 1e-12
# The share of wrong labels is the largest of three: this part of what the noise model finds, or of
# the disagreement with the clearer half of the out-of-sample predictions, and this part of the
# disagreement with all of them.
PART_OF_LOWER, PART_OF_UPPER = 0.9, 0.7
# A trace of curvature that keeps the curve finite where one threshold separates the doubts.
RIDGE = 1e-3
MAX_STEPS = 50


def share_of_doubt(lower: float, clear: float, upper: float) -> float:
    """Return the estimated share of wrong labels from three readings of it.

    The noise model takes overlap of classes for their nature. Where labels are wrong near the
    boundary only, or too many to be told from overlap, it sees none at all. Far from the boundary
    classes do not overlap: labels disagree with clear predictions as often as they are wrong at
    random. Disagreement everywhere takes all overlap for wrong labels.
    """
    return min(max(PART_OF_LOWER * max(lower, clear), PART_OF_UPPER * upper), 1.0)


def doubt(scores: Scores, codes: Array, weights: Array, trusted: Array | None) -> Array:
    """Return for each sample a probability that its label is wrong; of no particular order.

    A mixture of two readings, that of the noise model and disagreement with the out-of-sample
    prediction, whose mean is the estimated share.
    """
    rows = np.arange(len(codes))
    lower = 1.0 - scores.noise.posterior(scores.first, codes)[rows, codes]
    upper = (violation(scores.first, codes) > 0.0).astype(float)
    if trusted is not None:
        lower[trusted] = upper[trusted] = 0.0
    low, high = (float(np.average(part, weights=weights)) for part in (lower, upper))
    share = share_of_doubt(low, _among_clear(scores.first, upper, weights, trusted), high)
    if share <= low or high <= low:
        return np.asarray(np.minimum(lower * (share / low if low > 0.0 else 0.0), 1.0))
    part = min((share - low) / (high - low), 1.0)
    return np.asarray((1.0 - part) * lower + part * upper)


def _among_clear(first: Array, missed: Array, weights: Array, trusted: Array | None) -> float:
    """Return the share of labels that are missed, if all are as those with clear predictions."""
    free = np.ones(len(missed), dtype=bool) if trusted is None else ~trusted
    if not free.any():
        return 0.0
    gap = -violation(first, first.argmax(axis=1))
    clear = np.where(free & (gap >= np.median(gap[free])), weights, 0.0)
    share = clear @ missed / max(clear.sum(), 1e-300)
    return float(share * weights[free].sum() / weights.sum())


def calibrate(suspicion: Array, doubts: Array, weights: Array) -> Array:
    """Return the trust: a falling function of suspicion whose mean is that of ``1 - doubts``.

    A logistic curve is fitted to the doubts, which stand in for the truth, by Newton's method.
    """
    spread = float(suspicion.std())
    share = float(np.average(doubts, weights=weights))
    if spread < LEAST_SPREAD or doubts.max() == doubts.min():
        return np.full(len(doubts), 1.0 - share)
    standard = (suspicion - suspicion.mean()) / spread
    design = np.vstack([np.ones_like(standard), standard])

    def value(x: Array) -> float:
        line = x @ design
        return float(weights @ (np.logaddexp(0.0, line) - doubts * line) + 0.5 * RIDGE * x @ x)

    x = np.array([float(logit(np.clip(share, 1e-6, 1.0 - 1e-6))), 1.0])
    before = value(x)
    for _ in range(MAX_STEPS):
        chance = expit(x @ design)
        slope = design @ (weights * (chance - doubts)) + RIDGE * x
        curvature = (design * (weights * chance * (1.0 - chance))) @ design.T + RIDGE * np.eye(2)
        step = np.linalg.solve(curvature, -slope)
        length = 1.0
        while (after := value(x + length * step)) > before and length > 1e-6:
            length /= 2.0
        if before - after <= 1e-10 * abs(before):
            break
        x, before = x + length * step, after
    if x[1] <= 0.0:  # Doubts that fall with suspicion say nothing.
        return np.full(len(doubts), 1.0 - share)
    return np.asarray(expit(-(x @ design)))
