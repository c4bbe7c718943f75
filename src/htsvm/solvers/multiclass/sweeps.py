"""Rounds for larger multi-class data: dual coordinate descent, a sample at a time.

The dual of the weighted Crammer-Singer problem has a simplex of multipliers per sample, and the
problem in one of them alone is a projection onto it. A sweep visits each row once and keeps
``W = X' B`` as it should be, so that of all residuals only complementarity and the balance of the
free intercepts are left to work on; the latter by an augmented Lagrangian whose
multipliers are the intercepts. With free intercepts the mean of the rows may be taken off each of
them without changing the problem. That is done, though not to the data: rows with a large
common part pull all one way, and coordinate descent would take many times as long.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.optimality import residuals
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers.multiclass.round import (
    MulticlassIterate,
    MulticlassReport,
    RoundOptions,
    resized,
)
from htsvm.solvers.multiclass.system import MOST_SPECTRUM_FEATURES, MulticlassSystem

# The loops over samples; None where nothing was compiled.
compiled = kernels.optional("solvers.multiclass._sweeps")
# From this many values of X times classes on sweeps are quicker than Newton steps, if the features
# are too many for a good preconditioner.
LARGE = 5_000_000
# Sweeps per round at xi = 1; the first looks at all relevant rows, the others at undecided ones.
SWEEPS = 2
# How hard imbalance is punished, in units of a typical squared row: hard enough to move the
# intercepts, soft enough not to tie them to the samples visited last.
STIFFNESS = 0.05
# How close to a tie a sample counts as undecided.
NEAR = 0.1


def prefers_sweeps(problem: MulticlassProblem) -> bool:
    """Return whether dual coordinate descent suits the problem.

    That is if it is large and has many features, R is a number, and the kernels are compiled.
    """
    return (
        compiled is not None
        and problem.operator.compiled_rows is not None
        and problem.operator.stored * problem.n_classes >= LARGE
        and problem.regularizer.values.ndim == 0
        and problem.regularizer.positive
        and problem.n_features > MOST_SPECTRUM_FEATURES
    )


def _mean(problem: MulticlassProblem) -> Array:
    """Return the mean of the rows that count; zero where a free intercept does not take it up."""
    if not problem.fit_intercept:
        return np.zeros(problem.n_features)
    used = problem.penalty > 0.0
    count = int(np.count_nonzero(used)) or 1
    mean: Array = problem.operator.pull(used[:, None] / count)[0]
    return mean


class MulticlassSweeps:
    """Rounds of block coordinate descent, a few sweeps each."""

    def __init__(self, problem: MulticlassProblem, rng: np.random.Generator) -> None:
        self.problem = problem
        self.rng = rng
        self.scale = 1.0 / float(problem.regularizer.values)
        used = problem.penalty > 0.0
        self.mean = _mean(problem)
        self.projections = problem.operator.scores(self.mean[None, :], np.zeros(1))[:, 0]
        self.square = float(self.mean @ self.mean)
        squares = problem.operator.row_squares() - 2.0 * self.projections + self.square
        self.squares = self.scale * np.maximum(squares, 0.0)
        typical = float(np.median(self.squares[used])) or 1.0
        self.stiffness = STIFFNESS * typical if problem.fit_intercept else 0.0

    @cached_property
    def system(self) -> MulticlassSystem:
        """The Newton system of the problem, which a least squares start needs."""
        return MulticlassSystem.of(self.problem)

    def run(self, it: MulticlassIterate, options: RoundOptions) -> MulticlassReport:
        """Sweep over the relevant rows, the more often the larger xi has grown.

        The run raises xi while multipliers lag behind their levels, which here means that sweeps
        were too few. Tolerance and number of steps play no part.
        """
        problem, xi, reach = self.problem, options.xi, options.reach
        places = np.arange(len(it.q))
        it.alpha = resized(it.alpha, it.weights)
        own = it.alpha[places, problem.labels]
        pulls = own < (1.0 - 1e-12) * it.weights
        it.alpha[places, problem.labels] += it.weights - it.alpha.sum(axis=1)
        rows = np.flatnonzero((it.weights > 0.0) & ((it.q > -reach) | pulls))
        it.b = it.b + it.W @ self.mean
        self._refresh(it)
        sweeps = int(SWEEPS * math.sqrt(xi))
        for number in range(sweeps):
            order = rows if number == 0 else self._undecided(it, rows)
            self._sweep(it, self.rng.permutation(order))
            if problem.fit_intercept:
                it.b += self.stiffness * self.balance
        it.b -= it.b.mean()
        it.W = self.WT.T - self.scale * np.outer(self.balance, self.mean)
        it.b -= it.W @ self.mean
        it.U = problem.levels(it.W, it.b)
        it.q = problem.violations(it.U)
        return self._report(it, rows, sweeps)

    def _refresh(self, it: MulticlassIterate) -> None:
        """Compute the sums over rows that the sweeps keep, from the multipliers."""
        B = self.problem.own(it.alpha.copy())
        self.WT = np.ascontiguousarray(self.scale * self.problem.pull(B).T)
        self.balance = B.sum(axis=0)
        self.offset = self.mean @ self.WT

    def _undecided(self, it: MulticlassIterate, rows: Array) -> Array:
        """Return the rows with several multipliers, and those that were close to a change."""
        alpha = it.alpha[rows]
        several = np.count_nonzero(alpha, axis=1) > 1
        levels = it.U[rows]
        held = levels[np.arange(len(rows)), alpha.argmax(axis=1)]
        kept: Array = rows[several | (held < levels.max(axis=1)) | (np.abs(it.q[rows]) < NEAR)]
        return kept

    def _sweep(self, it: MulticlassIterate, order: Array) -> None:
        problem, X = self.problem, self.problem.operator.block(slice(None))
        shared = (
            problem.labels, it.weights, self.squares, self.projections, order, self.scale,
            self.stiffness, self.square, it.alpha, self.WT, it.b, self.balance, self.offset,
        )  # fmt: skip
        if problem.operator.sparse:
            compiled.csr_block_sweep(X.indptr, X.indices, X.data, *shared)
        else:
            compiled.dense_block_sweep(X, *shared)
        problem.operator.count(2.0 * problem.n_classes * len(order) / problem.n_samples)

    def _report(self, it: MulticlassIterate, rows: Array, sweeps: int) -> MulticlassReport:
        alpha = it.alpha[rows]
        own = alpha[np.arange(len(rows)), self.problem.labels[rows]]
        several = np.count_nonzero(alpha, axis=1) > 1
        support = several | (own == 0.0)
        gross = 2.0 * float(it.weights[rows].sum() - own.sum())
        imbalance = float(np.linalg.norm(self.balance)) if self.problem.fit_intercept else 0.0
        length = float(np.linalg.norm(it.W)) / self.scale
        return MulticlassReport(
            sweeps=sweeps,
            rows=len(rows),
            active=int(np.count_nonzero(several)),
            support=int(np.count_nonzero(support)),
            # Weights for centred rows differ from those for the rows by the imbalance.
            stationarity=residuals.stationarity(
                imbalance * math.sqrt(self.square),
                length,
                length,
                gross * self.problem.operator.row_length,
            ),
            balance=residuals.balance(imbalance, gross),
            finished=True,
        )
