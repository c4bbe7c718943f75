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

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.linalg.positive import Gram
from htsvm.linalg.row_system import RowSystem
from htsvm.optimality.residuals import balance, of_gradient
from htsvm.problems.binary import Problem
from htsvm.solvers.line_search import slope_root
from htsvm.solvers.newton.state import RoundReport

# Up to this many features, and for dense data wide enough for BLAS up to this many entries, all
# Newton steps of a round are taken in one compiled call.
COMPILED_FEATURES, COMPILED_DENSE = 512, 1_000_000
# All of them; None where nothing was compiled.
compiled = kernels.optional("solvers.newton._steps")
# How such a call may end.
FINISHED, SINGULAR = 0, 3
# A line search ends when the slope has shrunk by this factor, or after this many trials.
SLOPE_REDUCTION, MOST_TRIALS = 0.1, 40


@dataclass
class Steps(ABC):
    """Newton's method for the inner function, given sums over the rows that others compute."""

    problem: Problem
    w: Array
    b: float

    # Whether a trial of a line search costs a message to all rows.
    dear_trials: ClassVar[bool] = False

    @abstractmethod
    def _sums(self, xi: float, report: RoundReport) -> tuple[Array, float, float]:
        """Return X'(y * s), y's and the sum of s; note in `report` how many s are where."""

    @abstractmethod
    def _direction(
        self, xi: float, grad_w: Array, grad_b: float, count: int
    ) -> tuple[Array, float]:
        """Return the Newton direction; `count` multipliers are inside their bounds."""

    @abstractmethod
    def _set_out(self, xi: float, dw: Array, db: float) -> None:
        """Compute how the violations change along a direction."""

    @abstractmethod
    def _line_terms(self, xi: float, t: float) -> tuple[float, float]:
        """Return the sums that the derivative along the direction needs after a step `t`."""

    @abstractmethod
    def _move(self, t: float) -> None:
        """Move the violations by a step `t`."""

    def _minimise(self, xi: float, tol: float, max_steps: int, report: RoundReport) -> None:
        """Take the steps one by one."""
        while True:
            grad_w, grad_b = self._gradient(xi, report)
            report.finished = max(report.stationarity, report.balance) <= tol
            if report.finished or report.steps >= max_steps:
                break
            if not self._step(xi, grad_w, grad_b, report.active):
                break
            report.steps += 1

    def _gradient(self, xi: float, report: RoundReport) -> tuple[Array, float]:
        problem = self.problem
        pull, total, size_of_s = self._sums(xi, report)
        own = problem.regularizer.dot(self.w)
        if problem.linear is not None:
            pull, total = pull - problem.linear[:-1], total - float(problem.linear[-1])
        grad_w = own - pull
        grad_b = -total if problem.fit_intercept else 0.0
        gross = size_of_s * problem.operator.row_length
        report.stationarity = of_gradient(own, pull, gross, problem.regularizer)
        report.balance = balance(grad_b, size_of_s)
        return grad_w, grad_b

    def _step(self, xi: float, grad_w: Array, grad_b: float, count: int) -> bool:
        """Move along the Newton direction; return whether there was anything to gain."""
        dw, db = self._direction(xi, grad_w, grad_b, count)
        slope = float(grad_w @ dw) + grad_b * db
        if not slope < 0.0:
            return False
        self._set_out(xi, dw, db)
        t = self._line_search(xi, dw, db, slope)
        self.w += t * dw
        self.b += t * db
        self._move(t)
        return True

    def _line_search(self, xi: float, dw: Array, db: float, slope: float) -> float:
        """Find a step where the slope has all but vanished: a pass or two over vectors, not X."""
        linear = float(dw @ self.problem.regularizer.dot(self.w))
        if self.problem.linear is not None:
            linear += float(dw @ self.problem.linear[:-1]) + db * float(self.problem.linear[-1])
        square = 2.0 * self.problem.regularizer.energy(dw)

        def slopes(t: float) -> tuple[float, float]:
            first, second = self._line_terms(xi, t)
            return linear + t * square - first, square + xi * second

        return slope_root(
            slopes,
            slope,
            reduction=SLOPE_REDUCTION,
            most_trials=MOST_TRIALS,
            dear=self.dear_trials,
        )


