"""Positive definite systems: Cholesky factors, an updated Gram matrix, conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack

from htsvm._typing import Array
from htsvm.linalg.operators import Operator

# Ridges that are tried where rounding has cost a matrix of unit diagonal its definiteness: from
# the size of rounding errors to that of the diagonal.
RIDGES = 10.0 ** np.arange(-14.0, 1.0)
# Sums that fall to less than this share when samples leave are formed anew: about the square root
# of the machine epsilon, where half of the digits are lost.
CANCELLED = 1e-8
# A direction is flat if its curvature is below this share of what the preconditioner expects: less
# than rounding leaves of a sum of some thousand terms.
FLAT = 1e-12


class Cholesky:
    """The Cholesky factors of a symmetric matrix, from its lower triangle.

    Where rounding has cost the matrix its definiteness, it is scaled to a unit diagonal and gets
    the smallest ridge that helps.

    Parameters
    ----------
    H : ndarray of shape (n, n)
        The matrix, which is left alone.
    """

    def __init__(self, H: Array) -> None:
        self._H: Array | None = H
        self._scale: Array | None = None
        factor = cholesky_factor(H)
        if factor is None:
            self._add_ridge(RIDGES)
        else:
            self._factor = factor

    def solve(self, rhs: Array) -> Array:
        """Return the solution of H x = rhs, for one or several columns."""
        solution = self._solve(rhs)
        if solution is None:
            self._add_ridge(RIDGES)
            solution = self._solve(rhs)
        if solution is None:
            raise _overflow()
        return solution

    def _solve(self, rhs: Array) -> Array | None:
        scale = self._scale
        scaled = rhs if scale is None else (scale * rhs.T).T
        solution, info = lapack.dpotrs(self._factor, scaled, lower=0)
        if info != 0 or not np.all(np.isfinite(solution)):
            return None
        unscaled: Array = solution if scale is None else (scale * solution.T).T
        return unscaled

    def _add_ridge(self, ridges: Array) -> None:
        """Factorise the matrix, scaled and with the smallest of some ridges that helps."""
        H = self._H
        assert H is not None
        diagonal = np.maximum(np.diagonal(H), 0.0)
        self._scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        with np.errstate(invalid="ignore"):
            scaled = H * self._scale[:, None] * self._scale
        places = np.arange(len(H))
        for ridge in ridges:
            scaled[places, places] = np.where(diagonal > 0.0, 1.0, 0.0) + ridge
            factor = cholesky_factor(scaled)
            if factor is not None:
                self._factor = factor
                return
        raise _overflow()


def cholesky_factor(H: Array) -> Array | None:
    """Return the factor of H that LAPACK calls upper; None if H is not positive definite."""
    # The lower triangle by rows is the upper one by columns.
    factor, info = lapack.dpotrf(np.array(H.T, order="F"), lower=0, clean=0, overwrite_a=1)
    # Not every LAPACK notices NaN, which ends up on the diagonal.
    return factor if info == 0 and np.all(np.isfinite(np.diagonal(factor))) else None


def solve_positive(H: Array, rhs: Array) -> Array:
    """Solve H x = rhs from the lower triangle of H; see `Cholesky`."""
    return Cholesky(H).solve(rhs)


def _overflow() -> np.linalg.LinAlgError:
    return np.linalg.LinAlgError(
        "A linear system overflows: the values of X or the weights are too large. Scale the "
        "features, for example with sklearn.preprocessing.StandardScaler or MaxAbsScaler."
    )


class Gram:
    """The weighted Gram matrix of some samples, corrected from one set of samples to the next.

    Parameters
    ----------
    operator : Operator
        All samples.
    weights : ndarray
        Their weights.
    """

    def __init__(self, operator: Operator, weights: Array) -> None:
        self.operator, self.weights = operator, weights
        self.matrix = np.zeros((operator.shape[1] + 1,) * 2)
        self.inside = np.zeros(operator.shape[0], dtype=np.uint8)
        self.forget()

    def forget(self) -> None:
        """Leave out all samples."""
        self.matrix[:] = 0.0
        self.rows = np.zeros(0, dtype=np.intp)
        self.inside[:] = 0

    def at(self, rows: Array) -> Array:
        """Return the matrix for `rows`; form it anew where that is less work."""
        entered = rows[self.inside[rows] == 0]
        self.inside[rows] = 2
        left = self.rows[self.inside[self.rows] == 1]
        if len(entered) + len(left) < len(rows):
            before = np.diagonal(self.matrix).copy()
            self._add(entered, 1.0)
            self._add(left, -1.0)
            # What is left of a far larger sum is rounding.
            if np.any(np.diagonal(self.matrix) < CANCELLED * before):
                self._form(rows)
        else:
            self._form(rows)
        self.inside[left] = 0
        self.inside[rows] = 1
        self.rows = rows
        return self.matrix

    def lend(self, rows: Array | None) -> Array:
        """Leave out what is not among `rows`; return marks of those of `rows` that are inside."""
        if rows is None:
            return self.inside
        self.inside[rows] += 2
        left = self.rows[self.inside[self.rows] == 1]
        self.inside[rows] -= 2
        self._add(left, -1.0)
        self.inside[left] = 0
        return self.inside[rows]

    def take_back(self, rows: Array | None, marks: Array) -> None:
        """Note which samples are inside after someone else has changed the matrix."""
        places = np.flatnonzero(marks)
        self.rows = places if rows is None else rows[places]
        if rows is not None:
            self.inside[rows] = marks

    def _form(self, rows: Array) -> None:
        self.matrix[:] = 0.0
        self._add(rows, 1.0)

    def _add(self, rows: Array, sign: float) -> None:
        if len(rows):
            self.operator.add_gram(rows, sign, self.matrix, self.weights[rows])


def conjugate_gradients(
    apply: Callable[[Array], Array],
    rhs: Array,
    precondition: Callable[[Array], Array],
    *,
    tolerance: float,
    most_steps: int,
    start: Array | None = None,
) -> tuple[Array, int]:
    """Solve a positive definite system approximately; return the number of steps too.

    Parameters
    ----------
    apply : callable
        Multiplies with the matrix; vectors may have any shape.
    rhs : ndarray
        The right-hand side.
    precondition : callable
        Solves with an approximation of the matrix.
    tolerance : float
        The length of the residual to reach, relative to that of `rhs`.
    most_steps : int
        The most products.
    start : ndarray, optional
        Where to start; zero by default. Where the first direction is flat, it is returned itself:
        a direction of descent is all that is asked for then.
    """
    x = np.zeros_like(rhs) if start is None else start.copy()
    residual = rhs.copy() if start is None else rhs - apply(start)
    target = tolerance * float(np.linalg.norm(rhs))
    if float(np.linalg.norm(residual)) <= target:
        return x, 0
    z = precondition(residual)
    p = z.copy()
    product = expected = float(np.vdot(residual, z))
    for steps in range(1, most_steps + 1):
        image = apply(p)
        curvature = float(np.vdot(p, image))
        # Squares of numbers below 1e-162 are zero: no length can be told from them.
        if not curvature > FLAT * expected or product == 0.0:
            return (x if np.any(x) else p), steps
        length = product / curvature
        x += length * p
        residual -= length * image
        if float(np.linalg.norm(residual)) <= target:
            break
        z = precondition(residual)
        product, before = float(np.vdot(residual, z)), product
        share = product / before
        p = z + share * p
        # What the preconditioner says of the curvature along p.
        expected = product + share * share * expected
    return x, steps
