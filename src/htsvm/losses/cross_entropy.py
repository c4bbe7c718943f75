"""The hybrid truncation of the cross-entropy, which the paper names as future work."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from htsvm._typing import Array


@dataclass(frozen=True)
class TruncatedEntropy:
    """A function T of the cross-entropy ``-log p`` of a label, for any number of classes.

    It is the cross-entropy up to `knee`; from there its slope falls as a straight line and is zero
    from `cap` on, so that labels less likely than ``exp(-cap)`` no longer pull at the model.

    Parameters
    ----------
    knee, cap : float
        Where the slope begins to fall and where it is zero, in nats; both inf for the cross-entropy
        itself.
    """

    knee: float = math.inf
    cap: float = math.inf

    @classmethod
    def of_classes(cls, cap: float, knee: float, classes: int) -> Self:
        """Return the loss whose cap is in units of log K, and whose knee is a share of the cap."""
        height = cap * math.log(classes)
        return cls(knee * height, height) if math.isfinite(height) else cls()

    def value_slope(self, entropy: Array) -> tuple[Array, Array | None]:
        """Return T and T' at cross-entropies; None for a slope of one everywhere."""
        if self.cap == math.inf:
            return entropy, None
        width = self.cap - self.knee
        past = np.clip(entropy - self.knee, 0.0, width)
        value: Array = np.minimum(entropy, self.knee) + past - past * past / (2.0 * width)
        return value, 1.0 - past / width

    def curvature(self, entropy: Array) -> Array:
        """Return the second derivative of T: negative between knee and cap, else zero."""
        inside = (entropy > self.knee) & (entropy < self.cap)
        bend = 1.0 / (self.cap - self.knee) if self.cap < math.inf else 0.0
        falling: Array = np.where(inside, -bend, 0.0)
        return falling
