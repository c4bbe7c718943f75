"""One seam between solvers and data: what a solver may ask of X, whatever X is."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from htsvm._typing import Array
from htsvm.linalg import kernels

# BLAS multiplies dense arrays with this many columns, and where this share of rows is read.
BLAS_COLUMNS, BLAS_SHARE = 32, 0.3


class Operator(ABC):
    """The rows of X, with their labels in {-1, +1} folded in where that saves a pass.

    Attributes
    ----------
    shape : tuple of int
        Samples and features.
    passes : float
        The work done so far, in units of one product ``X @ w``. A product that reads only some
        rows counts for the share of stored values it reads.
    """

    shape: tuple[int, int]

    def __init__(self) -> None:
        self.passes = 0.0

    @property
    @abstractmethod
    def stored(self) -> int:
        """The number of stored values."""

    @property
    @abstractmethod
    def square_sum(self) -> float:
        """The sum of the squares of all entries."""

    @cached_property
    def row_length(self) -> float:
        """The root mean square length of a row."""
        return math.sqrt(self.square_sum / max(self.shape[0], 1))

    # The rows as the compiled rounds want them; None where they cannot be had.
    compiled_rows: Any = None

    @abstractmethod
    def signed_dot(self, y: Array, w: Array, b: float, out: Array) -> Array:
        """Set ``out = y * (X @ w + b)`` and return it."""

    @abstractmethod
    def signed_tdot(self, y: Array, v: Array, share: float = 1.0) -> tuple[Array, float]:
        """Return ``X.T @ (y * v)`` and ``y @ v``; `share` is the share of rows with v != 0."""

    @abstractmethod
    def add_gram(self, rows: Array, sign: float, out: Array, weights: Array | None = None) -> None:
        """Add ``sign * weight * (x, 1)(x, 1)'`` over `rows` to (the lower triangle of) `out`.

        `rows` is sorted and without repetitions. `weights` has an entry for each of them, not
        negative; all are one by default.
        """

    @abstractmethod
    def take(self, rows: Array) -> Operator:
        """Return an operator on a copy of some rows."""

    @abstractmethod
    def kernel(self, scale: Array) -> Array:
        """Return the dense matrix ``X @ diag(scale) @ X.T``; for few rows only."""


class DenseOperator(Operator):
    """A C-contiguous float32 or float64 array.

    Wide float64 arrays are left to BLAS, except for products that read few rows; the kernels serve
    narrow ones, where BLAS is slow, and float32, which they sum up in double precision.
    """

    def __init__(self, X: Array) -> None:
        super().__init__()
        self.X = np.ascontiguousarray(X)
        self.shape = self.X.shape
        self.by_blas = self.X.dtype == np.float64 and self.shape[1] >= BLAS_COLUMNS

    @property
    def stored(self) -> int:
        """The number of entries."""
        return self.X.size

    @property
    def square_sum(self) -> float:
        """The sum of the squares of all entries."""
        return _squares(self.X)

    @cached_property
    def compiled_rows(self) -> Any:
        """The rows as the compiled rounds want them."""
        return kernels.newton and kernels.newton.Rows.dense(self.X)

    def signed_dot(self, y: Array, w: Array, b: float, out: Array) -> Array:
        """Set ``out = y * (X @ w + b)`` and return it."""
        self.passes += 1.0
        if self.by_blas:
            np.dot(self.X, w, out=out)
            out += b
            out *= y
        else:
            kernels.active.dense_signed_dot(self.X, y, w, b, out)
        return out

    def signed_tdot(self, y: Array, v: Array, share: float = 1.0) -> tuple[Array, float]:
        """Return ``X.T @ (y * v)`` and ``y @ v``."""
        self.passes += share
        if self.by_blas and share > BLAS_SHARE:
            signed = y * v
            return signed @ self.X, float(signed.sum())
        out = np.empty(self.shape[1])
        total = kernels.active.dense_signed_tdot(self.X, y, v, out)
        return out, total

    def add_gram(self, rows: Array, sign: float, out: Array, weights: Array | None = None) -> None:
        """Add ``sign * weight * (x, 1)(x, 1)'`` over `rows` to `out`, some rows at a time."""
        n = self.shape[1]
        self.passes += len(rows) / max(self.shape[0], 1)
        size = max(256, 2_000_000 // max(n, 1))
        for low in range(0, len(rows), size):
            # All rows, in order: a slice spares the copy.
            some = slice(low, low + size) if len(rows) == self.shape[0] else rows[low : low + size]
            part = self.X[some].astype(np.float64, copy=False)
            root = np.ones(len(part)) if weights is None else np.sqrt(weights[low : low + size])
            if weights is not None:
                part = part * root[:, None]
            out[:n, :n] += sign * (part.T @ part)
            out[n, :n] += sign * (root @ part)
            out[n, n] += sign * float(root @ root)

    def take(self, rows: Array) -> DenseOperator:
        """Return an operator on a copy of some rows."""
        return DenseOperator(self.X[rows])

    def kernel(self, scale: Array) -> Array:
        """Return the dense matrix ``X @ diag(scale) @ X.T``."""
        X = self.X.astype(np.float64, copy=False)
        product: Array = (X * scale) @ X.T
        return product


class CSROperator(Operator):
    """A CSR matrix with sorted, unique column indices."""

    def __init__(self, X: sp.csr_matrix) -> None:
        super().__init__()
        if X.indptr.dtype != X.indices.dtype:
            wide = np.promote_types(X.indptr.dtype, X.indices.dtype)
            X = sp.csr_matrix(
                (X.data, X.indices.astype(wide, copy=False), X.indptr.astype(wide, copy=False)),
                shape=X.shape,
            )
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self.X = X
        self.shape = X.shape

    @property
    def stored(self) -> int:
        """The number of stored entries."""
        return int(self.X.nnz)

    @property
    def square_sum(self) -> float:
        """The sum of the squares of all entries."""
        return _squares(self.X.data)

    @cached_property
    def compiled_rows(self) -> Any:
        """The rows as the compiled rounds want them."""
        return kernels.newton and kernels.newton.Rows.csr(self.X)

    def signed_dot(self, y: Array, w: Array, b: float, out: Array) -> Array:
        """Set ``out = y * (X @ w + b)`` and return it."""
        self.passes += 1.0
        X = self.X
        kernels.active.csr_signed_dot(X.indptr, X.indices, X.data, y, w, b, out)
        return out

    def signed_tdot(self, y: Array, v: Array, share: float = 1.0) -> tuple[Array, float]:
        """Return ``X.T @ (y * v)`` and ``y @ v``."""
        self.passes += share
        X = self.X
        out = np.empty(self.shape[1])
        total = kernels.active.csr_signed_tdot(X.indptr, X.indices, X.data, y, v, out)
        return out, total

    def add_gram(self, rows: Array, sign: float, out: Array, weights: Array | None = None) -> None:
        """Add ``sign * weight * (x, 1)(x, 1)'`` over `rows` to the lower triangle of `out`."""
        self.passes += len(rows) / max(self.shape[0], 1)
        X = self.X
        signed = np.full(len(rows), sign) if weights is None else sign * weights
        kernels.active.csr_add_gram(X.indptr, X.indices, X.data, rows, signed, out)

    def take(self, rows: Array) -> CSROperator:
        """Return an operator on a copy of some rows."""
        return CSROperator(self.X[rows])

    def kernel(self, scale: Array) -> Array:
        """Return the dense matrix ``X @ diag(scale) @ X.T``."""
        X = self.X.astype(np.float64, copy=False)
        product: Array = (X.multiply(scale).tocsr() @ X.T).toarray()
        return product


def _squares(values: Array) -> float:
    """Return the sum of squares, in double precision whatever the type."""
    flat = values.reshape(-1)
    size = 1 << 20
    parts = (
        flat[low : low + size].astype(np.float64, copy=False) for low in range(0, len(flat), size)
    )
    return float(sum(float(part @ part) for part in parts))


def as_operator(X: Any) -> Operator:
    """Wrap a dense array or a sparse matrix; operators pass through."""
    if isinstance(X, Operator):
        return X
    if sp.issparse(X):
        return CSROperator(sp.csr_matrix(X))
    return DenseOperator(np.asarray(X))
