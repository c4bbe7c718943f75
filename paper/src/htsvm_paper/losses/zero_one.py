"""The 0/1 loss of the margin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.losses.base import Loss, as_floats, register


@register
@dataclass(frozen=True)
class ZeroOne(Loss):
    """One for every sample inside the margin (``s > 0``), zero for the others.

    It counts violations of the *margin*, not of the decision boundary.

    Parameters
    ----------
    tolerance : float, default=1e-6
        A violation of at most this size is taken for rounding and costs nothing: samples that hold
        the margin have ``s = 0``, which no computation returns exactly. Only `value` and `total`
        know of it; prox and subdifferential are those of the exact loss.

    Notes
    -----
    The prox with step κ jumps from 0 to z at z = sqrt(2κ), where both are minimisers; `prox`
    returns 0. At s = 0 every slope t >= 0 is a subgradient, and s = 0 solves the prox problem at
    κ t exactly for κ <= 2/t². Elsewhere the only subgradient is 0, and s > 0 solves its prox
    problem for κ <= s²/2.
    """

    tolerance: float = 1e-6

    name = "0/1"
    abilities = frozenset({"prox"})

    def __post_init__(self) -> None:
        object.__setattr__(self, "tolerance", float(self.tolerance))
        if not 0.0 <= self.tolerance < 1.0:
            raise ValueError(
                f"tolerance must be at least 0 and less than 1, got {self.tolerance!r}."
            )

    @property
    def weak_convexity(self) -> float:
        """Infinite: the loss jumps."""
        return math.inf

    @property
    def cap(self) -> float:
        """Zero: a violated sample no longer pulls."""
        return 0.0

    @property
    def curved_interval(self) -> tuple[float, float]:
        """An empty interval at the jump."""
        return 0.0, 0.0

    @property
    def unit_step(self) -> float:
        """One."""
        return 1.0

    def value(self, s: Any) -> Array:
        """Return the loss at `s`."""
        s = as_floats(s)
        counted: Array = (s > self.tolerance).astype(s.dtype)
        return counted

    def subdifferential(self, s: Any) -> tuple[Array, Array]:
        """Return the ends of the subdifferential: all slopes >= 0 at ``s = 0``, else 0."""
        s = as_floats(s)
        return np.zeros_like(s), np.where(s == 0.0, np.inf, 0.0).astype(s.dtype)

    def prox_bounds(self, z: Any, step: Any) -> tuple[Array, Array]:
        """Return the smallest and the largest minimiser of the prox problem."""
        z = as_floats(z)
        jump = np.sqrt(2.0 * as_floats(step))
        low = np.where((z > 0.0) & (z <= jump), 0.0, z)
        return low, np.where((z > 0.0) & (z < jump), 0.0, z)

    def largest_step(self, s: Any, slope: Any) -> Array:
        """Return the largest step for which `s` solves the prox problem at ``s + step * slope``."""
        s, slope = as_floats(s), as_floats(slope)
        with np.errstate(divide="ignore"):
            at_zero = 2.0 / np.square(slope)
        limit: Array = np.where(s < 0.0, np.inf, np.where(s == 0.0, at_zero, 0.5 * s**2))
        return limit

    def reference_step(self, s: Any, slope: Any) -> Array:
        """Return `unit_step`, or half of the largest step where that is less.

        A sample with a multiplier is taken to be on the margin, whatever rounding made of its
        violation.
        """
        s, slope = as_floats(s), as_floats(slope)
        half = 0.5 * self.largest_step(np.where(slope > 0.0, 0.0, s), slope)
        return np.clip(half, np.finfo(np.float64).tiny, self.unit_step)
