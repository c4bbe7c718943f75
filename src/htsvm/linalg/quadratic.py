"""The quadratic regulariser w' R w / 2."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from htsvm._typing import Array

# Up to this many features a matrix R is factorised for its inverse: n³/3 operations, about 0.3 s.
LARGEST_MATRIX = 2000


class Quadratic:
    """A symmetric positive (semi)definite R, stored as cheaply as its form allows.

    Parameters
    ----------
    R : None, float, array of shape (n,) or (n, n)
        ``None`` is the identity, a number a multiple of it, a vector a diagonal.
    n : int
        The number of features.

    It is stored as `values`; `is_matrix` says whether that is a full matrix, and `positive` whether
    it is a number or diagonal that can be inverted.
    """

    def __init__(self, R: Any, n: int) -> None:
        values = np.asarray(1.0 if R is None else R, dtype=np.float64)
        if values.ndim > 2 or values.shape not in ((), (n,), (n, n)):
            raise ValueError(
                f"regularizer must be None, a number, or of shape ({n},) or ({n}, {n}) "
                f"for {n} features, got shape {values.shape}."
            )
        if not np.all(np.isfinite(values)):
            raise ValueError("regularizer holds NaN or infinity.")
        if values.ndim < 2 and np.any(values < 0.0):
            raise ValueError(f"regularizer must not be negative, got {values.min()!r}.")
        if values.ndim == 2 and not _is_symmetric(values):
            raise ValueError("regularizer must be a symmetric matrix.")
        self.values = values
        self.n = n
        self.is_matrix = values.ndim == 2
        self.positive = not self.is_matrix and bool(np.all(values > 0.0))
        self._places = np.arange(n)

    def dot(self, w: Array) -> Array:
        """Return R w, of each row if there are several."""
        return w @ self.values if self.is_matrix else w * self.values

    def energy(self, w: Array) -> float:
        """Return w' R w / 2, summed over the rows of w."""
        return 0.5 * float(np.vdot(w, self.dot(w)))

    def inverse_energy(self, v: Array) -> float:
        """Return v' R⁻¹ v / 2, summed over the rows of v; NaN if R cannot be inverted."""
        if not self.is_matrix:
            return 0.5 * float(np.sum(v * v / self.diagonal())) if self.positive else math.nan
        if self.n > LARGEST_MATRIX:
            return math.nan
        try:
            factor = cho_factor(self.values)
        except LinAlgError:
            return math.nan
        return 0.5 * float(np.vdot(v, cho_solve(factor, v.T).T))

    @cached_property
    def metric(self) -> Array:
        """The weights of squares in the length of a gradient: the mean of R over R.

        So the length does not depend on the units of columns that R goes with; of a matrix, or
        where R has zeros, it is the plain one.
        """
        if not self.positive or self.values.ndim == 0:
            return np.ones(self.n)
        weights: Array = self.values.mean() / self.values
        return weights

    def length(self, v: Array) -> float:
        """Return the length of a gradient, or of several in its rows."""
        return math.sqrt(float(np.sum(np.square(v) * self.metric)))

    def diagonal(self) -> Array:
        """Return the diagonal of R."""
        if self.is_matrix:
            return np.diagonal(self.values)
        return np.broadcast_to(self.values, (self.n,))

    def add_to(self, H: Array) -> None:
        """Add R to the leading n x n block of `H`."""
        n = self.n
        if self.is_matrix:
            H[:n, :n] += self.values
        else:
            H[self._places, self._places] += self.values


def _is_symmetric(values: Array) -> bool:
    """Return whether a matrix is symmetric but for rounding errors; mostly it is exactly."""
    if np.array_equal(values, values.T):
        return True
    return np.allclose(values, values.T, rtol=1e-10, atol=1e-12)
