"""One round of the default solver: Newton steps on the augmented Lagrangian of a weighted hinge.

The inner problem is min w'Rw/2 + sum_i c_i max(0, q_i), q = 1 - y * (X w + b), with fixed weights
c. For multipliers alpha in [0, c] (the paper's psi is -alpha) and penalties xi p_i, p_i = C times
the weight of the sample, its augmented Lagrangian, minimised over the slack, is the smooth convex
function

    F(w, b) = w'Rw/2 + sum_i m_i(q_i),   m_i'(q_i) = clip(alpha_i + xi p_i q_i, 0, c_i) =: s_i,

with gradient (R w - X'(y * s), -y's), plus `Problem.linear` for a loss with a tilt, and generalised
Hessian R + xi * sum_J p_i (x, 1)(x, 1)' over the samples J whose s_i is strictly inside its bounds.
F is piecewise quadratic, so Newton's method with a line search ends after finitely many steps; then
alpha <- s is the multiplier step.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.solvers.newton_system import LARGEST_MATRIX, Gram, NewtonSystem
from htsvm.solvers.problem import Problem

# Work on a copy of the relevant rows only where it is at most this share of all of them.
SUBSET_SHARE = 0.5
# Below this many samples copying is not worth the trouble.
SUBSET_FROM = 1000
# Recompute violations that were only updated after this many steps.
REFRESH = 25
# What one rounding costs.
EPS = float(np.finfo(np.float64).eps)
# A line search ends when the slope has shrunk by this factor.
SLOPE_REDUCTION = 0.1


@dataclass
class Iterate:
    """The variables of a fit over all samples.

    Attributes
    ----------
    w, b : ndarray, float
        The classifier.
    q : ndarray
        Violations at (w, b).
    alpha : ndarray
        Multipliers, the paper's -psi.
    weights : ndarray
        The weights c of the current hinge majoriser.
    """

    w: Array
    b: float
    q: Array
    alpha: Array
    weights: Array


@dataclass
class RoundReport:
    """What a round did.

    Attributes
    ----------
    steps : int
        Newton steps.
    stationarity, balance : float
        The first two residuals of the paper's stopping rule.
    multiplier_change : float
        How far the multipliers moved, in units of the violations times xi.
    finished : bool
        Whether the inner problem was solved to the tolerance.
    rows, crossed : int
        Rows looked at, and rows left out that turned out violated after the round.
    active, support : int
        Multipliers strictly inside their bounds, and above zero.
    support_penalty : float
        The sum of the penalties of the latter.
    """

    steps: int = 0
    stationarity: float = math.inf
    balance: float = math.inf
    multiplier_change: float = math.inf
    finished: bool = False
    rows: int = 0
    crossed: int = 0
    active: int = 0
    support: int = 0
    support_penalty: float = 0.0


@dataclass
class Clock:
    """Seconds spent in passes over the data, in Newton systems and in line searches."""

    passes: float = 0.0
    systems: float = 0.0
    searches: float = 0.0


@dataclass
class Rounds:
    """Runs rounds for one problem; keeps what is worth keeping between them."""

    problem: Problem
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self._whole: NewtonSystem | None = None
        self._gram: Gram | None = None
        self._updates = 0

    def run(
        self, it: Iterate, xi: float, *, tol: float, max_steps: int, reach: float
    ) -> RoundReport:
        """Minimise the inner function approximately and take the multiplier step.

        Only rows that can matter are looked at: those with weight, and within `reach` of the
        margin on the safe side or with a multiplier. The others are seen again after the round,
        when all violations are computed anew.
        """
        problem = self.problem
        rows = kernels.active.relevant_rows(it.q, it.alpha, it.weights, reach)
        m = problem.n_samples
        if m < SUBSET_FROM or len(rows) > SUBSET_SHARE * m:
            inner = self._on_all_rows(it)
            report = inner.minimise(xi, tol, max_steps)
            it.alpha = inner.s
            self._refresh(it, inner, report.steps)
        else:
            inner = self._on_some_rows(it, rows)
            report = inner.minimise(xi, tol, max_steps)
            problem.operator.passes += inner.problem.operator.passes * len(rows) / problem.n_samples
            it.alpha.fill(0.0)
            it.alpha[rows] = inner.s
            began = time.perf_counter()
            problem.violations(inner.w, inner.b, out=it.q)
            self.clock.passes += time.perf_counter() - began
            report.crossed = _violated(it.q, it.weights) - _violated(inner.q, inner.c)
        it.w, it.b = inner.w, inner.b
        report.rows = len(rows)
        return report

    def _refresh(self, it: Iterate, inner: _Inner, steps: int) -> None:
        """Compute the violations anew now and then: updates from step to step lose digits."""
        self._updates += steps
        if self._updates >= REFRESH:
            self._updates = 0
            self.problem.violations(inner.w, inner.b, out=it.q)

    def _on_all_rows(self, it: Iterate) -> _Inner:
        problem = self.problem
        if self._whole is None:
            self._whole = NewtonSystem(
                problem.operator, problem.penalty, problem.regularizer, problem.fit_intercept,
                gram=self._shared_gram(),
            )  # fmt: skip
        return _Inner(problem, it.q, it.alpha, it.weights, it.w, it.b, self._whole, self.clock)

    def _shared_gram(self) -> Gram | None:
        """Return a Gram matrix to keep from round to round, if it is small enough to be formed."""
        if self._gram is None and self.problem.n_features < LARGEST_MATRIX:
            self._gram = Gram(self.problem.operator, self.problem.penalty)
        return self._gram

    def _on_some_rows(self, it: Iterate, rows: Array) -> _Inner:
        began = time.perf_counter()
        part = self.problem.take(rows)
        self.problem.operator.passes += len(rows) / self.problem.n_samples
        self.clock.passes += time.perf_counter() - began
        system = NewtonSystem(
            part.operator, part.penalty, part.regularizer, part.fit_intercept,
            gram=self._shared_gram(), rows=rows,
        )  # fmt: skip
        return _Inner(
            part, it.q[rows], it.alpha[rows], it.weights[rows], it.w, it.b, system, self.clock
        )


@dataclass
class _Inner:
    """The inner function on some rows, and Newton's method for it."""

    problem: Problem
    q: Array
    alpha: Array
    c: Array
    w: Array
    b: float
    system: NewtonSystem
    clock: Clock

    def minimise(self, xi: float, tol: float, max_steps: int) -> RoundReport:
        """Take Newton steps until both gradient residuals are below `tol`."""
        m = len(self.q)
        self.s = np.empty(m)
        self.active = np.empty(m, dtype=np.uint8)
        self.delta = np.empty(m)
        self.w = self.w.copy()
        report = RoundReport()
        while True:
            grad_w, grad_b = self._gradient(xi, report)
            report.finished = max(report.stationarity, report.balance) <= tol
            if report.finished or report.steps >= max_steps:
                break
            if not self._step(xi, grad_w, grad_b, report.active):
                break
            report.steps += 1
        change = kernels.active.scaled_distance(self.s, self.alpha, self.problem.penalty)
        report.multiplier_change = math.sqrt(change)
        return report

    def _gradient(self, xi: float, report: RoundReport) -> tuple[Array, float]:
        problem = self.problem
        report.active, report.support, report.support_penalty = kernels.active.clip_step(
            self.q, self.alpha, self.c, problem.penalty, xi, self.s, self.active
        )
        began = time.perf_counter()
        share = report.support / max(len(self.q), 1)
        pull, total = self.problem.operator.signed_tdot(self.problem.y, self.s, share)
        self.clock.passes += time.perf_counter() - began
        own = problem.regularizer.dot(self.w)
        if problem.linear is not None:
            pull, total = pull - problem.linear[:-1], total - float(problem.linear[-1])
        grad_w = own - pull
        grad_b = -total if problem.fit_intercept else 0.0
        mass = report.support_penalty / problem.C
        rounding = 4.0 * EPS * float(self.s.sum())
        size = max(_norm(grad_w) - rounding * problem.operator.row_length, 0.0)
        # The paper divides by 1 + ||w||; where w itself is tiny that would accept anything.
        one_sample = 1e-3 * problem.C * problem.operator.row_length
        length = _norm(self.w)
        unit = length + (
            1.0 if length > 1.0 else min(1.0, max(_norm(own) + _norm(pull), one_sample))
        )
        report.stationarity = size / unit if unit > 0.0 else 0.0
        unit = min(1.0, problem.C) * (1.0 + mass)
        report.balance = max(abs(grad_b) - rounding, 0.0) / unit
        return grad_w, grad_b

    def _step(self, xi: float, grad_w: Array, grad_b: float, count: int) -> bool:
        """Move along the Newton direction; return whether there was anything to gain."""
        began = time.perf_counter()
        dw, db = self.system.solve(self.active, count, xi, grad_w, grad_b)
        solved = time.perf_counter()
        slope = float(grad_w @ dw) + grad_b * db
        if not slope < 0.0:
            return False
        self.problem.operator.signed_dot(self.problem.y, dw, db, self.delta)
        searched = time.perf_counter()
        t = self._line_search(xi, dw, db, slope)
        self.w += t * dw
        self.b += t * db
        kernels.active.add_scaled(self.q, self.delta, -t)
        self.clock.systems += solved - began
        self.clock.passes += searched - solved
        self.clock.searches += time.perf_counter() - searched
        return True

    def _line_search(self, xi: float, dw: Array, db: float, slope: float) -> float:
        """Find a step where the derivative along the direction has all but vanished.

        The derivative is non-decreasing and piecewise linear in the step, so a Newton iteration
        on it, kept inside a bracket, needs a pass or two over the vectors and none over X.
        """
        linear = float(dw @ self.problem.regularizer.dot(self.w))
        if self.problem.linear is not None:
            linear += float(dw @ self.problem.linear[:-1]) + db * float(self.problem.linear[-1])
        square = 2.0 * self.problem.regularizer.energy(dw)
        low, high, slope_low, slope_high = 0.0, math.inf, slope, math.nan
        t = 1.0
        for _ in range(40):
            first, second = kernels.active.line_terms(
                self.q, self.alpha, self.c, self.problem.penalty, self.delta, xi, t
            )
            derivative = linear + t * square - first
            if abs(derivative) <= SLOPE_REDUCTION * abs(slope):
                break
            # Halving the other end's slope keeps false position from creeping up on one side.
            if derivative < 0.0:
                slope_high *= 0.5 if low > 0.0 else 1.0
                low, slope_low = t, derivative
            else:
                slope_low *= 1.0 if math.isinf(high) else 0.5
                high, slope_high = t, derivative
            curvature = square + xi * second
            trial = t - derivative / curvature if curvature > 0.0 else math.inf
            if math.isinf(high):
                t = min(trial, 10.0 * t)
            elif low < trial < high:
                margin = 0.01 * (high - low)
                t = min(max(trial, low + margin), high - margin)
            else:
                t = low - slope_low * (high - low) / (slope_high - slope_low)
            if not low < t < high:
                t = low if low > 0.0 else 0.5 * (low + min(high, 1.0))
                break
        return t


def _violated(q: Array, c: Array) -> int:
    return int(np.count_nonzero((q > 0.0) & (c > 0.0)))


def _norm(v: Array) -> float:
    return math.sqrt(float(v @ v))
