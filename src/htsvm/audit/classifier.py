"""A classifier that is fitted to audited labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from htsvm._typing import Array
from htsvm.audit.audit import audit_labels
from htsvm.audit.scoring import take


def _has(name: str) -> Any:
    """Return a decorator of methods that only some estimators have."""
    return available_if(lambda self: hasattr(getattr(self, "estimator_", self.estimator), name))


class AuditedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Any classifier, fitted without the labels that an audit finds wrong.

    Parameters
    ----------
    estimator : classifier
        What is fitted; any scikit-learn classifier.
    quality : {"best", "fast"}, default="best"
        Of the audit, see `audit_labels`.
    random_state : int, RandomState or None, default=None
        Drives the audit. None always takes the same seed.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to the rows that are kept.
    audit_ : LabelAudit
        What was found about the labels.
    kept_ : ndarray of bool of shape (n_samples,)
        The rows whose label is confirmed by the second fit and by what is given most often to such
        samples. They are weighted so that each class is as frequent as suggested.
    classes_ : ndarray
        The labels that occur.
    """

    def __init__(self, estimator: Any, *, quality: str = "best", random_state: Any = None) -> None:
        self.estimator = estimator
        self.quality = quality
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AuditedClassifier:
        """Audit the labels, and fit the estimator to those that are kept.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels, some of them wrong.
        sample_weight : array-like of shape (n_samples,), optional
            How much each sample counts.
        """
        if y is None:
            raise ValueError("AuditedClassifier requires y to be passed, but the target y is None.")
        check_classification_targets(y)
        options = {"quality": self.quality, "random_state": self.random_state}
        audit = audit_labels(X, y, sample_weight=sample_weight, **options)
        kept = (audit.suggested == audit.codes) & (audit.best == audit.codes)
        # No class is given up, and where nothing is learned nothing is left out.
        k = len(audit.classes)
        kept |= np.bincount(audit.codes[kept], minlength=k)[audit.codes] == 0
        kept |= not audit.learnable
        rows, labels = np.flatnonzero(kept), np.asarray(y)
        extra = {}
        if has_fit_parameter(self.estimator, "sample_weight"):
            # Classes weigh as much as the audit thinks that they are frequent.
            held = np.bincount(audit.codes[rows], minlength=k)
            wanted = np.maximum(np.bincount(audit.suggested, minlength=k), held > 0)
            factors = wanted / np.maximum(held, 1)
            extra["sample_weight"] = audit.weights[rows] * factors[audit.codes[rows]]
        X = X.tocsr() if hasattr(X, "tocsr") else X if hasattr(X, "shape") else np.asarray(X)
        self.estimator_ = clone(self.estimator).fit(take(X, rows), labels[rows], **extra)
        self.audit_, self.kept_, self.classes_ = audit, kept, audit.classes
        if hasattr(self.estimator_, "n_features_in_"):
            self.n_features_in_ = self.estimator_.n_features_in_
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def predict(self, X: Any) -> Array:
        """Return the classes of samples."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))

    @_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    @_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Array:
        """Return the scores of the classes."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))
