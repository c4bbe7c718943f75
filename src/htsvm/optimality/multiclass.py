"""The certificate of a multi-class point, from the data and the point alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.simplex import project_to_simplex
from htsvm.linalg.threads import single_threaded_blas
from htsvm.losses import Loss
from htsvm.optimality import given
from htsvm.optimality.certificate import PointCertificate, certify_problem
from htsvm.optimality.status import SampleStatus, sample_status
from htsvm.optimality.summary import Summary
from htsvm.problems import MulticlassProblem


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
    C, sample_weight, regularizer, fit_intercept, tol
        As in `certify`.
    loss : Loss
        The loss; it needs a concave profile.

    Returns
    -------
    MulticlassCertificate
        The residuals, the objectives, and what became of the samples.
    """
    known = given.stated(
        "certify_multiclass", "profile", X, C, loss, sample_weight, regularizer, fit_intercept
    )
    m, n = known["operator"].shape
    W, b, B = (np.asarray(values, dtype=np.float64) for values in (coef, intercept, pulls))
    y, k = np.asarray(labels, dtype=np.intp), len(W)
    for name, array, shape in (
        ("coef", W, (k, n)), ("intercept", b, (k,)), ("pulls", B, (m, k)), ("labels", y, (m,)),
    ):  # fmt: skip
        if array.shape != shape:
            raise ValueError(f"{name} must have shape {shape}, got {array.shape}.")
    return _certify(MulticlassProblem(labels=y, n_classes=k, **known), W, b, B, tol)


@certify_problem.register
def _certify(
    problem: MulticlassProblem, coef: Array, intercept: Array, multipliers: Array, tol: float
) -> MulticlassCertificate:
    with single_threaded_blas():
        samples = MulticlassSamples(problem, coef, intercept, multipliers)
        found = conclude_multiclass(problem, coef, samples.summarise(), samples.dual_sums, tol)
    return replace(found, sample_status=samples.status)


def conclude_multiclass(
    problem: MulticlassProblem,
    W: Array,
    summary: Summary,
    dual_sums: Callable[[Array], tuple[Array, float]],
    tol: float,
) -> MulticlassCertificate:
    """Return the certificate of a point whose samples are summed up.

    `dual_sums` gives the sums of `MulticlassSamples.dual_sums` over all samples. The duality gap is
    that between the convex majoriser at the point and its dual at B. Multipliers outside their
    simplex are scaled back, and those of free intercepts balanced, before the dual is evaluated: it
    is a bound only at feasible points. As in `duality`, the gap is a sum of terms that are not
    negative.
    """
    R, dual, length = problem.regularizer, summary.dual, problem.operator.row_length
    keep = balanced_flow(dual.flow) if problem.fit_intercept else np.ones_like(dual.flow)
    pulls, value = dual_sums(keep)
    gap = R.inverse_energy(R.dot(W) - pulls) + dual.convex_loss - value
    size, rows = length * float(np.linalg.norm(W)), problem.n_samples
    return MulticlassCertificate(
        **summary.measured(problem, W, rows, length, length, size, tol),
        duality_gap=max(gap, 0.0),
        convex=math.isinf(problem.loss.cap),
    )


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


class FlowSums(NamedTuple):
    """Sums over samples for the dual problem.

    Attributes
    ----------
    convex_loss : float
        The total of the linear bound that touches the loss here.
    flow : ndarray of shape (k, k)
        The sum of the (feasible) multipliers of class l in the samples of class j.
    """

    convex_loss: float
    flow: Array


def step_length(loss: Loss) -> float:
    """Return the step along the levels that the prox residual takes."""
    rho = loss.weak_convexity if "prox" in loss.abilities else 0.0
    return 0.5 / rho if 0.0 < rho < math.inf else 1.0


class MulticlassSamples:
    """Samples and their multipliers at a point (W, b, B) of a problem."""

    def __init__(self, problem: MulticlassProblem, W: Array, b: Array, B: Array) -> None:
        self.problem, self.B, loss, penalty = problem, B, problem.loss, problem.penalty
        self.levels = levels = problem.levels(W, b)
        self.q = q = problem.violations(levels)
        self.own = np.arange(len(q)), problem.labels
        slopes = penalty * loss.profile_slope(np.maximum(q, 0.0))
        self.held = -B
        self.held[self.own] = 0.0
        rivals = self.held.sum(axis=1)
        self.held[self.own] = slopes - rivals
        # Where the loss bends, the convex problem of the duality gap touches it where the
        # multipliers are its slopes.
        top, bent = float(loss.profile_slope(0.0)) * penalty, q > loss.curved_interval[0]
        self.weights = np.where(bent, np.clip(rivals, 0.0, top), slopes)
        steps = (penalty / step_length(loss))[:, None]
        self.target = project_to_simplex(self.held + steps * levels, slopes)

    def summarise(self) -> Summary:
        """Return the sums over the samples."""
        problem, penalty, B, k = self.problem, self.problem.penalty, self.B, self.B.shape[1]
        kept, step = penalty > 0.0, step_length(problem.loss)
        moved = np.square(self.target[kept] - self.held[kept]).sum(axis=1) / penalty[kept]
        flow = np.zeros((k, k))
        np.add.at(flow, problem.labels, self._feasible())
        sizes, hinge = np.abs(B).sum(axis=1), np.maximum(self.q, 0.0)
        pulls = problem.operator.pull(np.column_stack([B, sizes]))
        return Summary(
            pull=pulls[:-1],
            total=B.sum(axis=0),
            gross=float(sizes.sum()),
            weighted=pulls[-1],
            mass=float(sizes.sum()),
            support=np.flatnonzero(np.any(B != 0.0, axis=1)),
            square_errors=step**2 * float(moved.sum()),
            square_size=float(penalty @ (1.0 + np.square(self.q))),
            loss=float(penalty @ problem.loss.profile(hinge)),
            counts=np.bincount(self.status[kept], minlength=len(SampleStatus)),
            dual=FlowSums(float(self.weights @ hinge), flow),
            stray=float(np.abs(B[~kept]).sum()),
        )

    @cached_property
    def status(self) -> Array:
        """The `SampleStatus` of each sample; who holds the margin is read off the multipliers."""
        on_margin = (self.target[self.own] > 0.0) & (np.count_nonzero(self.target, axis=1) > 1)
        return sample_status(np.where(on_margin, 0.0, self.q), self.problem.loss, 0.0)

    def dual_sums(self, keep: Array) -> tuple[Array, float]:
        """Return ``B' X`` for feasible multipliers a, lowered by the factors `keep`, and ``a'v``.

        ``keep[j, l]`` belongs to the multipliers of class l in the samples of class j, and v is
        how far a rival's level is above that of the own class.
        """
        a = self._feasible() * keep[self.problem.labels]
        value = float(np.vdot(a, self.levels - self.levels[self.own][:, None]))
        return self.problem.operator.pull(self.problem.own(a)), value

    def _feasible(self) -> Array:
        """Return the multipliers of rivals, scaled back where they exceed their simplex."""
        a = np.maximum(self.held, 0.0)
        a[self.own] = 0.0
        total = a.sum(axis=1)
        factor = np.ones(len(total))
        np.divide(self.weights, total, out=factor, where=total > self.weights)
        a *= factor[:, None]
        return a
