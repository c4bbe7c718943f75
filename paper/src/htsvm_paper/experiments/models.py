"""Models that only the experiments have: scikit-learn's with our C, and the paper's algorithms."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.svm import SVC
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from htsvm import HTSVC, MultiViewHTSVC, solvers
from htsvm_paper._typing import Array

# The paper's tolerance and iterations.
AS_IN_PAPER: dict[str, Any] = {"tol": 1e-3, "max_iter": 1000}


def sgd(C: float, n_samples: int, random_state: Any, loss: str = "hinge") -> SGDClassifier:
    """Return SGD; its objective is the *mean* loss plus alpha/2 |w|²."""
    return SGDClassifier(loss=loss, alpha=1.0 / (C * n_samples), random_state=random_state)


def ridge(C: float) -> RidgeClassifier:
    """Return ridge regression on the labels; C times the squared error is alpha = 1 / (2 C)."""
    return RidgeClassifier(alpha=1.0 / (2.0 * C))


def printed(C: float, xi: float) -> HTSVC:
    """Return the model with Algorithm 1 to the letter."""
    return HTSVC(C=C, solver=solvers.ADMM(penalty=xi, safeguards=()), **AS_IN_PAPER)


def safeguarded(C: float) -> HTSVC:
    """Return the model with Algorithm 1 as repaired here."""
    return HTSVC(C=C, solver=solvers.ADMM(), **AS_IN_PAPER)


def printed_views(
    C: float, structure: float, weight_smoothness: float, xi: float, views: object
) -> MultiViewHTSVC:
    """Return the multi-view model with Algorithm 2 to the letter."""
    return MultiViewHTSVC(
        C, structure=structure, weight_smoothness=weight_smoothness, views=views,
        solver=solvers.ADMM(penalty=xi, safeguards=()), max_rounds=20, **AS_IN_PAPER,
    )  # fmt: skip


class TruncatedLogistic(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Minimise |w|²/2 + C sum of min(log(1 + exp(-margin)), ceiling), for two classes.

    The samples above the ceiling are left out, the rest is fitted, and again until the same ones
    stay out: each round lowers the objective.

    The default `ceiling` is the loss of a margin of -1, where the truncated hinge loss with cap 2
    ends.
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


def predict(model: Any, X: Any) -> Array:
    """Return the predicted labels, the short way for a linear SVC.

    LIBSVM goes through all support vectors even for a linear kernel; its weights say the same.
    """
    if isinstance(model, SVC) and model.kernel == "linear" and len(model.classes_) == 2:
        values = safe_sparse_dot(X, model.coef_.T, dense_output=True).ravel() + model.intercept_
        labels: Array = model.classes_[(values > 0.0).astype(np.intp)]
        return labels
    return np.asarray(model.predict(X))
