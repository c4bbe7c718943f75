"""The pinball loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.losses.base import ConvexLoss, as_floats, register


@register
@dataclass(frozen=True)
class Pinball(ConvexLoss):
    """The pinball loss ``max(s, -tau * s)``: a sample far beyond the margin costs something too.

    It is ``(1 + tau) * max(s, 0) - tau * s``, a steeper hinge with a tilt, and convex. ``tau = 0``
    is the hinge loss, ``tau = 1`` the absolute value.

    Parameters
    ----------
    tau : float, default=0.5
        The slope on the safe side, in [0, 1]. A negative tau would reward large margins without
        limit.
    """

    tau: float = 0.5

    name = "pinball"
    abilities = frozenset({"prox", "profile", "conjugate"})

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", float(self.tau))
        if not 0.0 <= self.tau <= 1.0:
            raise ValueError(f"tau must lie between 0 and 1, got {self.tau!r}.")

    @property
    def slope_line(self) -> tuple[float, float, float]:
        """The slope of the profile is 1 + tau everywhere."""
        return 1.0 + self.tau, 1.0 + self.tau, 0.0

    @property
    def tilt(self) -> float:
        """The slope tau of the linear part that is taken off."""
        return self.tau

    def value(self, s: Any) -> Array:
        """Return the loss at `s`."""
        s = as_floats(s)
        value: Array = np.maximum(s, -self.tau * s)
        return value

    def subdifferential(self, s: Any) -> tuple[Array, Array]:
        """Return the ends of the subdifferential; an interval only at ``s = 0``."""
        s = as_floats(s)
        low = np.where(s > 0.0, 1.0, -self.tau).astype(s.dtype)
        return low, np.where(s < 0.0, -self.tau, 1.0).astype(s.dtype)

    def profile(self, h: Any) -> Array:
        """Return g(h) = (1 + tau) h."""
        straight: Array = (1.0 + self.tau) * as_floats(h)
        return straight

    def profile_slope(self, h: Any) -> Array:
        """Return g'(h) = 1 + tau."""
        return np.full_like(as_floats(h), 1.0 + self.tau)

    def slopes(self, s: Array, penalty: Array, out: Array) -> None:
        """Set ``out = (1 + tau) * penalty``."""
        np.multiply(penalty, 1.0 + self.tau, out=out)

    def prox_bounds(self, z: Any, step: Any) -> tuple[Array, Array]:
        """Return the minimiser of the prox problem, twice: it is unique."""
        z, step = as_floats(z), as_floats(step)
        unique = np.maximum(z - step, 0.0) + np.minimum(z + self.tau * step, 0.0)
        return unique, unique.copy()

    def conjugate(self, slope: Any) -> Array:
        """Return 0 between -tau and 1, infinity outside."""
        slope = as_floats(slope)
        return np.where((slope < -self.tau) | (slope > 1.0), np.inf, 0.0)
