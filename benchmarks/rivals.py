"""The estimators that are compared, all made for the same C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.svm import SVC, LinearSVC

from htsvm import HTSVC
from htsvm.baselines import HingeSVC, LeastSquaresSVC, PinballSVC, RampSVC, ZeroOneSVC

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

# ---------------------------------------------------------------------- the baselines and theirs


def ridge(C: float, n_samples: int) -> Any:
    """Return ridge regression on the labels; C times the squared error is alpha = 1 / (2 C)."""
    return RidgeClassifier(alpha=1.0 / (2.0 * C))


def libsvm(C: float, n_samples: int) -> Any:
    return SVC(C=C, kernel="linear")


HINGE_SVC = Rival("hinge", "HingeSVC", lambda C, m: HingeSVC(C=C))
LEAST_SQUARES = Rival("least_squares", "LeastSquaresSVC", lambda C, m: LeastSquaresSVC(C=C))
PINBALL = Rival("pinball", "PinballSVC", lambda C, m: PinballSVC(C=C))
RAMP = Rival("ramp", "RampSVC", lambda C, m: RampSVC(C=C))
ZERO_ONE = Rival("zero_one", "ZeroOneSVC", lambda C, m: ZeroOneSVC(C=C))
RIDGE = Rival("ridge", "RidgeClassifier", ridge)
LIBSVM = Rival("svc", "SVC (LIBSVM)", libsvm)

BASELINES = (HINGE_SVC, LEAST_SQUARES, PINBALL, RAMP, ZERO_ONE)
