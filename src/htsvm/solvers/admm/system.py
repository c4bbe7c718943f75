"""Regularised least squares for w, or w and b together: the linear step of the ADMM."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from htsvm._typing import Array
from htsvm.linalg import Operator
from htsvm.problems.binary import Problem

# The largest system that is formed and factorised; beyond it conjugate gradients take over.
FACTOR_LIMIT = 3000


class RidgeSystem:
    """Solve min over w (and b) of w'Rw/2 + xi/2 sum_i v_i (target_i - y_i (x_i'w + b))².

    The sum runs over some of the rows; v_i is the weight of a sample, its penalty over C.

    Three forms of the same solution, chosen by size: the n x n normal equations, the
    |rows| x |rows| Sherman-Morrison-Woodbury form where the rows are fewer than the features, and
    conjugate gradients where both are larger than `limit`. No matrix over all samples is formed
    unless they are the smaller side. The normal matrix follows a working set by adding and
    subtracting the rows that changed; for all rows it is built once, and factorised once per
    penalty.
    """

    def __init__(self, problem: Problem, limit: int | None = None) -> None:
        self.problem = problem
        self.limit = FACTOR_LIMIT if limit is None else limit
        self.n = problem.n_features
        self.weight = problem.penalty / problem.C
        self.weighted = not np.all(self.weight == 1.0)
        self.gram: Array | None = None
        self.in_gram = np.zeros(problem.n_samples, dtype=bool)
        self.cached: tuple[object, ...] = ()
        self.factor: Array = np.empty((0, 0))
        # Work on copies of rows, in passes over the whole data.
        self.extra_passes = 0.0

    @property
    def factorised(self) -> bool:
        """Whether a system over all rows is solved by a factorisation."""
        fewest = min(self.problem.n_samples, self.n)
        return fewest <= self.limit or self.problem.regularizer.is_matrix

    def solve(
        self,
        rows: Array | None,
        penalty: float,
        target: Array,
        joint: bool,
        guess: tuple[Array, float],
        offset: Array | None = None,
    ) -> tuple[Array, float]:
        """Return (w, b).

        Parameters
        ----------
        rows : ndarray of int, or None
            The samples that enter; None for all.
        penalty : float
            xi.
        target : ndarray of shape (m,)
            What y * (X w + b) should be.
        joint : bool
            Whether b is solved for too; otherwise it is zero in the formula above and the
            returned b is that of the guess.
        guess : tuple of (ndarray, float)
            Where conjugate gradients start; also the b that is kept if nothing determines it.
        offset : ndarray of shape (n,), optional
            The gradient of a linear function of w to be added to what is minimised.
        """
        size = self.problem.n_samples if rows is None else len(rows)
        if size == 0:
            return np.zeros(self.n), guess[1]
        regularizer = self.problem.regularizer
        if size < self.n and size <= self.limit and regularizer.positive:
            w, b = self._by_rows(rows, penalty, target, joint, offset)
        elif self.n <= self.limit or regularizer.is_matrix:
            w, b = self._by_features(rows, penalty, target, joint, offset)
        else:
            w, b = self._by_conjugate_gradients(rows, penalty, target, joint, guess, offset)
        return w, (b if joint else guess[1])

    def _by_features(
        self,
        rows: Array | None,
        penalty: float,
        target: Array,
        joint: bool,
        offset: Array | None = None,
    ) -> tuple[Array, float]:
        n, problem = self.n, self.problem
        size = n + 1 if joint else n
        key = ("features", penalty, joint)
        if rows is not None or self.cached != key:
            H = penalty * self._gram_of(rows)[:size, :size]
            problem.regularizer.add_to(H)
            self.factor = _factorise(H)
            self.cached = key if rows is None else ()
        if rows is None:
            right, balance = problem.operator.signed_tdot(problem.y, self.weight * target)
        else:
            masked = np.zeros_like(target)
            masked[rows] = self.weight[rows] * target[rows]
            share = len(rows) / problem.n_samples
            right, balance = problem.operator.signed_tdot(problem.y, masked, share)
        full = _right_hand_side(penalty, right, balance, offset)[:size]
        solution: Array = cho_solve((self.factor, True), full)
        return solution[:n], (float(solution[n]) if joint else 0.0)

    def _gram_of(self, rows: Array | None) -> Array:
        """Return sum v (x, 1)(x, 1)' over `rows` (lower triangle), updated from the last call."""
        wanted = np.ones_like(self.in_gram)
        if rows is not None:
            wanted[:] = False
            wanted[rows] = True
        entering = np.flatnonzero(wanted & ~self.in_gram)
        leaving = np.flatnonzero(self.in_gram & ~wanted)
        total = np.count_nonzero(wanted)
        if self.gram is None or len(entering) + len(leaving) > total:
            self.gram = np.zeros((self.n + 1, self.n + 1))
            entering, leaving = np.flatnonzero(wanted), leaving[:0]
        for changed, sign in ((entering, 1.0), (leaving, -1.0)):
            if len(changed):
                weights = self.weight[changed] if self.weighted else None
                self.problem.operator.add_gram(changed, sign, self.gram, weights)
        self.in_gram = wanted
        return self.gram

    def _by_rows(
        self,
        rows: Array | None,
        penalty: float,
        target: Array,
        joint: bool,
        offset: Array | None = None,
    ) -> tuple[Array, float]:
        part, y, weight, wished = self._part(rows, target)
        inverse = 1.0 / self.problem.regularizer.diagonal()
        if offset is not None:
            wished = wished + part.signed_dot(y, inverse * offset, 0.0, np.empty(len(y)))
        key = ("rows", penalty)
        if rows is not None or self.cached != key:
            K = part.kernel(inverse) * np.multiply.outer(y.astype(np.float64), y)
            K[np.diag_indices_from(K)] += 1.0 / (penalty * weight)
            self.factor = _factorise(K)
            self.cached = key if rows is None else ()
        multipliers = cho_solve((self.factor, True), wished)
        b = 0.0
        if joint:
            toward_b = cho_solve((self.factor, True), y.astype(np.float64))
            b = float(y @ multipliers) / float(y @ toward_b)
            multipliers = multipliers - b * toward_b
        pull = part.signed_tdot(y, multipliers)[0]
        w = inverse * (pull if offset is None else pull - offset)
        self._count(part)
        return w, b

    def _by_conjugate_gradients(
        self,
        rows: Array | None,
        penalty: float,
        target: Array,
        joint: bool,
        guess: tuple[Array, float],
        offset: Array | None = None,
    ) -> tuple[Array, float]:
        part, y, weight, wished = self._part(rows, target)
        n, regularizer = self.n, self.problem.regularizer
        size = n + 1 if joint else n
        margins = np.empty(len(y))

        def normal_matrix(v: Array) -> Array:
            v = np.ravel(v)
            part.signed_dot(y, v[:n], float(v[n]) if joint else 0.0, margins)
            image, balance = part.signed_tdot(y, weight * margins)
            image *= penalty
            image += regularizer.dot(v[:n])
            return np.append(image, penalty * balance)[:size]

        right, balance = part.signed_tdot(y, weight * wished)
        scale = np.append(np.maximum(regularizer.diagonal(), 1e-12), penalty * weight.sum())[:size]
        solution, _ = cg(
            LinearOperator((size, size), matvec=normal_matrix, dtype=np.float64),
            _right_hand_side(penalty, right, balance, offset)[:size],
            x0=np.append(guess[0], guess[1])[:size],
            M=LinearOperator((size, size), matvec=lambda v: np.ravel(v) / scale, dtype=np.float64),
            rtol=1e-6,
            maxiter=200,
        )
        self._count(part)
        return solution[:n], (float(solution[n]) if joint else 0.0)

    def _part(self, rows: Array | None, target: Array) -> tuple[Operator, Array, Array, Array]:
        problem = self.problem
        if rows is None:
            return problem.operator, problem.y, self.weight, target
        return problem.operator.take(rows), problem.y[rows], self.weight[rows], target[rows]

    def _count(self, part: Operator) -> None:
        if part is not self.problem.operator:
            self.extra_passes += part.passes * part.shape[0] / self.problem.n_samples


def _right_hand_side(penalty: float, right: Array, balance: float, offset: Array | None) -> Array:
    if offset is None:
        return penalty * np.append(right, balance)
    return np.append(penalty * right - offset, penalty * balance)


def _factorise(H: Array) -> Array:
    """Return the lower Cholesky factor, with a small ridge where H is singular."""
    try:
        return np.asarray(cho_factor(H, lower=True)[0])
    except LinAlgError:
        ridge = 1e-10 * max(float(np.trace(H)) / len(H), 1e-300)
        return np.asarray(cho_factor(H + ridge * np.eye(len(H)), lower=True)[0])
