"""The estimators that are compared, all made for the same C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from htsvm_paper.experiments.methods import get

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


def rival(key: str, label: str, method: str, **options: Any) -> Rival:
    """Return a method of the registry of the experiments, with some parameters as named here."""

    def make(C: float, n_samples: int) -> Any:
        return get(method).make({"C": C, **options}, seed=SEED, n_samples=n_samples)

    return Rival(key, label, make)


OURS = rival("htsvc", "HTSVC", "ht", random_state=None)
DEFAULT = rival("linearsvc", "LinearSVC", "linear-svc")
HINGE = rival("linearsvc_hinge", "LinearSVC hinge", "linear-svc-hinge")
SGD = rival("sgd", "SGDClassifier", "sgd")
LOGISTIC = rival("logistic", "LogisticRegression", "logistic", max_iter=100, random_state=None)

RIVALS = (OURS, DEFAULT, HINGE, SGD, LOGISTIC)
