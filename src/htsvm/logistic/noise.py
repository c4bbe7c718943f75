"""What labels that may be wrong say of how often they are: flip matrices, and what comes of them.

A flip matrix has the probability of a label (columns) given the true class (rows).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logsumexp

from htsvm._typing import Array
from htsvm.logistic.batch import Rows
from htsvm.losses.cross_entropy import LEAST, CorrectedEntropy, log_probabilities

# Flip rates count as found if twice the gain in log likelihood is above this: by chance that
# happens once in ninety times (chi square of two degrees).
CLEARLY = 9.0
# The slope of probabilities is searched for between exp of minus and plus this.
SLOPES = 4.0
# Starts of the logits of twice the flip rates: both low, either one high, both high.
RATES = ((-3.0, -3.0), (0.0, -3.0), (-3.0, 0.0), (0.0, 0.0))


def log_loss(scores: Array, codes: Array, weights: Array, flips: Array | None = None) -> float:
    """Return the mean cross-entropy of labels, which may be seen through a flip matrix."""
    logs = log_probabilities(scores)
    if flips is None:
        own = logs[np.arange(len(codes)), codes]
    else:
        own = logsumexp(logs + np.log(np.maximum(flips.T, LEAST))[codes], axis=1)
    return float(-(weights @ own) / weights.sum())


def fitted_slope(scores: Array, codes: Array, weights: Array, flips: Array | None = None) -> float:
    """Return the factor of scores that makes the labels likeliest; thresholds stay."""
    scores = scores.astype(np.float64)
    # A single score stands for two, of which one is zero.
    size = float(np.sqrt(np.square(scores).sum() / (len(scores) * max(scores.shape[1], 2)))) or 1.0
    best = minimize_scalar(
        lambda power: log_loss(scores * (np.exp(power) / size), codes, weights, flips),
        bounds=(-SLOPES, SLOPES), method="bounded",
    )  # fmt: skip
    return float(np.exp(best.x) / size)


def confident_joint(likely: Array, codes: Array, weights: Array) -> Array:
    """Return a flip matrix from held-out probabilities, by counting confident samples.

    A sample counts for the class that is likeliest of those that are as likely as they are on
    average where they are the label (Northcutt, Jiang and Chuang, JAIR 2021); half a sample more
    on the diagonal keeps rare classes to themselves.
    """
    classes, own = likely.shape[1], likely[np.arange(len(codes)), codes]
    mass = np.bincount(codes, weights=weights, minlength=classes)
    usual = np.bincount(codes, weights=weights * own, minlength=classes)
    usual = np.divide(usual, mass, out=np.ones(classes), where=mass > 0.0)
    confident = np.where(likely >= usual - 1e-9, likely, -1.0)
    sure = confident.max(axis=1) >= 0.0
    joint = 1e-6 + 0.5 * np.eye(classes)
    np.add.at(joint, (codes[sure], confident.argmax(axis=1)[sure]), weights[sure])
    joint *= (mass / joint.sum(axis=1))[:, None]
    total = joint.sum(axis=0)
    return np.asarray((joint / np.where(total > 0.0, total, 1.0)).T)


def relearned(rows: Rows, points: Array, flips: Array) -> Array:
    """Return the flip matrices of two classes after a step of expectation and maximisation.

    A sample more on the diagonal keeps them from what few rows suggest.
    """
    counts, loss = np.zeros_like(flips), CorrectedEntropy(flips)
    for X, codes, weights in rows.blocks(points.shape[1]):
        second = expit(np.asarray(X @ points[:, :, 0]).astype(np.float64))
        joint, found = loss.joint(np.stack([1.0 - second, second], axis=2), codes)
        joint /= found[:, :, None]
        for label in (0, 1):
            mass = (codes == label) * (1.0 if weights is None else weights)
            counts[:, :, label] += np.tensordot(mass, joint, axes=1)
    counts += np.eye(2)
    return np.asarray(counts / counts.sum(axis=2, keepdims=True))


def flipped_sigmoid(
    scores: Array, codes: Array, weights: Array
) -> tuple[float, float, Array] | None:
    """Return slope and offset of the scores of two true classes, and the likeliest flip matrix.

    None where labels do not clearly need one.
    """
    size = float(np.sqrt(np.average(np.square(scores), weights=weights))) or 1.0
    values, label = np.asarray(scores, dtype=np.float64) / size, codes == 1
    mass = weights.sum()

    def miss(z: Array) -> float:
        # Rates up to one half.
        up, down = 0.5 * expit(z[2:]) if len(z) > 2 else (0.0, 0.0)
        chance = up + (1.0 - up - down) * expit(z[0] * values + z[1])
        chance = np.clip(np.where(label, chance, 1.0 - chance), LEAST, 1.0)
        return float(-(weights @ np.log(chance)) / mass)

    plain = minimize(miss, np.array([1.0, 0.0]), method="L-BFGS-B")
    # From several starts, since the likelihood has more than one maximum.
    starts = [np.array([2.0 * plain.x[0], plain.x[1], *rates]) for rates in RATES]
    best = min((minimize(miss, z, method="L-BFGS-B") for z in starts), key=lambda one: one.fun)
    if not 2.0 * mass * (plain.fun - best.fun) > CLEARLY or not best.x[0] > 0.0:
        return None
    up, down = 0.5 * expit(best.x[2:])
    flips = np.array([[1.0 - up, up], [down, 1.0 - down]])
    return float(best.x[0] / size), float(best.x[1]), flips
