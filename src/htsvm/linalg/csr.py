"""The rows of a sparse matrix."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from htsvm._typing import Array
from htsvm.linalg.operators import Operator, sum_of_squares


class CSROperator(Operator):
    """A CSR matrix with sorted, unique column indices."""

    sparse: ClassVar[bool] = True
    block_rows = 1 << 15

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
        self.shape, self.read = X.shape, (X,)

    @property
    def stored(self) -> int:
        """The number of stored entries."""
        return int(self.X.nnz)

    @property
    def square_sum(self) -> float:
        """The sum of the squares of all entries."""
        return sum_of_squares(self.X.data)

    def block(self, rows: slice | Array) -> Any:
        """Return some rows as a CSR matrix; a slice shares their values."""
        X = self.X
        if not isinstance(rows, slice):
            return X[rows]
        low, high, _ = rows.indices(X.shape[0])
        if high - low == X.shape[0]:
            return X
        part, edges = slice(X.indptr[low], X.indptr[high]), X.indptr[low : high + 1]
        values = X.data[part], X.indices[part], edges - edges[0]
        return sp.csr_matrix(values, shape=(high - low, X.shape[1]))

    def _taken(self, rows: Array) -> CSROperator:
        part = self.X[rows]
        # Rows keep the order of their indices: no need to look at all of them again.
        part.has_canonical_format = True
        return CSROperator(part)

    def pull(self, B: Array) -> Array:
        """Return ``B.T @ X``, of shape (n_classes, n_features)."""
        self.count(B.shape[1])
        product: Array = np.ascontiguousarray((self.X.T @ B).T)
        return product

    def add_gram(self, rows: Array, sign: float, out: Array, weights: Array | None = None) -> None:
        """Add ``sign * weight * (x, 1)(x, 1)'`` over `rows` to the lower triangle of `out`."""
        compiled = self.compiled_rows
        if compiled is None:
            super().add_gram(rows, sign, out, weights)
            return
        self.count(len(rows) / max(self.shape[0], 1))
        compiled.gram(rows, np.full(len(rows), sign) if weights is None else sign * weights, out)
