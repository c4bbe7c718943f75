"""What a certificate asks of the samples one by one."""

from __future__ import annotations

import math

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.threads import single_threaded_blas
from htsvm.optimality.critical import CriticalSamples
from htsvm.optimality.point import Point
from htsvm.optimality.second_order import Verdict, second_order_verdict
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
