"""The hybrid truncated loss: linear, then a parabola, then flat."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.losses import base
from htsvm.losses.base import Loss, as_floats, register

ONE = np.ones(1)


class Truncated(Loss):
    """A loss that is straight up to the knee, a share of the cap, and flat from the cap on.

    In between it bends with curvature `weak_convexity`; where the knee is 1 it has a concave kink.
    The notes of `HybridTruncated` say what its prox is.
    """

    knee: float
    abilities = frozenset({"prox", "profile"})

    @property
    def slope(self) -> float:
        """The slope a at zero."""
        return 2.0 / (1.0 + self.knee)

    def value(self, s: Any) -> Array:
        """Return the loss at `s`."""
        return self.profile(np.maximum(as_floats(s), 0.0))

    def prox_bounds(self, z: Any, step: Any) -> tuple[Array, Array]:
        """Return the smallest and the largest minimiser of the prox problem."""
        z, step = as_floats(z), as_floats(step)
        a = self.slope
        shrunk = np.where(z < 0.0, z, np.maximum(z - a * step, 0.0))
        if math.isinf(self.cap):
            return shrunk, shrunk.copy()
        u, kappa = z / self.cap, step / self.cap
        jump = np.where(kappa < 2.0 / a**2, 1.0 / a + 0.5 * a * kappa, np.sqrt(2.0 * kappa))
        low, high = np.where(u > jump, z, shrunk), np.where(u >= jump, z, shrunk)
        curvature = self.weak_convexity * self.cap
        smooth = kappa * curvature < 1.0
        if np.any(smooth):
            room = np.where(smooth, 1.0 - curvature * kappa, 1.0)
            curved = self.cap * (u - curvature * kappa) / room
            bend = self.knee + a * kappa
            single = np.where(u > 1.0, z, np.where(u > bend, curved, shrunk))
            low, high = np.where(smooth, single, low), np.where(smooth, single, high)
        return low, high

    def largest_step(self, s: Any, slope: Any) -> Array:
        """Return the largest step for which `s` solves the prox problem at ``s + step * slope``."""
        s, slope = as_floats(s), as_floats(slope)
        if math.isinf(self.cap):
            return np.full(np.broadcast(s, slope).shape, np.inf)
        a, u = self.slope, s / self.cap
        with np.errstate(divide="ignore"):
            at_zero = 2.0 / np.square(np.where(u == 0.0, slope, 1.0))
        bent = 1.0 / (self.weak_convexity * self.cap)
        straight = 2.0 * np.abs(u - 1.0 / a) / a
        limit: Array = self.cap * np.select(
            [u < 0.0, u == 0.0, u <= self.knee, u <= 1.0, u <= 2.0 / a],
            [np.inf, at_zero, straight, bent, straight],
            0.5 * u**2,
        )
        return limit


@register
@dataclass(frozen=True, repr=False)
class HybridTruncated(Truncated):
    r"""Zero for samples beyond the margin, then linear, then a parabola, then constant.

    For ``cap = 1`` and knee t

    .. math::
        \ell(s) = 0 \ (s \le 0), \quad \tfrac{2}{1+t} s \ (0 < s \le t), \\
        1 - \tfrac{(1-s)^2}{1-t^2} \ (t < s < 1), \quad 1 \ (s \ge 1).

    ``t = 2/3`` is the loss of the paper; as t goes to 1 it becomes the unit ramp. A cap stretches
    it to ``cap * l(s / cap)``: same slope at zero, truncated at ``s = cap``; ``cap = inf`` is the
    hinge loss times ``2 / (1 + t)``. Up to a factor this is the one-sided SCAD penalty.

    Parameters
    ----------
    knee : float, default=2/3
        Where the straight part ends, as a fraction of the cap; in (0, 1).
    cap : float, default=1.0
        The violation from which on the loss is constant; positive, may be ``inf``.

    Notes
    -----
    Write a = 2/(1+t) for the slope and k = 2/(1-t²) for the (negative) curvature of the parabola;
    g'(h) = clip(k (1 - h), 0, a). The prox with step κ has three regimes (cap = 1):

    - κ < 1/k: single-valued and continuous;
    - 1/k <= κ < 2/a²: jumps from z - aκ to z at z = 1/a + aκ/2;
    - κ >= 2/a²: jumps from 0 to z at z = sqrt(2κ).

    At a jump both ends are minimisers (at κ = 1/k, z = 1 the whole segment [t, 1] is); `prox`
    returns the smaller one. For the paper's knee 1/k = 5/18 and 2/a² = 25/18.
    """

    knee: float = 2.0 / 3.0
    cap: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "knee", float(self.knee))
        object.__setattr__(self, "cap", float(self.cap))
        if not 0.0 < self.knee < 1.0:
            raise ValueError(f"knee must lie strictly between 0 and 1, got {self.knee!r}.")
        if not self.cap > 0.0:
            raise ValueError(f"cap must be positive (inf for no truncation), got {self.cap!r}.")

    def __repr__(self) -> str:
        knee = "2/3" if self.knee == 2.0 / 3.0 else f"{self.knee:g}"
        return f"HybridTruncated(knee={knee}, cap={self.cap:g})"

    @property
    def weak_convexity(self) -> float:
        """The curvature of the parabola, 2 / ((1 - knee²) cap)."""
        return 2.0 / ((1.0 - self.knee**2) * self.cap)

    @property
    def curved_interval(self) -> tuple[float, float]:
        """The transition zone (knee * cap, cap), where the loss is a parabola."""
        return self.knee * self.cap, self.cap

    def stretched(self, factor: float) -> HybridTruncated:
        """Return the loss with its cap multiplied by `factor`."""
        return HybridTruncated(knee=self.knee, cap=self.cap * factor)

    def total(self, s: Array, penalty: Array) -> float:
        """Return ``sum(penalty * value(s))``."""
        if math.isinf(self.cap):
            return self.slope * float(np.dot(penalty, np.maximum(s, 0.0)))
        if base.kernels is None:
            return super().total(s, penalty)
        return float(self.totals(s, penalty, ONE)[0])

    def totals(self, q: Array, penalty: Array, multiples: Array) -> Array:
        """Return the total at multiples of the point with violations q."""
        if base.kernels is None or math.isinf(self.cap):
            return super().totals(q, penalty, multiples)
        found: Array = base.kernels.active.hybrid_totals(q, penalty, self.knee, self.cap, multiples)
        return found

    def subdifferential(self, s: Any) -> tuple[Array, Array]:
        """Return the ends of the subdifferential; an interval only at ``s = 0``."""
        s = as_floats(s)
        high = np.where(s < 0.0, 0.0, self.profile_slope(np.maximum(s, 0.0)))
        return np.where(s > 0.0, high, 0.0), high

    def profile(self, h: Any) -> Array:
        """Return g at ``h >= 0``."""
        h = as_floats(h)
        if math.isinf(self.cap):
            straight: Array = self.slope * h
            return straight
        u = np.minimum(h / self.cap, 1.0)
        curved = 1.0 - (1.0 - u) ** 2 / (1.0 - self.knee**2)
        value: Array = self.cap * np.where(u <= self.knee, self.slope * u, curved)
        return value

    def profile_slope(self, h: Any) -> Array:
        """Return g' at ``h >= 0``."""
        h = as_floats(h)
        top, start, fall = self.slope_line
        slope: Array = np.clip(start - fall * h, 0.0, top)
        return slope

    def slopes(self, s: Array, penalty: Array, out: Array) -> None:
        """Set ``out = penalty * profile_slope(max(s, 0))``."""
        top, start, fall = self.slope_line
        np.multiply(s, -fall, out=out)
        out += start
        np.clip(out, 0.0, top, out=out)
        out *= penalty

    @property
    def slope_line(self) -> tuple[float, float, float]:
        """(top, start, fall) of ``g'(h) = clip(start - fall * h, 0, top)``."""
        if math.isinf(self.cap):
            return self.slope, self.slope, 0.0
        return self.slope, self.weak_convexity * self.cap, self.weak_convexity

    def prox_distance(self, s: Any, z: Any, step: Any) -> Array:
        """Return the distance from `s` to the set of minimisers of the prox problem at `z`."""
        s, distance = as_floats(s), super().prox_distance(s, z, step)
        if math.isinf(self.cap):
            return distance
        # Where 1 is the product of step and curvature, z = cap has a whole segment of minimisers;
        # rounding would turn it into one of its ends.
        flat = np.isclose(as_floats(step) * self.weak_convexity, 1.0, rtol=1e-12, atol=0.0)
        flat = flat & np.isclose(as_floats(z), self.cap, rtol=1e-12, atol=0.0)
        if np.any(flat):
            outside = np.maximum(np.maximum(self.knee * self.cap - s, s - self.cap), 0.0)
            distance = np.where(flat, outside, distance)
        return distance