@dataclass
class Inner(Steps):
    """The inner function on some rows, and Newton's method for it."""

    q: Array
    alpha: Array
    c: Array
    system: RowSystem

    def minimise(self, xi: float, tol: float, max_steps: int) -> RoundReport:
        """Take Newton steps until both gradient residuals are below `tol`."""
        self.w = self.w.copy()
        report = RoundReport()
        gram = self.system.gram
        if gram is None or not self._suits_kernel():
            self._minimise(xi, tol, max_steps, report)
        elif not self._minimise_compiled(gram, xi, tol, max_steps, report):
            # A system could not be solved as it is; this way there is help.
            self._minimise(xi, tol, max_steps, report)
        return report

    def _suits_kernel(self) -> bool:
        """Return whether the compiled steps are the quickest: few features, or little data."""
        operator = self.problem.operator
        n = operator.shape[1]
        if (
            compiled is None
            or operator.compiled_rows is None
            or n > COMPILED_FEATURES
            or len(self.q) == 0
        ):
            return False
        return not (operator.by_blas and operator.stored > COMPILED_DENSE)

    def _minimise_compiled(
        self, gram: Gram, xi: float, tol: float, max_steps: int, report: RoundReport
    ) -> bool:
        """Take all steps in one compiled call; return False if a system could not be solved."""
        problem, rows = self.problem, self.system.rows
        marks = gram.lend(rows)
        R = problem.regularizer
        tilt = np.zeros(len(self.w) + 1) if problem.linear is None else problem.linear
        steps = compiled.NewtonSteps(
            problem.operator.compiled_rows, problem.y, self.q, self.alpha, self.c,
            problem.penalty, self.w, self.b, np.ascontiguousarray(R.diagonal()),
            R.values if R.is_matrix else None, tilt, gram.matrix, marks,
            xi=xi, row_length=problem.operator.row_length,
            fit_intercept=problem.fit_intercept,
        )  # fmt: skip
        status: int = steps.run(tol, max_steps)
        gram.take_back(rows, marks)
        self.b, self.s = steps.b, steps.multipliers
        report.steps = steps.steps
        report.stationarity, report.balance = steps.stationarity, steps.balance
        report.active, report.support = steps.interior, steps.support
        report.finished = status == FINISHED
        problem.operator.count(steps.passes)
        return status != SINGULAR

    def _minimise(self, xi: float, tol: float, max_steps: int, report: RoundReport) -> None:
        """Take the steps one by one."""
        m = len(self.q)
        self.s = np.empty(m)
        self.active = np.empty(m, dtype=np.uint8)
        self.delta = np.empty(m)
        super()._minimise(xi, tol, max_steps, report)

    def _sums(self, xi: float, report: RoundReport) -> tuple[Array, float, float]:
        problem = self.problem
        report.active, report.support = kernels.active.clip_step(
            self.q, self.alpha, self.c, problem.penalty, xi, self.s, self.active
        )
        share = report.support / max(len(self.q), 1)
        pull, total = problem.operator.signed_tdot(problem.y, self.s, share)
        return pull, total, float(self.s.sum())

    def _direction(
        self, xi: float, grad_w: Array, grad_b: float, count: int
    ) -> tuple[Array, float]:
        rows = np.flatnonzero(self.active.view(np.bool_))
        return self.system.solve(rows, xi, grad_w, grad_b)

    def _set_out(self, xi: float, dw: Array, db: float) -> None:
        self.problem.operator.signed_dot(self.problem.y, dw, db, self.delta)

    def _line_terms(self, xi: float, t: float) -> tuple[float, float]:
        first, second = kernels.active.line_terms(
            self.q, self.alpha, self.c, self.problem.penalty, self.delta, xi, t
        )
        return first, second

    def _move(self, t: float) -> None:
        kernels.active.add_scaled(self.q, self.delta, -t)
