"""Rows seen in centred, scaled columns, without a copy of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from htsvm._typing import Array
from htsvm.linalg.csr import CSROperator
from htsvm.linalg.dense import DenseOperator
from htsvm.linalg.operators import Operator, squared

# Values that are looked at together: 4 MB.
BLOCK_VALUES = 1 << 19
# Rows of less than this share of the largest weight count with it: what they alone tell of a column
# would have next to no spread.
LIGHT = 1e-6


class Scaled(Operator):
    """The rows ``(x - mean) * scale`` of a dense array.

    Products with all rows are corrected by the columns. What is quadratic in the rows is formed of
    centred rows, some at a time: a correction of the sums would leave rounding errors alone where
    a mean is many standard deviations.

    Parameters
    ----------
    operator : DenseOperator
        The rows x; work counts as work on them.
    mean, scale : ndarray of shape (n_features,)
        What is taken off each column, and what it is then multiplied by.
    """

    def __init__(self, operator: DenseOperator, mean: Array, scale: Array) -> None:
        super().__init__()
        self.operator = operator
        self.mean, self.scale = np.ascontiguousarray(mean), np.ascontiguousarray(scale)
        self.read = operator.X, self.mean, self.scale
        self.shape, self.by_blas = operator.shape, operator.by_blas
        self.work, self.share = operator.work, operator.share

    @property
    def stored(self) -> int:
        """The number of entries."""
        return self.operator.stored

    def block(self, rows: slice | Array) -> Array:
        """Return a copy of some rows, in the precision of the array."""
        part = np.subtract(self.operator.X[rows], self.mean)
        part *= self.scale
        kept: Array = part.astype(self.operator.X.dtype, copy=False)
        return kept

    def _taken(self, rows: Array) -> DenseOperator:
        return DenseOperator(self.block(rows))

    def copied(self) -> Operator:
        """Return an operator on a copy of all rows."""
        copy = self.adopted(DenseOperator(self.block(slice(None))))
        copy.columns = self.columns
        return copy

    def signed_dot(self, y: Array, w: Array, b: float, out: Array) -> Array:
        """Set ``out = y * (X @ w + b)`` and return it."""
        w = w * self.scale
        product: Array = self.operator.signed_dot(y, w, b - float(w @ self.mean), out)
        return product

    def signed_tdot(self, y: Array, v: Array, share: float = 1.0) -> tuple[Array, float]:
        """Return ``X.T @ (y * v)`` and ``y @ v``."""
        pull, total = self.operator.signed_tdot(y, v, share)
        return self.scale * (pull - total * self.mean), total

    def scores(self, W: Array, b: Array) -> Array:
        """Return ``X @ W.T + b``, of shape (n_samples, n_classes)."""
        W = W * self.scale
        return self.operator.scores(W, b - W @ self.mean)

    def pull(self, B: Array) -> Array:
        """Return ``B.T @ X``, of shape (n_classes, n_features)."""
        pulled: Array = self.operator.pull(B)
        pulled -= np.outer(B.sum(axis=0), self.mean)
        pulled *= self.scale
        return pulled


class Moments(NamedTuple):
    """The total of some weights, and what the weighted columns are like.

    These are the mean of each column, and the sum of weights times squared distances from it.
    """

    mass: float
    mean: Array
    squares: Array
    sparse: bool


def moments(operator: Operator, weights: Array, largest: float) -> Moments:
    """Return the moments of rows by their weights; `largest` is the largest of all rows."""
    weights = weights / (largest or 1.0)
    np.maximum(weights, LIGHT, out=weights, where=weights > 0.0)
    none = np.zeros(operator.shape[1])
    parts = [Moments(0.0, none, none, operator.sparse)]
    # Stored values of a row, on average.
    width = operator.stored // max(operator.shape[0], 1)
    for rows, part in operator.blocks(max(BLOCK_VALUES // max(width, 1), 1)):
        mass, total = weights[rows], float(weights[rows].sum())
        mean = mass @ part / (total or 1.0)
        if operator.sparse:
            squares = mass @ squared(part) - total * mean * mean
        else:
            apart = part - mean
            squares = mass @ np.square(apart, out=apart)
        parts.append(Moments(total, mean, squares, operator.sparse))
    return merged(parts)


def merged(parts: Sequence[Moments]) -> Moments:
    """Return the moments of all rows from those of some at a time."""
    mass, mean, squares, sparse = (np.array(values) for values in zip(*parts, strict=True))
    middle = mass @ mean / (mass.sum() or 1.0)
    squares = squares.sum(axis=0) + mass @ np.square(mean - middle)
    return Moments(float(mass.sum()), middle, squares, bool(sparse.any()))


def in_columns(operator: Operator, mean: Array, scale: Array) -> Operator:
    """Return the rows ``(x - mean) * scale``, whose work counts as work on the given ones."""
    if isinstance(operator, CSROperator):
        inside = operator.adopted(_scaled_csr(operator, mean, scale))
    else:
        assert isinstance(operator, DenseOperator)
        inside = Scaled(operator, mean, scale)
    inside.columns = (mean, scale)
    return inside


def _scaled_csr(operator: CSROperator, mean: Array, scale: Array) -> CSROperator:
    """Return a copy of sparse rows; columns with a mean are stored in full, others as they were."""
    X, heavy = operator.X, np.flatnonzero(mean)
    if len(heavy):
        m = X.shape[0]
        places = (np.tile(heavy, m), np.arange(0, m * len(heavy) + 1, len(heavy)))
        X = (X - sp.csr_matrix((np.tile(mean[heavy], m), *places), shape=X.shape)).tocsr()
        X.sort_indices()
    values = (X.data * scale[X.indices]).astype(operator.X.dtype, copy=False)
    return CSROperator(sp.csr_matrix((values, X.indices, X.indptr), shape=X.shape))
