"""Rounds in the space of a kernel: the Newton system has one row per undecided sample.

The inner function is that of `inner.py`. Its variable w is a combination of samples, and so is its
gradient, ``g = w - sum_i y_i s_i phi(x_i)``. With J the samples whose multiplier is strictly inside
its bounds and D the diagonal matrix of ``1 / (xi p_J)``, the Newton direction is

    d = -g - sum_J t_j phi(x_j),    (K_JJ + D) t = db - (K g)_J,    sum_J t_j = y's,

so that a step costs a product of K with the support and one with J, and a factorisation of side
|J|. Rows that cannot matter in a round are left out of it; all are looked at after it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.linalg.kernel_operator import KernelOperator
from htsvm.linalg.positive import Cholesky
from htsvm.optimality import residuals
from htsvm.problems.binary import Problem
from htsvm.solvers.line_search import slope_root
from htsvm.solvers.newton.inner import MOST_TRIALS, SLOPE_REDUCTION
from htsvm.solvers.newton.state import Iterate, RoundReport, violated

# A round works on a copy of the relevant part of the kernel matrix where that part has at most
# this share of its rows: the copy then takes at most a quarter of its memory.
SUBSET_SHARE = 0.5
# The loop over pairs of samples; None where nothing was compiled.
compiled = kernels.optional("solvers._pairs")
# Pairs are left for Newton steps where a round has not ended after so many of them per sample.
PAIRS_PER_ROW, FEWEST_PAIRS = 10, 5000
# They end where what complementarity lacks is at most so many tolerances of the objective.
SLACK = 3.0


class KernelRounds:
    """Runs rounds for a problem whose operator is a `KernelOperator`, as `Rounds` does."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        # Rows choose these rounds for such operators alone (`representers`).
        self.operator: KernelOperator = problem.operator  # type: ignore[assignment]
        self.by_pairs = compiled is not None and problem.fit_intercept and problem.linear is None

    def run(
        self, it: Iterate, xi: float, *, tol: float, max_steps: int, reach: float
    ) -> RoundReport:
        """Minimise the inner function approximately and take the multiplier step."""
        problem, y = self.problem, self.problem.y
        rows = kernels.active.relevant_rows(it.q, it.alpha, it.weights, reach)
        if self.by_pairs:
            report = self._pairs(it, rows, tol)
            if report.finished:
                return report
            self.by_pairs = False
            rows = kernels.active.relevant_rows(it.q, it.alpha, it.weights, reach)
        m = problem.n_samples
        held = np.flatnonzero(it.w)
        some = 0 < len(rows) <= SUBSET_SHARE * m and bool(np.isin(held, rows).all())
        if not some:
            rows = np.arange(m)
        part = KernelInner(
            self.operator.part(rows) if some else self.operator,
            y[rows], problem.penalty[rows], problem.fit_intercept,
            it.w[rows], it.b, it.q[rows], it.alpha[rows], it.weights[rows],
        )  # fmt: skip
        report = part.minimise(xi, tol, max_steps)
        report.rows = len(rows)
        if some:
            report.violated = violated(part.q, part.c)
        self._leave(it, rows, part, report)
        return report

    def _pairs(self, it: Iterate, rows: Array, tol: float) -> RoundReport:
        """Solve the weighted hinge problem of a round by pairs of samples, if that is quick."""
        y, c = self.problem.y[rows], it.weights[rows]
        s = _balanced(np.minimum(it.alpha[rows], c), y)
        m = len(it.alpha)
        alpha, w = np.zeros(m), np.zeros(m)
        w[rows] = y * s
        F = y - self.operator.product(w)[rows]
        most = max(PAIRS_PER_ROW * len(rows), FEWEST_PAIRS)
        goal, steps, b = 10.0 * tol, 0, it.b
        while True:
            more, b = compiled.solve_pairs(self.operator.K, rows, y, c, s, F, b, goal, most - steps)
            steps += more
            q = y * (F - b)
            hinge = float(np.maximum(q, 0.0) @ c)
            slack, energy = hinge - float(q @ s), 0.5 * float((y * s) @ (y - F))
            # Where margins are hard, small violations cost much: the slack counts, not they.
            if slack <= SLACK * tol * (hinge + energy) or steps >= most or goal < 1e-3 * tol:
                break
            goal *= 0.1
        self.operator.count(2.0 * steps * len(rows) / m**2)
        alpha[rows] = s
        w[rows] = y * s
        it.w, it.b, it.alpha = w, b, alpha
        self.problem.violations(w, b, out=it.q)
        return RoundReport(
            sweeps=-(-steps // max(len(rows), 1)), stationarity=0.0,
            balance=residuals.balance(float(w.sum()), float(s.sum())), finished=steps < most,
            penalised=False, rows=len(rows), violated=violated(it.q[rows], c),
            active=int(np.count_nonzero((s > 0.0) & (s < c))), support=int(np.count_nonzero(s)),
        )  # fmt: skip

    def _leave(self, it: Iterate, rows: Array, part: KernelInner, report: RoundReport) -> None:
        """Write back; a finished round leaves w as the combination that its multipliers say."""
        y = self.problem.y
        it.alpha = np.zeros(len(y))
        it.alpha[rows] = part.s
        it.b = part.b
        it.w = np.zeros(len(y))
        it.w[rows] = y[rows] * part.s if report.finished else part.w
        self.problem.violations(it.w, it.b, out=it.q)


@dataclass
class KernelInner:
    """The inner function on some samples, and Newton's method for it.

    Attributes
    ----------
    operator : KernelOperator
        The kernel matrix of the samples.
    y, penalty : ndarray
        Their labels and penalties.
    fit_intercept : bool
        Whether b is free.
    w, b : ndarray, float
        The coefficients and the intercept.
    q, alpha, c : ndarray
        Violations, multipliers, weights of the hinge majoriser.
    """

    operator: KernelOperator
    y: Array
    penalty: Array
    fit_intercept: bool
    w: Array
    b: float
    q: Array
    alpha: Array
    c: Array

    def minimise(self, xi: float, tol: float, max_steps: int) -> RoundReport:
        """Take Newton steps until the residuals of the gradient are below `tol`."""
        self.s, self.active = np.empty(len(self.q)), np.empty(len(self.q), dtype=np.uint8)
        self.values = self.y * (1.0 - self.q) - self.b  # K w
        report = RoundReport()
        while True:
            g, image, grad_b = self._gradient(xi, report)
            report.finished = max(report.stationarity, report.balance) <= tol
            if report.finished or report.steps >= max_steps:
                return report
            if not self._step(xi, g, image, grad_b):
                return report
            report.steps += 1

    def _gradient(self, xi: float, report: RoundReport) -> tuple[Array, Array, float]:
        """Return the gradient: its coefficients, its values K g, and its part in b."""
        report.active, report.support = kernels.active.clip_step(
            self.q, self.alpha, self.c, self.penalty, xi, self.s, self.active
        )
        signed = self.y * self.s
        pull = self.operator.product(signed)
        g, image = self.w - signed, self.values - pull
        grad_b = -float(signed.sum()) if self.fit_intercept else 0.0
        gross = float(self.s.sum())
        report.stationarity = residuals.stationarity(
            _length(g, image), _length(self.w, self.values), _length(signed, pull),
            gross * self.operator.row_length,
        )  # fmt: skip
        report.balance = residuals.balance(grad_b, gross)
        return g, image, grad_b

    def _step(self, xi: float, g: Array, image: Array, grad_b: float) -> bool:
        """Move along the Newton direction; return whether there was anything to gain."""
        rows = np.flatnonzero(self.active)
        dw, moved = -g, -image
        db = -grad_b / max(xi * float(self.penalty.sum()), 1e-300)
        if len(rows):
            M = self.operator.part(rows).K
            places = np.arange(len(rows))
            M[places, places] += 1.0 / (xi * self.penalty[rows])
            rhs = np.column_stack([image[rows], np.ones(len(rows))])
            solved = Cholesky(M).solve(rhs)
            if self.fit_intercept:
                db = (float(solved[:, 0].sum()) - grad_b) / float(solved[:, 1].sum())
            else:
                db = 0.0
            t = np.zeros(len(self.q))
            t[rows] = db * solved[:, 1] - solved[:, 0]
            dw = dw - t
            moved = moved - self.operator.product(t)
        slope = float(g @ moved) + grad_b * db
        if not slope < 0.0:
            return False
        delta = self.y * (moved + db)
        linear, square = float(self.w @ moved), float(dw @ moved)

        def slopes(step: float) -> tuple[float, float]:
            first, second = kernels.active.line_terms(
                self.q, self.alpha, self.c, self.penalty, delta, xi, step
            )
            return linear + step * square - first, square + xi * second

        step = slope_root(slopes, slope, reduction=SLOPE_REDUCTION, most_trials=MOST_TRIALS)
        self.w = self.w + step * dw
        self.b += step * db
        self.values += step * moved
        kernels.active.add_scaled(self.q, delta, -step)
        return True


def _balanced(s: Array, y: Array) -> Array:
    """Return multipliers with the same sum in both classes, those of the larger sum shrunk."""
    sums = float(s[y > 0].sum()), float(s[y < 0].sum())
    least, most = min(sums), max(sums)
    if least == most:
        return s
    larger = (y > 0) == (sums[0] > sums[1])
    shrunk: Array = np.where(larger, s * (least / most), s)
    return shrunk


def _length(coefficients: Array, values: Array) -> float:
    """Return the norm of an element from its coefficients and its values at the samples."""
    return math.sqrt(max(float(coefficients @ values), 0.0))
