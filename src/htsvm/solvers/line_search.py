"""Step lengths: for convex functions where the slope vanishes, for others where the value falls."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from htsvm._typing import Array

# Trial steps at most this many times the last one, and this share of a bracket off its ends.
LONGEST_JUMP, MARGIN = 10.0, 0.01
# The share of the expected decrease that a step has to bring, and the most halvings.
DECREASE, MOST_HALVINGS = 1e-4, 30


def slope_root(
    slopes: Callable[[float], tuple[float, float]],
    at_zero: float,
    *,
    reduction: float,
    most_trials: int,
) -> float:
    """Return a step where the derivative along a direction has all but vanished.

    The derivative of a convex, piecewise quadratic function is non-decreasing and piecewise
    linear in the step: a Newton iteration on it, or false position where there is no second
    derivative, kept inside a bracket.

    Parameters
    ----------
    slopes : callable
        Returns the first and the second derivative after a step; the second may be zero if it is
        not known. The first step tried is one.
    at_zero : float
        The derivative at zero, negative.
    reduction : float
        The share of it that may be left.
    most_trials : int
        How many steps are tried.
    """
    low, high, at_low, at_high = 0.0, math.inf, at_zero, math.nan
    t = 1.0
    for _ in range(most_trials):
        derivative, curvature = slopes(t)
        if abs(derivative) <= reduction * abs(at_zero):
            break
        # Halving the other end's slope keeps false position from creeping up on one side.
        if derivative < 0.0:
            at_high *= 0.5 if low > 0.0 else 1.0
            low, at_low = t, derivative
        else:
            at_low *= 1.0 if math.isinf(high) else 0.5
            high, at_high = t, derivative
        trial = t - derivative / curvature if curvature > 0.0 else math.inf
        if math.isinf(high):
            t = min(trial, LONGEST_JUMP * t)
        elif low < trial < high:
            margin = MARGIN * (high - low)
            t = min(max(trial, low + margin), high - margin)
        else:
            t = low - at_low * (high - low) / (at_high - at_low)
        if not low < t < high:
            t = low if low > 0.0 else 0.5 * (low + min(high, 1.0))
            break
    return t


def backtracked(
    value_and_gradient: Callable[[Array], tuple[float, Array]], z: Array, direction: Array
) -> Array | None:
    """Return a lower point along a direction; None where rounding errors are all there is."""
    value, gradient = value_and_gradient(z)
    falling, size = float(gradient @ direction), np.linalg.norm(gradient)
    t = 1.0
    for _ in range(MOST_HALVINGS):
        moved = z + t * direction
        new_value, new_gradient = value_and_gradient(moved)
        if new_value <= value + DECREASE * t * falling:
            return moved
        # Close to the minimum values differ by rounding errors only, gradients still do more.
        if new_value <= value + 1e-12 * abs(value) and np.linalg.norm(new_gradient) < 0.5 * size:
            return moved
        t *= 0.5
    return None
