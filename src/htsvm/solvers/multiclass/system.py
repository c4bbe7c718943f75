"""The Newton system of several classes: by ties, by factors of H, or by conjugate gradients."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from scipy.linalg import eigh

from htsvm._typing import Array
from htsvm.linalg import Operator, kernels, single
from htsvm.linalg.positive import conjugate_gradients, solve_positive
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers.multiclass.ties import TieSystem

# The most steps of conjugate gradients, and the share to which they reduce the residual: the next
# direction will have other rows.
MOST_STEPS, ACCURACY = 60, 0.1
# So many rows per feature go into the preconditioner, and no fewer than that.
ROWS_PER_FEATURE, LEAST_ROWS = 6, 10_000
# The curvature in b, as a share of what it would be if every sample were undecided.
RIDGE = 1e-5


class Undecided:
    """The samples that are undecided among several classes; all others have no curvature.

    Parameters
    ----------
    problem : MulticlassProblem
        The problem.
    sigma : ndarray of shape (m,)
        What the matrices P_A of samples are multiplied by in H.
    a, counts : ndarray
        The maximisers, and how many of their entries are positive.
    """

    def __init__(self, problem: MulticlassProblem, sigma: Array, a: Array, counts: Array) -> None:
        undecided = np.flatnonzero((counts > 1) & (sigma > 0.0))
        self._operator, self._undecided = problem.operator, undecided
        self.rough: Array | None = None
        self.mask = np.ascontiguousarray(a[undecided] > 0.0).view(np.uint8)
        self.counts = np.ascontiguousarray(counts[undecided])
        self.sigma = sigma[undecided]

    @functools.cached_property
    def rows(self) -> Operator:
        """The rows."""
        everywhere = len(self._undecided) == self._operator.shape[0]
        return self._operator if everywhere else self._operator.take(self._undecided)

    @property
    def n_ties(self) -> int:
        """The number of ties."""
        return int(self.counts.sum()) - len(self.counts)

    def go_rough(self) -> None:
        """Multiply in single precision from now on, which is good enough for a direction."""
        self.rough = self._operator.block(self._undecided).astype(np.float32)

    @functools.cached_property
    def weights(self) -> Array:
        """The weights with which rows count for each class."""
        weights: Array = self.mask * (self.sigma * (1.0 - 1.0 / self.counts))[:, None]
        return weights

    def formed(self) -> Array:
        """Return the sum of sigma P_A (x) (x, 1)(x, 1)', of shape (k, n + 1, k, n + 1)."""
        k, n = self.mask.shape[1], self.rows.shape[1]
        H = np.zeros((k, n + 1, k, n + 1))
        for j in range(k):
            for other in range(j + 1):
                both = np.flatnonzero(self.mask[:, j] & self.mask[:, other])
                if not len(both):
                    continue
                share = 1.0 / self.counts[both]
                weights = self.sigma[both] * (1.0 - share if j == other else share)
                block = np.zeros((n + 1, n + 1))
                self.rows.add_gram(both, 1.0 if j == other else -1.0, block, weights)
                block = np.tril(block) + np.tril(block, -1).T
                H[j, :, other], H[other, :, j] = block, block
        return H

    def product(self, V: Array) -> Array:
        """Return that sum times V of shape (k, n + 1)."""
        if self.rough is None:
            S = self.rows.scores(np.ascontiguousarray(V[:, :-1]), V[:, -1])
        else:
            self._operator.count(2.0 * len(V) * len(self.rough) / self._operator.shape[0])
            S = single.scores(self.rough, V[:, :-1], V[:, -1])
        kernels.active.spread_products(S, self.mask, self.counts, self.sigma)
        pulled = self.rows.pull(S) if self.rough is None else single.pull(self.rough, S)
        return np.column_stack([pulled, S.sum(axis=0)])

    def diagonal(self) -> Array:
        """Return the diagonal of that sum in the shape of V."""
        return np.column_stack([self.rows.squared_pull(self.weights), self.weights.sum(axis=0)])


