"""What labels that may be wrong say of how often they are: flip matrices, and what comes of them.

A flip matrix has the probability of a label (columns) given the true class (rows).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_softmax, logsumexp

from htsvm._typing import Array
from htsvm.logistic.rows import Rows

# Flip rates count as found if twice the gain in log likelihood is above this: by chance that
# happens once in ninety times (chi square of two degrees).
CLEARLY = 9.0
# The slope of probabilities is searched for between exp of minus and plus this.
SLOPES = 4.0
LEAST = 1e-12


def probabilities(scores: Array) -> Array:
    """Return the probabilities (..., n_classes) of scores (..., 1 or n_classes)."""
    both = with_both(scores)
    return np.asarray(np.exp(log_softmax(both, axis=-1)))


def with_both(scores: Array) -> Array:
    """Return a score per class, in double precision: a single one is that of the second class."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape[-1] > 1:
        return scores
    return np.concatenate([np.zeros_like(scores), scores], axis=-1)


def log_loss(scores: Array, codes: Array, weights: Array) -> float:
    """Return the mean cross-entropy of labels."""
    logs = log_softmax(with_both(scores), axis=-1)[np.arange(len(codes)), codes]
    return float(-(weights @ logs) / weights.sum())


def confident_joint(likely: Array, codes: Array, weights: Array) -> Array:
    """Return a flip matrix from held-out probabilities, by counting confident samples.

    A sample counts for the class that is likeliest of those that are as likely as they are on
    average where they are the label (Northcutt, Jiang and Chuang, JAIR 2021); half a sample more
    on the diagonal keeps rare classes to themselves.
    """
    classes = likely.shape[1]
    mass = np.bincount(codes, weights=weights, minlength=classes)
    own = np.bincount(
        codes, weights=weights * likely[np.arange(len(codes)), codes], minlength=classes
    )
    usual = np.divide(own, mass, out=np.ones(classes), where=mass > 0.0)
    confident = np.where(likely >= usual - 1e-9, likely, -1.0)
    sure = confident.max(axis=1) >= 0.0
    guess = confident.argmax(axis=1)
    cells = np.bincount(
        codes[sure] * classes + guess[sure], weights=weights[sure], minlength=classes**2
    )
    joint = cells.reshape(classes, classes) + 1e-6 + 0.5 * np.eye(classes)
    joint *= (mass / joint.sum(axis=1))[:, None]
    total = joint.sum(axis=0)
    return np.asarray((joint / np.where(total > 0.0, total, 1.0)).T)


def relearned(rows: Rows, points: Array, flips: Array) -> Array:
    """Return the flip matrices of two classes after a step of expectation and maximisation.

    Each member has its own; a sample more on the diagonal keeps them from what few rows suggest.
    """
    counts = np.zeros_like(flips)
    for X, codes, weights in rows.blocks(points.shape[1]):
        second = expit(np.asarray(X @ points[:, :, 0]).astype(np.float64))
        mass = np.ones(len(codes)) if weights is None else weights
        for label in (0, 1):
            of = codes == label
            truly = second[of] * flips[:, 1, label]
            other = (1.0 - second[of]) * flips[:, 0, label]
            part = truly / np.maximum(truly + other, LEAST)
            counts[:, 1, label] += mass[of] @ part
            counts[:, 0, label] += mass[of] @ (1.0 - part)
    counts += np.eye(2)
    return np.asarray(counts / counts.sum(axis=2, keepdims=True))


def fitted_slope(scores: Array, codes: Array, weights: Array, flips: Array | None = None) -> float:
    """Return the factor of scores that makes the labels likeliest; thresholds stay.

    With a flip matrix the factor is that of the scores of true classes, whose labels are seen
    through it.
    """
    both = with_both(scores)
    size = float(np.sqrt(np.square(both).mean())) or 1.0
    seen = None if flips is None else np.log(np.maximum(flips.T[codes], LEAST))

    def miss(power: float) -> float:
        logs = log_softmax(both * (np.exp(power) / size), axis=1)
        each = np.arange(len(codes))
        own = logs[each, codes] if seen is None else logsumexp(logs + seen, axis=1)
        return float(-(weights @ own) / weights.sum())

    best = minimize_scalar(miss, bounds=(-SLOPES, SLOPES), method="bounded")
    return float(np.exp(best.x) / size)


class Flipped(NamedTuple):
    """A sigmoid of decision values whose labels were flipped at two rates.

    A label is that of ``classes_[1]`` with probability ``up + (1 - up - down) * sigma(slope * f +
    offset)``.
    """

    slope: float
    offset: float
    up: float
    down: float


def flipped_sigmoid(scores: Array, codes: Array, weights: Array) -> Flipped | None:
    """Return the likeliest flip rates of two classes; None where labels do not clearly need any."""
    size = float(np.sqrt(np.average(np.square(scores), weights=weights))) or 1.0
    values, label = np.asarray(scores, dtype=np.float64) / size, codes == 1

    def miss(z: Array, rates: bool) -> float:
        up, down = 0.5 * expit(z[2:4]) if rates else (0.0, 0.0)
        chance = up + (1.0 - up - down) * expit(z[0] * values + z[1])
        chance = np.clip(np.where(label, chance, 1.0 - chance), LEAST, 1.0)
        return float(-(weights @ np.log(chance)))

    mass = weights.sum()
    plain = minimize(lambda z: miss(z, False) / mass, np.array([1.0, 0.0]), method="L-BFGS-B")
    # Rates up to one half; from several starts, since the likelihood has more than one maximum.
    starts = [np.array([2.0 * plain.x[0], plain.x[1], u, d]) for u, d in RATES]
    found = [minimize(lambda z: miss(z, True) / mass, start, method="L-BFGS-B") for start in starts]
    best = min(found, key=lambda one: one.fun)
    if not 2.0 * mass * (plain.fun - best.fun) > CLEARLY or not best.x[0] > 0.0:
        return None
    up, down = 0.5 * expit(best.x[2:4])
    return Flipped(float(best.x[0] / size), float(best.x[1]), float(up), float(down))


# Starts of the logits of twice the flip rates: both low, either one high, both high.
RATES = ((-3.0, -3.0), (0.0, -3.0), (-3.0, 0.0), (0.0, 0.0))
