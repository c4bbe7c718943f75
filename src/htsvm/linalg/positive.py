"""Positive definite systems: Cholesky factors and conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack

from htsvm._typing import Array

# Ridges that are tried where rounding has cost a matrix of unit diagonal its definiteness: from
# the size of rounding errors to that of the diagonal.
RIDGES = 10.0 ** np.arange(-14.0, 1.0)
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
        self._H, self._factor = H, cholesky_factor(H)
        self._scale: Array | None = None
        if self._factor is None:
            self._add_ridge()

    def solve(self, rhs: Array) -> Array:
        """Return the solution of H x = rhs, for one or several columns."""
        solution = self._solve(rhs)
        if solution is None:
            self._add_ridge()
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

    def _add_ridge(self) -> None:
        """Factorise the matrix, scaled and with the smallest ridge that helps."""
        H = self._H
        diagonal = np.maximum(np.diagonal(H), 0.0)
        self._scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        with np.errstate(invalid="ignore"):
            scaled = H * self._scale[:, None] * self._scale
        places = np.arange(len(H))
        for ridge in RIDGES:
            scaled[places, places] = np.where(diagonal > 0.0, 1.0, 0.0) + ridge
            self._factor = cholesky_factor(scaled)
            if self._factor is not None:
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

    `apply` multiplies vectors of any shape with the matrix, `precondition` solves with an
    approximation of it. The residual is to be as short as `tolerance` times the right-hand side,
    after `most_steps` products at most. Where the first direction is flat, it is returned itself: a
    direction of descent is all that is asked for then.
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
