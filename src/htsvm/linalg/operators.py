"""One seam between solvers and data: what a solver may ask of X, whatever X is."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from htsvm._typing import Array
from htsvm.linalg import kernels

# Rows per block where a temporary of the block's size is unavoidable: 3 MB for 100 columns.
BLOCK = 4096
# For X'v BLAS reads all rows, the kernels only those with v != 0: with 64 columns 11 ms, and 7 ms
# for a share of 0.3, 10 ms for 0.5.
BLAS_SHARE = 0.3


@dataclass
class Work:
    """A counter of passes over the data, shared by an operator and all that is taken from it."""

    passes: float = 0.0


class Extent(ABC):
    """What is known of the rows of X without reading them, and the work done on them.

    Attributes
    ----------
    shape : tuple of int
        Samples and features.
    sparse : bool
        Whether only some entries are stored.
    representers : bool
        Whether w is stored by its coefficients as a combination of the samples; see
        `kernel_operator.py`.
    work : Work
        The counter that this operator reports to.
    share : float
        Its stored values as a share of those of the operator that it was taken from.
    """

    shape: tuple[int, int]
    sparse: ClassVar[bool] = False
    representers: ClassVar[bool] = False
    # Of rows that were brought into other coordinates: what was taken off the columns, and what
    # they were multiplied by.
    columns: tuple[Any, ...] | None = None

    def __init__(self) -> None:
        self.work = Work()
        self.share = 1.0

    @property
    def passes(self) -> float:
        """The work so far in units of one product ``X @ w``, with all that was taken from X.

        What reads only some rows counts for their share of the stored values.
        """
        return self.work.passes

    def count(self, products: float) -> None:
        """Add the work of this many products with all rows of this operator."""
        self.work.passes += products * self.share

    def adopted(self, part: Operator) -> Operator:
        """Return a copy of some of these rows, whose work counts from here on as work on these."""
        part.work, part.share = self.work, self.share * part.stored / max(self.stored, 1)
        part.count(1.0)
        return part

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


class Operator(Extent):
    """The rows of X.

    A new kind of operator brings `shape`, `stored`, `block` and `_taken`. All else follows from
    these, some rows at a time; override what can be computed faster, and count its work.
    """

    # Whether BLAS multiplies the rows; and what compiled loops read: an array or a CSR matrix, with
    # what is taken off the columns and what they are multiplied by.
    by_blas: bool = False
    read: tuple[Any, ...] = ()
    # Rows per block of the products that follow from `block`.
    block_rows: int = BLOCK

    @cached_property
    def compiled_rows(self) -> Any:
        """The rows as compiled loops want them, None where there are none."""
        return kernels.rows(*self.read) if self.read else None

    @abstractmethod
    def block(self, rows: slice | Array) -> Any:
        """Return some rows as they are stored: a float array or a CSR matrix."""

    @abstractmethod
    def _taken(self, rows: Array) -> Operator:
        """Return an operator on a copy of some rows."""

    # ------------------------------------------------------------------------- parts of X

    def take(self, rows: Array) -> Operator:
        """Return an operator on a copy of some rows; its work counts as work on this one."""
        return self.adopted(self._taken(rows))

    def separate(self) -> Self:
        """Return an operator on the same rows with a counter of its own."""
        other = copy.copy(self)
        other.work, other.share = Work(), 1.0
        return other

    def blocks(self, size: int | None = None) -> Iterator[tuple[slice, Any]]:
        """Yield all rows in double precision, some at a time, with their places."""
        size = size or self.block_rows
        for low in range(0, self.shape[0], size):
            rows = slice(low, min(low + size, self.shape[0]))
            yield rows, double(self.block(rows))

    # -------------------------------------------------------------------- products with X

    def signed_dot(self, y: Array, w: Array, b: float, out: Array) -> Array:
        """Set ``out = y * (X @ w + b)`` and return it."""
        self.count(1.0)
        if self.compiled_rows is not None and not self.by_blas:
            self.compiled_rows.signed_dot(y, w, b, out)
            return out
        for rows, part in self.blocks():
            product = part @ w
            product += b
            np.multiply(y[rows], product, out=out[rows])
        return out

    def signed_tdot(self, y: Array, v: Array, share: float = 1.0) -> tuple[Array, float]:
        """Return ``X.T @ (y * v)`` and ``y @ v``; `share` is the share of rows with v != 0."""
        self.count(share)
        out = np.zeros(self.shape[1])
        if self.compiled_rows is not None and not (self.by_blas and share > BLAS_SHARE):
            return out, self.compiled_rows.signed_tdot(y, v, out)
        signed = y * v
        for rows, part in self.blocks():
            out += signed[rows] @ part
        return out, float(signed.sum())

    def scores(self, W: Array, b: Array) -> Array:
        """Return ``X @ W.T + b``, of shape (n_samples, n_classes)."""
        self.count(len(W))
        out, transposed = np.empty((self.shape[0], len(W))), np.ascontiguousarray(W.T)
        for rows, part in self.blocks():
            out[rows] = part @ transposed
        out += b
        return out

    def pull(self, B: Array) -> Array:
        """Return ``B.T @ X``, of shape (n_classes, n_features)."""
        self.count(B.shape[1])
        out = np.zeros((B.shape[1], self.shape[1]))
        for rows, part in self.blocks():
            out += B[rows].T @ part
        return out

    def squared_pull(self, B: Array) -> Array:
        """Return ``B.T @ X**2``: the diagonals of Gram matrices, weighted by the columns of B."""
        self.count(B.shape[1])
        out = np.zeros((B.shape[1], self.shape[1]))
        for rows, squares in self._squares():
            out += (squares.T @ B[rows]).T
        return out

    # ----------------------------------------------------------------- quadratic in the rows

    @property
    def square_sum(self) -> float:
        """The sum of the squares of all entries."""
        return float(self.row_squares().sum())

    def row_squares(self) -> Array:
        """Return the squared length of each row."""
        self.count(1.0)
        out = np.empty(self.shape[0])
        ones = np.ones(self.shape[1])
        for rows, squares in self._squares():
            out[rows] = squares @ ones
        return out

    def _squares(self) -> Iterator[tuple[slice, Any]]:
        """Yield the squares of all entries, some rows at a time, with their places."""
        for rows, part in self.blocks(None if self.sparse else BLOCK):
            yield rows, squared(part)

    def add_gram(self, rows: Array, sign: float, out: Array, weights: Array | None = None) -> None:
        """Add ``sign * weight * (x, 1)(x, 1)'`` over `rows` to (the lower triangle of) `out`.

        `rows` is sorted and without repetitions. `weights` has an entry for each of them, not
        negative; all are one by default.
        """
        n = self.shape[1]
        self.count(len(rows) / max(self.shape[0], 1))
        size = max(256, 500_000 // max(n, 1))
        for low in range(0, len(rows), size):
            # All rows, in order: a slice spares the copy.
            some = slice(low, low + size) if len(rows) == self.shape[0] else rows[low : low + size]
            part = dense(double(self.block(some)))
            root = np.ones(len(part)) if weights is None else np.sqrt(weights[low : low + size])
            if weights is not None:
                part = part * root[:, None]
            out[:n, :n] += sign * (part.T @ part)
            out[n, :n] += sign * (root @ part)
            out[n, n] += sign * float(root @ root)

    def kernel(self, scale: Array) -> Array:
        """Return the dense matrix ``X @ diag(scale) @ X.T``; for few rows only."""
        X = double(self.block(slice(None)))
        if np.all(scale == 1.0):
            return dense(X @ X.T)
        scaled = X.multiply(scale).tocsr() if sp.issparse(X) else X * scale
        return dense(scaled @ X.T)


def double(part: Any) -> Any:
    """Return an array or CSR matrix in double precision, without a copy if it is."""
    return part.astype(np.float64, copy=False)


def squared(part: Any) -> Any:
    """Return the squares of all entries of an array or CSR matrix."""
    if sp.issparse(part):
        return sp.csr_matrix((np.square(part.data), part.indices, part.indptr), shape=part.shape)
    return np.square(part)


def dense(part: Any) -> Array:
    """Return an array or sparse matrix as an array."""
    array: Array = part.toarray() if sp.issparse(part) else np.asarray(part)
    return array


def sum_of_squares(values: Array) -> float:
    """Return the sum of squares, in double precision whatever the type."""
    flat = values.reshape(-1)
    size = 1 << 20
    parts = (
        flat[low : low + size].astype(np.float64, copy=False) for low in range(0, len(flat), size)
    )
    return float(sum(float(part @ part) for part in parts))
