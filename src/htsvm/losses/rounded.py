"""Smooth stand-ins of a loss, which Newton's method can minimise.

A loss ``g(max(s, 0)) - tilt * s`` has a kink at zero. `Rounded` puts a parabola in its place, and
`Sigmoid` a smooth step of the height of the cap in the place of the whole loss.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from htsvm._typing import Array
from htsvm.losses.base import Loss
from htsvm.losses.hybrid_truncated import HybridTruncated


class Rounded(NamedTuple):
    """A loss of slope `top` up to `knee`, flat from `cap` on, its kink rounded over the width.

    A `shift` of the violations moves the kink alone. Such shifts are the multipliers of an
    augmented Lagrangian: with ``psi = -penalty * slope`` as multipliers of ``q = 1 - y f(x)``, and
    q eliminated by the prox of the loss, what is left is this function.
    """

    top: float
    knee: float
    cap: float
    width: float
    tilt: float = 0.0

    @property
    def bend(self) -> float:
        """How fast the slope falls between knee and cap."""
        return self.top / (self.cap - self.knee) if self.cap < math.inf else 0.0

    def value_slope(self, q: Array, shift: Array | None = None) -> tuple[Array, Array]:
        """Return the values and the derivatives at the violations q."""
        kink = q if shift is None else q + shift
        share = np.clip((0.5 / self.width) * (kink + self.width), 0.0, 1.0)
        hinge = np.where(kink > self.width, kink, 0.5 * (kink + self.width) * share)
        past = np.clip(q - self.knee, 0.0, self.cap - self.knee) if self.bend else np.zeros_like(q)
        beyond = np.maximum(q - self.cap, 0.0)
        value: Array = self.top * (hinge - beyond) - 0.5 * self.bend * past * past - self.tilt * q
        slope: Array = self.top * share - self.bend * past - self.tilt
        return value, slope

    def curvature(self, q: Array, shift: Array | None = None) -> tuple[Array, Array]:
        """Return the positive and the negative part of the second derivatives."""
        kink = q if shift is None else q + shift
        up: Array = np.where(np.abs(kink) < self.width, 0.5 * self.top / self.width, 0.0)
        down: Array = np.where((q > self.knee) & (q < self.cap), self.bend, 0.0)
        return up, down

    def bends(self, q: Array, reach: float) -> Array:
        """Return which samples are within `reach` of where the slope may change."""
        kink: Array = np.abs(q) < 2.0 * self.width + reach
        return kink | ((q > self.knee - reach) & (q < self.cap + reach))


class Sigmoid(NamedTuple):
    """``height * (1 + u / sqrt(1 + u²)) / 2`` with ``u = (q - centre) / (2 * width)``."""

    height: float
    centre: float
    width: float

    def value_slope(self, q: Array, shift: Array | None = None) -> tuple[Array, Array]:
        """Return the values and the derivatives at the violations q."""
        u, root = self._scaled(q)
        value: Array = 0.5 * self.height * (1.0 + u * root)
        return value, (0.25 * self.height / self.width) * root**3

    def curvature(self, q: Array, shift: Array | None = None) -> tuple[Array, Array]:
        """Return the positive and the negative part of the second derivatives."""
        u, root = self._scaled(q)
        bent = (0.375 * self.height / self.width**2) * u * root**5
        return np.maximum(-bent, 0.0), np.maximum(bent, 0.0)

    def bends(self, q: Array, reach: float) -> Array:
        """Return that all samples matter."""
        return np.ones(len(q), dtype=bool)

    def _scaled(self, q: Array) -> tuple[Array, Array]:
        u = (0.5 / self.width) * (q - self.centre)
        return u, 1.0 / np.sqrt(1.0 + u * u)


Stage = Rounded | Sigmoid


def rounded(loss: Loss, width: float) -> Rounded:
    """Return a loss with its kink rounded over a width, or over what fits below the knee.

    In the place of a loss without a `slope_line` stands one near it, with a parabola below its cap.
    """
    line, factor = loss.slope_line, 1.0
    if line is None:
        near = loss.bent() or (HybridTruncated(cap=loss.cap), float(loss.profile_slope(0.0)))
        line, factor = near[0].slope_line or (1.0, 1.0, 0.0), near[1]
        factor = factor if loss.bent() else factor / line[0]
    top, start, fall = line
    if fall == 0.0:
        return Rounded(factor * top, math.inf, math.inf, width, loss.tilt)
    knee = (start - top) / fall
    return Rounded(factor * top, knee, start / fall, min(width, 0.5 * knee), loss.tilt)
