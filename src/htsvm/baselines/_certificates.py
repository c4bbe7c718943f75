"""What shows that a baseline has solved its problem."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GapCertificate:
    """How far a convex objective can be above its minimum.

    Attributes
    ----------
    objective, bound : float
        The objective, and a lower bound of its minimum from the dual problem.
    weight_change : float
        How far learned view weights are from those that suit the classifiers best; 0 where none
        are learned. With them, objective and bound are those for the final weights.
    tol : float
        The tolerance asked for.
    """

    objective: float
    bound: float
    tol: float
    weight_change: float = 0.0

    @property
    def gap(self) -> float:
        """The duality gap."""
        return max(self.objective - self.bound, 0.0)

    @property
    def residual(self) -> float:
        """The relative duality gap, or `weight_change` where that is larger."""
        size = max(abs(self.objective), 1e-300)
        return max(self.gap / size, self.weight_change)

    @property
    def certified(self) -> bool:
        """Whether the residual is within the tolerance."""
        return self.residual <= self.tol


@dataclass(frozen=True)
class GradientCertificate:
    """How nearly the gradient of a smooth objective vanishes.

    Attributes
    ----------
    stationarity : float
        The norm of the gradient in the coefficients of all views, over 1 plus their norm.
    balance : float
        The largest derivative in an intercept, over 1 plus the total weight of the samples.
    objective, trivial_objective : float
        The objective, and that of the best constant classifiers (NaN where it was not computed).
    curvature : float
        The smallest eigenvalue of the Hessian; positive values show a strict local minimiser. NaN
        where it was not computed.
    weight_change : float
        How far learned view weights are from those that suit the classifiers best.
    tol : float
        The tolerance asked for.
    """

    stationarity: float
    balance: float
    objective: float
    tol: float
    trivial_objective: float = float("nan")
    curvature: float = float("nan")
    weight_change: float = 0.0

    @property
    def residual(self) -> float:
        """The largest of stationarity, balance and weight_change."""
        return max(self.stationarity, self.balance, self.weight_change)

    @property
    def certified(self) -> bool:
        """Whether the residual is within the tolerance."""
        return self.residual <= self.tol