class NewtonSystem:
    """Solves for Newton directions, in the form that is cheapest.

    Parameters
    ----------
    problem : MulticlassProblem
        The problem.
    formed : int
        Up to so many unknowns H is formed and factorised.
    ties : int
        Up to so many ties between classes the system is solved in their space.
    correlated : int
        Up to so many features the preconditioner knows the correlations between them.
    """

    def __init__(
        self,
        problem: MulticlassProblem,
        *,
        formed: int = 400,
        ties: int = 1500,
        correlated: int = 1500,
    ) -> None:
        self.problem, self.formed, self.ties = problem, formed, ties
        self.correlated = correlated
        self.unknowns = problem.n_classes * (problem.n_features + 1)
        invertible = problem.regularizer.positive or problem.regularizer.is_matrix
        self.by_ties = TieSystem(problem.regularizer, problem.fit_intercept) if invertible else None
        self.cg_steps = 0

    @functools.cached_property
    def spectrum(self) -> Spectrum | None:
        """What conjugate gradients know of the correlations; None where features are too many."""
        return Spectrum(self.problem) if self.problem.n_features <= self.correlated else None

    def direction(
        self, rows: Undecided, curvature: float, gradient: tuple[Array, Array]
    ) -> tuple[Array, Array]:
        """Return (dW, db); `curvature` is that in b if every sample were undecided."""
        ridge = RIDGE * curvature if self.problem.fit_intercept else 1.0
        if self.by_ties is not None and 0 < rows.n_ties <= self.ties:
            solution = self.by_ties.solve(rows, ridge, gradient)
        elif self.unknowns <= self.formed:
            solution = self._factorised(rows, ridge, np.column_stack(gradient))
        else:
            solution = self._by_gradients(rows, ridge, np.column_stack(gradient))
        # The solution has this property; conjugate gradients with blocks that differ lose it.
        solution -= solution.mean(axis=0)
        return np.ascontiguousarray(solution[:, :-1]), solution[:, -1].copy()

    def _factorised(self, rows: Undecided, ridge: float, gradient: Array) -> Array:
        """Form H and solve with its Cholesky factors."""
        k, n = gradient.shape[0], gradient.shape[1] - 1
        H = rows.formed()
        if not self.problem.fit_intercept:
            H[:, n], H[:, :, :, n] = 0.0, 0.0
        for j in range(k):
            self.problem.regularizer.add_to(H[j, :, j])
            H[j, n, j, n] += ridge
        H = H.reshape(self.unknowns, self.unknowns)
        # A share of each entry: columns may have scales that are far apart.
        H[np.diag_indices_from(H)] *= 1.0 + 1e-14
        return solve_positive(H, -gradient.ravel()).reshape(k, n + 1)

    def _by_gradients(self, rows: Undecided, ridge: float, gradient: Array) -> Array:
        """Solve by conjugate gradients."""
        problem, spectrum = self.problem, self.spectrum
        if spectrum is None:
            diagonal = rows.diagonal()
            if not problem.fit_intercept:
                diagonal[:, -1] = 0.0
            diagonal[:, -1] += ridge
            diagonal[:, :-1] += problem.regularizer.diagonal()
            np.maximum(diagonal, 1e-12 * diagonal.max(), out=diagonal)
        else:
            strength = rows.weights.sum(axis=0)
            if spectrum.rough:
                rows.go_rough()

        def apply(V: Array) -> Array:
            out: Array = rows.product(V)
            out[:, :-1] += problem.regularizer.dot(np.ascontiguousarray(V[:, :-1]))
            if not problem.fit_intercept:
                out[:, -1] = 0.0
            out[:, -1] += ridge * V[:, -1]
            return out

        def precondition(V: Array) -> Array:
            return V / diagonal if spectrum is None else spectrum.solve(V, strength, ridge)

        solution, steps = conjugate_gradients(
            apply, -gradient, precondition, tolerance=ACCURACY, most_steps=MOST_STEPS
        )
        self.cg_steps += steps
        return solution


class Spectrum:
    """Solves with ``R + s_j Cov`` for each class j, whatever s_j, by one eigendecomposition.

    Were the undecided samples of each class distributed like all samples, H would have such
    blocks: Cov is the second moment of the centred rows. Centring uncouples the intercepts.
    """

    def __init__(self, problem: MulticlassProblem) -> None:
        n, p = problem.n_features, problem.penalty
        rows = np.flatnonzero(p > 0.0)
        rows = rows[:: len(rows) // max(ROWS_PER_FEATURE * (n + 1), LEAST_ROWS) + 1]
        moments, total = np.zeros((n + 1, n + 1)), float(p[rows].sum()) or 1.0
        if len(rows):
            problem.operator.add_gram(rows, 1.0, moments, p[rows])
        self.mean = moments[n, :n] / total if problem.fit_intercept else np.zeros(n)
        cov = np.tril(moments[:n, :n] / total)
        cov += np.tril(cov, -1).T
        cov -= np.outer(self.mean, self.mean)
        self.rough = single.pays(problem.operator, problem.n_classes, moments)
        R = np.zeros((n, n))
        problem.regularizer.add_to(R)
        # A regulariser that is only semidefinite would have no such decomposition.
        R[np.diag_indices(n)] += 1e-10 * (np.trace(R) + np.trace(cov)) / n
        self.values, self.vectors = eigh(cov, R)
        np.maximum(self.values, 0.0, out=self.values)
        if self.rough:
            self.vectors = self.vectors.astype(np.float32)

    def solve(self, V: Array, strength: Array, ridge: float) -> Array:
        """Solve for each row (of W and b) of V."""
        out = np.empty_like(V)
        uncoupled = V[:, :-1] - np.outer(V[:, -1], self.mean)
        times: Any = single.product if self.rough else np.matmul
        inner = times(uncoupled, self.vectors)
        inner /= 1.0 + strength[:, None] * self.values
        out[:, :-1] = times(inner, self.vectors.T)
        out[:, -1] = V[:, -1] / (strength + ridge) - out[:, :-1] @ self.mean
        return out
