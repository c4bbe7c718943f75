"""The classifiers that the demonstration compares: HTSVCCV as it comes, and rivals to be tuned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm_paper.experiments.methods import get

# Enough for LinearSVC's hinge loss, which needs more than its default of 1000.
LONG = {"max_iter": 10_000}
# A sample this close to the margin counts as on it: solvers are not exact.
ON_MARGIN = 1e-3


@dataclass(frozen=True)
class Method:
    """A classifier of the comparison.

    Attributes
    ----------
    key : str
        Its name in the registry of methods.
    count_support : callable
        Counts the training samples that pull at the fitted model, given it, X and the labels.
    options : dict
        Parameters that are fixed here.
    chooses : bool
        Whether it chooses C itself.
    """

    key: str
    count_support: Callable[[Any, Array, Array], int]
    options: dict[str, Any] = field(default_factory=dict)
    chooses: bool = False

    @property
    def name(self) -> str:
        """As shown to the user."""
        return get(self.key).label

    def make(self, C: float, n_samples: int, seed: int) -> Any:
        """Return a classifier; HTSVCCV chooses C itself and does not look at the one given."""
        params = self.options if self.chooses else {"C": C, **self.options}
        return get(self.key).make(params, seed=seed, n_samples=n_samples)


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
    Method("ht-cv", lambda model, X, y: int(model.n_support_.sum()), chooses=True),
    Method("linear-svc", _violated, LONG),
    Method("linear-svc-hinge", _violated, LONG),
    Method("logistic", lambda model, X, y: len(y), LONG),
    Method("modified-huber", _violated),
)
BY_KEY = {method.key: method for method in METHODS}
