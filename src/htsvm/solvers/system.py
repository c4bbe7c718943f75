"""Linear systems of the regulariser and weighted rows: formed, or by conjugate gradients."""

from __future__ import annotations

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.positive import Cholesky, conjugate_gradients
from htsvm.problems.binary import Problem

# Up to so many columns systems are formed.
FORMED = 1000
# How well conjugate gradients solve a least squares problem, and the most steps they take.
ACCURACY, MOST_STEPS = 1e-6, 200
# The curvature in the intercept that they add, as a share of what is there.
INTERCEPT_RIDGE = 1e-10
# Multiples of a least squares solution among which a search begins.
MULTIPLES = np.exp(np.linspace(-4.0, 6.0, 15))


def gram(problem: Problem, weights: Array) -> Array:
    """Return the sum of weights times (x, 1)(x, 1)', its lower triangle."""
    rows, out = np.flatnonzero(weights), np.zeros((problem.n_features + 1,) * 2)
    problem.operator.add_gram(rows, 1.0, out, weights[rows])
    return out


def by_products(
    problem: Problem,
    weights: Array,
    rhs: Array,
    *,
    with_intercept: bool,
    tolerance: float,
    most_steps: int,
    start: Array | None = None,
) -> tuple[Array, int]:
    """Solve (R + sum of weights (x, 1)(x, 1)') z = rhs; return the number of steps too.

    Conjugate gradients; they end at negative curvature, which negative weights may bring.
    """
    n, rows = problem.n_features, np.flatnonzero(weights)
    part, weights = problem.operator.take(rows), weights[rows]
    ones, inner = np.ones(len(rows), dtype=np.int8), np.empty(len(rows))
    positive = np.maximum(weights, 0.0)
    mass = float(positive.sum())
    # Where no sample curves, the intercept moves by one.
    ridge = INTERCEPT_RIDGE * mass or abs(float(rhs[n])) or 1.0
    squares = part.squared_pull(positive[:, None])[0] + problem.regularizer.diagonal()
    scale = np.append(squares, mass + ridge)
    scale[scale <= 0.0] = 1.0

    def apply(v: Array) -> Array:
        part.signed_dot(ones, np.ascontiguousarray(v[:n]), float(v[n]), inner)
        image, total = part.signed_tdot(ones, inner * weights)
        image += problem.regularizer.dot(v[:n])
        return np.append(image, total + ridge * v[n] if with_intercept else 0.0)

    return conjugate_gradients(
        apply, rhs, lambda v: v / scale, tolerance=tolerance, most_steps=most_steps, start=start
    )


class RidgeSystem:
    """Minimises w'Rw/2 + offset'w + sum_i v_i (target_i - y_i (x_i'w + b))²/2.

    The factors of a system are kept for as long as its weights are the same.

    Parameters
    ----------
    problem : Problem
        Rows, labels and R.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.formed = problem.n_features <= FORMED
        self._kept: tuple[Array, bool, Cholesky] | None = None

    def solve(
        self,
        weights: Array,
        target: Array,
        *,
        with_intercept: bool,
        start: Array | None = None,
        offset: Array | None = None,
        tolerance: float = ACCURACY,
        most_steps: int = MOST_STEPS,
    ) -> Array:
        """Return (w, b).

        Parameters
        ----------
        weights, target : ndarray of shape (m,)
            v, and what y * (X w + b) should be.
        with_intercept : bool
            Whether b is solved for; it is zero otherwise.
        start : ndarray of shape (n + 1,), optional
            Where conjugate gradients start; its b is kept where no sample has a weight.
        offset : ndarray of shape (n,), optional
            The gradient of a linear function of w to be added to what is minimised.
        tolerance, most_steps : float, int
            Where conjugate gradients end.
        """
        problem, n = self.problem, self.problem.n_features
        share = np.count_nonzero(weights) / max(len(weights), 1)
        if share == 0.0:
            return np.append(np.zeros(n), 0.0 if start is None else start[n])
        pull, total = problem.operator.signed_tdot(problem.y, weights * target, share)
        pull = pull if offset is None else pull - offset
        rhs = np.append(pull, total if with_intercept else 0.0)
        if not self.formed:
            if start is not None and not with_intercept:
                start = np.append(start[:n], 0.0)
            return by_products(
                problem, weights, rhs, with_intercept=with_intercept, start=start,
                tolerance=tolerance, most_steps=most_steps,
            )[0]  # fmt: skip
        z = self._factor(weights, with_intercept).solve(rhs if with_intercept else rhs[:n])
        return z if with_intercept else np.append(z, 0.0)

    def _factor(self, weights: Array, with_intercept: bool) -> Cholesky:
        kept, n = self._kept, self.problem.n_features
        if kept and kept[1] == with_intercept and np.array_equal(kept[0], weights):
            return kept[2]
        H = gram(self.problem, weights)
        self.problem.regularizer.add_to(H)
        factor = Cholesky(H if with_intercept else H[:n, :n])
        self._kept = weights.copy(), with_intercept, factor
        return factor
