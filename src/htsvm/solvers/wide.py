"""Sparse rows of very many columns: L-BFGS for the search, dual coordinate descent for the finish.

Where no n x n matrix can be formed, as with text, Newton's method is left with conjugate gradients
and loses its edge. Sweeps over the dual of the weighted hinge problem that touches the loss,
``max sum alpha - |X'(y * alpha)|²/2`` over ``0 <= alpha <= c`` and ``y'alpha = 0``, are cheaper
there: each touches a row once and keeps ``w = X'(y * alpha)`` exact, so that of all residuals only
complementarity is left to work on (Hsieh et al., ICML 2008). The equality constraint of the free
intercept is handled by an augmented Lagrangian whose multiplier is the intercept.
"""

from __future__ import annotations

import math

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.losses.rounded import Stage
from htsvm.optimality.residuals import complementarity
from htsvm.problems.binary import Problem, Rest

# The loop over samples; None where nothing was compiled.
compiled = kernels.optional("solvers._sweeps")
# From this many sparse columns on.
MANY_COLUMNS = 2000
# Samples are weighed anew once multipliers lag by less than this share of the objective.
NEAR = 0.03
# The share of the last change that is added grows as k / (k + DELAY) with the round k, up to MOST.
# On text of 50,000 documents that takes 30 rounds, and more than 100 without.
MOST, DELAY = 0.7, 3.0
# Sweeps per round; the first looks at all relevant rows, the others only at undecided ones.
SWEEPS = 4
# Rows so far on the safe side of the margin are left out of a sweep; undecided ones are nearer.
SAFE, UNDECIDED = 0.5, 0.1
# How hard imbalance is punished, in units of a typical squared row: hard enough to move the
# intercept, soft enough not to tie it to the samples visited last. Rows that are far shorter than
# this would hardly move, so the typical row is the median: a mean is that of the longest.
STIFFNESS = 0.1
# Sweeps end where the residual has not halved within this many rounds: rows or columns then differ
# by orders of magnitude in length, coordinates are coupled, and a sweep changes next to nothing.
PATIENCE = 25


def suits(problem: Problem) -> bool:
    """Return whether rows are sparse and of very many columns, and R is a number."""
    R = problem.regularizer
    return (
        compiled is not None
        and problem.operator.sparse
        and problem.n_features >= MANY_COLUMNS
        and R.values.ndim == 0
        and R.positive
    )


class SmoothLoss:
    """A problem with a smooth loss, as L-BFGS asks for it: a function of the violations."""

    def __init__(self, problem: Problem, penalty: Array, stage: Stage) -> None:
        self.problem, self.penalty, self.stage = problem, penalty, stage
        diagonal = problem.operator.squared_pull(penalty[:, None])[0]
        own = problem.regularizer.diagonal()
        mass = float(penalty.sum()) or 1.0
        self.scale = 1.0 / np.append(own + diagonal, mass)
        if not problem.fit_intercept:
            self.scale[-1] = 0.0

    def precondition(self, z: Array) -> Array:
        """Return z times the inverse of the diagonal of the Hessian of least squares."""
        return self.scale * z

    def image(self, z: Array) -> Array:
        """Return the scores times the labels."""
        out = np.empty(self.problem.n_samples)
        w = np.ascontiguousarray(z[:-1])
        return self.problem.operator.signed_dot(self.problem.y, w, float(z[-1]), out)

    def value_slopes(self, image: Array) -> tuple[float, Array]:
        """Return the total of the loss, and its derivatives."""
        value, slope = self.stage.value_slope(1.0 - image)
        return float(self.penalty @ value), -self.penalty * slope

    def pull(self, slopes: Array) -> Array:
        """Return the gradient in (w, b), from the derivatives."""
        pull, total = self.problem.operator.signed_tdot(self.problem.y, slopes)
        return np.append(pull, total if self.problem.fit_intercept else 0.0)

    def smooth(self, z: Array) -> Array:
        """Return the gradient of the regulariser."""
        return np.append(self.problem.regularizer.dot(z[:-1]), 0.0)

    def largest(self, image: Array) -> float:
        """Return the largest change of a score that counts."""
        return float(np.abs(image).max(initial=0.0, where=self.penalty > 0.0))


