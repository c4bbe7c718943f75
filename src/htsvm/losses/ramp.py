"""The ramp loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.losses.base import Loss, as_floats, register
from htsvm.losses.hybrid_truncated import HybridTruncated, Truncated

# A loss near a ramp bends from so much before its kink to as much behind it, as a share.
BEND = 0.1


@register
@dataclass(frozen=True)
class Ramp(Truncated):
    """The hinge loss, cut off at a ceiling: ``min(max(s, 0), ceiling)``.

    Parameters
    ----------
    ceiling : float, default=2.0
        The largest loss; positive, ``inf`` is the hinge loss. In terms of Collobert et al.,
        who cut at a margin ``y f(x) = s``, this is 1 - s.

    Notes
    -----
    At a jump of the prox both ends are minimisers; `prox` returns the smaller one. The kink at the
    ceiling is concave: no step makes the prox single-valued everywhere, so the step of a
    stationarity test has to be smaller than the distance to the kink (`reference_step`).
    """

    ceiling: float = 2.0
    # As the knee of the hybrid loss goes to one, it becomes this one.
    knee = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "ceiling", float(self.ceiling))
        if not self.ceiling > 0.0:
            raise ValueError(
                f"ceiling must be positive (inf for no truncation), got {self.ceiling!r}."
            )

    @property
    def weak_convexity(self) -> float:
        """Infinite, because of the concave kink; zero without a ceiling."""
        return 0.0 if math.isinf(self.ceiling) else math.inf

    @property
    def cap(self) -> float:
        """The ceiling: beyond it a sample no longer pulls."""
        return self.ceiling

    @property
    def curved_interval(self) -> tuple[float, float]:
        """An empty interval at the kink."""
        return self.ceiling, self.ceiling

    @property
    def unit_step(self) -> float:
        """1, or the ceiling if that is smaller."""
        return min(1.0, self.ceiling)

    def stretched(self, factor: float) -> Ramp:
        """Return the ramp with its ceiling multiplied by `factor`."""
        return Ramp(self.ceiling * factor)

    @property
    def slope_line(self) -> tuple[float, float, float] | None:
        """A straight line without a ceiling, else none."""
        return (1.0, 1.0, 0.0) if math.isinf(self.ceiling) else None

    def bent(self) -> tuple[Loss, float] | None:
        """Return a hybrid truncated loss of the same height, and the factor that makes it so."""
        if math.isinf(self.ceiling):
            return None
        near = HybridTruncated((1.0 - BEND) / (1.0 + BEND), (1.0 + BEND) * self.ceiling)
        return near, 1.0 / near.slope

    def subdifferential(self, s: Any) -> tuple[Array, Array]:
        """Return the ends of the subdifferential, an interval at ``s = 0``.

        At the concave kink it is empty; the slope 0 beyond the kink is returned.
        """
        s = as_floats(s)
        pulls = s < self.ceiling
        low = ((s > 0.0) & pulls).astype(s.dtype)
        return low, ((s >= 0.0) & pulls).astype(s.dtype)

    def profile(self, h: Any) -> Array:
        """Return g(h) = min(h, ceiling)."""
        return np.minimum(as_floats(h), self.ceiling)

    def profile_slope(self, h: Any) -> Array:
        """Return g'(h): 1 below the ceiling, else 0."""
        h = as_floats(h)
        slope: Array = (h < self.ceiling).astype(h.dtype)
        return slope

    def reference_step(self, s: Any, slope: Any) -> Array:
        """Return `unit_step`, or the distance to the kink where that is less."""
        s = as_floats(s)
        step: Array = np.minimum(np.abs(s - self.ceiling), self.unit_step)
        return np.maximum(step, np.finfo(np.float64).tiny)
