"""Certificates of problems of several views: a duality gap, or a gradient that all but vanishes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from htsvm.extend import Certificate, WithDuality


@dataclass(frozen=True, eq=False, kw_only=True)
class GapCertificate(WithDuality):
    """How far a convex objective can be above its minimum, for coupled problems of several views.

    Attributes
    ----------
    weight_change : float
        How far learned view weights are from those that suit the classifiers best; 0 where none
        are learned. With them, objective and gap are those for the final weights.
    """

    weight_change: float = 0.0
    _claim = "optimal"
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
    stationarity : float
        The norm of the gradient in the coefficients of all views, relative to its two parts: that
        of the regulariser and that of the losses.
    balance : float
        The largest derivative in an intercept, relative to the sum of the slopes of the losses.
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
        lines = [
            ("  stationarity", f"{self.stationarity:.2e}"),
            ("  balance", f"{self.balance:.2e}"),
        ]
        if not math.isnan(self.curvature):
            lines.append(("  curvature", f"{self.curvature:.3g}"))
        return lines
