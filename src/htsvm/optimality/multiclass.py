"""The certificate of a multi-class point, from the data and the point alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import Quadratic, as_operator
from htsvm.losses import Loss, require
from htsvm.optimality._multiclass_summary import MulticlassPoint, MulticlassSummary, step_length
from htsvm.optimality.partition import SampleStatus


@dataclass(frozen=True, eq=False)
class MulticlassCertificate:
    r"""What is known of a point (W, b, B) of the multi-class problem.

    A point is stationary if ``R W' = X' B`` and the columns of B sum to zero, where the pull B_i
    of sample i is ``sum_j a_j (e_{y_i} - e_j)`` with multipliers a in the simplex of size
    ``C weight_i g'(h_i)`` that are zero for all classes below the highest level
    ``f_j + [j != y_i]``.

    Attributes
    ----------
    stationarity : float
        ``||R W' - X' B|| / (1 + ||W||)``.
    balance : float
        ``||sum_i B_i|| / (1 + |F|)``, F the samples that pull; 0 without intercepts.
    complementarity : float
        The distance of the multipliers from their projection after a step along the levels, in
        units of violations and relative to ``1 + ||q||``; zero if they are where they belong. A
        sample of weight k counts as k samples, here and in `balance`.
    objective, trivial_objective, convex_objective : float
        The objective here, at the best constant classifier, and at the solution of the convex
        start (NaN where nobody filled it in).
    duality_gap : float
        The objective of the convex majoriser that touches the loss here, less a lower bound of
        its minimum. For a convex loss, where the two are the same, no point is better by
        more than this. NaN where B admits no bound.
    n_support : int
        Samples that pull.
    counts : dict
        The number of samples of positive weight per `SampleStatus`, by its lower-case name.
    sample_status : ndarray of int8
        The `SampleStatus` of each sample.
    tol, rounding_floor : float
        The tolerance asked for, and the residual that floating point alone may cause.
    notes : tuple of str
        What else there is to say.
    """

    stationarity: float
    balance: float
    complementarity: float
    objective: float
    trivial_objective: float
    duality_gap: float
    n_support: int
    tol: float
    rounding_floor: float
    convex_objective: float = float("nan")
    counts: dict[str, int] = field(default_factory=dict)
    sample_status: Array | None = None
    notes: tuple[str, ...] = ()

    @property
    def residual(self) -> float:
        """The largest of the three residuals."""
        return max(self.stationarity, self.balance, self.complementarity)

    @property
    def certified(self) -> bool:
        """Whether the residual is within the tolerance, or as small as rounding allows."""
        return self.residual <= max(self.tol, self.rounding_floor)

    def __str__(self) -> str:
        verdict = f"certified (residual <= {max(self.tol, self.rounding_floor):.1e})"
        lines = [
            ("stationary", verdict if self.certified else f"NOT {verdict}"),
            ("  stationarity", f"{self.stationarity:.2e}"),
            ("  balance", f"{self.balance:.2e}"),
            ("  complementarity", f"{self.complementarity:.2e}"),
            ("objective", f"{self.objective:.8g}"),
            ("  constant classifier", f"{self.trivial_objective:.8g}"),
        ]
        if not math.isnan(self.convex_objective):
            lines.append(("  convex start", f"{self.convex_objective:.8g}"))
        lines.append(("duality gap", f"{self.duality_gap:.3g}"))
        lines.append(("support vectors", f"{self.n_support}"))
        lines += [(f"  {name.replace('_', ' ')}", str(k)) for name, k in self.counts.items()]
        lines += [("note", note) for note in self.notes]
        width = max(len(name) for name, _ in lines)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in lines)


def certify_multiclass(
    X: Any,
    labels: Any,
    coef: Any,
    intercept: Any,
    pulls: Any,
    *,
    C: float,
    loss: Loss,
    sample_weight: Any = None,
    regularizer: Any = None,
    fit_intercept: bool = True,
    tol: float = 1e-3,
) -> MulticlassCertificate:
    """Certify a point of the multi-class problem with one violation per sample.

    Parameters
    ----------
    X : array, sparse matrix or Operator
        The m x n data.
    labels : array of shape (m,)
        The class of each sample, as a row number of `coef`.
    coef, intercept : arrays of shape (k, n) and (k,)
        The point (W, b).
    pulls : array of shape (m, k)
        B; see `MulticlassCertificate`.
    C : float
        The penalty.
    loss : Loss
        The loss; it needs a concave profile.
    sample_weight : array of shape (m,), optional
        Factors of C.
    regularizer : None, float, array or Quadratic
        R; the identity by default.
    fit_intercept : bool, default=True
        Whether b is a variable.
    tol : float, default=1e-3
        The residual up to which the point counts as stationary.

    Returns
    -------
    MulticlassCertificate
        The residuals, the objectives, and what became of the samples.
    """
    require(loss, ("profile",), "certify_multiclass")
    operator = as_operator(X)
    m, n = operator.shape
    W = np.asarray(coef, dtype=np.float64)
    b = np.asarray(intercept, dtype=np.float64)
    B = np.asarray(pulls, dtype=np.float64)
    y = np.asarray(labels, dtype=np.intp)
    k = len(W)
    for name, array, shape in (
        ("coef", W, (k, n)), ("intercept", b, (k,)), ("pulls", B, (m, k)), ("labels", y, (m,)),
    ):  # fmt: skip
        if array.shape != shape:
            raise ValueError(f"{name} must have shape {shape}, got {array.shape}.")
    weight = np.ones(m) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    R = regularizer if isinstance(regularizer, Quadratic) else Quadratic(regularizer, n)
    point = MulticlassPoint(operator, y, W, b, B, C * weight, C, loss)
    summary, status = point.summarise()
    certificate = conclude_multiclass(
        W, summary, point.dual_sums,
        C=C, loss=loss, regularizer=R, fit_intercept=fit_intercept, tol=tol,
        row_length=operator.row_length,
    )  # fmt: skip
    return replace(certificate, sample_status=status)


def conclude_multiclass(
    W: Array,
    summary: MulticlassSummary,
    dual_sums: Callable[[Array], tuple[Array, float]],
    *,
    C: float,
    loss: Loss,
    regularizer: Quadratic,
    fit_intercept: bool,
    tol: float,
    row_length: float,
) -> MulticlassCertificate:
    """Return the certificate of a point whose samples are summed up.

    `dual_sums` gives the sums of `MulticlassPoint.dual_sums` over all samples.
    """
    RW = np.vstack([regularizer.dot(w) for w in W])
    energy = 0.5 * float(np.vdot(W, RW))
    size = 1.0 + float(np.linalg.norm(W))
    mass = summary.support_penalty / C
    length = 1.0 + math.sqrt(summary.square_norm / C)
    nu = step_length(loss)
    return MulticlassCertificate(
        stationarity=float(np.linalg.norm(RW - summary.pull)) / size,
        balance=float(np.linalg.norm(summary.totals)) / (1.0 + mass) if fit_intercept else 0.0,
        complementarity=nu * math.sqrt(summary.square_errors / C) / length + summary.stray,
        objective=energy + summary.loss,
        trivial_objective=_trivial_objective(summary.class_penalty, loss, fit_intercept),
        duality_gap=_duality_gap(energy, summary, dual_sums, regularizer, fit_intercept),
        n_support=int(summary.support),
        tol=tol,
        rounding_floor=_rounding_floor(summary, row_length, size),
        counts={kind.name.lower(): int(summary.counts[kind]) for kind in SampleStatus},
    )


def _trivial_objective(class_penalty: Array, loss: Loss, fit_intercept: bool) -> float:
    """Return the least objective with W = 0: all scores equal, or one class ahead by one."""
    total = float(class_penalty.sum())
    equal = float(loss.profile(1.0)) * total
    if not fit_intercept:
        return equal
    return min(equal, float(loss.profile(2.0)) * (total - float(class_penalty.max())))


def _duality_gap(
    energy: float,
    summary: MulticlassSummary,
    dual_sums: Callable[[Array], tuple[Array, float]],
    R: Quadratic,
    fit_intercept: bool,
) -> float:
    """Return the gap between the convex majoriser at the point and its dual at B.

    Multipliers outside their simplex are scaled back, and those of free intercepts balanced,
    before the dual is evaluated: it is a bound only at feasible points.
    """
    if R.is_matrix or not R.positive:
        return math.nan
    keep = _balance(summary.flow) if fit_intercept else np.ones_like(summary.flow)
    if keep is None:
        return math.nan
    P, total = dual_sums(keep)
    dual = total - 0.5 * float(np.vdot(P, P / R.values))
    return energy + summary.convex_loss - dual


def _balance(flow: Array) -> Array | None:
    """Return by which factors multipliers are lowered so that each class is pulled up as down.

    ``flow[j, l]`` is the sum of the multipliers of l in the samples of class j. What class j pulls
    too much and class l too little is taken off it. None if there is not enough of that.
    """
    excess = flow.sum(axis=1) - flow.sum(axis=0)
    keep = np.ones_like(flow)
    for j in np.flatnonzero(excess > 0.0):
        for low in np.flatnonzero(excess < 0.0):
            taken = min(excess[j], -excess[low], flow[j, low])
            if taken > 0.0:
                keep[j, low] -= taken / flow[j, low]
                excess[j] -= taken
                excess[low] += taken
    balanced = np.abs(excess).max(initial=0.0) <= 1e-12 * max(float(flow.sum()), 1.0)
    return keep if balanced else None


def _rounding_floor(summary: MulticlassSummary, row_length: float, size: float) -> float:
    """Estimate the residual that rounding alone causes."""
    eps = float(np.finfo(np.float64).eps)
    pulled = summary.pull_sum * row_length
    return (8.0 + math.sqrt(summary.rows)) * eps * max(pulled / size, row_length * size)
