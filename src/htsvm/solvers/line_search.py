"""Step lengths for convex functions: where the slope vanishes."""

from __future__ import annotations

import math
from collections.abc import Callable

# Trial steps at most this many times the last one, and this share of a bracket off its ends.
LONGEST_JUMP, MARGIN = 10.0, 0.01
# Where trials are dear, after so many inside a bracket it is halved, in orders of magnitude if its
# ends differ by more than this factor; one as narrow as this share of its low end is good enough.
QUICK_TRIALS, FAR_APART, NARROW = 8, 4.0, 0.05


def slope_root(
    slopes: Callable[[float], tuple[float, float]],
    at_zero: float,
    *,
    reduction: float,
    most_trials: int,
    dear: bool = False,
) -> float:
    """Return a step where the derivative along a direction has all but vanished.

    The derivative of a convex, piecewise quadratic function is non-decreasing and piecewise
    linear in the step: a Newton iteration on it, or false position where there is no second
    derivative, kept inside a bracket. Where the derivative jumps, or is steeper by many orders
    beyond a kink, neither gets on: where trials are dear, the bracket is halved. If the slope rises
    across a narrow bracket by more than it was at zero, its low end is the answer: since the
    function is convex, that gains all but the share `NARROW` of what the best step would.

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
    dear : bool, default=False
        Whether a trial costs a message to all rows.
    """
    low, high, at_low, at_high = 0.0, math.inf, at_zero, math.nan
    t, inside, steepest = 1.0, 0, math.nan
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
            high, at_high, steepest = t, derivative, derivative
        inside += math.isfinite(high)
        trial = t - derivative / curvature if curvature > 0.0 else math.inf
        if math.isinf(high):
            t = min(trial, LONGEST_JUMP * t)
        elif dear and inside > QUICK_TRIALS and low > 0.0:
            if high - low <= NARROW * low and steepest > abs(at_zero):
                return low
            far = high > FAR_APART * low
            t = math.sqrt(low) * math.sqrt(high) if far else 0.5 * (low + high)
        elif low < trial < high:
            margin = MARGIN * (high - low)
            t = min(max(trial, low + margin), high - margin)
        else:
            t = low - at_low * (high - low) / (at_high - at_low)
        if not low < t < high:
            t = low if low > 0.0 else 0.5 * (low + min(high, 1.0))
            break
    return t
