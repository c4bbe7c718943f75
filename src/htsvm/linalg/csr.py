"""The rows of a sparse matrix."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.linalg.operators import Operator, sum_of_squares

# None where nothing was compiled.
compiled = kernels.optional("linalg._rows")
# Rows whose squares are formed at a time.
SQUARED_ROWS = 1 << 15


class CSROperator(Operator):
    """A CSR matrix with sorted, unique column indices."""

    sparse: ClassVar[bool] = True

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
        return sum_of_squares(self.X.data)

    @cached_property
    def compiled_rows(self) -> Any:
        """The rows as compiled solvers want them."""
        return compiled and compiled.Rows.csr(self.X)

    def block(self, rows: slice | Array) -> Any:
        """Return some rows as a CSR matrix."""
        everything = isinstance(rows, slice) and rows == slice(None)
        return self.X if everything else self.X[rows]

    def _taken(self, rows: Array) -> CSROperator:
        part = self.X[rows]
        # Rows keep the order of their indices: no need to look at all of them again.
        part.has_canonical_format = True
        return CSROperator(part)

    def signed_dot(self, y: Array, w: Array, b: float, out: Array) -> Array:
        """Set ``out = y * (X @ w + b)`` and return it."""
        self.count(1.0)
        X = self.X
        kernels.active.csr_signed_dot(X.indptr, X.indices, X.data, y, w, b, out)
        return out

    def signed_tdot(self, y: Array, v: Array, share: float = 1.0) -> tuple[Array, float]:
        """Return ``X.T @ (y * v)`` and ``y @ v``."""
        self.count(share)
        X = self.X
        out = np.empty(self.shape[1])
        total = kernels.active.csr_signed_tdot(X.indptr, X.indices, X.data, y, v, out)
        return out, total

    def _squared(self) -> Iterator[tuple[slice, sp.csr_matrix]]:
        """Yield the squares of all entries, some rows at a time, with their places."""
        X, m = self.X, self.shape[0]
        for low in range(0, m, SQUARED_ROWS):
            rows = slice(low, min(low + SQUARED_ROWS, m))
            first, last = X.indptr[rows.start], X.indptr[rows.stop]
            parts = (
                np.square(X.data[first:last], dtype=np.float64), X.indices[first:last],
                X.indptr[rows.start : rows.stop + 1] - first,
            )  # fmt: skip
            yield rows, sp.csr_matrix(parts, shape=(rows.stop - rows.start, self.shape[1]))

    def squared_pull(self, B: Array) -> Array:
        """Return ``B.T @ X**2``: the diagonals of Gram matrices, weighted by the columns of B."""
        self.count(B.shape[1])
        out = np.zeros((B.shape[1], self.shape[1]))
        for rows, part in self._squared():
            out += (part.T @ B[rows]).T
        return out

    def row_squares(self) -> Array:
        """Return the squared length of each row."""
        self.count(1.0)
        out, ones = np.empty(self.shape[0]), np.ones(self.shape[1])
        for rows, part in self._squared():
            out[rows] = part @ ones
        return out

    def scores(self, W: Array, b: Array) -> Array:
        """Return ``X @ W.T + b``, of shape (n_samples, n_classes)."""
        self.count(len(W))
        out: Array = self.X @ np.ascontiguousarray(W.T)
        out += b
        return out

    def pull(self, B: Array) -> Array:
        """Return ``B.T @ X``, of shape (n_classes, n_features)."""
        self.count(B.shape[1])
        product: Array = np.ascontiguousarray((self.X.T @ B).T)
        return product

    def add_gram(self, rows: Array, sign: float, out: Array, weights: Array | None = None) -> None:
        """Add ``sign * weight * (x, 1)(x, 1)'`` over `rows` to the lower triangle of `out`."""
        self.count(len(rows) / max(self.shape[0], 1))
        X = self.X
        signed = np.full(len(rows), sign) if weights is None else sign * weights
        kernels.active.csr_add_gram(X.indptr, X.indices, X.data, rows, signed, out)
