"""Samples in the space that a kernel maps them to, where only inner products are known.

An element of that space is a combination of the training samples, ``w = sum_j a_j phi(x_j)``, and
is stored as its coefficients a. Products with w take a product with the kernel matrix K; the
transpose costs nothing, since ``sum_i v_i phi(x_i)`` has the coefficients v.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.dense import DenseOperator
from htsvm.linalg.operators import Operator
from htsvm.linalg.quadratic import Quadratic


class KernelOperator(Operator):
    """The rows of a symmetric kernel matrix, as samples of its space.

    Parameters
    ----------
    K : ndarray of shape (m, m)
        The kernel matrix; not copied.
    rows : ndarray of intp, optional
        The samples that are meant, all by default.
    """

    representers: ClassVar[bool] = True

    def __init__(self, K: Array, rows: Array | None = None) -> None:
        super().__init__()
        self.K = np.ascontiguousarray(K, dtype=np.float64)
        self.rows = np.arange(len(K)) if rows is None else np.asarray(rows, dtype=np.intp)
        self._whole = rows is None
        self.shape = (len(self.rows), len(self.K))
        # The last product: violations and the norm of the same element often follow each other.
        self._last: tuple[Array, Array] | None = None

    @property
    def stored(self) -> int:
        """The number of entries."""
        return self.shape[0] * self.shape[1]

    def block(self, rows: slice | Array) -> Array:
        """Return some rows of the kernel matrix."""
        return self.K[self.rows[rows]]

    def _taken(self, rows: Array) -> KernelOperator:
        return KernelOperator(self.K, self.rows[rows])

    def product(self, a: Array) -> Array:
        """Return ``K @ a`` for these rows, not to be changed; zeros of a are not read."""
        if self._last is not None and np.array_equal(a, self._last[0]):
            return self._last[1]
        out = self._product(a)
        self._last = a.copy(), out
        return out

    def _product(self, a: Array) -> Array:
        share = np.count_nonzero(a) / max(len(a), 1)
        self.count(share)
        if self._whole:
            # The matrix is symmetric, and rows with zeros of a need not be read.
            return DenseOperator(self.K).signed_tdot(np.ones(len(a), np.int8), a, share)[0]
        product: Array = self.K[self.rows] @ a
        return product

    def signed_dot(self, y: Array, w: Array, b: float, out: Array) -> Array:
        """Set ``out = y * (K @ w + b)`` and return it."""
        np.add(self.product(w), b, out=out)
        out *= y
        return out

    def signed_tdot(self, y: Array, v: Array, share: float = 1.0) -> tuple[Array, float]:
        """Return the coefficients of ``sum_i y_i v_i phi(x_i)``, and ``y @ v``."""
        signed = y * v
        if self._whole:
            return signed, float(signed.sum())
        out = np.zeros(len(self.K))
        np.add.at(out, self.rows, signed)
        return out, float(signed.sum())

    def row_squares(self) -> Array:
        """Return the squared length of each sample: the diagonal of the kernel matrix."""
        return np.maximum(np.diagonal(self.K)[self.rows], 0.0)

    def kernel(self, scale: Array) -> Array:
        """Return the kernel matrix of these samples; `scale` is one throughout."""
        return self.K[np.ix_(self.rows, self.rows)]


class KernelNorm(Quadratic):
    """The squared norm of the kernel's space, as the regulariser of coefficients.

    Its R is the identity of that space: what it does to an element leaves the coefficients as
    they are, and only lengths need the kernel matrix.
    """

    def __init__(self, operator: KernelOperator) -> None:
        super().__init__(None, operator.shape[1])
        self.operator = operator

    def energy(self, w: Array) -> float:
        """Return half of the squared norm."""
        return 0.5 * max(float(np.vdot(w, self._products(w))), 0.0)

    def inverse_energy(self, v: Array) -> float:
        """Return the same: R is its own inverse."""
        return self.energy(v)

    def length(self, v: Array) -> float:
        """Return the norm in the space of the kernel."""
        return math.sqrt(2.0 * self.energy(v))

    def _products(self, w: Array) -> Array:
        if w.ndim == 1:
            return self.operator.product(w)
        return np.array([self.operator.product(one) for one in w])
