"""The certificate of a multi-class point, from the data and the point alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import Quadratic, as_operator
from htsvm.linalg.products import pull, scores
from htsvm.losses import Loss, require
from htsvm.optimality.partition import SampleStatus, sample_status


@dataclass(frozen=True, eq=False)
class JointCertificate:
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


def certify_joint(
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
) -> JointCertificate:
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
        B; see `JointCertificate`.
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
    JointCertificate
        The residuals, the objectives, and what became of the samples.
    """
    require(loss, ("profile",), "certify_joint")
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
    point = _Point(y, B, C * weight, loss, C, fit_intercept)
    levels = scores(operator, W, b)
    levels += 1.0
    levels[point.places, y] -= 1.0
    q, held, target = point.multipliers(levels)
    RW = np.vstack([R.dot(w) for w in W])
    X_B = pull(operator, B)
    energy = 0.5 * float(np.vdot(W, RW))
    size = 1.0 + float(np.linalg.norm(W))
    support = np.any(B != 0.0, axis=1)
    mass = float(weight[support].sum())
    status = point.status(q, target)
    return JointCertificate(
        stationarity=float(np.linalg.norm(RW - X_B)) / size,
        balance=float(np.linalg.norm(B.sum(axis=0))) / (1.0 + mass) if fit_intercept else 0.0,
        complementarity=point.complementarity(q, held, target),
        objective=energy + float(point.penalty @ loss.profile(np.maximum(q, 0.0))),
        trivial_objective=point.trivial_objective(k),
        duality_gap=point.duality_gap(operator, W, q, held, energy, R),
        n_support=int(np.count_nonzero(support)),
        tol=tol,
        rounding_floor=point.rounding_floor(operator.row_length, size),
        counts=_counts(status[weight > 0.0]),
        sample_status=status,
    )


class _Point:
    """The samples of a point and their multipliers."""

    def __init__(
        self, y: Array, B: Array, penalty: Array, loss: Loss, C: float, fit_intercept: bool
    ) -> None:
        self.y = y
        self.B = B
        self.penalty = penalty
        self.loss = loss
        self.C = C
        self.fit_intercept = fit_intercept
        self.places = np.arange(len(y))
        rho = loss.weak_convexity if "prox" in loss.abilities else 0.0
        self.nu = 0.5 / rho if 0.0 < rho < math.inf else 1.0

    def multipliers(self, levels: Array) -> tuple[Array, Array, Array]:
        """Return the violations, the multipliers, and where a step along the levels takes them."""
        rivals = levels.copy()
        rivals[self.places, self.y] = -np.inf
        q: Array = rivals.max(axis=1) - levels[self.places, self.y]
        c = self.penalty * self.loss.profile_slope(np.maximum(q, 0.0))
        held = -self.B
        held[self.places, self.y] = 0.0
        held[self.places, self.y] = c - held.sum(axis=1)
        return q, held, _onto_simplex(held + (self.penalty / self.nu)[:, None] * levels, c)

    def complementarity(self, q: Array, held: Array, target: Array) -> float:
        """Return the distance between multipliers and target, relative to that of q from zero."""
        kept = self.penalty > 0.0
        moved = np.square(target[kept] - held[kept]).sum(axis=1) / self.penalty[kept]
        size = math.sqrt(float(self.penalty @ np.square(q)) / self.C)
        stray = float(np.abs(self.B[~kept]).sum())
        return self.nu * math.sqrt(float(moved.sum()) / self.C) / (1.0 + size) + stray

    def status(self, q: Array, target: Array) -> Array:
        """Return the `SampleStatus`; who holds the margin is read off the multipliers."""
        own = target[self.places, self.y]
        on_margin = (own > 0.0) & (np.count_nonzero(target, axis=1) > 1)
        return sample_status(np.where(on_margin, 0.0, q), self.loss, 0.0)

    def trivial_objective(self, k: int) -> float:
        """Return the least objective with W = 0: all scores equal, or one class ahead by one."""
        total = float(self.penalty.sum())
        equal = float(self.loss.profile(1.0)) * total
        if not self.fit_intercept:
            return equal
        most = float(np.bincount(self.y, weights=self.penalty, minlength=k).max())
        return min(equal, float(self.loss.profile(2.0)) * (total - most))

    def duality_gap(
        self, operator: Any, W: Array, q: Array, held: Array, energy: float, R: Quadratic
    ) -> float:
        """Return the gap between the convex majoriser at the point and its dual at B.

        Multipliers outside their simplex are scaled back, and those of free intercepts balanced,
        before the dual is evaluated: it is a bound only at feasible points.
        """
        if R.is_matrix or not R.positive:
            return math.nan
        c = self.penalty * self.loss.profile_slope(np.maximum(q, 0.0))
        a = np.maximum(held, 0.0)
        a[self.places, self.y] = 0.0
        total = a.sum(axis=1)
        factor = np.ones(len(c))
        np.divide(c, total, out=factor, where=total > c)
        a *= factor[:, None]
        if self.fit_intercept and not _balance(a, self.y):
            return math.nan
        B = -a
        B[self.places, self.y] = a.sum(axis=1)
        P = pull(operator, B)
        dual = float(a.sum()) - 0.5 * float(np.vdot(P, P / R.values))
        return energy + float(c @ np.maximum(q, 0.0)) - dual

    def rounding_floor(self, row_length: float, size: float) -> float:
        """Estimate the residual that rounding alone causes."""
        eps = float(np.finfo(np.float64).eps)
        pulled = float(np.abs(self.B).sum()) * row_length
        return (8.0 + math.sqrt(len(self.y))) * eps * max(pulled / size, row_length * size)


def _onto_simplex(V: Array, c: Array) -> Array:
    """Return the projection of each row of V onto the simplex of size c (zero where c is)."""
    ordered = -np.sort(-V, axis=1)
    excess = np.cumsum(ordered, axis=1) - c[:, None]
    level = np.max(excess / np.arange(1, V.shape[1] + 1), axis=1)
    projected: Array = np.maximum(V - level[:, None], 0.0)
    projected[c <= 0.0] = 0.0
    return projected


def _balance(a: Array, y: Array) -> bool:
    """Lower multipliers a (of rivals) in place until every class is pulled up as much as down.

    What class j pulls too much and class l too little is taken off the multipliers of l in the
    samples of j. False if there is not enough of them.
    """
    k = a.shape[1]
    flow = np.zeros((k, k))
    np.add.at(flow, y, a)
    excess = flow.sum(axis=1) - flow.sum(axis=0)
    keep = np.ones((k, k))
    for j in np.flatnonzero(excess > 0.0):
        for low in np.flatnonzero(excess < 0.0):
            taken = min(excess[j], -excess[low], flow[j, low])
            if taken > 0.0:
                keep[j, low] -= taken / flow[j, low]
                excess[j] -= taken
                excess[low] += taken
    a *= keep[y]
    return bool(np.abs(excess).max(initial=0.0) <= 1e-12 * max(float(flow.sum()), 1.0))


def _counts(status: Array) -> dict[str, int]:
    numbers = np.bincount(status, minlength=len(SampleStatus))
    return {kind.name.lower(): int(numbers[kind]) for kind in SampleStatus}
