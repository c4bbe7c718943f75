"""Rounds for larger multi-class data: dual coordinate descent, a sample at a time.

The dual of the weighted Crammer-Singer problem has a simplex of multipliers per sample, and the
problem in one of them alone is a projection onto it (Keerthi et al., KDD 2008). A sweep visits each
row once and keeps ``W = X' B`` as it should be, so that of all residuals only complementarity and
the balance of the free intercepts are left to work on; the latter by an augmented Lagrangian whose
multipliers are the intercepts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.optimality import residuals
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers.multiclass.newton import Iterate, RoundedMaximum

# The loops over samples; None where nothing was compiled.
compiled = kernels.optional("solvers.multiclass._block_sweeps")
# Sweeps of a round over the samples that may move, after one over all of them: at most so many, or
# until these fall short of less than this share of what all of them did.
MOST_SWEEPS, LESS = 20, 0.1
# How hard imbalance is punished, in units of a typical squared row: hard enough to move the
# intercepts, soft enough not to tie them to the samples visited last.
STIFFNESS = 0.05
# How close to a change of its multipliers a sample may move.
NEAR = 0.1


class Suits(NamedTuple):
    """Where sweeps are quicker than Newton steps.

    Attributes
    ----------
    strength : float
        The largest C times a squared row, over R, for which they need few passes. Beyond,
        multipliers that are a little off make W quite another one.
    wide : float
        From this many values times classes on they are, whatever C is, where columns are too many
        for a good preconditioner.
    large : float
        From so many on they are not, where columns are few enough.
    """

    strength: float = 50.0
    wide: float = 5e6
    large: float = 2e7

    def __call__(self, problem: MulticlassProblem, formed: int, correlated: int) -> bool:
        """Return whether sweeps suit a problem.

        Parameters
        ----------
        problem : MulticlassProblem
            The problem; R must be a number, and there must be compiled kernels for the rows.
        formed, correlated : int
            The limits of `NewtonSystem`.
        """
        rows, R = problem.operator.compiled_rows, problem.regularizer
        if compiled is None or rows is None:
            return False
        if R.values.ndim != 0 or not R.positive:
            return False
        wide = problem.n_features > correlated
        work = problem.operator.stored * problem.n_classes
        if wide and work >= self.wide:
            return True
        small = problem.n_classes * (problem.n_features + 1) <= formed
        return not small and (wide or work < self.large) and strength(problem) <= self.strength


def strength(problem: MulticlassProblem) -> float:
    """Return C times the mean square of the rows over R."""
    square = float(problem.penalty @ problem.operator.row_squares())
    square /= float(problem.penalty.sum()) or 1.0
    return problem.C * square / (float(problem.regularizer.diagonal().mean()) or 1.0)


class BlockSweeps:
    """Rounds of block coordinate descent, a few sweeps each.

    Parameters
    ----------
    problem : MulticlassProblem
        The rows.
    rng : Generator
        Drives their order.
    """

    def __init__(self, problem: MulticlassProblem, rng: np.random.Generator) -> None:
        self.problem, self.rng = problem, rng
        self.scale = 1.0 / float(problem.regularizer.values)
        self.X = problem.operator.block(slice(None))
        self.squares = self.scale * problem.operator.row_squares()
        typical = float(np.median(self.squares[problem.penalty > 0.0])) or 1.0
        self.stiffness = STIFFNESS * typical if problem.fit_intercept else 0.0

    def minimise(self, at: Iterate, stage: RoundedMaximum, *, tol: float, most: int) -> None:
        """Sweep over all rows, then over those that may move until they hardly do.

        Of the stage the shifts are where the multipliers begin; its width plays no part.
        """
        problem, weights = self.problem, stage.weights
        alpha, W = weights[:, None] * stage.shift, at.W
        rows = np.flatnonzero(weights > 0.0)
        self.near, at.b = np.zeros(len(weights)), at.b.copy()
        q = problem.violations(at.U)
        enough = tol * (problem.energy(W) + float(weights @ np.maximum(q, 0.0)))
        self._refresh(alpha)
        first = self._sweep(at, weights, alpha, self.rng.permutation(rows))
        at.steps, at.sweeps = 0, 1
        rows = rows[self.near[rows] < NEAR]
        while at.sweeps <= MOST_SWEEPS and len(rows):
            slack = self._sweep(at, weights, alpha, self.rng.permutation(rows))
            at.sweeps += 1
            if slack <= max(LESS * first, enough):
                break
        k = problem.n_classes
        at.W = np.ascontiguousarray(self.WT[:, :k].T)
        at.b -= at.b.mean()
        at.U = problem.levels(at.W, at.b)
        own = alpha[np.arange(len(q)), problem.labels]
        gross = 2.0 * float(weights.sum() - own.sum())
        imbalance = float(np.linalg.norm(self.balance)) if problem.fit_intercept else 0.0
        at.stationarity, at.balance = 0.0, residuals.balance(imbalance, gross)
        at.a = np.divide(
            alpha, weights[:, None], out=stage.shift.copy(), where=weights[:, None] > 0
        )

    def _refresh(self, alpha: Array) -> None:
        """Compute the sums over rows that the sweeps keep, from the multipliers."""
        B = self.problem.own(alpha.copy())
        n, k = self.problem.n_features, self.problem.n_classes
        self.WT = np.zeros((n, -(-k // 4) * 4))
        self.WT[:, :k] = self.scale * self.problem.operator.pull(B).T
        self.balance = B.sum(axis=0)

    def _sweep(self, at: Iterate, weights: Array, alpha: Array, order: Array) -> float:
        """Visit some rows; return by how much their multipliers fell short."""
        problem, X = self.problem, self.X
        shared = (
            problem.labels, weights, self.squares, order, self.scale, self.stiffness, alpha,
            self.WT, at.b, self.balance, self.near,
        )  # fmt: skip
        if problem.operator.sparse:
            slack = compiled.csr_block_sweep(X.indptr, X.indices, X.data, *shared)
        else:
            slack = compiled.dense_block_sweep(X, *shared)
        problem.operator.count(2.0 * problem.n_classes * len(order) / problem.n_samples)
        if problem.fit_intercept:
            at.b += self.stiffness * self.balance
        return float(slack)
