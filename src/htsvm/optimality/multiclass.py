"""The certificate of a multi-class point, from the data and the point alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import Operator, Quadratic, as_operator
from htsvm.linalg.simplex import project_to_simplex
from htsvm.linalg.threads import single_threaded_blas
from htsvm.losses import Loss, require
from htsvm.optimality import residuals
from htsvm.optimality.certificate import PointCertificate
from htsvm.optimality.status import SampleStatus, sample_status


@dataclass(frozen=True, eq=False, kw_only=True)
class MulticlassCertificate(PointCertificate):
    r"""What is known of a point (W, b, B) of the multi-class problem.

    A point is stationary if ``R W' = X' B`` and the columns of B sum to zero, where the pull B_i
    of sample i is ``sum_j a_j (e_{y_i} - e_j)`` with multipliers a in the simplex of size
    ``C weight_i g'(h_i)`` that are zero for all classes below the highest level
    ``f_j + [j != y_i]``.

    Attributes
    ----------
    stationarity : float
        ``||R W' - X' B|| / (||R W'|| + ||X' B||)``, with free intercepts for rows less their mean,
        weighted by the sizes of the multipliers: it does not change where all rows are moved.
    balance : float
        ``||sum_i B_i|| / sum_i ||B_i||_1``; 0 without intercepts.
    prox_residual : float
        The root mean square distance of the multipliers from their projection after a step along
        the levels, in units of violations, relative to that of ``(1, q)``; zero if they are where
        they belong. What samples without weight pull is added.

    Notes
    -----
    See `Certificate` and `PointCertificate` for the attributes that all certificates have.
    """


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
    with single_threaded_blas():
        point = MulticlassPoint(operator, y, W, b, B, C * weight, C, loss)
        summary, status = point.summarise()
        certificate = conclude_multiclass(
            W, summary, point.dual_sums,
            loss=loss, regularizer=R, fit_intercept=fit_intercept, tol=tol,
            row_length=operator.row_length,
        )  # fmt: skip
    return replace(certificate, sample_status=status)


def conclude_multiclass(
    W: Array,
    summary: MulticlassSummary,
    dual_sums: Callable[[Array], tuple[Array, float]],
    *,
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
    energy = sum(regularizer.energy(w) for w in W)
    pull = summary.centred_pull if fit_intercept else summary.pull
    unit = regularizer.length(RW) + regularizer.length(pull)
    gross = summary.gross * row_length
    pulled = max(gross, residuals.pull_of(energy + summary.loss, regularizer))
    square_errors = step_length(loss) ** 2 * summary.square_errors
    stray = summary.stray / summary.gross if summary.gross > 0.0 else 0.0
    balance = float(np.linalg.norm(summary.totals)) if fit_intercept else 0.0
    return MulticlassCertificate(
        stationarity=residuals.of_gradient(RW, pull, pulled, regularizer),
        balance=residuals.balance(balance, summary.gross),
        prox_residual=residuals.violation(square_errors, summary.square_size) + stray,
        objective=energy + summary.loss,
        trivial_objective=_trivial_objective(summary.class_penalty, loss, fit_intercept),
        duality_gap=_duality_gap(RW, summary, dual_sums, regularizer, fit_intercept),
        convex=math.isinf(loss.cap),
        n_support=int(summary.support),
        tol=tol,
        rounding_floor=residuals.rounding_floor(
            summary.rows, gross, unit, row_length * float(np.linalg.norm(W)),
            summary.class_penalty, summary.square_size, summary.gross, energy + summary.loss,
        ),
        counts={kind.name.lower(): int(summary.counts[kind]) for kind in SampleStatus},
    )  # fmt: skip


def _trivial_objective(class_penalty: Array, loss: Loss, fit_intercept: bool) -> float:
    """Return the least objective with W = 0: all scores equal, or one class ahead by one."""
    equal = float(loss.profile(1.0)) * float(class_penalty.sum())
    if not fit_intercept:
        return equal
    return min(equal, float(loss.profile(2.0)) * float(np.sort(class_penalty)[:-1].sum()))


def _duality_gap(
    RW: Array,
    summary: MulticlassSummary,
    dual_sums: Callable[[Array], tuple[Array, float]],
    R: Quadratic,
    fit_intercept: bool,
) -> float:
    """Return the gap between the convex majoriser at the point and its dual at B.

    Multipliers outside their simplex are scaled back, and those of free intercepts balanced,
    before the dual is evaluated: it is a bound only at feasible points. As in `duality`, the gap
    is a sum of terms that are not negative.
    """
    keep = balanced_flow(summary.flow) if fit_intercept else np.ones_like(summary.flow)
    pulls, value = dual_sums(keep)
    return max(R.inverse_energy(RW - pulls) + summary.convex_loss - value, 0.0)


def balanced_flow(flow: Array) -> Array:
    """Return by which factors multipliers are lowered so that each class is pulled up as down.

    ``flow[j, l]`` is the sum of the multipliers of l in the samples of class j. What class j pulls
    too much and class l too little is taken off, along the way from j to l that gives the most.
    All factors are zero if there is not enough of that.
    """
    kept = flow.copy()
    excess = kept.sum(axis=1) - kept.sum(axis=0)
    small = 1e-12 * float(flow.sum())
    for _ in range(4 * len(flow) ** 2):
        j, low = int(excess.argmax()), int(excess.argmin())
        if excess[j] <= small or excess[low] >= -small:
            break
        path = widest_path(kept, j, low)
        if len(path) < 2:
            return np.zeros_like(flow)
        taken = min(excess[j], -excess[low], float(kept[path[:-1], path[1:]].min()))
        kept[path[:-1], path[1:]] -= taken
        excess[j] -= taken
        excess[low] += taken
    if np.abs(excess).max(initial=0.0) > len(flow) * small:
        return np.zeros_like(flow)
    return np.divide(kept, flow, out=np.ones_like(flow), where=flow > 0.0)


def widest_path(flow: Array, first: int, last: int) -> Array:
    """Return the classes on the way from one to another along which most can be taken off.

    Directly, or by way of the one class that lets most through; only where neither lets anything
    through, by way of several. Of length one if there is no way.
    """
    through = np.minimum(flow[first], flow[:, last])
    through[[first, last]] = flow[first, last]
    by = int(through.argmax())
    if through[by] > 0.0:
        return np.array([first, last] if by in (first, last) else [first, by, last])
    width, before = flow[first].copy(), np.full(len(flow), first)
    width[first] = np.inf
    left = np.arange(len(flow)) != first
    while left[last]:
        at = int(np.argmax(np.where(left, width, -np.inf)))
        if not width[at] > 0.0:
            return np.array([first])
        left[at] = False
        wider = np.minimum(width[at], flow[at])
        better = left & (wider > width)
        width[better], before[better] = wider[better], at
    path = [last]
    while path[-1] != first:
        path.append(int(before[path[-1]]))
    return np.array(path[::-1])


@dataclass(frozen=True, eq=False)
class MulticlassSummary:
    """Sums over samples at a point (W, b, B).

    Attributes
    ----------
    pull, totals : ndarray of shape (k, n) and (k,)
        ``B' X`` and the column sums of B.
    gross_pull : ndarray of shape (n,)
        The sum of the rows times the sizes of their B.
    support, gross : float
        The number of samples that pull, and the sum of the sizes of B.
    square_errors, square_size : float
        What `residuals.violation` takes, but for the square of the step along the levels.
    stray : float
        What samples without penalty pull.
    loss, convex_loss : float
        The totals of the loss, and of the linear bound that touches it here.
    class_penalty : ndarray of shape (k,)
        The sums of the penalties of each class.
    flow : ndarray of shape (k, k)
        The sum of the (feasible) multipliers of class l in the samples of class j.
    counts : ndarray
        Samples of positive weight per status.
    rows : int
        The number of samples.
    """

    pull: Array
    totals: Array
    gross_pull: Array
    support: float
    gross: float
    square_errors: float
    square_size: float
    stray: float
    loss: float
    convex_loss: float
    class_penalty: Array
    flow: Array
    counts: Array
    rows: int

    @property
    def centred_pull(self) -> Array:
        """The pull of rows less their mean, weighted by the sizes of B."""
        if not self.gross > 0.0:
            return self.pull
        centred: Array = self.pull - np.outer(self.totals, self.gross_pull / self.gross)
        return centred


def merge_multiclass(parts: Sequence[MulticlassSummary]) -> MulticlassSummary:
    """Return the summary of all samples from those of disjoint sets of them."""
    totals: dict[str, Any] = {
        f.name: sum(getattr(part, f.name) for part in parts) for f in fields(MulticlassSummary)
    }
    return MulticlassSummary(**totals)


def step_length(loss: Loss) -> float:
    """Return the step along the levels that the prox residual takes."""
    rho = loss.weak_convexity if "prox" in loss.abilities else 0.0
    return 0.5 / rho if 0.0 < rho < math.inf else 1.0


class MulticlassPoint:
    """Samples and their multipliers at a point.

    Parameters
    ----------
    operator : Operator
        The rows.
    y, W, b, B, penalty, C, loss
        As in `certify_multiclass`, with C times the weight of each sample.
    """

    def __init__(
        self,
        operator: Operator,
        y: Array,
        W: Array,
        b: Array,
        B: Array,
        penalty: Array,
        C: float,
        loss: Loss,
    ) -> None:
        self.operator, self.y, self.B = operator, y, B
        self.penalty, self.C, self.loss = penalty, C, loss
        self.places, self.k = np.arange(len(y)), len(W)
        self.levels = levels = operator.scores(W, b)
        levels += 1.0
        levels[self.places, y] -= 1.0
        rivals = levels.copy()
        rivals[self.places, y] = -np.inf
        self.q: Array = rivals.max(axis=1) - levels[self.places, y]
        self.c = penalty * loss.profile_slope(np.maximum(self.q, 0.0))
        self.held = -B
        self.held[self.places, y] = 0.0
        rivals = self.held.sum(axis=1)
        self.held[self.places, y] = self.c - rivals
        # Where the loss bends, the convex problem of the duality gap touches it where the
        # multipliers are its slopes.
        top = float(loss.profile_slope(0.0)) * penalty
        bent = self.q > loss.curved_interval[0]
        self.weights = np.where(bent, np.clip(rivals, 0.0, top), self.c)
        steps = (penalty / step_length(loss))[:, None]
        self.target = project_to_simplex(self.held + steps * levels, self.c)

    def summarise(self) -> tuple[MulticlassSummary, Array]:
        """Return the sums, and the status of each sample."""
        support = np.any(self.B != 0.0, axis=1)
        kept = self.penalty > 0.0
        moved = np.square(self.target[kept] - self.held[kept]).sum(axis=1) / self.penalty[kept]
        status = self.status()
        flow = np.zeros((self.k, self.k))
        np.add.at(flow, self.y, self._feasible())
        sizes = np.abs(self.B).sum(axis=1)
        pulls = self.operator.pull(np.column_stack([self.B, sizes]))
        summary = MulticlassSummary(
            pull=pulls[:-1],
            totals=self.B.sum(axis=0),
            gross_pull=pulls[-1],
            support=int(np.count_nonzero(support)),
            gross=float(sizes.sum()),
            square_errors=float(moved.sum()),
            square_size=float(self.penalty @ (1.0 + np.square(self.q))),
            stray=float(np.abs(self.B[~kept]).sum()),
            loss=float(self.penalty @ self.loss.profile(np.maximum(self.q, 0.0))),
            convex_loss=float(self.weights @ np.maximum(self.q, 0.0)),
            class_penalty=np.bincount(self.y, weights=self.penalty, minlength=self.k),
            flow=flow,
            counts=np.bincount(status[kept], minlength=len(SampleStatus)),
            rows=len(self.y),
        )
        return summary, status

    def status(self) -> Array:
        """Return the `SampleStatus`; who holds the margin is read off the multipliers."""
        own = self.target[self.places, self.y]
        on_margin = (own > 0.0) & (np.count_nonzero(self.target, axis=1) > 1)
        return sample_status(np.where(on_margin, 0.0, self.q), self.loss, 0.0)

    def dual_sums(self, keep: Array) -> tuple[Array, float]:
        """Return ``B' X`` for feasible multipliers a, lowered by the factors `keep`, and ``a'v``.

        ``keep[j, l]`` belongs to the multipliers of class l in the samples of class j, and v is
        how far a rival's level is above that of the own class.
        """
        a = self._feasible() * keep[self.y]
        above = self.levels - self.levels[self.places, self.y][:, None]
        value = float(np.vdot(a, above))
        B = -a
        B[self.places, self.y] = a.sum(axis=1)
        return self.operator.pull(B), value

    def _feasible(self) -> Array:
        """Return the multipliers of rivals, scaled back where they exceed their simplex."""
        a = np.maximum(self.held, 0.0)
        a[self.places, self.y] = 0.0
        total = a.sum(axis=1)
        factor = np.ones(len(total))
        np.divide(self.weights, total, out=factor, where=total > self.weights)
        a *= factor[:, None]
        return a
