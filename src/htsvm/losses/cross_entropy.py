"""The cross-entropy of labels: plain, truncated, and seen through flips.

The hybrid truncation is what the paper names as future work. Scores are those of many models side
by side: (n_samples, n_models, 1) for two classes, else (n_samples, n_models, n_classes).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import log_softmax

from htsvm._typing import Array

# The exponentials of scores up to this, and their inverses, are far inside single precision.
SAFE = 50.0
# The likelihood of a label is at least this.
LEAST = 1e-12
# By no more than its inverse is the penalty of a corrected loss raised.
LEAST_INFORMATION = 0.2


@dataclass(frozen=True)
class TruncatedEntropy:
    """A function T of the cross-entropy ``-log p`` of a label, for any number of classes.

    It is the cross-entropy up to `knee`; from there its slope falls as a straight line and is zero
    from ``cap = knee + width`` on: labels less likely than ``exp(-cap)`` no longer pull.

    Parameters
    ----------
    knee, width : float or ndarray of shape (n_models,)
        Where the slope begins to fall, and over how many nats it does; by default it never does.
    """

    knee: Any = math.inf
    width: Any = math.inf

    @classmethod
    def of_classes(cls, cap: Any, knee: float, classes: int) -> Self:
        """Return the loss whose cap is in units of log K, and whose knee is a share of the cap."""
        height = cap * math.log(classes)
        return cls(knee * height, (1.0 - knee) * height)

    @property
    def cap(self) -> Any:
        """From which cross-entropy on it is constant."""
        return self.knee + self.width

    # What a penalty is divided by.
    information = 1.0

    def some(self, which: Array) -> TruncatedEntropy:
        """Return the loss of some models."""
        one = np.ndim(self.knee) == 0
        return self if one else TruncatedEntropy(self.knee[which], self.width[which])

    def value_slope(self, entropy: Array) -> tuple[Array, Array | None]:
        """Return T and T' at cross-entropies; None for a slope of one everywhere."""
        if np.all(np.isinf(self.width)):
            return entropy, None
        knee, width = np.asarray([self.knee, self.width], dtype=entropy.dtype)
        past = np.clip(entropy - knee, 0.0, width)
        value: Array = np.minimum(entropy, knee) + past - past * past / (2.0 * width)
        return value, 1.0 - past / width

    def curvature(self, entropy: Array) -> Array:
        """Return the second derivative of T: negative between knee and cap, else zero."""
        inside = (entropy > self.knee) & (entropy < self.cap)
        return np.where(inside, -1.0 / self.width, 0.0)


@dataclass(frozen=True, eq=False)
class CorrectedEntropy:
    """The cross-entropy of labels that were flipped after true classes had been drawn.

    Parameters
    ----------
    flips : ndarray of shape (n_models, n_classes, n_classes)
        The probability of a label (columns) given the true class (rows).
    """

    flips: Array

    @property
    def information(self) -> Array:
        """What penalties are divided by: noise makes a loss flatter."""
        trace, classes = np.trace(self.flips, axis1=1, axis2=2), self.flips.shape[1]
        return np.asarray(np.maximum((trace - 1.0) / (classes - 1), LEAST_INFORMATION))

    def some(self, which: Array) -> CorrectedEntropy:
        """Return the loss of some models."""
        return CorrectedEntropy(self.flips[which])

    def joint(self, likely: Array, codes: Array) -> tuple[Array, Array]:
        """Return the likelihoods of true classes with the labels, and of the labels."""
        flips = np.moveaxis(self.flips.astype(likely.dtype), 2, 0)
        found = likely * flips[codes]
        return found, np.maximum(found.sum(axis=2), LEAST)

    def binary(self, miss: Array, codes: Array) -> tuple[Array, Array]:
        """Return the loss of labels missed by so much of two classes, and its share of the slope.

        This is `joint` for two classes, several times as quick.
        """
        flips, second = self.flips.astype(miss.dtype), codes[:, None] == 1
        own = np.where(second, flips[:, 1, 1], flips[:, 0, 0])
        other = np.where(second, flips[:, 0, 1], flips[:, 1, 0])
        found = np.maximum(own + (other - own) * miss, LEAST)
        return -np.log(found), (own - other) * (1.0 - miss) / found


Entropy = TruncatedEntropy | CorrectedEntropy


def log_probabilities(scores: Array) -> Array:
    """Return the logarithms of probabilities, of all classes, in double precision.

    A single score is that of the second of two classes, and that of the first is zero.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape[-1] == 1:
        scores = np.concatenate([np.zeros_like(scores), scores], axis=-1)
    return np.asarray(log_softmax(scores, axis=-1))


def pulled(scores: Array, codes: Array, weights: Array | None, loss: Entropy) -> Array:
    """Return the total losses of the models; their scores become derivatives."""
    values = (_binary if scores.shape[2] == 1 else _several)(scores, codes, loss)
    if weights is not None:
        values = values * weights[:, None]
        scores *= weights[:, None, None]
    return np.asarray(values.sum(axis=0, dtype=np.float64))


def _binary(scores: Array, codes: Array, loss: Entropy) -> Array:
    margin = scores[:, :, 0]
    sign = np.where(codes == 1, 1.0, -1.0).astype(scores.dtype)[:, None]
    margin *= sign
    decay = np.exp(-np.abs(margin))
    # One less the likelihood of the label, and minus its logarithm.
    miss = np.where(margin > 0.0, decay, 1.0) / (1.0 + decay)
    slope: Array | None
    if isinstance(loss, CorrectedEntropy):
        values, slope = loss.binary(miss, codes)
    else:
        values, slope = loss.value_slope(np.log(1.0 + decay) - np.minimum(margin, 0.0))
    np.multiply(miss, -sign, out=margin)
    if slope is not None:
        margin *= slope
    return values


def _several(scores: Array, codes: Array, loss: Entropy) -> Array:
    if max(float(scores.max(initial=0.0)), -float(scores.min(initial=0.0))) > SAFE:
        scores -= scores.max(axis=2, keepdims=True)
    each = np.arange(len(codes))
    own = scores[each, :, codes]
    np.exp(scores, out=scores)
    # A product is several times as quick as a sum of so few numbers.
    total = scores @ np.ones(scores.shape[2], dtype=scores.dtype)
    scores /= total[:, :, None]
    if isinstance(loss, CorrectedEntropy):
        joint, found = loss.joint(scores, codes)
        scores -= joint / found[:, :, None]
        return np.asarray(-np.log(found))
    values, slope = loss.value_slope(np.log(total) - own)
    scores[each, :, codes] -= 1.0
    if slope is not None:
        scores *= slope[:, :, None]
    return values
