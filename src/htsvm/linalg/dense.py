"""The rows of a dense array, and operators for what users pass as X."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from htsvm._typing import Array
from htsvm.linalg.csr import CSROperator
from htsvm.linalg.operators import BLOCK, Operator, double, sum_of_squares
from htsvm.linalg.threads import in_blocks

# From 32 columns on BLAS is about as quick as the kernels (200,000 rows: 7 and 8 ms of CPU time).
BLAS_COLUMNS = 32


class DenseOperator(Operator):
    """A C-contiguous float32 or float64 array.

    Wide float64 arrays are left to BLAS, except for products that read few rows; the kernels serve
    narrow ones, where BLAS is slow, and float32, which they sum up in double precision.
    """

    def __init__(self, X: Array) -> None:
        super().__init__()
        self.X = np.ascontiguousarray(X)
        self.shape, self.read = self.X.shape, (self.X,)
        exact = self.X.dtype == np.float64
        self.by_blas = exact and self.shape[1] >= BLAS_COLUMNS
        # Nothing has to be converted: all rows at once.
        self.block_rows = max(self.shape[0], 1) if exact else BLOCK

    @property
    def stored(self) -> int:
        """The number of entries."""
        return self.X.size

    @property
    def square_sum(self) -> float:
        """The sum of the squares of all entries."""
        return sum_of_squares(self.X)

    def block(self, rows: slice | Array) -> Array:
        """Return some rows."""
        return self.X[rows]

    def _taken(self, rows: Array) -> DenseOperator:
        return DenseOperator(self.X[rows])

    def scores(self, W: Array, b: Array) -> Array:
        """Return ``X @ W.T + b``, of shape (n_samples, n_classes)."""
        self.count(len(W))
        out = np.empty((self.shape[0], len(W)))

        def some(rows: slice) -> None:
            np.matmul(double(self.X[rows]), W.T, out=out[rows])
            out[rows] += b

        in_blocks(some, *self.shape)
        return out

    def pull(self, B: Array) -> Array:
        """Return ``B.T @ X``, of shape (n_classes, n_features)."""
        self.count(B.shape[1])
        parts = in_blocks(lambda rows: B[rows].T @ double(self.X[rows]), *self.shape)
        return np.add.reduce(parts, axis=0) if parts else np.zeros((B.shape[1], self.shape[1]))


def as_operator(X: Any) -> Operator:
    """Wrap a dense array or a sparse matrix, of floats or made so; operators pass through."""
    if isinstance(X, Operator):
        return X
    X = X if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got shape {X.shape}.")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    return CSROperator(sp.csr_matrix(X)) if sp.issparse(X) else DenseOperator(X)
