"""Rounds for sparse data with very many features: dual coordinate descent.

Where neither an n x n nor a |J| x |J| matrix can be formed, as with text, Newton's method is left
with conjugate gradients and loses its edge. Sweeps over the dual of the weighted hinge problem,
max sum alpha - ||X'(y * alpha)||² / 2 over 0 <= alpha <= c and y'alpha = 0, are cheaper there:
each touches a row once and keeps w = X'(y * alpha) exact, so that of all residuals only
complementarity is left to work on. The equality constraint of the free intercept is handled by an
augmented Lagrangian whose multiplier is the intercept.
"""

from __future__ import annotations

import math

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.losses import Loss
from htsvm.optimality import residuals
from htsvm.problems.binary import Problem
from htsvm.solvers.newton.state import Iterate, RoundReport

# The share of the last change that is added grows as k / (k + DELAY) with the round k, up to this.
# On text of 50,000 documents 0.7 takes 30 rounds, none at all more than 100, 0.9 a few more.
MOST, DELAY = 0.7, 3.0
# The loop over samples; None where nothing was compiled.
compiled = kernels.optional("solvers._sweeps")
# From this many features on sweeps are quicker than Newton steps.
MANY_FEATURES = 2000
# Sweeps per round; the first looks at all relevant rows, the others only at undecided ones.
SWEEPS = 4
# How hard imbalance is punished, in units of a typical squared row: hard enough to move the
# intercept, soft enough not to tie it to the samples visited last. Rows that are far shorter than
# this would hardly move, so the typical row is the median: a mean is that of the longest.
STIFFNESS = 0.1
# Sweeps crawl where the slack has not halved within this many rounds.
PATIENCE = 25


def prefers_sweeps(problem: Problem) -> bool:
    """Return whether dual coordinate descent suits the problem: sparse, wide, R a number."""
    return (
        compiled is not None
        and problem.operator.sparse
        and problem.n_features >= MANY_FEATURES
        and problem.regularizer.values.ndim == 0
        and problem.regularizer.positive
    )


class DualSweeps:
    """Rounds of coordinate descent."""

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self.problem, self.rng = problem, rng
        self.X = problem.operator.block(slice(None))
        self.scale = 1.0 / float(problem.regularizer.values)
        self.squares = self.scale * problem.operator.row_squares()
        used = self.squares[(problem.penalty > 0.0) & (self.squares > 0.0)]
        typical = float(np.median(used)) if len(used) else 1.0
        self.stiffness = STIFFNESS * typical if problem.fit_intercept else 0.0
        self.lags: list[float] = []
        self.momentum = Momentum(problem)

    def run(self, it: Iterate, reach: float) -> RoundReport:
        """Sweep over the rows within `reach` and update the multipliers."""
        problem = self.problem
        self.momentum.go_ahead(it)
        rows = kernels.active.relevant_rows(it.q, it.alpha, it.weights, reach)
        np.minimum(it.alpha, it.weights, out=it.alpha)
        report = RoundReport(sweeps=SWEEPS, finished=True, penalised=False, rows=len(rows))
        it.w, balance = self._exact_w(it.alpha)
        for number in range(SWEEPS):
            order = rows if number == 0 else self._undecided(it, rows)
            balance = self._sweep(it, self.rng.permutation(order), balance)
            problem.operator.count(2.0 * len(order) / problem.n_samples)
        problem.violations(it.w, it.b, out=it.q)
        self._centre(it)
        self._fill(report, it, balance)
        return report

    def crawl(self, lag: float) -> bool:
        """Note by how much the multipliers lag after a round; return whether sweeps crawl.

        Where rows or columns differ by orders of magnitude in length, coordinates are coupled
        and a sweep changes next to nothing.
        """
        self.lags.append(lag)
        recent = self.lags[-PATIENCE - 1 :]
        return len(recent) > PATIENCE and min(recent[1:]) > 0.5 * recent[0]

    def _exact_w(self, alpha: Array) -> tuple[Array, float]:
        share = np.count_nonzero(alpha) / len(alpha)
        pull, balance = self.problem.operator.signed_tdot(self.problem.y, alpha, share)
        if self.problem.linear is not None:
            pull -= self.problem.linear[:-1]
            balance -= float(self.problem.linear[-1])
        return self.scale * pull, balance

    def _undecided(self, it: Iterate, rows: Array) -> Array:
        """Return the rows whose multiplier is between its bounds or was at the wrong one."""
        alpha, c, q = it.alpha[rows], it.weights[rows], it.q[rows]
        inside = (alpha > 0.0) & (alpha < c)
        kept: Array = rows[inside | ((alpha == 0.0) & (q > -0.1)) | ((alpha == c) & (q < 0.1))]
        return kept

    def _sweep(self, it: Iterate, order: Array, balance: float) -> float:
        X = self.X
        balance = compiled.csr_dual_sweep(
            X.indptr, X.indices, X.data, self.problem.y, it.weights, self.squares, order,
            self.scale, self.stiffness, it.alpha, it.w, it.b, balance,
        )  # fmt: skip
        it.b += self.stiffness * balance
        return balance

    def _centre(self, it: Iterate) -> None:
        """Move the intercept so that the samples that hold the margin are on it on average."""
        if not self.problem.fit_intercept:
            return
        free = np.flatnonzero((it.alpha > 0.0) & (it.alpha < it.weights))
        if len(free) == 0:
            return
        y = self.problem.y
        shift = float(np.average(y[free] * it.q[free], weights=self.problem.penalty[free]))
        it.b += shift
        it.q -= shift * y

    def _fill(self, report: RoundReport, it: Iterate, balance: float) -> None:
        support = it.alpha > 0.0
        report.support = int(np.count_nonzero(support))
        report.active = int(np.count_nonzero(support & (it.alpha < it.weights)))
        report.stationarity = 0.0
        if not self.problem.fit_intercept:
            balance = 0.0
        report.balance = residuals.balance(balance, float(it.alpha.sum()))


class Momentum:
    """What the last round with the same loss began with."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.loss: Loss | None = None
        self.forget()

    def forget(self) -> None:
        """Begin again, without momentum."""
        self.rounds, self.level = 0, math.inf
        self.before: tuple[Array, Array] | None = None

    def weigh(self, loss: Loss | None) -> None:
        """Take note of the loss by which samples are weighed."""
        if loss is not self.loss:
            self.loss = loss
            self.forget()

    def go_ahead(self, it: Iterate) -> None:
        """Set multipliers and weights to what they will be soon, if all goes on as it did."""
        loss, problem = self.loss, self.problem
        if loss is None or not 0.0 < loss.weak_convexity < math.inf:
            return
        level = problem.objective(it.w, it.q)
        if level > self.level:
            self.rounds = 0
        q, alpha = it.q.copy(), it.alpha
        if self.before is not None and self.rounds > 0:
            share = min(self.rounds / (self.rounds + DELAY), MOST)
            loss.slopes(q + share * (q - self.before[0]), problem.penalty, it.weights)
            ahead = alpha + share * (alpha - self.before[1])
            it.alpha = np.clip(ahead, 0.0, it.weights, out=ahead)
        self.before, self.level = (q, alpha.copy()), level
        self.rounds += 1
