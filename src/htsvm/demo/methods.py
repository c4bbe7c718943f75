"""The classifiers that the demonstration compares: HTSVCCV as it comes, and rivals to be tuned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC

from htsvm import HTSVCCV
from htsvm._typing import Array

# Enough for LinearSVC's hinge loss, which needs more than its default of 1000.
MAX_ITER = 10_000
# A sample this close to the margin counts as on it: solvers are not exact.
ON_MARGIN = 1e-3


@dataclass(frozen=True)
class Method:
    """A classifier of the comparison.

    Attributes
    ----------
    name : str
        As shown to the user.
    make : callable
        Returns a classifier for a penalty C, a number of samples and a seed. HTSVCCV chooses C
        itself and does not look at the one it is given.
    chooses : bool
        Whether it chooses C itself.
    count_support : callable
        Counts the training samples that pull at the fitted model, given it, X and the labels.
    """

    name: str
    make: Callable[[float, int, int], Any]
    count_support: Callable[[Any, Array, Array], int]
    chooses: bool = False


def _violated(model: Any, X: Array, y: Array) -> int:
    """Count the samples on or inside the margin: the others have no part in the solution."""
    scores = model.decision_function(X)
    if scores.ndim == 1:
        margins = np.where(y == model.classes_[1], 1.0, -1.0) * scores
    else:
        # One problem per class: a sample counts if it is on or inside the margin of any.
        own = np.equal.outer(y, model.classes_)
        margins = np.where(own, scores, -scores).min(axis=1)
    return int(np.count_nonzero(margins <= 1.0 + ON_MARGIN))


METHODS = (
    Method(
        "HTSVCCV",
        lambda C, n_samples, seed: HTSVCCV(random_state=seed),
        lambda model, X, y: int(model.n_support_.sum()),
        chooses=True,
    ),
    Method(
        "LinearSVC",
        lambda C, n_samples, seed: LinearSVC(C=C, max_iter=MAX_ITER, random_state=seed),
        _violated,
    ),
    Method(
        "LinearSVC (hinge)",
        lambda C, n_samples, seed: LinearSVC(
            C=C, loss="hinge", max_iter=MAX_ITER, random_state=seed
        ),
        _violated,
    ),
    Method(
        "LogisticRegression",
        lambda C, n_samples, seed: LogisticRegression(C=C, max_iter=MAX_ITER),
        lambda model, X, y: len(y),
    ),
    Method(
        "SGD (modified Huber)",
        lambda C, n_samples, seed: SGDClassifier(
            loss="modified_huber", alpha=1.0 / (C * n_samples), random_state=seed
        ),
        _violated,
    ),
)
