"""How linear classifiers decide, on data in memory and on Dask collections."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from htsvm._documented import documented
from htsvm._typing import Array
from htsvm.problems.build import labels_of
from htsvm.svm.backend import backend_of


def _decides_by_weights(estimator: Any) -> bool:
    return bool(estimator._has_weights())


class LinearDecisions(ClassifierMixin):  # type: ignore[misc]
    """Scores, labels and accuracy of a model with `coef_`, `intercept_` and `classes_`."""

    @documented
    def margin_violation(self, X: Any, y: Any) -> Array:
        """Return how far each sample is from having its label confirmed by a margin of one.

        For two classes ``1 - y f(x)`` with y in {-1, 1}, else ``1 + max_{j != y} f_j - f_y``. Zero
        or less: safely of its class; above one: another class has the higher score. Labels with
        the largest values are the ones to look at first.

        Parameters
        ----------
        {X}
        y : array-like of shape (n_samples,)
            Their labels, all of them among ``classes_``.

        Returns
        -------
        ndarray of shape (n_samples,)
            The violations.
        """
        scores = np.asarray(self.decision_function(X))
        labels = column_or_1d(np.asarray(y))
        check_consistent_length(scores, labels)
        known = np.isin(labels, self.classes_)
        if not np.all(known):
            raise ValueError(
                f"y holds labels that the model was not fitted on: {labels[~known][:5].tolist()!r}."
            )
        return margin_violation(scores, np.searchsorted(self.classes_, labels))

    @documented
    def decision_function(self, X: Any) -> Any:
        """Return the signed scores ``X @ coef_.T + intercept_``.

        Parameters
        ----------
        {X}

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, positive scores mean ``classes_[1]``. For Dask data, a Dask array.
        """
        check_is_fitted(self)
        backend = backend_of(X)
        if backend is not None:
            shape = () if len(self.coef_) == 1 else (len(self.coef_),)
            scores_of = partial(linear_scores, self.coef_, self.intercept_)
            return backend.map_rows(X, scores_of, shape, self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return linear_scores(self.coef_, self.intercept_, X)

    def _has_weights(self) -> bool:
        """Return whether the decision is a product with `coef_`; with a kernel it is not."""
        return True

    @available_if(_decides_by_weights)  # type: ignore[untyped-decorator]
    def sparsify(self) -> Self:
        """Turn `coef_` into a CSR matrix, which is smaller if most weights are zero.

        Returns
        -------
        self
            The estimator; `densify` before `fit` with ``warm_start=True``.
        """
        check_is_fitted(self)
        self.coef_: Any = sp.csr_matrix(self.coef_)
        return self

    @available_if(_decides_by_weights)  # type: ignore[untyped-decorator]
    def densify(self) -> Self:
        """Turn `coef_` into an array again, as it is after a fit.

        Returns
        -------
        self
            The estimator.
        """
        check_is_fitted(self)
        if sp.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

    @documented
    def predict(self, X: Any) -> Any:
        """Return the predicted class of each sample.

        Parameters
        ----------
        {X}

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels; of two, ``classes_[1]`` where the score is above zero, or above
            `threshold_` if a search has set one. For Dask data, a Dask array.
        """
        scores = self.decision_function(X) - getattr(self, "threshold_", 0.0)
        backend = backend_of(scores)
        return (labels_of if backend is None else backend.labels)(scores, self.classes_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of samples, by weight, whose predicted class is the given one.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask collection} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        float
            The accuracy.
        """
        backend = backend_of(X)
        if backend is not None and backend_of(predicted := self.predict(X)) is not None:
            return float(backend.accuracy(predicted, y, sample_weight))
        return float(super().score(X, y, sample_weight))


def linear_scores(coef: Array, intercept: Array, X: Any) -> Array:
    """Return the scores of rows: a vector for one classifier, else a column for each."""
    scores: Array = safe_sparse_dot(X, coef.T, dense_output=True) + intercept
    return scores.ravel() if scores.shape[1] == 1 else scores


def margin_violation(scores: Array, codes: Array) -> Array:
    """Return ``1 + max_{j != y} f_j - f_y`` of each sample, or ``1 - y f`` for two classes."""
    if scores.ndim == 1:
        binary: Array = 1.0 - np.where(codes == 1, scores, -scores)
        return binary
    rows = np.arange(len(codes))
    own = scores[rows, codes]
    rivals = scores.copy()
    rivals[rows, codes] = -np.inf
    violation: Array = 1.0 + rivals.max(axis=1) - own
    return violation
