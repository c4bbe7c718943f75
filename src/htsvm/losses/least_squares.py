"""The least squares loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.losses.base import ConvexLoss, as_floats, register


@register
@dataclass(frozen=True)
class LeastSquares(ConvexLoss):
    """The least squares loss ``s ** 2``: a regression on the labels, since y² = 1."""

    abilities = frozenset({"prox", "conjugate"})

    def value(self, s: Any) -> Array:
        """Return the loss at `s`."""
        return np.square(as_floats(s))

    def total(self, s: Array, penalty: Array) -> float:
        """Return ``sum(penalty * s ** 2)``."""
        return float(np.dot(penalty * s, s))

    def subdifferential(self, s: Any) -> tuple[Array, Array]:
        """Return the derivative 2 s, twice."""
        slope = 2.0 * as_floats(s)
        return slope, slope.copy()

    def prox_bounds(self, z: Any, step: Any) -> tuple[Array, Array]:
        """Return the minimiser of the prox problem, twice: it is unique."""
        unique = as_floats(z) / (1.0 + 2.0 * as_floats(step))
        return unique, unique.copy()

    def conjugate(self, slope: Any) -> Array:
        """Return ``slope ** 2 / 4``."""
        quarter: Array = 0.25 * np.square(as_floats(slope))
        return quarter

    def best_constant(self, positive: float, negative: float) -> tuple[float, float]:
        """Return the loss and the value of the mean label."""
        total = positive + negative
        return 4.0 * positive * negative / total, (positive - negative) / total
