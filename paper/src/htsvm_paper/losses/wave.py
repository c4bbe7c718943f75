"""The wave loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from htsvm._typing import Array
from htsvm.losses.base import SmoothLoss, register


@register
@dataclass(frozen=True)
class Wave(SmoothLoss):
    r"""The wave loss of violations that are not negative; smooth, and bounded by 1 / lam.

    .. math:: L(u) = \tfrac1\lambda \Bigl(1 - \frac1{1 + \lambda u^2 e^{a u}}\Bigr)
                   = \frac{u^2}{e^{-a u} + \lambda u^2}, \qquad u \ge 0 .

    The second form never overflows.

    Parameters
    ----------
    a : float
        How steep it rises, not negative; 0 is a bounded least squares loss.
    lam : float
        The inverse of its bound.
    """

    name = "wave"

    a: float
    lam: float

    def value(self, u: Array, y: Array) -> Array:
        """Return the loss at ``u >= 0``; the labels do not matter."""
        loss: Array = u * u / (np.exp(-self.a * u) + self.lam * u * u)
        return loss

    def slope(self, u: Array, y: Array) -> Array:
        """Return the derivative in u."""
        decay = np.exp(-self.a * u)
        slope: Array = u * (2.0 + self.a * u) * decay / (decay + self.lam * u * u) ** 2
        return slope

    def curvature(self, u: Array, y: Array) -> Array:
        """Return the second derivative in u."""
        decay = np.exp(-self.a * u)
        below = decay + self.lam * u * u
        falling = 2.0 * self.lam * u - self.a * decay
        bend = 2.0 - (self.a * u) ** 2 - 2.0 * u * (2.0 + self.a * u) * falling / below
        curvature: Array = decay * bend / below**2
        return curvature
