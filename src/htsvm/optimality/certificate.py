"""What every certificate has: a residual, a tolerance, a verdict, and how it prints."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from functools import singledispatch
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.optimality.residuals import LARGEST_FLOOR

CANNOT = (
    "cannot be certified in floating point: rounding alone may cause a residual of {:.1e}; scale "
    "the features (StandardScaler, MaxAbsScaler) and the weights to similar ranges"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Certificate(ABC):
    """What is known of a point, computed from the data and the point alone.

    Attributes
    ----------
    objective : float
        The objective at the point.
    tol : float
        The residual up to which the point is certified.
    trivial_objective, convex_objective : float
        The objective of the best constant classifier, and at the solution of the convex start;
        NaN where it was not computed.
    duality_gap : float
        The objective less a lower bound of its minimum, from the dual of the problem. For a loss
        that is not convex both are those of the convex problem that touches it at the point. NaN
        where there is no bound.
    n_support : int
        Samples with a multiplier; -1 where multipliers play no part.
    rounding_floor : float
        The residual that floating point alone may cause.
    notes : tuple of str
        Why a verdict is missing, and the like.
    """

    objective: float
    tol: float
    trivial_objective: float = math.nan
    convex_objective: float = math.nan
    duality_gap: float = math.nan
    n_support: int = -1
    rounding_floor: float = 0.0
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        note = self.rounding_note
        if note and note not in self.notes:
            object.__setattr__(self, "notes", (*self.notes, note))

    @property
    def rounding_note(self) -> str:
        """What to do where rounding alone keeps the point from being certified; else empty."""
        refused = not self.certified and self.rounding_floor > self.threshold
        return CANNOT.format(self.rounding_floor) if refused else ""

    @property
    @abstractmethod
    def residual(self) -> float:
        """How far the point is from being a solution, free of any scale."""

    @property
    def relative_duality_gap(self) -> float:
        """The duality gap as a share of the objective."""
        return self.duality_gap / self.objective if self.objective > 0.0 else self.duality_gap

    @property
    def threshold(self) -> float:
        """The largest residual that is certified: `tol`, or what rounding excuses, up to 1e-6."""
        return max(self.tol, min(self.rounding_floor, LARGEST_FLOOR))

    @property
    def certified(self) -> bool:
        """Whether the residual is within the threshold."""
        return self.residual <= self.threshold

    def to_dict(self) -> dict[str, Any]:
        """Return everything but arrays, with `certified` and `residual`, ready for JSON."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        plain = {name: v for name, v in values.items() if not isinstance(v, np.ndarray)}
        plain["notes"] = list(self.notes)
        return {"certified": self.certified, "residual": self.residual, **plain}

    def __str__(self) -> str:
        lines = [*self._verdict(), *self._measures(), ("objective", f"{self.objective:.8g}")]
        if not math.isnan(self.trivial_objective):
            lines.append(("  constant classifier", f"{self.trivial_objective:.8g}"))
        if not math.isnan(self.convex_objective):
            lines.append(("  convex start", f"{self.convex_objective:.8g}"))
        if not math.isnan(self.duality_gap):
            share = f"{self.duality_gap:.2e}  ({self.relative_duality_gap:.1e} of the objective)"
            lines.append(("  duality gap", share))
        if self.n_support >= 0:
            lines.append(("support vectors", f"{self.n_support}"))
        lines += [*self._samples(), *(("note", note) for note in self.notes)]
        width = max(len(name) for name, _ in lines)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in lines)

    def _verdict(self) -> list[tuple[str, str]]:
        verdict = f"certified (residual {self.residual:.1e} <= {self.threshold:.1e})"
        refused = f"NOT certified (residual {self.residual:.1e} > {self.threshold:.1e})"
        return [(self._claim, verdict if self.certified else refused)]

    _claim = "stationary"

    def _measures(self) -> list[tuple[str, str]]:
        """Return what the residual is made of."""
        return []

    def _samples(self) -> list[tuple[str, str]]:
        """Return what became of the samples."""
        return []


@dataclass(frozen=True, eq=False, kw_only=True)
class PointCertificate(Certificate):
    """The certificate of a point with a multiplier per sample: of two classes, or of several.

    Attributes
    ----------
    stationarity, balance, prox_residual : float
        The residuals of the gradient in the weights, of that in the intercepts, and of the
        multipliers.
    convex : bool
        Whether the loss is convex. Then the residual is the relative duality gap.
    counts : dict
        The number of samples of positive weight per `SampleStatus`, by its lower-case name.
    sample_status : ndarray of int8 or None
        The `SampleStatus` of each sample.
    escape_direction : ndarray of shape (n + 1,) or None
        For a binary point that is no local minimiser: (dw, db) along which the objective falls to
        second order.
    """

    stationarity: float
    balance: float
    prox_residual: float
    convex: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    sample_status: Array | None = None
    escape_direction: Array | None = None

    @property
    def residual(self) -> float:
        """The relative duality gap; if the loss is not convex, the largest of all residuals."""
        gap = self.relative_duality_gap
        if self.convex and not math.isnan(gap):
            return gap
        return max(self.stationarity, self.balance, self.prox_residual, gap if gap > 0.0 else 0.0)

    def _measures(self) -> list[tuple[str, str]]:
        return [
            ("  stationarity", f"{self.stationarity:.2e}"),
            ("  balance", f"{self.balance:.2e}"),
            ("  prox", f"{self.prox_residual:.2e}"),
        ]

    def _samples(self) -> list[tuple[str, str]]:
        return [(f"  {name.replace('_', ' ')}", str(k)) for name, k in self.counts.items()]


@singledispatch
def certify_problem(
    problem: Any, coef: Array, intercept: Any, multipliers: Any, tol: float
) -> Certificate:
    """Certify a point of `problem`, whatever its kind and wherever its rows are.

    Other kinds of problems register what does it for them.
    """
    raise TypeError(f"no certificate is known for problems of the type {type(problem).__name__}.")
