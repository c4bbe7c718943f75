"""From published values to what a classifier sees, fitted on training data only."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from htsvm._typing import Array


def range_scaler(X: Any) -> Any:
    """Return the unfitted scaler to [-1, 1] that suits X.

    Parameters
    ----------
    X : {array-like, sparse matrix}
        The data to be scaled.

    Returns
    -------
    transformer
        `MinMaxScaler` for dense data. `MaxAbsScaler` for sparse data, which it keeps sparse; 0/1
        data it leaves as they are.
    """
    return MaxAbsScaler() if sp.issparse(X) else MinMaxScaler((-1, 1))


class AddPCAView(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Put the leading principal components beside the features, as a second view.

    Parameters
    ----------
    variance : float, default=0.95
        The share of the variance that the components keep.

    Attributes
    ----------
    pca_ : PCA
        The fitted components.
    view_widths_ : tuple of int
        The columns of the two views.
    """

    def __init__(self, variance: float = 0.95) -> None:
        self.variance = variance

    def fit(self, X: Any, y: Any = None) -> AddPCAView:
        """Fit the components to training data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : ignored
            For the sake of pipelines.
        """
        X = validate_data(self, X, dtype=np.float64)
        if not 0.0 < self.variance < 1.0:
            raise ValueError(f"variance must lie between 0 and 1, got {self.variance!r}.")
        self.pca_ = PCA(self.variance, svd_solver="full").fit(X)
        self.view_widths_ = (X.shape[1], int(self.pca_.n_components_))
        return self

    def transform(self, X: Any) -> Array:
        """Return the two views side by side.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.hstack([X, self.pca_.transform(X)])


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
        """Learn from training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data; NaN where a value is missing.
        y : ignored
            For the sake of pipelines.
        """
        self._learn(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **_: Any) -> Any:
        """Learn from training data and return it prepared.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : ignored
            For the sake of pipelines.
        """
        return self._learn(X)

    def _learn(self, X: Any) -> Any:
        self.steps_ = []
        if not sp.issparse(X):
            X = np.asarray(X)
            if np.issubdtype(X.dtype, np.floating) and np.isnan(X).any():
                self.steps_.append(SimpleImputer(strategy="median"))
        self.steps_.append(range_scaler(X))
        if self.pca_view:
            self.steps_.append(AddPCAView())
        for step in self.steps_:
            X = step.fit_transform(X)
        self.view_widths_ = self.steps_[-1].view_widths_ if self.pca_view else ()
        return X

    def transform(self, X: Any) -> Any:
        """Apply what was learned.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples. A value that is missing only here counts as the training median.
        """
        check_is_fitted(self)
        for step in self.steps_:
            X = step.transform(X)
        return X
