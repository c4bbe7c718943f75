"""Products with several columns at once: the scores of all classes, and the pull on them."""

from __future__ import annotations

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.operators import CSROperator, DenseOperator, Operator

# Rows per block where the data has to be widened to double precision.
BLOCK = 4096


def scores(operator: Operator, W: Array, b: Array) -> Array:
    """Return ``X @ W.T + b``, of shape (n_samples, n_classes).

    Dense data goes through BLAS, sparse data through SciPy. Any other operator is asked for one
    column at a time, which is all that its interface promises.
    """
    operator.passes += len(W)
    if isinstance(operator, DenseOperator):
        out = _dense_scores(operator.X, W)
    elif isinstance(operator, CSROperator):
        out = operator.X @ np.ascontiguousarray(W.T)
    else:
        operator.passes -= len(W)
        out = np.empty((operator.shape[0], len(W)))
        plus = np.ones(operator.shape[0], dtype=np.int8)
        for column, w in enumerate(W):
            out[:, column] = operator.signed_dot(plus, w, 0.0, np.empty(operator.shape[0]))
    out += b
    return out


def pull(operator: Operator, B: Array) -> Array:
    """Return ``B.T @ X``, of shape (n_classes, n_features)."""
    operator.passes += B.shape[1]
    if isinstance(operator, DenseOperator):
        return _dense_pull(operator.X, B)
    if isinstance(operator, CSROperator):
        product: Array = np.ascontiguousarray((operator.X.T @ B).T)
        return product
    operator.passes -= B.shape[1]
    plus = np.ones(operator.shape[0], dtype=np.int8)
    columns = [operator.signed_tdot(plus, np.ascontiguousarray(column))[0] for column in B.T]
    return np.vstack(columns)


def squared_pull(operator: Operator, B: Array) -> Array:
    """Return ``B.T @ X**2``: the diagonal of weighted Gram matrices, one row per column of B."""
    operator.passes += B.shape[1]
    n = operator.shape[1]
    total = np.zeros((B.shape[1], n))
    for low in range(0, operator.shape[0], BLOCK):
        rows = np.arange(low, min(low + BLOCK, operator.shape[0]))
        part = operator.take(rows)
        if isinstance(part, CSROperator):
            squares = part.X.astype(np.float64)
            squares.data **= 2
            total += (squares.T @ B[rows]).T
        elif isinstance(part, DenseOperator):
            total += B[rows].T @ np.square(part.X, dtype=np.float64)
        else:
            raise TypeError(f"{type(operator).__name__} does not show its rows.")
    return total


def _dense_scores(X: Array, W: Array) -> Array:
    if X.dtype == np.float64:
        product: Array = X @ W.T
        return product
    out = np.empty((len(X), len(W)))
    for low in range(0, len(X), BLOCK):
        np.dot(X[low : low + BLOCK].astype(np.float64), W.T, out=out[low : low + BLOCK])
    return out


def _dense_pull(X: Array, B: Array) -> Array:
    if X.dtype == np.float64:
        product: Array = B.T @ X
        return product
    out = np.zeros((B.shape[1], X.shape[1]))
    for low in range(0, len(X), BLOCK):
        out += B[low : low + BLOCK].T @ X[low : low + BLOCK].astype(np.float64)
    return out
