"""Rounds for larger multi-class data: dual coordinate descent, a sample at a time.

The dual of the weighted Crammer-Singer problem has a simplex of multipliers per sample, and the
problem in one of them alone is a projection onto it. A sweep visits each row once and keeps
``W = X' B`` as it should be, so that of all residuals only complementarity and the balance of the
free intercepts are left to work on; the latter by an augmented Lagrangian whose
multipliers are the intercepts.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.optimality import residuals
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers.multiclass.round import (
    MulticlassIterate,
    MulticlassReport,
    RoundOptions,
)
from htsvm.solvers.multiclass.system import (
    MOST_DIRECT,
    MOST_SPECTRUM_FEATURES,
    MulticlassSystem,
)

# The loops over samples; None where nothing was compiled.
compiled = kernels.optional("solvers.multiclass._block_sweeps")
# Sweeps of a round over the samples that may move, after one over all of them: at most so many, or
# until these fall short of less than this share of what all of them did.
MOST_SWEEPS, LESS = 20, 0.1
# How hard imbalance is punished, in units of a typical squared row: hard enough to move the
# intercepts, soft enough not to tie them to the samples visited last.
STIFFNESS = 0.05
# From so many classes on, sweeps after the first look at those alone whose level is within this of
# the highest, or that have multipliers.
MANY_CLASSES, RIVALS = 20, 0.5
# How close to a change of its multipliers a sample may move.
NEAR = 0.1
# The largest C times a squared row, over R, for which sweeps need few passes. Beyond, multipliers
# that are a little off make W quite another one.
STRONG = 50.0
# From this many values of X times classes on sweeps are quicker than Newton steps whatever C is, if
# the features are too many for a good preconditioner; if they are not, Newton steps are quicker
# from so many on.
LARGE, VERY_LARGE = 5_000_000, 20_000_000


def prefers_sweeps(problem: MulticlassProblem) -> bool:
    """Return whether dual coordinate descent suits the problem.

    That is if R is a number, the rows are here and the kernels compiled for them, unless the Newton
    system is small enough to be factorised, or C times a squared row is large and a Newton step
    affordable.
    """
    if (
        problem.rows is not None
        or compiled is None
        or problem.operator.compiled_rows is None
        or problem.regularizer.values.ndim != 0
        or not problem.regularizer.positive
    ):
        return False
    wide = problem.n_features > MOST_SPECTRUM_FEATURES
    work = problem.operator.stored * problem.n_classes
    if wide and work >= LARGE:
        return True
    small = problem.n_classes * (problem.n_features + 1) <= MOST_DIRECT
    return not small and (wide or work < VERY_LARGE) and strength(problem) <= STRONG


def strength(problem: MulticlassProblem) -> float:
    """Return C times the mean square of the rows over R."""
    square = square_sum(problem) / (float(problem.penalty.sum()) or 1.0)
    return problem.C * square / (float(problem.regularizer.diagonal().mean()) or 1.0)


def square_sum(problem: MulticlassProblem) -> float:
    """Return the sum of the squares of the rows, times penalties."""
    return float(problem.penalty @ problem.operator.row_squares())


class _Few(NamedTuple):
    """A few classes of each sample: ``classes[first[i]:first[i + 1]]``; and W while they move."""

    W: Array
    first: Array
    classes: Array


class MulticlassSweeps:
    """Rounds of block coordinate descent, a few sweeps each."""

    def __init__(self, problem: MulticlassProblem, rng: np.random.Generator) -> None:
        self.problem = problem
        self.rng = rng
        self.scale = 1.0 / float(problem.regularizer.values)
        used = problem.penalty > 0.0
        self.X = problem.operator.block(slice(None))
        self.squares = self.scale * problem.operator.row_squares()
        typical = float(np.median(self.squares[used])) or 1.0
        self.stiffness = STIFFNESS * typical if problem.fit_intercept else 0.0

    @cached_property
    def system(self) -> MulticlassSystem:
        """The Newton system of the problem, which a least squares start needs."""
        return MulticlassSystem.of(self.problem)

    def run(self, it: MulticlassIterate, options: RoundOptions) -> MulticlassReport:
        """Sweep over all rows, then over those that may move until they hardly do.

        Penalty, number of steps and reach play no part.
        """
        problem, labels = self.problem, self.problem.labels
        places = np.arange(len(it.q))
        it.alpha[places, labels] = 0.0
        used = it.alpha.sum(axis=1)
        it.alpha[places, labels] = it.weights - used
        rows = np.flatnonzero((it.weights > 0.0) | (used > 0.0))
        self.near = np.zeros(len(it.q))
        enough = options.tol * (problem.energy(it.W) + it.majorised_loss())
        it.b = it.b.copy()
        self._refresh(it)
        first = self._sweep(it, self.rng.permutation(rows))
        sweeps, visits = 1, len(rows)
        rows = rows[self.near[rows] < NEAR]
        few = self._few_classes(it) if len(rows) else None
        while sweeps <= MOST_SWEEPS and len(rows):
            slack = self._sweep(it, self.rng.permutation(rows), few)
            sweeps, visits = sweeps + 1, visits + len(rows)
            if slack <= max(LESS * first, enough):
                break
        if few is not None:
            self.WT[:, : problem.n_classes] = few.W.T
        it.b -= it.b.mean()
        k = problem.n_classes
        it.W = np.ascontiguousarray(self.WT[:, :k].T)
        it.U = problem.levels(it.W, it.b)
        it.q = problem.violations(it.U)
        return self._report(it, sweeps, visits)

    def _refresh(self, it: MulticlassIterate) -> None:
        """Compute the sums over rows that the sweeps keep, from the multipliers."""
        B = self.problem.own(it.alpha.copy())
        n, k = self.problem.n_features, self.problem.n_classes
        self.WT = np.zeros((n, -(-k // 4) * 4))
        self.WT[:, :k] = self.scale * self.problem.pull(B).T
        self.balance = B.sum(axis=0)

    def _few_classes(self, it: MulticlassIterate) -> _Few | None:
        """Return the classes of each sample that may have multipliers soon; None: all of them."""
        k = self.problem.n_classes
        if k < MANY_CLASSES or self.problem.operator.sparse:
            return None
        W = np.ascontiguousarray(self.WT[:, :k].T)
        U = self.problem.levels(W, it.b)
        counted = (U.max(axis=1)[:, None] - RIVALS < U) | (it.alpha > 0.0)
        counted[np.arange(len(U)), self.problem.labels] = True
        first = np.append(0, np.cumsum(np.count_nonzero(counted, axis=1)))
        return _Few(W, first, np.ascontiguousarray(np.nonzero(counted)[1]))

    def _sweep(self, it: MulticlassIterate, order: Array, few: _Few | None = None) -> float:
        problem, X = self.problem, self.X
        shared = (
            problem.labels, it.weights, self.squares, order, self.scale, self.stiffness, it.alpha,
            self.WT if few is None else few.W, it.b, self.balance, self.near,
        )  # fmt: skip
        classes = float(problem.n_classes)
        if few is not None:
            slack = compiled.dense_few_sweep(X, *shared, few.first, few.classes)
            classes = len(few.classes) / problem.n_samples
        elif problem.operator.sparse:
            slack = compiled.csr_block_sweep(X.indptr, X.indices, X.data, *shared)
        else:
            slack = compiled.dense_block_sweep(X, *shared)
        problem.operator.count(2.0 * classes * len(order) / problem.n_samples)
        if problem.fit_intercept:
            it.b += self.stiffness * self.balance
        return float(slack)

    def _report(self, it: MulticlassIterate, sweeps: int, visits: int) -> MulticlassReport:
        own = it.alpha[np.arange(len(it.q)), self.problem.labels]
        several = np.count_nonzero(it.alpha, axis=1) > 1
        support = several | ((own == 0.0) & (it.weights > 0.0))
        gross = 2.0 * float(it.weights.sum() - own.sum())
        imbalance = float(np.linalg.norm(self.balance)) if self.problem.fit_intercept else 0.0
        return MulticlassReport(
            sweeps=sweeps,
            rows=visits // sweeps,
            active=int(np.count_nonzero(several)),
            support=int(np.count_nonzero(support)),
            stationarity=0.0,
            balance=residuals.balance(imbalance, gross),
            finished=True,
            penalised=False,
        )
