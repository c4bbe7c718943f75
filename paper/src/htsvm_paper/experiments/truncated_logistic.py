"""Logistic regression that ignores samples whose loss is too large, for a comparison."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from htsvm._typing import Array


class TruncatedLogistic(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Minimise |w|²/2 + C sum of min(log(1 + exp(-margin)), ceiling), for two classes.

    The samples above the ceiling are left out, the rest is fitted, and again until the same ones
    stay out: each round lowers the objective.

    Parameters
    ----------
    C : float, default=1.0
        The penalty of the loss.
    ceiling : float, default=log(1 + e)
        The largest loss of a sample; the default is that of a margin of -1, where the truncated
        hinge loss with cap 2 ends.
    max_rounds : int, default=50
        The most rounds.
    """

    def __init__(
        self, C: float = 1.0, *, ceiling: float = float(np.log1p(np.e)), max_rounds: int = 50
    ) -> None:
        self.C = C
        self.ceiling = ceiling
        self.max_rounds = max_rounds

    def fit(self, X: Any, y: Array) -> TruncatedLogistic:
        """Fit the model."""
        self.classes_ = np.unique(y)
        sign = np.where(y == self.classes_[1], 1.0, -1.0)
        kept = np.ones(len(y), dtype=bool)
        for _ in range(self.max_rounds):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = LogisticRegression(C=self.C, max_iter=1000).fit(X[kept], y[kept])
            losses = np.logaddexp(0.0, -sign * model.decision_function(X))
            before, kept = kept, losses < self.ceiling
            if np.array_equal(before, kept) or len(np.unique(y[kept])) < 2:
                break
        self.model_ = model
        self.n_ignored_ = int(np.count_nonzero(~before))
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the decision values."""
        check_is_fitted(self)
        values: Array = self.model_.decision_function(X)
        return values

    def predict(self, X: Any) -> Array:
        """Return the predicted classes."""
        labels: Array = self.classes_[(self.decision_function(X) > 0.0).astype(np.intp)]
        return labels
