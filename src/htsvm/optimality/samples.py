"""What a certificate asks of the samples one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.linalg.threads import single_threaded_blas
from htsvm.optimality.duality import DualSums, merge_dual, sum_dual
from htsvm.optimality.point import Point
from htsvm.optimality.second_order import CriticalSamples, Verdict, second_order_verdict
from htsvm.optimality.status import SampleStatus, sample_status


class Samples:
    """The violations, with the samples where anything can happen singled out.

    A sample with q < 0 and no multiplier satisfies its condition for every nu; on large data these
    are most samples, and everything below is computed for the others only.

    Each of these is moved to the point that it stands for: q-hat = prox(q - nu psi), for a nu at
    which the prox is single-valued near it (`Loss.reference_step`), with the slope that goes
    with it. At a stationary point q-hat = q; at an approximate one q-hat tells
    what q is about to become, and is exactly zero for a sample that holds the margin.

    Parameters
    ----------
    point : Point
        The problem and the point.
    q : ndarray
        All violations.
    snap : float
        A violation of at most this size is zero, whatever its multiplier.
    """

    def __init__(self, point: Point, q: Array, snap: float) -> None:
        self.point, self.q, self.snap = point, q, snap
        self.dropped = np.flatnonzero(point.penalty == 0.0)
        kept = np.ones(len(q), dtype=bool)
        if "profile" in point.loss.abilities:
            kept = q >= -snap
            kept |= point.psi != 0.0
        kept[self.dropped] = False
        self.rows = np.flatnonzero(kept)
        self.near_q = q[self.rows]
        self.penalty = point.penalty[self.rows]
        self.weight = self.penalty / point.C
        self.psi = point.psi[self.rows]
        self.bottom, self.top = (float(end) for end in point.loss.subdifferential(0.0))
        loss, pull = point.loss, -self.psi / self.penalty
        step = loss.reference_step(self.near_q, pull)
        z = self.near_q + step * pull
        self.q_hat = loss.prox(z, step)
        self.errors = np.abs(self.near_q - self.q_hat)
        self.slack = self.errors / step + 1e-9 * min(self.top, 1.0)
        zero = np.flatnonzero(np.abs(self.near_q) <= self.snap)
        self.q_hat[zero] = 0.0
        self.slope = np.clip((z - self.q_hat) / step, *loss.subdifferential(self.q_hat))
        self.slope[zero] = np.clip(pull[zero], self.bottom, self.top)

    def prox_errors(self, nu: float) -> Array:
        """Return |q - prox(q - nu psi)| per sample, without those that are zero for sure."""
        z = self.near_q - nu * self.psi / self.weight
        return self.point.loss.prox_distance(self.near_q, z, nu * self.point.C)

    def square(self, errors: Array) -> float:
        """Return the square of a vector over `rows`, times the penalties."""
        return float(np.dot(self.penalty * errors, errors))

    def bent(self) -> Array:
        """Return which samples are where the loss bends down, or at its concave kink.

        There the slope of the loss is not known better than the violation; at a kink both slopes
        are right, if the violation is no further from it than its prox error.
        """
        bend, cap = self.point.loss.curved_interval
        bent: Array = self.q > bend
        if math.isinf(self.point.loss.weak_convexity) and math.isfinite(cap):
            bent[self.rows[np.abs(self.near_q - cap) <= 2.0 * self.errors]] = True
        return bent

    def largest_nu(self) -> float:
        """Return the largest nu for which every sample satisfies its prox condition."""
        limits = self.point.loss.largest_step(self.q_hat, self.slope) / self.point.C
        return float(limits.min(initial=np.inf))

    def margin_width(self) -> float:
        """Return the largest violation, in size, that counts as zero."""
        return float(np.abs(self.near_q[self.q_hat == 0.0]).max(initial=0.0))

    def status(self) -> Array:
        """Return the `SampleStatus` of all samples."""
        status = np.zeros(len(self.q), dtype=np.int8)
        status[self.rows] = sample_status(self.q_hat, self.point.loss, 0.0)
        status[self.dropped] = sample_status(self.q[self.dropped], self.point.loss, self.snap)
        return status

    def counts(self, status: Array) -> Array:
        """Return how many samples of positive weight have each status."""
        numbers: Array = np.bincount(status[self.rows], minlength=len(SampleStatus))
        others = len(self.q) - len(self.dropped) - len(self.rows)
        numbers[SampleStatus.SAFE] += others
        return numbers

    def verdict(self, max_dimension: int) -> Verdict:
        """Return the second-order verdict."""
        point = self.point
        if point.loss.weak_convexity == 0.0:
            return Verdict("yes", note="the problem is convex")
        if math.isinf(point.loss.weak_convexity):
            return self._verdict_of_pieces()
        with single_threaded_blas(point.operator):
            return second_order_verdict(
                point.operator,
                self.critical(),
                point.regularizer,
                fit_intercept=point.fit_intercept,
                max_dimension=max_dimension,
            )

    def _verdict_of_pieces(self) -> Verdict:
        """Decide for a loss that is straight but for a concave kink or a jump.

        Away from the kink the objective is convex near the point. A jump at zero acts like the
        constraint q <= 0 on the samples that hold the margin, and is constant for the others.
        """
        cap = self.point.loss.cap
        least, most = np.minimum(self.near_q, self.q_hat), np.maximum(self.near_q, self.q_hat)
        if cap > 0.0 and np.any((least <= cap + self.snap) & (most >= cap - self.snap)):
            return Verdict("undecided", note="a sample is at the concave kink of the loss")
        return Verdict("yes", note="the objective is convex near the point")

    def critical(self) -> CriticalSamples:
        """Return the samples that matter to second order.

        What is not the same for q and q-hat is taken to be at the end of the curved part.
        """
        bend, cap = self.point.loss.curved_interval
        least, most = np.minimum(self.near_q, self.q_hat), np.maximum(self.near_q, self.q_hat)
        curved = (least > bend + self.snap) & (most < cap - self.snap)
        at_knee = (least <= bend + self.snap) & (most >= bend - self.snap)
        at_cap = (least <= cap + self.snap) & (most >= cap - self.snap)
        on_margin = self.q_hat == 0.0
        pick = np.flatnonzero(on_margin | curved | at_knee | at_cap)
        on_margin, slope, slack = on_margin[pick], self.slope[pick], self.slack[pick]
        at_zero = on_margin & (slope <= slack)
        at_top = on_margin & (slope >= self.top - slack)
        rows = self.rows[pick]
        return CriticalSamples(
            rows=rows,
            y=self.point.y[rows],
            weight=self.point.loss.weak_convexity * self.penalty[pick],
            curved=curved[pick],
            at_knee=at_knee[pick],
            at_cap=at_cap[pick],
            strong=on_margin & ~at_zero & ~at_top,
            at_zero=at_zero,
            at_top=at_top,
        )


@dataclass(frozen=True, eq=False)
class Summary:
    """Sums and extremes over samples, at a point (w, b, psi).

    Attributes
    ----------
    pull, signed_sum : ndarray, float
        ``N' psi`` and ``y' psi``.
    support : ndarray of intp
        The samples with a multiplier.
    multiplier_sum : float
        The sum of the sizes of the multipliers.
    square_size, square_errors, square_errors_at_nu : float
        What `residuals.violation` takes, for the prox errors at the default nu and at the one
        asked for.
    largest_nu, margin_width : float
        The least of the limits of nu, and the largest violation that counts as zero.
    loss : float
        The total of the loss.
    class_penalty : ndarray of shape (2,)
        The sums of the penalties of the labels -1 and +1.
    counts : ndarray
        Samples of positive weight per status.
    dual : DualSums or None
        The sums of the dual problem.
    """

    pull: Array
    signed_sum: float
    support: Array
    multiplier_sum: float
    square_size: float
    square_errors: float
    square_errors_at_nu: float
    largest_nu: float
    margin_width: float
    loss: float
    class_penalty: Array
    counts: Array
    dual: DualSums | None

    @property
    def centred_pull(self) -> Array:
        """The pull of rows less their mean, weighted by the sizes of the multipliers.

        It differs from the pull by what the balance of the multipliers lacks times that mean.
        """
        if self.dual is None or not float(self.dual.masses.sum()) > 0.0:
            return self.pull
        down, up = self.dual.pulls
        centred: Array = self.pull - self.signed_sum * (up - down) / float(self.dual.masses.sum())
        return centred


def default_nu(point: Point) -> float:
    """Return the nu of the prox residual, unless another is asked for."""
    return point.loss.unit_step / point.C


def summarise(point: Point, nu: float | None, on_margin: float) -> tuple[Summary, Samples, Array]:
    """Return the summary of a point, what it says of the samples, and the status of each."""
    q = _violations(point)
    support = np.flatnonzero(point.psi)
    samples = Samples(point, q, on_margin)
    dual = sum_dual(point, q, samples.bent())
    if dual is not None and dual.as_given:
        pull, signed_sum = -dual.pulls.sum(axis=0), float(dual.masses[0] - dual.masses[1])
    else:
        share = len(support) / max(len(point.psi), 1)
        pull, signed_sum = point.operator.signed_tdot(point.y, point.psi, share)
    square_errors = samples.square(samples.errors)
    other_nu = None if nu == default_nu(point) else nu
    status = samples.status()
    summary = Summary(
        pull=pull,
        signed_sum=signed_sum,
        support=support,
        multiplier_sum=float(np.abs(point.psi[support]).sum()),
        square_size=kernels.active.square_size(q, point.penalty),
        square_errors=square_errors,
        square_errors_at_nu=square_errors
        if other_nu is None
        else samples.square(samples.prox_errors(other_nu)),
        largest_nu=samples.largest_nu(),
        margin_width=samples.margin_width(),
        loss=point.loss.total(q, point.penalty),
        class_penalty=kernels.active.side_totals(point.y, point.penalty),
        counts=samples.counts(status),
        dual=dual,
    )
    return summary, samples, status


# How fields of several summaries become one, where they are not added up.
MERGED: dict[str, Callable[[list[Any]], Any]] = {
    "support": np.concatenate,
    "largest_nu": min,
    "margin_width": max,
    "dual": merge_dual,
}


def merge(parts: Sequence[Summary]) -> Summary:
    """Return the summary of all samples from those of disjoint sets of them."""
    values = {f.name: [getattr(part, f.name) for part in parts] for f in fields(Summary)}
    return Summary(**{name: MERGED.get(name, sum)(given) for name, given in values.items()})


def _violations(point: Point) -> Array:
    q = np.empty(len(point.y))
    point.operator.signed_dot(point.y, point.w, point.b, q)
    np.subtract(1.0, q, out=q)
    if not np.isfinite(q.sum()):
        raise ValueError("X holds NaN or infinity, or is too large for coef.")
    return q
