"""The Newton system of the multi-class problem: factors if small, else conjugate gradients."""

from __future__ import annotations

import copy

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from htsvm._typing import Array
from htsvm.linalg import joint_kernels
from htsvm.linalg.products import pull, scores, squared_pull
from htsvm.solvers.joint_problem import JointProblem

# Up to this many features the preconditioner knows the correlations between them.
MOST_SPECTRUM_FEATURES = 1500
MOST_STEPS = 60
# Up to this many unknowns H is formed and factorised.
MOST_DIRECT = 400
# This many rows per feature go into it; more would not make it better.
ROWS_PER_FEATURE, LEAST_ROWS = 6, 10_000
# The curvature in b, as a share of what it would be if every sample were undecided.
RIDGE = 1e-5


class JointSystem:
    """Solves H (dW, db) = -(gW, gb) for the generalised Hessian H.

    ``H = R (x) I + sum_i sigma_i P_i (x) (x_i, 1)(x_i, 1)'`` with ``P_i = I_A - 1 1' / |A|`` over
    the classes A among which sample i is undecided. Samples decided for one class drop out.
    """

    def __init__(self, problem: JointProblem) -> None:
        self.problem = problem
        self.direct = problem.n_classes * (problem.n_features + 1) <= MOST_DIRECT
        wide = problem.n_features > MOST_SPECTRUM_FEATURES
        self.spectrum = None if wide or self.direct else _Spectrum(problem)
        self.total = float(problem.penalty.sum())
        self.steps = 0

    def direction(
        self,
        part: JointProblem,
        xi: float,
        alpha: Array,
        counts: Array,
        gradient: tuple[Array, Array],
        accuracy: float,
    ) -> tuple[Array, Array]:
        """Return (dW, db); `part` holds the rows to which alpha and counts belong."""
        undecided = np.flatnonzero(counts > 1)
        everywhere = len(undecided) == part.n_samples
        self.rows = copy.copy(part.operator) if everywhere else part.operator.take(undecided)
        self.rows.passes = 0.0
        self.mask = np.ascontiguousarray(alpha[undecided] > 0.0).view(np.uint8)
        self.counts = np.ascontiguousarray(counts[undecided])
        self.sigma = xi * part.penalty[undecided]
        self.ridge = xi * RIDGE * self.total if part.fit_intercept else 1.0
        if self.direct:
            return self._factorised(gradient)
        weights = self.mask * (self.sigma * (1.0 - 1.0 / self.counts))[:, None]
        self.strength = weights.sum(axis=0)
        if self.spectrum is None:
            self.diagonal = self._diagonal(weights)
        solution = self._conjugate_gradients(np.column_stack(gradient), accuracy)
        # The solution has this property; conjugate gradients with blocks that differ lose it.
        solution -= solution.mean(axis=0)
        part.operator.passes += self.rows.passes * len(undecided) / max(part.n_samples, 1)
        return np.ascontiguousarray(solution[:, :-1]), solution[:, -1].copy()

    def _factorised(self, gradient: tuple[Array, Array]) -> tuple[Array, Array]:
        """Form H and solve with its Cholesky factors."""
        k, n = gradient[0].shape
        H = np.zeros((k, n + 1, k, n + 1))
        for j in range(k):
            for other in range(j + 1):
                both = np.flatnonzero(self.mask[:, j] & self.mask[:, other])
                share = 1.0 / self.counts[both]
                weights = self.sigma[both] * (1.0 - share if j == other else share)
                block = np.zeros((n + 1, n + 1))
                if len(both):
                    self.rows.add_gram(both, 1.0 if j == other else -1.0, block, weights)
                block = np.tril(block) + np.tril(block, -1).T
                if not self.problem.fit_intercept:
                    block[n], block[:, n] = 0.0, 0.0
                H[j, :, other], H[other, :, j] = block, block
            self.problem.regularizer.add_to(H[j, :, j])
            H[j, n, j, n] += self.ridge
        H = H.reshape(k * (n + 1), k * (n + 1))
        H[np.diag_indices_from(H)] += 1e-14 * np.trace(H) / len(H)
        factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
        solution = cho_solve(factor, -np.column_stack(gradient).ravel(), check_finite=False)
        solution = solution.reshape(k, n + 1)
        solution -= solution.mean(axis=0)
        return np.ascontiguousarray(solution[:, :-1]), solution[:, -1].copy()

    def _apply(self, V: Array) -> Array:
        """Return H V for V of shape (n_classes, n_features + 1)."""
        W, b = np.ascontiguousarray(V[:, :-1]), V[:, -1]
        out = np.empty_like(V)
        S = scores(self.rows, W, b)
        joint_kernels.active.spread_products(S, self.mask, self.counts, self.sigma)
        out[:, :-1] = self.problem.smooth(W)
        out[:, :-1] += pull(self.rows, S)
        out[:, -1] = self.ridge * b
        if self.problem.fit_intercept:
            out[:, -1] += S.sum(axis=0)
        return out

    def _conjugate_gradients(self, gradient: Array, accuracy: float) -> Array:
        """Return an approximate solution of H x = -gradient."""
        x = np.zeros_like(gradient)
        residual = -gradient
        goal = accuracy * float(np.linalg.norm(gradient))
        z = self._precondition(residual)
        p = z.copy()
        product = float(np.vdot(residual, z))
        self.steps = 0
        while self.steps < MOST_STEPS:
            self.steps += 1
            Hp = self._apply(p)
            step = product / float(np.vdot(p, Hp))
            x += step * p
            residual -= step * Hp
            if float(np.linalg.norm(residual)) <= goal:
                break
            z = self._precondition(residual)
            product, before = float(np.vdot(residual, z)), product
            p *= product / before
            p += z
        return x

    def _precondition(self, V: Array) -> Array:
        """Solve with the approximation of H that `spectrum` or the diagonal gives."""
        if self.spectrum is None:
            return V / self.diagonal
        return self.spectrum.solve(V, self.strength, self.ridge)

    def _diagonal(self, weights: Array) -> Array:
        """Return the diagonal of H."""
        n = self.problem.n_features
        diagonal = np.full((weights.shape[1], n + 1), self.ridge)
        diagonal[:, :n] = self.problem.regularizer.diagonal()
        diagonal[:, :n] += squared_pull(self.rows, weights)
        if self.problem.fit_intercept:
            diagonal[:, n] += weights.sum(axis=0)
        floor: Array = np.maximum(diagonal, 1e-12 * diagonal.max())
        return floor


