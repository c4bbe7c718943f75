"""Certificates of problems of several views: a duality gap, or a gradient that all but vanishes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from htsvm.extend import Certificate


@dataclass(frozen=True, eq=False, kw_only=True)
class GapCertificate(Certificate):
    """How far a convex objective can be above its minimum, for coupled problems of several views.

    Attributes
    ----------
    weight_change : float
        How far learned view weights are from those that suit the classifiers best.
    """

    weight_change: float = 0.0
    _claim = "optimal"
    # What the residual is, in words.
    kind = "relative duality gap"

    @property
    def residual(self) -> float:
        """The relative duality gap, or `weight_change` where that is larger."""
        return max(self.relative_duality_gap, self.weight_change)


@dataclass(frozen=True, eq=False, kw_only=True)
class GradientCertificate(Certificate):
    """How nearly the gradient of a smooth objective vanishes.

    Attributes
    ----------
    stationarity, balance : float
        The norm of the gradient in all coefficients, relative to its two parts; and the largest
        derivative in an intercept, relative to the sum of the slopes of the losses.
    curvature : float
        The smallest eigenvalue of the Hessian; positive values show a strict local minimiser. NaN
        where it was not computed.
    weight_change : float
        How far learned view weights are from those that suit the classifiers best.
    """

    stationarity: float
    balance: float
    curvature: float = math.nan
    weight_change: float = 0.0
    kind = "residual of the gradient"

    @property
    def residual(self) -> float:
        """The largest of stationarity, balance and weight_change."""
        return max(self.stationarity, self.balance, self.weight_change)

    def _measures(self) -> list[tuple[str, str]]:
        known = [] if math.isnan(self.curvature) else [("  curvature", f"{self.curvature:.3g}")]
        residuals = ("stationarity", self.stationarity), ("balance", self.balance)
        return [*((f"  {name}", f"{value:.2e}") for name, value in residuals), *known]
