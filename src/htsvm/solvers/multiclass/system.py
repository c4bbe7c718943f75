"""The Newton system of the multi-class problem: factors if small, else conjugate gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from htsvm._typing import Array
from htsvm.linalg import Operator, Quadratic, multiclass_kernels, single
from htsvm.linalg.positive import Cholesky, conjugate_gradients, solve_positive
from htsvm.problems.multiclass import MulticlassProblem

# Up to this many features the preconditioner knows the correlations between them.
MOST_SPECTRUM_FEATURES = 1500
MOST_STEPS = 60
# Up to this many unknowns H is formed and factorised.
MOST_DIRECT = 400
# This many rows per feature go into it; more would not make it better.
ROWS_PER_FEATURE, LEAST_ROWS = 6, 10_000
# Up to this many ties between classes the system is solved in their space; where H would be small,
# up to so many per unknown.
MOST_TIES, TIES_PER_UNKNOWN = 1500, 8
# The curvature in b, as a share of what it would be if every sample were undecided.
RIDGE = 1e-5


class UndecidedRows:
    """The rows that make up the generalised Hessian H, apart from the regulariser.

    ``H = R (x) I + sum_i sigma_i P_i (x) (x_i, 1)(x_i, 1)'`` with ``P_i = I_A - 1 1' / |A|`` over
    the classes A among which sample i is undecided. Samples decided for one class drop out.

    Parameters
    ----------
    problem : MulticlassProblem
        The problem on the rows of a round.
    xi : float
        The penalty of the round.
    alpha, counts : ndarray
        The projected multipliers of these rows, and how many of them are positive in each.
    """

    def __init__(self, problem: MulticlassProblem, xi: float, alpha: Array, counts: Array) -> None:
        undecided = np.flatnonzero(counts > 1)
        self._operator, self._undecided = problem.operator, undecided
        self.rough: Array | None = None
        self.mask = np.ascontiguousarray(alpha[undecided] > 0.0).view(np.uint8)
        self.counts = np.ascontiguousarray(counts[undecided])
        self.sigma = xi * problem.penalty[undecided]

    @functools.cached_property
    def rows(self) -> Operator:
        """The rows."""
        everywhere = len(self._undecided) == self._operator.shape[0]
        return self._operator if everywhere else self._operator.take(self._undecided)

    def go_rough(self) -> None:
        """Multiply in single precision from now on, which is good enough for a direction."""
        self.rough = self._operator.block(self._undecided).astype(np.float32)

    @functools.cached_property
    def weights(self) -> Array:
        """The weights with which rows count for each class."""
        weights: Array = self.mask * (self.sigma * (1.0 - 1.0 / self.counts))[:, None]
        return weights

    def pairs(self) -> Array:
        """Return the blocks of H for classes (0, 0), (1, 0), (1, 1), (2, 0), ..."""
        k, n = self.mask.shape[1], self.rows.shape[1]
        blocks = np.zeros((k * (k + 1) // 2, n + 1, n + 1))
        for place, (j, other) in enumerate(_pairs(k)):
            both = np.flatnonzero(self.mask[:, j] & self.mask[:, other])
            share = 1.0 / self.counts[both]
            weights = self.sigma[both] * (1.0 - share if j == other else share)
            if len(both):
                self.rows.add_gram(both, 1.0 if j == other else -1.0, blocks[place], weights)
        return blocks

    def product(self, V: Array) -> Array:
        """Return H V for V of shape (n_classes, n_features + 1)."""
        if self.rough is None:
            S = self.rows.scores(np.ascontiguousarray(V[:, :-1]), V[:, -1])
        else:
            self._operator.count(2.0 * len(V) * len(self.rough) / self._operator.shape[0])
            S = single.scores(self.rough, V[:, :-1], V[:, -1])
        multiclass_kernels.active.spread_products(S, self.mask, self.counts, self.sigma)
        pulled = self.rows.pull(S) if self.rough is None else single.pull(self.rough, S)
        return np.column_stack([pulled, S.sum(axis=0)])

    def strength(self) -> Array:
        """Return the sums of the weights with which rows count for each class."""
        strength: Array = self.weights.sum(axis=0)
        return strength

    def diagonal(self) -> Array:
        """Return the diagonal of H in the same shape as V."""
        return np.column_stack([self.rows.squared_pull(self.weights), self.strength()])


class MulticlassSystem:
    """Solves H (dW, db) = -(gW, gb) for the generalised Hessian H; see `UndecidedRows`.

    Parameters
    ----------
    problem : MulticlassProblem
        The problem; of its rows nothing but their number is used.
    total : float
        The sum of all penalties.
    moments : callable
        Returns the matrix of `row_moments` of some rows, and the sum of their penalties.
    """

    def __init__(
        self, problem: MulticlassProblem, total: float, moments: Callable[[], tuple[Array, float]]
    ) -> None:
        self.problem, self.total = problem, total
        self.direct = problem.n_classes * (problem.n_features + 1) <= MOST_DIRECT
        self._moments = moments
        invertible = problem.regularizer.positive or problem.regularizer.is_matrix
        self.ties = TieSystem(problem.regularizer, problem.fit_intercept) if invertible else None
        self.steps = 0

    @functools.cached_property
    def spectrum(self) -> _Spectrum | None:
        """What conjugate gradients know of the correlations; None where features are too many."""
        if self.problem.n_features > MOST_SPECTRUM_FEATURES:
            return None
        return _Spectrum(self.problem, *self._moments())

    @classmethod
    def of(cls, problem: MulticlassProblem) -> MulticlassSystem:
        """Return the system of a problem with its rows in this process."""

        def moments() -> tuple[Array, float]:
            step = moment_step(int(np.count_nonzero(problem.penalty)), problem.n_features)
            return row_moments(problem, 0, step)

        return cls(problem, float(problem.penalty.sum()), moments)

    def direction(
        self, rows: Any, xi: float, gradient: tuple[Array, Array], accuracy: float
    ) -> tuple[Array, Array]:
        """Return (dW, db); `rows` answers like `UndecidedRows`."""
        self.rows = rows
        self.ridge = xi * RIDGE * self.total if self.problem.fit_intercept else 1.0
        if self.ties is not None and self._few_ties(rows):
            solution = self.ties.solve(rows, self.ridge, gradient)
            self.steps = 0
        elif self.direct:
            solution = self._factorised(np.column_stack(gradient))
        else:
            if self.spectrum is None:
                self.diagonal = self._diagonal()
            else:
                self.strength = rows.strength()
                if self._rough_will_do(rows):
                    rows.go_rough()
            solution, self.steps = conjugate_gradients(
                self._apply, -np.column_stack(gradient), self._precondition,
                tolerance=accuracy, most_steps=MOST_STEPS,
            )  # fmt: skip
        # The solution has this property; conjugate gradients with blocks that differ lose it.
        solution -= solution.mean(axis=0)
        return np.ascontiguousarray(solution[:, :-1]), solution[:, -1].copy()

    def _few_ties(self, rows: Any) -> bool:
        """Return whether there are few ties between classes, all of them in this process."""
        if not isinstance(rows, UndecidedRows):
            return False
        used = rows.counts[rows.sigma > 0.0]
        count = int(used.sum()) - len(used)
        unknowns = self.problem.n_classes * (self.problem.n_features + 1)
        most = TIES_PER_UNKNOWN * unknowns if self.direct else MOST_TIES
        return 0 < count <= min(most, MOST_TIES)

    def _rough_will_do(self, rows: Any) -> bool:
        """Return whether a direction may be found in single precision."""
        return isinstance(rows, UndecidedRows) and bool(self.spectrum and self.spectrum.rough)

    def _factorised(self, gradient: Array) -> Array:
        """Form H and solve with its Cholesky factors."""
        k, n = gradient.shape[0], gradient.shape[1] - 1
        H = np.zeros((k, n + 1, k, n + 1))
        lower = self.rows.pairs()
        blocks = np.tril(lower) + np.tril(lower, -1).transpose(0, 2, 1)
        for block, (j, other) in zip(blocks, _pairs(k), strict=True):
            if not self.problem.fit_intercept:
                block[n], block[:, n] = 0.0, 0.0
            H[j, :, other], H[other, :, j] = block, block
        for j in range(k):
            self.problem.regularizer.add_to(H[j, :, j])
            H[j, n, j, n] += self.ridge
        H = H.reshape(k * (n + 1), k * (n + 1))
        # A share of each entry: columns may have scales that are far apart.
        H[np.diag_indices_from(H)] *= 1.0 + 1e-14
        return solve_positive(H, -gradient.ravel()).reshape(k, n + 1)

    def _apply(self, V: Array) -> Array:
        """Return H V for V of shape (n_classes, n_features + 1)."""
        out: Array = self.rows.product(V)
        out[:, :-1] += self.problem.smooth(np.ascontiguousarray(V[:, :-1]))
        if not self.problem.fit_intercept:
            out[:, -1] = 0.0
        out[:, -1] += self.ridge * V[:, -1]
        return out

    def _precondition(self, V: Array) -> Array:
        """Solve with the approximation of H that `spectrum` or the diagonal gives."""
        if self.spectrum is None:
            return V / self.diagonal
        return self.spectrum.solve(V, self.strength, self.ridge)

    def _diagonal(self) -> Array:
        """Return the diagonal of H."""
        diagonal: Array = self.rows.diagonal()
        if not self.problem.fit_intercept:
            diagonal[:, -1] = 0.0
        diagonal[:, -1] += self.ridge
        diagonal[:, :-1] += self.problem.regularizer.diagonal()
        floor: Array = np.maximum(diagonal, 1e-12 * diagonal.max())
        return floor


def _pairs(k: int) -> list[tuple[int, int]]:
    return [(j, other) for j in range(k) for other in range(j + 1)]


def moment_step(count: int, n_features: int) -> int:
    """Return the stride at which the moments take from `count` rows."""
    return count // max(ROWS_PER_FEATURE * (n_features + 1), LEAST_ROWS) + 1


def row_moments(problem: MulticlassProblem, first: int, step: int) -> tuple[Array, float]:
    """Return ``sum_i penalty_i (x_i, 1)(x_i, 1)'`` and the sum of the penalties.

    Of the rows with a penalty each `step`-th counts, beginning with number `first`.
    """
    n = problem.n_features
    rows = np.flatnonzero(problem.penalty > 0.0)[first::step]
    moments = np.zeros((n + 1, n + 1))
    if len(rows):
        problem.operator.add_gram(rows, 1.0, moments, problem.penalty[rows])
    return moments, float(problem.penalty[rows].sum())


class _Spectrum:
    """Solves with ``R + s_j Cov`` for each class j, whatever s_j, by one eigendecomposition.

    Were the undecided samples of each class distributed like all samples, H would have such
    blocks: Cov is the second moment of the centred rows. Centring uncouples the intercepts.
    """

    def __init__(self, problem: MulticlassProblem, moments: Array, total: float) -> None:
        n = problem.n_features
        self.mean = moments[n, :n] / total if problem.fit_intercept else np.zeros(n)
        cov = np.tril(moments[:n, :n] / total)
        cov += np.tril(cov, -1).T
        cov -= np.outer(self.mean, self.mean)
        here = problem.rows is None
        self.rough = here and single.pays(problem.operator, problem.n_classes, moments)
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
        times = single.product if self.rough else np.matmul
        inner = times(uncoupled, self.vectors)
        inner /= 1.0 + strength[:, None] * self.values
        out[:, :-1] = times(inner, self.vectors.T)
        out[:, -1] = V[:, -1] / (strength + ridge) - out[:, :-1] @ self.mean
        return out


class TieSystem:
    """Solves H (dW, db) = -(gW, gb) by a matrix with a row per tie.

    A sample that is undecided among c classes has c - 1 ties: orthonormal directions v of the
    scores, with which ``H = R (x) I + sum sigma_i (v v') (x) (x_i, 1)(x_i, 1)'``. With few of them
    the matrix ``diag(1 / sigma) + K * (V V')``, K the inner products of rows by the inverse of R,
    is small whatever the numbers of features and classes, and exact however badly H is conditioned.

    Parameters
    ----------
    regularizer : Quadratic
        R.
    fit_intercept : bool
        Whether b is free.
    """

    def __init__(self, regularizer: Quadratic, fit_intercept: bool) -> None:
        self.R, self.fit_intercept = regularizer, fit_intercept
        self.factor: Any = cho_factor(regularizer.values) if regularizer.is_matrix else None

    def solve(self, rows: Any, ridge: float, gradient: tuple[Array, Array]) -> Array:
        """Return (dW, db) as one array of shape (n_classes, n_features + 1).

        Parameters
        ----------
        rows : UndecidedRows
            The rows.
        ridge : float
            What is added to the curvature in b.
        gradient : (gW, gb)
            The gradient.
        """
        gW, gb = gradient
        at, V = tie_directions(rows.mask * (rows.sigma > 0.0)[:, None])
        often = np.bincount(at, minlength=len(rows.mask))
        matrix = self._inner(rows).repeat(often, axis=0).repeat(often, axis=1)
        matrix *= V @ V.T
        matrix[np.diag_indices_from(matrix)] += 1.0 / rows.sigma[at]
        factors = Cholesky(matrix)
        scaled = self._inverse(gW)
        pushed = np.einsum("ij,ij->i", V, rows.rows.scores(scaled, np.zeros(len(gb)))[at])
        db, y = np.zeros_like(gb), -factors.solve(pushed)
        if self.fit_intercept:
            turned = factors.solve(V)
            by_intercepts = V.T @ turned
            by_intercepts[np.diag_indices_from(by_intercepts)] += ridge
            db = np.linalg.solve(by_intercepts, -V.T @ y - gb)
            y = y + turned @ db
        pulls = np.zeros(rows.mask.shape)
        np.add.at(pulls, at, y[:, None] * V)
        dW = -self._inverse(gW + rows.rows.pull(pulls))
        return np.column_stack([dW, db])

    def _inner(self, rows: Any) -> Array:
        """Return the inner products of the rows by the inverse of R."""
        if self.factor is None:
            inner: Array = rows.rows.kernel(1.0 / self.R.diagonal())
            return inner
        whole = rows.rows.scores(np.eye(self.R.n), np.zeros(self.R.n))
        crossed: Array = whole @ cho_solve(self.factor, whole.T)
        return crossed

    def _inverse(self, V: Array) -> Array:
        """Return the rows of V times the inverse of R."""
        if self.factor is None:
            return V / self.R.diagonal()
        solved: Array = cho_solve(self.factor, V.T).T
        return solved


def tie_directions(mask: Array) -> tuple[Array, Array]:
    """Return the rows that ties belong to, and an orthonormal set of directions for each row.

    Parameters
    ----------
    mask : ndarray of shape (n_rows, n_classes)
        Nonzero for the classes among which a row is undecided.
    """
    rank = np.cumsum(mask, axis=1, dtype=np.intp) - 1
    at, last = np.nonzero(mask.astype(bool) & (rank > 0))
    t = rank[at, last].astype(np.float64)
    size = 1.0 / np.sqrt(t * (t + 1.0))
    V = (mask[at] != 0) & (rank[at] < t[:, None])
    directions = V * size[:, None]
    directions[np.arange(len(at)), last] = -t * size
    return at, directions
