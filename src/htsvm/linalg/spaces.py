"""Rows in coordinates: of their columns, of the space that they span, or of a kernel.

At a solution w is a combination of rows: a part of w at right angles to all of them changes no
decision value, adds to the norm, and meets a regulariser built from differences of rows that is
zero on it. So w may be looked for in the space of the rows, with at most as many coordinates as
samples. The coordinates belong to an orthonormal basis, hence norms, distances and inner products,
and with them the problem, its clusters and its certificate, are the same. The same holds of the
space that a kernel maps the rows to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from htsvm._typing import Array
from htsvm.linalg.kernel_functions import Kernel

# The largest side of a matrix with a row and column per coordinate or sample: 800 MB.
LARGEST_SIDE = 10_000


@dataclass(frozen=True, eq=False)
class Space:
    """Rows in coordinates of an orthonormal basis.

    Attributes
    ----------
    coordinates : {ndarray, CSR matrix} of shape (n_samples, n_coordinates)
        The rows: ``X @ basis``, or the same with a kernel for X: ``kernel(X, rows) @ basis``.
    basis : tuple of matrices
        The factors of the basis, the product of which need not be formed; none where the
        coordinates are the columns themselves.
    kernel : callable, optional
        A function of two matrices.
    rows : {ndarray, CSR matrix} of shape (n_distinct, n_columns), optional
        The distinct training samples: with a kernel ``w = sum_i a_i phi(x_i)`` over these.
    """

    coordinates: Any
    basis: tuple[Any, ...] = ()
    kernel: Kernel | None = None
    rows: Any = None

    @property
    def linear(self) -> bool:
        """Whether decisions are linear in the columns."""
        return self.kernel is None

    def lift(self, coef: Array) -> Array:
        """Return coefficients of columns (or the a_i) from those of coordinates, in rows."""
        for factor in reversed(self.basis):
            coef = coef @ factor.T
        return coef

    def features(self, X: Any) -> Any:
        """Return what lifted coefficients belong to, of other samples: columns, or kernels."""
        return X if self.kernel is None else self.kernel(X, self.rows)


def row_space(X: Any, weights: Array | None, with_structure: bool) -> Space:
    """Return rows in as few coordinates as they need; those of weight zero need none of their own.

    `with_structure` says whether a matrix with one row and column per coordinate will be formed.
    If not, sparse rows are left as they are: the solvers take any number of sparse columns.
    """
    if sp.issparse(X) and not with_structure:
        return Space(X)
    # Repeated samples add nothing: with them or with weights, the coordinates are the same.
    rows = spanning_rows(X, weights)
    side = X.shape[1] if rows is None else len(rows)
    if with_structure and side > LARGEST_SIDE:
        raise ValueError(
            f"structure > 0 needs a matrix of side min(n_samples, n_columns) = {side} for a "
            f"view of shape {X.shape}, more than {LARGEST_SIDE}; set structure=0 for this view, or "
            "reduce its columns first, for example with TruncatedSVD."
        )
    if rows is None:
        return Space(X)
    if sp.issparse(X):
        return _sparse_row_space(X.astype(np.float64), rows)
    basis, _ = scipy.linalg.qr(
        X[rows].astype(np.float64).T, mode="economic", overwrite_a=True, check_finite=False
    )
    return Space(X @ basis, (basis,))


def distinct_rows(X: Any) -> tuple[Array, Array]:
    """Return the first of each group of equal rows, and the group of each row.

    The groups are sorted by what is in the rows, so that the order of the rows does not matter.
    """
    # Equal sparse rows give equal products, bit for bit; others hardly ever do.
    probes = np.random.default_rng(0).normal(size=(X.shape[1], 2)) if sp.issparse(X) else None
    # Negative zeros are equal to positive ones, but not byte by byte.
    keys = np.ascontiguousarray(X if probes is None else X @ probes) + 0.0
    rows = keys.view(np.dtype((np.void, keys.dtype.itemsize * keys.shape[1]))).reshape(-1)
    _, first, place = np.unique(rows, return_index=True, return_inverse=True)
    return first, place.reshape(-1)


def spanning_rows(X: Any, weights: Array | None) -> Array | None:
    """Return the distinct rows of positive weight if they are fewer than the columns, else None."""
    n = X.shape[1]
    kept = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights > 0.0)
    # Mostly a few rows show that there are enough.
    if len(kept) > 2 * n and len(distinct_rows(X[kept[: 2 * n]])[0]) >= n:
        return None
    first, _ = distinct_rows(X[kept])
    return kept[first] if len(first) < n else None


def _sparse_row_space(X: Any, rows: Array) -> Space:
    """Use the eigenvectors of the kernel of the rows, which has their number as its side."""
    spanning = X[rows].T.tocsr()
    values, vectors = scipy.linalg.eigh((spanning.T @ spanning).toarray())
    kept = values > len(values) * np.finfo(np.float64).eps * max(float(values[-1]), 0.0)
    if not kept.any():
        # No row differs from zero; a coordinate that is always zero stands for the view.
        return Space(np.zeros((X.shape[0], 1)), (sp.csr_matrix((X.shape[1], 1)),))
    factor = vectors[:, kept] / np.sqrt(values[kept])
    return Space((X @ spanning).toarray() @ factor, (spanning, factor))


def kernel_space(X: Any, kernel: Kernel) -> Space:
    """Return rows in coordinates of the space of a kernel, a function of two matrices."""
    first, place = distinct_rows(X)
    if len(first) > LARGEST_SIDE:
        raise ValueError(
            f"a kernel needs a matrix of side {len(first)}, the number of distinct samples, more "
            f"than {LARGEST_SIDE}; use kernel='linear' on features that approximate it, for "
            "example from sklearn.kernel_approximation.Nystroem."
        )
    rows = X[first]
    K = kernel(rows, rows)
    values, vectors = scipy.linalg.eigh(0.5 * (K + K.T))
    largest = float(np.abs(values).max())
    if values[0] < -1e-8 * largest:
        raise ValueError(
            f"kernel is not positive semidefinite: its matrix on the training samples has the "
            f"eigenvalue {values[0]:.3g}, the largest is {values[-1]:.3g}."
        )
    kept = values > len(values) * np.finfo(np.float64).eps * largest
    root = np.sqrt(values[kept])
    return Space((vectors[:, kept] * root)[place], (vectors[:, kept] / root,), kernel, rows)
