"""The estimators that are compared, all made for the same C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC

from htsvm import HTSVC

SEED = 0


@dataclass(frozen=True)
class Rival:
    """An estimator for a given C.

    Attributes
    ----------
    key, label : str
        Its name in columns of CSV files, and in tables.
    make : callable
        Takes C and the number of samples; returns the estimator, not fitted.
    """

    key: str
    label: str
    make: Callable[[float, int], Any]


def ours(C: float, n_samples: int) -> Any:
    return HTSVC(C=C)


def squared_hinge(C: float, n_samples: int) -> Any:
    return LinearSVC(C=C, random_state=SEED)


def hinge(C: float, n_samples: int) -> Any:
    return LinearSVC(C=C, loss="hinge", random_state=SEED)


def sgd(C: float, n_samples: int) -> Any:
    """Return SGD on the hinge loss; its objective is the *mean* loss plus alpha/2 ||w||²."""
    return SGDClassifier(alpha=1.0 / (C * n_samples), random_state=SEED)


def logistic(C: float, n_samples: int) -> Any:
    return LogisticRegression(C=C)


OURS = Rival("htsvc", "HTSVC", ours)
DEFAULT = Rival("linearsvc", "LinearSVC", squared_hinge)
HINGE = Rival("linearsvc_hinge", "LinearSVC hinge", hinge)
SGD = Rival("sgd", "SGDClassifier", sgd)
LOGISTIC = Rival("logistic", "LogisticRegression", logistic)

RIVALS = (OURS, DEFAULT, HINGE, SGD, LOGISTIC)
