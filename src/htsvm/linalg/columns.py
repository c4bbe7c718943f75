"""Some columns of a matrix, dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from htsvm._typing import Array

# A sparse matrix takes this many bytes for the place of a stored value, beside the value.
INDEX_BYTES = 4


def take_columns(X: Any, columns: Array) -> Any:
    """Return some columns of X as a C-ordered array or CSR matrix; X itself where it is all."""
    whole = len(columns) == X.shape[1] and np.array_equal(columns, np.arange(X.shape[1]))
    part = X if whole else X[:, _contiguous(columns)]
    return part.tocsr() if sp.issparse(part) else np.ascontiguousarray(part)


def better_dense(stored: int, shape: tuple[int, int], size: int, n_columns: int) -> bool:
    """Return whether a view of a sparse matrix with `n_columns` is smaller as a dense array.

    `stored` values of `size` bytes are not zero. What is all of a sparse matrix stays sparse.
    """
    entries = shape[0] * shape[1] * size
    return shape[1] < n_columns and stored * (size + INDEX_BYTES) >= entries


def _contiguous(columns: Array) -> Any:
    """Return a slice where the columns are neighbours in order: that is quicker."""
    low, high = int(columns[0]), int(columns[-1])
    if high - low + 1 == len(columns) and np.all(np.diff(columns) == 1):
        return slice(low, high + 1)
    return columns
