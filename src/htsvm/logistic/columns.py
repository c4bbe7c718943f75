"""The centred, scaled columns of the search.

What is minimised stays stated in the columns as they were given, or in standardised ones: that is
a matter of the regulariser, a number per column. Scaling and centring are for the arithmetic alone:
float32 has seven digits, and a column of dates has spent them on the century.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis

from htsvm._typing import Array
from htsvm.linalg import as_operator
from htsvm.linalg.scaled import moments
from htsvm.logistic.batch import BLOCK_VALUES

# A spread that is this share of the mean is rounding.
ROUNDING = 1e-13
# Scales that differ by less than this factor count as equal.
UNEVEN = 1.5
# The least share of the total variance that a column counts with: float32 cannot hold its inverse.
LEAST_SHARE = 1e-16


class SearchColumns:
    """What is taken off each column and what it is divided by, and the total variance.

    Parameters
    ----------
    X : ndarray or CSR matrix
        All rows.
    weights : ndarray of shape (n_samples,)
        What they count.
    intercept : bool
        Whether there is one. Only then columns are centred, sparse ones if all values are stored.
    """

    def __init__(self, X: Any, weights: Array, intercept: bool) -> None:
        self.intercept, full = intercept, True
        if sp.issparse(X):
            full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
            self.mean, variance = mean_variance_axis(X, 0, weights / weights.sum())
        else:
            found = moments(as_operator(X), weights, float(weights.max()))
            self.mean, variance = found.mean, found.squares / found.mass
        varies = variance > (ROUNDING * self.mean) ** 2
        variance = np.where(varies, variance, 0.0)
        self.centre = np.where(full & intercept, self.mean, 0.0)
        square = variance + np.square(self.mean - self.centre)
        self.scale = np.sqrt(np.where(square > 0.0, square, 1.0))
        # The mean squared length of rows, centred if there is an intercept, and who has a share.
        self.variance = float((variance if intercept else square).sum()) or 1.0
        shares = np.where(square > 0.0, square / self.variance, 1.0)
        self.shares = np.maximum(shares, LEAST_SHARE)
        self.spread = np.sqrt(np.where(varies, variance, 1.0))
        self.varied = max(int(np.count_nonzero(varies)), 1)

    @property
    def uneven(self) -> bool:
        """Whether scales differ so that it matters whether the columns are standardised."""
        return bool(self.spread.max(initial=0.0) > UNEVEN * self.spread.min(initial=np.inf))

    def size(self, standardised: bool) -> float:
        """Return the total variance, of given or of standardised columns."""
        return float(self.varied) if standardised else self.variance

    def ridge(self, standardised: bool) -> Array:
        """Return the regulariser of each column in these, times the size; zero for an intercept."""
        own = np.full(len(self.scale), float(self.varied)) if standardised else 1.0 / self.shares
        return np.append(own, [0.0] * self.intercept)

    def inside(self, X: Any, kind: Any) -> Any:
        """Return a copy of rows in these columns, and one of ones if there is an intercept."""
        if not sp.issparse(X):
            rows = np.ones((X.shape[0], X.shape[1] + self.intercept), dtype=kind)
            step = max(BLOCK_VALUES // max(X.shape[1], 1), 1)
            for first in range(0, len(rows), step):
                part = slice(first, first + step)
                rows[part, : X.shape[1]] = (X[part] - self.centre) / self.scale
            return rows
        data = ((X.data - self.centre[X.indices]) / self.scale[X.indices]).astype(kind)
        rows = sp.csr_matrix((data, X.indices, X.indptr), shape=X.shape)
        if self.intercept:
            rows = sp.hstack([rows, np.ones((X.shape[0], 1), dtype=kind)], format="csr")
        return rows

    def outside(self, points: Array) -> tuple[Array, Array]:
        """Return coefficients and intercepts, rows per score, of points (w, b) in these columns."""
        inside = points.astype(np.float64)
        coef = (inside[: len(self.scale)] / self.scale[:, None]).T
        own = inside[-1] - coef @ self.centre if self.intercept else np.zeros(len(coef))
        return np.ascontiguousarray(coef), own
