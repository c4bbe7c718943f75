"""The hinge loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.losses.base import ConvexLoss, as_floats, register


@register
@dataclass(frozen=True)
class Hinge(ConvexLoss):
    """The hinge loss ``max(s, 0)`` of the classical soft-margin SVM: convex, never truncated."""

    abilities = frozenset({"prox", "profile", "conjugate"})

    def value(self, s: Any) -> Array:
        """Return the loss at `s`."""
        return np.maximum(as_floats(s), 0.0)

    def subdifferential(self, s: Any) -> tuple[Array, Array]:
        """Return the ends of the subdifferential; an interval only at ``s = 0``."""
        s = as_floats(s)
        return np.where(s > 0.0, 1.0, 0.0).astype(s.dtype), np.where(s < 0.0, 0.0, 1.0).astype(
            s.dtype
        )

    def profile(self, h: Any) -> Array:
        """Return g(h) = h."""
        return as_floats(h).copy()

    def profile_slope(self, h: Any) -> Array:
        """Return g'(h) = 1."""
        return np.ones_like(as_floats(h))

    def prox_bounds(self, z: Any, step: Any) -> tuple[Array, Array]:
        """Return the minimiser of the prox problem, twice: it is unique."""
        z = as_floats(z)
        unique = np.where(z < 0.0, z, np.maximum(z - as_floats(step), 0.0))
        return unique, unique.copy()

    def conjugate(self, slope: Any) -> Array:
        """Return 0 between 0 and 1, infinity outside."""
        slope = as_floats(slope)
        return np.where((slope < 0.0) | (slope > 1.0), np.inf, 0.0)
