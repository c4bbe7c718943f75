"""What a certificate asks of the samples one by one."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.threads import single_threaded_blas
from htsvm.optimality.duality import sum_dual
from htsvm.optimality.second_order import (
    CriticalSamples,
    Verdict,
    second_order_verdict,
)
from htsvm.optimality.status import SampleStatus, sample_status
from htsvm.optimality.summary import Summary
from htsvm.problems import Problem

# A violation of at most this size counts as zero, whatever its multiplier.
ON_MARGIN = 1e-9


class Samples:
    """The violations at a point, with the samples where anything can happen singled out.

    A sample with q < 0 and no multiplier satisfies its condition for every nu; on large data these
    are most samples, and everything below is computed for the others only.

    Each of these is moved to the point that it stands for: q-hat = prox(q - nu psi), for a nu at
    which the prox is single-valued near it (`Loss.reference_step`), with the slope that goes
    with it. At a stationary point q-hat = q; at an approximate one q-hat tells
    what q is about to become, and is exactly zero for a sample that holds the margin.

    Parameters
    ----------
    problem : Problem
        The problem.
    w, b, psi : ndarray, float, ndarray
        The point; multipliers of samples without penalty are taken as zero.
    snap : float
        A violation of at most this size is zero.
    """

    def __init__(
        self, problem: Problem, w: Array, b: float, psi: Array, snap: float = ON_MARGIN
    ) -> None:
        self.problem, self.snap, loss = problem, snap, problem.loss
        self.q = q = problem.violations(w, b)
        if not np.isfinite(q.sum()):
            raise ValueError("X holds NaN or infinity, or is too large for coef.")
        self.dropped = np.flatnonzero(problem.penalty == 0.0)
        self.all_psi = np.where(problem.penalty > 0.0, psi, 0.0) if len(self.dropped) else psi
        kept = np.ones(len(q), dtype=bool)
        if "profile" in loss.abilities:
            kept = q >= -snap
            kept |= self.all_psi != 0.0
        kept[self.dropped] = False
        self.rows = np.flatnonzero(kept)
        self.near_q, self.psi = q[self.rows], self.all_psi[self.rows]
        self.penalty = problem.penalty[self.rows]
        self.bottom, self.top = (float(end) for end in loss.subdifferential(0.0))
        pull = -self.psi / self.penalty
        step = loss.reference_step(self.near_q, pull)
        z = self.near_q + step * pull
        self.q_hat = loss.prox(z, step)
        self.errors = np.abs(self.near_q - self.q_hat)
        self.slack = self.errors / step + 1e-9 * min(self.top, 1.0)
        zero = np.flatnonzero(np.abs(self.near_q) <= snap)
        self.q_hat[zero] = 0.0
        self.slope = np.clip((z - self.q_hat) / step, *loss.subdifferential(self.q_hat))
        self.slope[zero] = np.clip(pull[zero], self.bottom, self.top)

    def square_errors(self, nu: float | None = None) -> float:
        """Return the sum of ``penalty * (q - prox(q - nu psi))²``, by default for q-hat."""
        errors = self.errors
        if nu is not None:
            z = self.near_q - nu * self.psi / (self.penalty / self.problem.C)
            errors = self.problem.loss.prox_distance(self.near_q, z, nu * self.problem.C)
        return float(np.dot(self.penalty * errors, errors))

    def bent(self) -> Array:
        """Return which samples are where the loss bends down, or at its concave kink.

        There the slope of the loss is not known better than the violation; at a kink both slopes
        are right, if the violation is no further from it than its prox error.
        """
        bend, cap = self.problem.loss.curved_interval
        bent: Array = self.q > bend
        if math.isinf(self.problem.loss.weak_convexity) and math.isfinite(cap):
            bent[self.rows[np.abs(self.near_q - cap) <= 2.0 * self.errors]] = True
        return bent

    @cached_property
    def status(self) -> Array:
        """The `SampleStatus` of all samples."""
        status, loss = np.zeros(len(self.q), dtype=np.int8), self.problem.loss
        status[self.rows] = sample_status(self.q_hat, loss, 0.0)
        status[self.dropped] = sample_status(self.q[self.dropped], loss, self.snap)
        return status

    def summarise(self) -> Summary:
        """Return the sums and extremes over the samples."""
        problem, psi, q = self.problem, self.all_psi, self.q
        support = np.flatnonzero(psi)
        dual = sum_dual(problem, psi, q, self.bent())
        weighted, mass = np.zeros(1), 0.0
        if dual is not None:
            weighted, mass = dual.pulls[1] - dual.pulls[0], float(dual.masses.sum())
        if dual is not None and dual.off == 0.0:
            pull, total = dual.pulls.sum(axis=0), float(dual.masses[1] - dual.masses[0])
        else:
            share = len(support) / max(len(psi), 1)
            pull, total = problem.operator.signed_tdot(problem.y, -psi, share)
        counts = np.bincount(self.status[self.rows], minlength=len(SampleStatus))
        counts[SampleStatus.SAFE] += len(q) - len(self.dropped) - len(self.rows)
        limits = problem.loss.largest_step(self.q_hat, self.slope) / problem.C
        return Summary(
            pull=pull,
            total=total,
            gross=float(np.abs(psi[support]).sum()),
            weighted=weighted,
            mass=mass,
            support=support,
            square_errors=self.square_errors(),
            square_size=float(problem.penalty @ (1.0 + np.square(q))),
            loss=problem.loss.total(q, problem.penalty),
            counts=counts,
            dual=dual,
            largest_nu=float(limits.min(initial=np.inf)),
            margin_width=float(np.abs(self.near_q[self.q_hat == 0.0]).max(initial=0.0)),
        )

    def verdict(self, max_dimension: int) -> Verdict:
        """Return the second-order verdict."""
        problem, curvature = self.problem, self.problem.loss.weak_convexity
        if curvature == 0.0:
            return Verdict("yes", note="the problem is convex")
        if math.isinf(curvature):
            return self._verdict_of_pieces()
        with single_threaded_blas(problem.operator):
            return second_order_verdict(
                problem.operator, self.critical(), problem.regularizer,
                fit_intercept=problem.fit_intercept, max_dimension=max_dimension,
            )  # fmt: skip

    def _verdict_of_pieces(self) -> Verdict:
        """Decide for a loss that is straight but for a concave kink or a jump.

        Away from the kink the objective is convex near the point. A jump at zero acts like the
        constraint q <= 0 on the samples that hold the margin, and is constant for the others.
        """
        cap = self.problem.loss.cap
        if cap > 0.0 and np.any(self._may_be_at(cap)):
            return Verdict("undecided", note="a sample is at the concave kink of the loss")
        return Verdict("yes", note="the objective is convex near the point")

    def critical(self) -> CriticalSamples:
        """Return the samples that matter to second order.

        What is not the same for q and q-hat is taken to be at the end of the curved part.
        """
        bend, cap = self.problem.loss.curved_interval
        least, most = np.minimum(self.near_q, self.q_hat), np.maximum(self.near_q, self.q_hat)
        curved = (least > bend + self.snap) & (most < cap - self.snap)
        at_knee, at_cap = self._may_be_at(bend), self._may_be_at(cap)
        on_margin = self.q_hat == 0.0
        pick = np.flatnonzero(on_margin | curved | at_knee | at_cap)
        on_margin, slope, slack = on_margin[pick], self.slope[pick], self.slack[pick]
        at_zero = on_margin & (slope <= slack)
        at_top = on_margin & (slope >= self.top - slack)
        rows = self.rows[pick]
        return CriticalSamples(
            rows=rows,
            y=self.problem.y[rows],
            weight=self.problem.loss.weak_convexity * self.penalty[pick],
            curved=curved[pick],
            at_knee=at_knee[pick],
            at_cap=at_cap[pick],
            strong=on_margin & ~at_zero & ~at_top,
            at_zero=at_zero,
            at_top=at_top,
        )

    def _may_be_at(self, q: float) -> Array:
        """Return which samples are at this violation, or on two sides of it before and after."""
        least, most = np.minimum(self.near_q, self.q_hat), np.maximum(self.near_q, self.q_hat)
        at: Array = (least <= q + self.snap) & (most >= q - self.snap)
        return at
