"""From published values to what a classifier sees, fitted on training data only."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler
from sklearn.utils.validation import check_is_fitted

from htsvm_paper.principal import PrincipalViews


def range_scaler(X: Any) -> Any:
    """Return the unfitted scaler to [-1, 1] that suits X.

    Sparse data stay sparse, and 0/1 data of that kind as they are.
    """
    return MaxAbsScaler() if sp.issparse(X) else MinMaxScaler((-1, 1))


class Preparation(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Missing values, scaling to [-1, 1] and, if asked for, a second view.

    Everything is learned in `fit`, that is on training data: medians for missing values, ranges,
    principal components of the scaled features.

    Parameters
    ----------
    pca_view : bool, default=False
        Whether to add the principal components (95 % of the variance) as a second view.

    Attributes
    ----------
    steps_ : list of transformers
        What is applied, in this order.
    view_widths_ : tuple of int
        The columns of the two views; empty without `pca_view`.
    """

    def __init__(self, pca_view: bool = False) -> None:
        self.pca_view = pca_view

    def fit(self, X: Any, y: Any = None) -> Preparation:
        """Learn from training data, NaN where a value is missing; `y` is ignored."""
        self._learn(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **_: Any) -> Any:
        """Learn from training data and return it prepared; `y` is ignored."""
        return self._learn(X)

    def _learn(self, X: Any) -> Any:
        self.steps_ = []
        if not sp.issparse(X):
            X = np.asarray(X)
            if np.issubdtype(X.dtype, np.floating) and np.isnan(X).any():
                self.steps_.append(SimpleImputer(strategy="median"))
        self.steps_.append(range_scaler(X))
        if self.pca_view:
            self.steps_.append(PrincipalViews())
        for step in self.steps_:
            X = step.fit_transform(X)
        self.view_widths_ = ()
        if self.pca_view:
            self.view_widths_ = tuple(v.stop - v.start for v in self.steps_[-1].views_.values())
        return X

    def transform(self, X: Any) -> Any:
        """Apply what was learned; what is missing only here counts as the training median."""
        check_is_fitted(self)
        for step in self.steps_:
            X = step.transform(X)
        return X
