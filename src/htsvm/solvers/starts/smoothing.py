"""Smooth stand-ins for a loss, on which searches for a start go down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from htsvm._typing import Array
from htsvm.losses import Loss


@dataclass(frozen=True)
class Squares:
    """Half the squared violation, whose minimiser tells classes apart however noisy labels are."""

    def value_and_slope(self, q: Array) -> tuple[Array, Array]:
        """Return the values and the derivatives at the violations q."""
        return 0.5 * np.square(q), q


@dataclass(frozen=True)
class Sigmoid:
    """A sigmoid in the place of a truncated loss: the wider, the fewer valleys.

    It is ``height (1 + u / sqrt(1 + u²)) / 2`` with ``u = (q - centre) / (2 width)``, which has the
    slope of the logistic function in the middle and needs no exponential.

    Attributes
    ----------
    height : float
        What it rises to, the loss of an ignored sample.
    centre : float
        Where half of that is reached.
    width : float
        How slowly it rises.
    """

    height: float
    centre: float
    width: float

    @classmethod
    def of(cls, loss: Loss, temperature: float) -> Sigmoid:
        """Return the sigmoid for a loss; its width is the `temperature` in units of the cap."""
        cap = loss.cap
        return cls(float(loss.profile(cap)), 0.5 * cap, temperature * cap)

    def value_and_slope(self, q: Array) -> tuple[Array, Array]:
        """Return the values and the derivatives at the violations q."""
        u = (0.5 / self.width) * (q - self.centre)
        root = 1.0 / np.sqrt(1.0 + np.square(u))
        value: Array = (0.5 * self.height) * (1.0 + u * root)
        return value, (0.25 * self.height / self.width) * root**3


@dataclass(frozen=True)
class Rounded:
    """A loss g(max(q, 0)) with its kink at zero rounded over [-width, width] by a parabola."""

    loss: Loss
    width: float

    def value_and_slope(self, q: Array) -> tuple[Array, Array]:
        """Return the values and the derivatives at the violations q."""
        inside = np.clip(0.5 + (0.5 / self.width) * q, 0.0, 1.0)
        h = np.where(q >= self.width, q, 0.5 * (q + self.width) * inside)
        h = np.maximum(h, 0.0)
        return self.loss.profile(h), self.loss.profile_slope(h) * inside


Stage = Squares | Sigmoid | Rounded
