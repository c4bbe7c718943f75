"""The bounded LINEX loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from htsvm._typing import Array
from htsvm.losses.base import SmoothLoss, register


@register
@dataclass(frozen=True)
class BoundedLinex(SmoothLoss):
    r"""The bounded linear-exponential loss, which treats the classes differently.

    .. math:: L(t) = \tfrac1\lambda \Bigl(1 - \frac1{1 + \lambda b (e^{a t} - a t - 1)}\Bigr),
              \qquad t = y u,\ u \ge 0 .

    For a > 0 violations of the positive class count exponentially and those of the negative class
    linearly, both up to 1 / lam; a < 0 swaps them.

    Parameters
    ----------
    a : float
        Not zero: how different the classes are.
    b : float
        A positive factor.
    lam : float
        The inverse of the bound.
    """

    name = "bounded LINEX"

    a: float
    b: float
    lam: float

    def value(self, u: Array, y: Array) -> Array:
        """Return the loss of violations ``u >= 0`` of samples with labels y."""
        power, rise, decay, below = self._parts(u, y)
        # Near zero the difference would lose digits; its Taylor series does not.
        series = 1.0 + power / 4.0 * (1.0 + power / 5.0 * (1.0 + power / 6.0))
        series = 0.5 * power**2 * (1.0 + power / 3.0 * series) * decay
        excess = np.where(np.abs(power) < 1e-2, series, rise - (power + 1.0) * decay)
        loss: Array = self.b * excess / below
        return loss

    def slope(self, u: Array, y: Array) -> Array:
        """Return the derivative in u."""
        _, rise, decay, below = self._parts(u, y)
        slope: Array = y * self.a * self.b * (rise - decay) * decay / below**2
        return slope

    def curvature(self, u: Array, y: Array) -> Array:
        """Return the second derivative in u."""
        _, rise, decay, below = self._parts(u, y)
        first = self.a**2 * self.b * rise
        second = 2.0 * self.lam * (self.a * self.b * (rise - decay)) ** 2 / below
        curvature: Array = (first - second) * decay / below**2
        return curvature

    def _parts(self, u: Array, y: Array) -> tuple[Array, Array, Array, Array]:
        """Return a t, and e^(a t), 1 and 1 + lam b (e^(a t) - a t - 1), over max(e^(a t), 1)."""
        power = self.a * y * u
        decay = np.exp(-np.maximum(power, 0.0))
        rise = np.exp(np.minimum(power, 0.0))
        scale = self.lam * self.b
        return power, rise, decay, scale * rise + (1.0 - scale * (power + 1.0)) * decay
