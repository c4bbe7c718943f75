"""The rows of a dense array."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.linalg.operators import BLOCK, Operator

# None where nothing was compiled.
compiled = kernels.optional("linalg._rows")
# BLAS multiplies arrays with this many columns, and where this share of rows is read.
BLAS_COLUMNS, BLAS_SHARE = 32, 0.3
# Inner products are kept of at most so many rows: as many as an explicit system may have.
MOST_KEPT = 4000


class DenseOperator(Operator):
    """A C-contiguous float32 or float64 array.

    Wide float64 arrays are left to BLAS, except for products that read few rows; the kernels serve
    narrow ones, where BLAS is slow, and float32, which they sum up in double precision.
    """

    def __init__(self, X: Array) -> None:
        super().__init__()
        self.X = np.ascontiguousarray(X)
        self.shape = self.X.shape
        exact = self.X.dtype == np.float64
        self.by_blas = exact and self.shape[1] >= BLAS_COLUMNS
        # Nothing has to be converted: all rows at once.
        self.block_rows = max(self.shape[0], 1) if exact else BLOCK
        self._kept: tuple[Array, Array] | None = None

    @property
    def stored(self) -> int:
        """The number of entries."""
        return self.X.size

    @property
    def square_sum(self) -> float:
        """The sum of the squares of all entries."""
        return sum_of_squares(self.X)

    @cached_property
    def compiled_rows(self) -> Any:
        """The rows as compiled solvers want them."""
        return compiled and compiled.Rows.dense(self.X)

    def block(self, rows: slice | Array) -> Array:
        """Return some rows."""
        return self.X[rows]

    def _taken(self, rows: Array) -> DenseOperator:
        return DenseOperator(self.X[rows])

    def kept_kernel(self, scale: Array) -> Array | None:
        """Return `kernel`, formed once, where it is at most half as large as the rows; else None.

        The last `scale` is the one that it is kept for.
        """
        m, n = self.shape
        if 2 * m > n or m > MOST_KEPT:
            return None
        # Fits in other threads may share the rows: what is looked at is not looked up again.
        kept = self._kept
        if kept is None or not np.array_equal(kept[0], scale):
            kept = self._kept = (scale, self.kernel(scale))
        return kept[1]

    def signed_dot(self, y: Array, w: Array, b: float, out: Array) -> Array:
        """Set ``out = y * (X @ w + b)`` and return it."""
        self.count(1.0)
        if self.by_blas:
            np.dot(self.X, w, out=out)
            out += b
            out *= y
        else:
            kernels.active.dense_signed_dot(self.X, y, w, b, out)
        return out

    def signed_tdot(self, y: Array, v: Array, share: float = 1.0) -> tuple[Array, float]:
        """Return ``X.T @ (y * v)`` and ``y @ v``."""
        self.count(share)
        if self.by_blas and share > BLAS_SHARE:
            signed = y * v
            return signed @ self.X, float(signed.sum())
        out = np.empty(self.shape[1])
        total = kernels.active.dense_signed_tdot(self.X, y, v, out)
        return out, total


def sum_of_squares(values: Array) -> float:
    """Return the sum of squares, in double precision whatever the type."""
    flat = values.reshape(-1)
    size = 1 << 20
    parts = (
        flat[low : low + size].astype(np.float64, copy=False) for low in range(0, len(flat), size)
    )
    return float(sum(float(part @ part) for part in parts))