class _Spectrum:
    """Solves with ``R + s_j Cov`` for each class j, whatever s_j, by one eigendecomposition.

    Were the undecided samples of each class distributed like all samples, H would have such
    blocks: Cov is the second moment of the centred rows. Centring uncouples the intercepts.
    """

    def __init__(self, problem: JointProblem) -> None:
        n = problem.n_features
        rows = np.flatnonzero(problem.penalty > 0.0)
        rows = rows[:: len(rows) // max(ROWS_PER_FEATURE * (n + 1), LEAST_ROWS) + 1]
        moments = np.zeros((n + 1, n + 1))
        problem.operator.add_gram(rows, 1.0, moments, problem.penalty[rows])
        total = float(problem.penalty[rows].sum())
        self.mean = moments[n, :n] / total if problem.fit_intercept else np.zeros(n)
        cov = np.tril(moments[:n, :n] / total)
        cov += np.tril(cov, -1).T
        cov -= np.outer(self.mean, self.mean)
        R = np.zeros((n, n))
        problem.regularizer.add_to(R)
        # A regulariser that is only semidefinite would have no such decomposition.
        R[np.diag_indices(n)] += 1e-10 * (np.trace(R) + np.trace(cov)) / n
        self.values, self.vectors = eigh(cov, R)
        np.maximum(self.values, 0.0, out=self.values)

    def solve(self, V: Array, strength: Array, ridge: float) -> Array:
        """Solve for each row (of W and b) of V."""
        out = np.empty_like(V)
        uncoupled = V[:, :-1] - np.outer(V[:, -1], self.mean)
        inner = uncoupled @ self.vectors
        inner /= 1.0 + strength[:, None] * self.values
        out[:, :-1] = inner @ self.vectors.T
        out[:, -1] = V[:, -1] / (strength + ridge) - out[:, :-1] @ self.mean
        return out
