"""Classifiers of scikit-learn, stated with the same C as ours: the sum of losses times C."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import RidgeClassifier, SGDClassifier


def sgd(C: float, n_samples: int, random_state: Any, loss: str = "hinge") -> SGDClassifier:
    """Return SGD; its objective is the *mean* loss plus alpha/2 |w|²."""
    return SGDClassifier(loss=loss, alpha=1.0 / (C * n_samples), random_state=random_state)


def ridge(C: float) -> RidgeClassifier:
    """Return ridge regression on the labels; C times the squared error is alpha = 1 / (2 C)."""
    return RidgeClassifier(alpha=1.0 / (2.0 * C))
