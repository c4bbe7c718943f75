"""Rows in centred, scaled columns and the precision of the search: what all members of a fold see.

What is minimised stays stated in the columns as they were given, or in standardised ones: that is
a matter of the regulariser, a number per column. Scaling and centring are for the arithmetic alone:
float32 has seven digits, and a column of dates has spent them on the century.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis

from htsvm._typing import Array

# Up to so many stored values double precision costs next to nothing, and weights are the same as
# copies to its last digits.
EXACT_VALUES = 100_000
# Values looked at together, 4 MB in single precision.
BLOCK_VALUES = 1 << 20
# A spread that is this share of the mean is rounding.
ROUNDING = 1e-13
# Scales that differ by less than this factor count as equal.
UNEVEN = 1.5
# The least share of the total variance that a column counts with: float32 cannot hold its inverse.
LEAST_SHARE = 1e-16


@dataclass(frozen=True, eq=False)
class SearchColumns:
    """What is taken off each column and what it is divided by, and the total variance.

    Attributes
    ----------
    centre, scale : ndarray of shape (n_features,)
        Sparse rows are centred only in columns in which every value is stored.
    variance : float
        The sum of the variances of the columns: the mean squared length of centred rows.
    varied : int
        The number of columns that are not constant.
    shares : ndarray of shape (n_features,)
        The squares of the scales over the total variance.
    mean, spread : ndarray of shape (n_features,)
        Means and standard deviations; one for a constant column.
    """

    centre: Array
    scale: Array
    variance: float
    varied: int
    shares: Array
    mean: Array
    spread: Array

    @classmethod
    def of(cls, X: Any, weights: Array, centred: bool) -> SearchColumns:
        """Return the columns of weighted rows, centred if there is an intercept."""
        share = weights / weights.sum()
        mean, variance = (mean_variance_axis if sp.issparse(X) else _moments)(X, 0, share)
        varies = variance > (ROUNDING * mean) ** 2
        variance = np.where(varies, variance, 0.0)
        full = (
            np.bincount(X.indices, minlength=X.shape[1]) == len(share) if sp.issparse(X) else True
        )
        centre = np.where(full & centred, mean, 0.0)
        square = variance + np.square(mean - centre)
        scale = np.sqrt(np.where(square > 0.0, square, 1.0))
        total = float(variance.sum()) if centred else float(square.sum())
        total = total or 1.0
        shares = np.maximum(np.where(square > 0.0, square, total) / total, LEAST_SHARE)
        spread = np.sqrt(np.where(varies, variance, 1.0))
        varied = max(int(np.count_nonzero(varies)), 1)
        return cls(centre, scale, total, varied, shares, mean, spread)

    @property
    def uneven(self) -> bool:
        """Whether scales differ so that it matters whether the columns are standardised."""
        return bool(self.spread.max(initial=0.0) > UNEVEN * self.spread.min(initial=np.inf))

    def inside(self, X: Any, intercept: bool, kind: Any) -> Any:
        """Return a copy of rows in these columns, and one of ones if there is an intercept."""
        if not sp.issparse(X):
            rows = np.ones((X.shape[0], X.shape[1] + intercept), dtype=kind)
            step = max(BLOCK_VALUES // max(X.shape[1], 1), 1)
            for first in range(0, len(rows), step):
                part = slice(first, first + step)
                rows[part, : X.shape[1]] = (X[part] - self.centre) / self.scale
            return rows
        data = ((X.data - self.centre[X.indices]) / self.scale[X.indices]).astype(kind)
        rows = sp.csr_matrix((data, X.indices, X.indptr), shape=X.shape)
        if intercept:
            rows = sp.hstack([rows, np.ones((X.shape[0], 1), dtype=kind)], format="csr")
        return rows

    def outside(self, points: Array, intercept: bool) -> tuple[Array, Array]:
        """Return coefficients and intercepts, rows per score, of points (w, b) in these columns."""
        inside = points.astype(np.float64)
        coef = (inside[: len(self.scale)] / self.scale[:, None]).T
        own = inside[-1] - coef @ self.centre if intercept else np.zeros(len(coef))
        return np.ascontiguousarray(coef), own


def _moments(X: Array, _: int, share: Array) -> tuple[Array, Array]:
    """Return means and variances of dense columns, some rows at a time."""
    step = max(BLOCK_VALUES // max(X.shape[1], 1), 1)
    parts = [slice(first, first + step) for first in range(0, X.shape[0], step)]
    mean = sum(share[part] @ X[part].astype(np.float64, copy=False) for part in parts)
    # Centred once more: of a large offset the first mean knows only its leading digits.
    mean = mean + sum(share[part] @ (X[part] - mean) for part in parts)
    variance = sum(share[part] @ np.square(X[part] - mean) for part in parts)
    return np.asarray(mean), np.asarray(variance)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows inside their columns, the codes of their labels, and their weights, if they differ."""

    X: Any
    codes: Array
    weights: Array | None
    classes: int

    @property
    def mass(self) -> float:
        """The sum of the weights."""
        return float(len(self.codes) if self.weights is None else self.weights.sum())

    @property
    def scores(self) -> int:
        """The scores of a row: one for two classes."""
        return 1 if self.classes == 2 else self.classes

    def blocks(self, members: int) -> Iterator[tuple[Any, Array, Array | None]]:
        """Return the rows in blocks whose scores, of so many members, fit into a cache."""
        step, count = max(BLOCK_VALUES // (members * self.classes), 64), len(self.codes)
        for first in range(0, count, step):
            part = slice(first, min(first + step, count))
            X = self.X if step >= count else self.X[part]
            yield X, self.codes[part], None if self.weights is None else self.weights[part]

    def squares(self) -> Array:
        """Return the mean square of each column."""
        X, weights = self.X, self.weights
        mass = np.ones(len(self.codes), dtype=X.dtype) if weights is None else weights
        total = mass @ X.multiply(X) if sp.issparse(X) else np.einsum("i,ij,ij->j", mass, X, X)
        return np.asarray(total / self.mass, dtype=np.float64)
