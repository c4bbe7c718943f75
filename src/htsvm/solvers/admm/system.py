"""Regularised least squares for w, or w and b together: the linear step of the ADMM."""

from __future__ import annotations

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.positive import Cholesky, conjugate_gradients
from htsvm.problems.binary import Problem

# How well conjugate gradients solve a system, and the most steps they take.
ACCURACY, MOST_STEPS = 1e-6, 200
# Rough speeds of one core in operations per second, for dense and for sparse products. Only their
# ratio matters: it decides which of the two forms is the cheaper.
DENSE_FLOPS, SPARSE_FLOPS = 8e9, 4e8
# The largest side of an explicitly formed matrix: 128 MB, and some seconds to factorise.
LARGEST_MATRIX = 4000
# The curvature in the intercept that conjugate gradients add, as a share of what is there.
INTERCEPT_RIDGE = 1e-10
# Sums that fall to less than this share when samples leave are formed anew: about the square root
# of the machine epsilon, where half of the digits are lost.
CANCELLED = 1e-8


class RidgeSystem:
    """Solve min over w (and b) of w'Rw/2 + xi/2 sum_i v_i (target_i - y_i (x_i'w + b))².

    The sum runs over some of the rows; v_i is the weight of a sample, its penalty over C. Two
    forms: *primal*, whose Gram matrix is kept and only corrected by the samples that entered or
    left, and *cg*, conjugate gradients on a copy of the rows, for many columns. The factors of a
    system over all rows are kept as long as xi is the same.

    Parameters
    ----------
    problem : Problem
        Rows, labels, weights and R.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.weight = problem.penalty / problem.C
        self._gram: Array | None = None
        self._inside = np.zeros(problem.n_samples, dtype=bool)
        self._kept: tuple[tuple[float, bool], Cholesky] | None = None

    @property
    def factorised(self) -> bool:
        """Whether a system over all rows is solved by a factorisation."""
        return self.cheapest_form(self.problem.n_samples) != "cg"

    def cheapest_form(self, count: int) -> str:
        """Return the form in which a system of this many samples is solved."""
        operator, side = self.problem.operator, self.problem.n_features + 1
        row_size = max(operator.stored / max(operator.shape[0], 1), 1.0)
        flops = SPARSE_FLOPS if operator.sparse else DENSE_FLOPS
        step = 4.0 * count * row_size / SPARSE_FLOPS + 2e-9 * side + 2e-5
        changed = min(count, 0.3 * count + 50)
        primal = side**3 / 3.0 / DENSE_FLOPS + changed * row_size**2 / flops
        possible = side <= LARGEST_MATRIX or self.problem.regularizer.is_matrix
        return "primal" if possible and primal < MOST_STEPS * step else "cg"

    def solve(
        self,
        rows: Array | None,
        penalty: float,
        target: Array,
        with_intercept: bool,
        guess: tuple[Array, float],
        offset: Array | None = None,
    ) -> tuple[Array, float]:
        """Return (w, b).

        Parameters
        ----------
        rows : ndarray of int, or None
            The samples that enter; None for all.
        penalty, target : float, ndarray of shape (m,)
            xi, and what y * (X w + b) should be.
        with_intercept : bool
            Whether b is solved for too; otherwise it is zero above, and that of the guess returned.
        guess : tuple of (ndarray, float)
            Where conjugate gradients start; also the b that is kept if nothing determines it.
        offset : ndarray of shape (n,), optional
            The gradient of a linear function of w to be added to what is minimised.
        """
        problem, m, n = self.problem, self.problem.n_samples, self.problem.n_features
        if rows is not None and len(rows) == 0:
            return np.zeros(n), guess[1]
        wished, share = self.weight * target, 1.0
        if rows is not None:
            wished, all_wished = np.zeros(m), wished
            wished[rows], share = all_wished[rows], len(rows) / m
        pull, balance = problem.operator.signed_tdot(problem.y, wished, share)
        gradient = -penalty * pull if offset is None else offset - penalty * pull
        rhs = -np.append(gradient, -penalty * balance if with_intercept else 0.0)
        if self.cheapest_form(m if rows is None else len(rows)) == "primal":
            factor = self._factor(rows, penalty, -penalty * balance, with_intercept)
            z = factor.solve(rhs if with_intercept else rhs[:n])
        else:
            z = self._by_gradients(rows, penalty, rhs, with_intercept, guess)
        return z[:n], (float(z[n]) if with_intercept else guess[1])

    # ------------------------------------------------------------------------- the primal form

    def _factor(
        self, rows: Array | None, penalty: float, balance: float, with_intercept: bool
    ) -> Cholesky:
        key = (penalty, with_intercept)
        if rows is None and self._kept is not None and self._kept[0] == key:
            return self._kept[1]
        n = self.problem.n_features

        def formed() -> Cholesky:
            H = penalty * self._gram_of(rows)
            self.problem.regularizer.add_to(H)
            if not H[n, n] > 0.0:
                H[n, n] += _held(balance)
            return Cholesky(H if with_intercept else H[:n, :n])

        try:
            factor = formed()
        except np.linalg.LinAlgError:
            # Corrections may have lost it; formed anew it is as good as can be.
            self._inside[:] = False
            factor = formed()
        self._kept = None if rows is not None else (key, factor)
        return factor

    def _gram_of(self, rows: Array | None) -> Array:
        """Return the weighted Gram matrix of some rows; form it anew where that is less work."""
        if self._gram is None:
            self._gram = np.zeros((self.problem.n_features + 1,) * 2)
        wanted = np.ones(len(self._inside), dtype=bool)
        if rows is not None:
            wanted[:] = False
            wanted[rows] = True
        entered = np.flatnonzero(wanted & ~self._inside)
        left = np.flatnonzero(self._inside & ~wanted)
        corrected = bool(len(entered) + len(left) < np.count_nonzero(wanted))
        if corrected:
            before = np.diagonal(self._gram).copy()
            self._add(entered, 1.0)
            self._add(left, -1.0)
            # What is left of a far larger sum is rounding.
            corrected = not (np.diagonal(self._gram) < CANCELLED * before).any()
        if not corrected:
            self._gram[:] = 0.0
            self._add(np.flatnonzero(wanted), 1.0)
        self._inside = wanted
        return self._gram

    def _add(self, rows: Array, sign: float) -> None:
        assert self._gram is not None
        if len(rows):
            self.problem.operator.add_gram(rows, sign, self._gram, self.weight[rows])

    # --------------------------------------------------------------------- conjugate gradients

    def _by_gradients(
        self,
        rows: Array | None,
        penalty: float,
        rhs: Array,
        with_intercept: bool,
        guess: tuple[Array, float],
    ) -> Array:
        R, n = self.problem.regularizer, self.problem.n_features
        part = self.problem.operator if rows is None else self.problem.operator.take(rows)
        weights = penalty * (self.weight if rows is None else self.weight[rows])
        ones, inner = np.ones(len(weights), dtype=np.int8), np.empty(len(weights))
        mass = float(weights.sum())
        ridge = INTERCEPT_RIDGE * mass if mass > 0.0 else _held(float(rhs[n]))
        squares = part.squared_pull(weights[:, None])[0] + R.diagonal()
        scale = np.append(squares, mass + ridge)
        scale[scale <= 0.0] = 1.0

        def apply(v: Array) -> Array:
            part.signed_dot(ones, v[:n], float(v[n]), inner)
            image, total = part.signed_tdot(ones, inner * weights)
            last = total + ridge * float(v[n]) if with_intercept else 0.0
            return np.append(image + R.dot(v[:n]), last)

        return conjugate_gradients(
            apply, rhs, lambda v: v / scale, tolerance=ACCURACY, most_steps=MOST_STEPS,
            start=np.append(guess[0], guess[1] if with_intercept else 0.0),
        )[0]  # fmt: skip


def _held(balance: float) -> float:
    """Return the curvature in the intercept where no sample curves: it then moves by one."""
    return abs(balance) or 1.0
