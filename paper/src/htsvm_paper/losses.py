"""The losses of the comparison methods: of single violations, and smooth ones of coupled views."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from htsvm.extend import Array, ConvexLoss, Loss, register_loss


@register_loss
@dataclass(frozen=True)
class Pinball(ConvexLoss):
    """The pinball loss ``max(s, -tau * s)``: a sample far beyond the margin costs something too.

    It is ``(1 + tau) * max(s, 0) - tau * s``, a steeper hinge with a tilt; the hinge for tau = 0.

    Parameters
    ----------
    tau : float, default=0.5
        The slope on the safe side, in [0, 1]. A negative tau would reward large margins without
        limit.
    """

    tau: float = 0.5

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
        s = _floats(s)
        return np.asarray(np.maximum(s, -self.tau * s))

    def subdifferential(self, s: Any) -> tuple[Array, Array]:
        """Return the ends of the subdifferential; an interval only at ``s = 0``."""
        s = _floats(s)
        low = np.where(s > 0.0, 1.0, -self.tau).astype(s.dtype)
        return low, np.where(s < 0.0, -self.tau, 1.0).astype(s.dtype)

    def profile(self, h: Any) -> Array:
        """Return g(h) = (1 + tau) h."""
        return np.asarray((1.0 + self.tau) * _floats(h))

    def profile_slope(self, h: Any) -> Array:
        """Return g'(h) = 1 + tau."""
        return np.full_like(_floats(h), 1.0 + self.tau)

    def prox_bounds(self, z: Any, step: Any) -> tuple[Array, Array]:
        """Return the minimiser of the prox problem, twice: it is unique."""
        z, step = _floats(z), _floats(step)
        unique = np.maximum(z - step, 0.0) + np.minimum(z + self.tau * step, 0.0)
        return unique, unique.copy()

    def conjugate(self, slope: Any) -> Array:
        """Return 0 between -tau and 1, infinity outside."""
        slope = _floats(slope)
        return np.where((slope < -self.tau) | (slope > 1.0), np.inf, 0.0)


@register_loss
@dataclass(frozen=True)
class ZeroOne(Loss):
    """One for every sample inside the margin (``s > 0``), zero for the others.

    It counts violations of the *margin*, not of the decision boundary.

    Parameters
    ----------
    tolerance : float, default=1e-6
        A violation of at most this size is taken for rounding and costs nothing. Only `value` and
        `total` know of it; prox and subdifferential are those of the exact loss.

    Notes
    -----
    The prox with step κ jumps from 0 to z at z = sqrt(2κ), where both are minimisers; `prox`
    returns 0. At s = 0 every slope t >= 0 is a subgradient, and s = 0 solves the prox problem at
    κ t exactly for κ <= 2/t². Elsewhere the only subgradient is 0, and s > 0 solves its prox
    problem for κ <= s²/2.
    """

    tolerance: float = 1e-6

    abilities = frozenset({"prox"})

    def __post_init__(self) -> None:
        object.__setattr__(self, "tolerance", float(self.tolerance))
        if not 0.0 <= self.tolerance < 1.0:
            raise ValueError(f"tolerance must be in [0, 1), got {self.tolerance!r}.")

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
        s = _floats(s)
        return np.asarray((s > self.tolerance).astype(s.dtype))

    def subdifferential(self, s: Any) -> tuple[Array, Array]:
        """Return the ends of the subdifferential: all slopes >= 0 at ``s = 0``, else 0."""
        s = _floats(s)
        return np.zeros_like(s), np.where(s == 0.0, np.inf, 0.0).astype(s.dtype)

    def prox_bounds(self, z: Any, step: Any) -> tuple[Array, Array]:
        """Return the smallest and the largest minimiser of the prox problem."""
        z = _floats(z)
        jump = np.sqrt(2.0 * _floats(step))
        low = np.where((z > 0.0) & (z <= jump), 0.0, z)
        return low, np.where((z > 0.0) & (z < jump), 0.0, z)

    def largest_step(self, s: Any, slope: Any) -> Array:
        """Return the largest step for which `s` solves the prox problem at ``s + step * slope``."""
        s, slope = _floats(s), _floats(slope)
        with np.errstate(divide="ignore"):
            at_zero = 2.0 / np.square(slope)
        return np.where(s < 0.0, np.inf, np.where(s == 0.0, at_zero, 0.5 * s**2))

    def reference_step(self, s: Any, slope: Any) -> Array:
        """Return `unit_step`, or half of the largest step where that is less.

        A sample with a multiplier is taken to be on the margin, but for rounding.
        """
        s, slope = _floats(s), _floats(slope)
        half = 0.5 * self.largest_step(np.where(slope > 0.0, 0.0, s), slope)
        return np.clip(half, np.finfo(np.float64).tiny, self.unit_step)


class SmoothLoss(ABC):
    """A smooth loss of violations ``u >= 0``, which may depend on the label y in {-1, 1}."""

    @abstractmethod
    def __call__(self, u: Array, y: Array) -> tuple[Array, Array, Array]:
        """Return the loss, and its first and second derivative in u."""


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

    a: float
    lam: float

    def __call__(self, u: Array, y: Array) -> tuple[Array, Array, Array]:
        """Return the loss, its slope and its curvature; the labels do not matter."""
        steep, decay = 2.0 + self.a * u, np.exp(-self.a * u)
        below = decay + self.lam * u * u
        falling = 2.0 * self.lam * u - self.a * decay
        bend = 2.0 - (self.a * u) ** 2 - 2.0 * u * steep * falling / below
        return u * u / below, u * steep * decay / below**2, decay * bend / below**2


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

    a: float
    b: float
    lam: float

    def __call__(self, u: Array, y: Array) -> tuple[Array, Array, Array]:
        """Return the loss, its slope and its curvature."""
        power, scale = self.a * y * u, self.lam * self.b
        # e^(a t), 1 and the denominator, all of them over max(e^(a t), 1).
        decay, rise = np.exp(-np.maximum(power, 0.0)), np.exp(np.minimum(power, 0.0))
        below = scale * rise + (1.0 - scale * (power + 1.0)) * decay
        # Near zero the difference would lose digits; its Taylor series does not.
        series = 1.0 + power / 4.0 * (1.0 + power / 5.0 * (1.0 + power / 6.0))
        series = 0.5 * power**2 * (1.0 + power / 3.0 * series) * decay
        excess = np.where(np.abs(power) < 1e-2, series, rise - (power + 1.0) * decay)
        slope = self.a * self.b * (rise - decay)
        bend = self.a**2 * self.b * rise - 2.0 * self.lam * slope**2 / below
        return self.b * excess / below, y * slope * decay / below**2, bend * decay / below**2


def _floats(values: Any) -> Array:
    """Return `values` as a float array, keeping float32."""
    array = np.asarray(values)
    return array if np.issubdtype(array.dtype, np.floating) else array.astype(np.float64)