class Sweeps:
    """Coordinate descent in the dual of the weighted hinge problem that touches the loss.

    Attributes
    ----------
    w, b : ndarray, float
        The classifier.
    q, alpha, weights : ndarray
        Violations, multipliers, and weights of the hinge losses.
    lag : float
        How far multipliers lag behind violations, as a share of the objective.
    """

    def __init__(self, problem: Problem, rest: Rest, z: Array, alpha: Array, seed: int = 0) -> None:
        self.problem, self.rest, self.rng = problem, rest, np.random.default_rng(seed)
        self.X = problem.operator.block(slice(None))
        self.scale = 1.0 / float(problem.regularizer.values)
        self.squares = self.scale * problem.operator.row_squares()
        used = self.squares[(problem.penalty > 0.0) & (self.squares > 0.0)]
        typical = float(np.median(used)) if len(used) else 1.0
        self.stiffness = STIFFNESS * typical if problem.fit_intercept else 0.0
        self.w, self.b, self.alpha = z[:-1].copy(), float(z[-1]), alpha
        self.q = problem.violations(self.w, self.b)
        self.weights = np.empty(len(alpha))
        problem.loss.slopes(self.q, problem.penalty, self.weights)
        self.rounds, self.level, self.lag, self.near = 0, math.inf, math.inf, False
        self.before: tuple[Array, Array] | None = None

    def round(self) -> None:
        """Weigh the samples, if multipliers are near, and sweep over them."""
        problem, q = self.problem, self.q.copy()
        self.near = self.near or self.lag <= NEAR
        if self.near:
            self._go_ahead(q)
        np.clip(self.alpha, 0.0, self.weights, out=self.alpha)
        rows = np.flatnonzero((self.alpha > 0.0) | ((self.weights > 0.0) & (q > -SAFE)))
        pull, balance = problem.operator.signed_tdot(problem.y, self.alpha)
        self.w = self.scale * (pull - self.rest.linear[:-1])
        balance -= float(self.rest.linear[-1])
        for number in range(SWEEPS):
            order = self.rng.permutation(rows if number == 0 else self._undecided(rows))
            balance = compiled.csr_dual_sweep(
                self.X.indptr, self.X.indices, self.X.data, problem.y, self.weights,
                self.squares, order, self.scale, self.stiffness, self.alpha, self.w, self.b,
                balance,
            )  # fmt: skip
            self.b += self.stiffness * balance
            problem.operator.count(2.0 * len(order) / problem.n_samples)
        problem.violations(self.w, self.b, out=self.q)
        self._centre()
        gap = float(np.abs(self.weights * (self.q > 0.0) - self.alpha) @ np.abs(self.q))
        self.lag = complementarity(gap, self.objective())

    def objective(self) -> float:
        """Return the objective."""
        far = self.rest.base + float(self.rest.linear @ np.append(self.w, self.b))
        return far + self.problem.objective(self.w, self.q)

    def _go_ahead(self, q: Array) -> None:
        """Set weights and multipliers to what they will be soon, if all goes on as it did."""
        problem, alpha = self.problem, self.alpha.copy()
        level = self.objective()
        self.rounds = 0 if level > self.level else self.rounds
        share = min(self.rounds / (self.rounds + DELAY), MOST) if self.before else 0.0
        old_q, old_alpha = self.before or (q, alpha)
        problem.loss.slopes(q + share * (q - old_q), problem.penalty, self.weights)
        self.alpha += share * (alpha - old_alpha)
        self.before, self.level = (q, alpha), level
        self.rounds += 1

    def _undecided(self, rows: Array) -> Array:
        """Return the rows whose multiplier is between its bounds or was at the wrong one."""
        alpha, c, q = self.alpha[rows], self.weights[rows], self.q[rows]
        inside = (alpha > 0.0) & (alpha < c)
        low, high = (alpha == 0.0) & (q > -UNDECIDED), (alpha == c) & (q < UNDECIDED)
        kept: Array = rows[inside | low | high]
        return kept

    def _centre(self) -> None:
        """Move the intercept so that the samples that hold the margin are on it on average."""
        free = np.flatnonzero((self.alpha > 0.0) & (self.alpha < self.weights))
        if len(free) and self.problem.fit_intercept:
            y = self.problem.y
            mean = np.average(y[free] * self.q[free], weights=self.problem.penalty[free])
            self.b += float(mean)
            self.q -= float(mean) * y
