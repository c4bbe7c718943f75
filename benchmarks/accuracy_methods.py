"""The classifiers of the comparison of accuracies, and three ways to choose their C."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.bars import Row
from benchmarks.sets import Dataset
from htsvm import HTSVCCV
from htsvm.svm.choosing import WIDTH, agreement
from htsvm_paper.experiments.methods import get

FOLDS = 5
PENALTIES = tuple(2.0**power for power in range(-12, 5, 2))
PLAIN, RULE, THRESHOLD = "accuracy", "our rule", "tuned threshold"
CHOICES = (PLAIN, RULE, THRESHOLD)
OURS = "HTSVC"
# Coordinate descent on the hinge loss does not converge at large C, and takes most of the time.
HINGE_STEPS = 200
# On more rows than this the rule and accuracy choose alike, and HTSVCCV only goes by the rule.
SMALL_ROWS = 3000


@dataclass(frozen=True)
class Rival:
    """A classifier that is tuned over C.

    Attributes
    ----------
    method : str
        Its name in the registry of the experiments.
    options : dict
        Parameters that are fixed here.
    several : bool
        Whether it takes part where there are several classes.
    """

    method: str
    options: dict[str, Any] = field(default_factory=dict)
    several: bool = True

    def make(self, C: float, n_samples: int) -> Any:
        """Return the classifier for a C and a number of rows."""
        return get(self.method).make({"C": C, **self.options}, seed=0, n_samples=n_samples)


RIVALS = {
    "LinearSVC": Rival("linear-svc"),
    "LinearSVC (hinge)": Rival("linear-svc-hinge", {"max_iter": HINGE_STEPS}, several=False),
    "LogisticRegression": Rival("logistic", {"max_iter": 300, "random_state": None}),
    "SGD (modified Huber)": Rival("modified-huber"),
    "RampSVC": Rival("ramp", {"random_state": None}, several=False),
}
# Those of this library change with it.
OWN = ("RampSVC",)
THEIRS = tuple(name for name in RIVALS if name not in OWN)


def ours(data: Dataset, seed: int) -> list[Row]:
    """Return a row for each way to choose with HTSVCCV."""
    ways: dict[str, dict[str, Any]] = {RULE: {}}
    if len(data.y) < SMALL_ROWS:
        ways[PLAIN] = {"scoring": "accuracy"}
        if len(np.unique(data.y)) == 2:
            ways[THRESHOLD] = {"tune_threshold": True}
    rows = []
    for choice, options in ways.items():
        began = time.process_time()
        model = HTSVCCV(random_state=seed, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(data.X, data.y)
        rows.append(
            {
                "method": OURS,
                "choice": choice,
                "accuracy": 100.0 * float(model.score(data.X_test, data.y_test)),
                "C": model.C_,
                "cap": model.cap_,
                "cpu_seconds": time.process_time() - began,
            }
        )
    return rows


def tuned(name: str, data: Dataset, seed: int) -> list[Row]:
    """Return a row for each way to choose the C of a rival, all on the same folds."""
    rival, began = RIVALS[name], time.process_time()
    classes, codes = np.unique(data.y, return_inverse=True)
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(data.X, codes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        held = [_held_out(rival, C, data.X, codes, folds) for C in PENALTIES]
        chosen = {PLAIN: (_most_accurate(held, codes), 0.0), RULE: (_by_rule(held, codes), 0.0)}
        if len(classes) == 2:
            chosen[THRESHOLD] = _with_threshold(held, codes)
        spent = time.process_time() - began
        # The three ways often choose the same C.
        models = {
            place: rival.make(PENALTIES[place], len(codes)).fit(data.X, codes)
            for place in {place for place, _ in chosen.values()}
        }
        return [
            {
                "method": name,
                "choice": choice,
                "accuracy": _tested(models[place], threshold, data, classes),
                "C": PENALTIES[place],
                "cpu_seconds": spent,
            }
            for choice, (place, threshold) in chosen.items()
        ]


def _held_out(rival: Rival, C: float, X: Any, codes: np.ndarray, folds: list[Any]) -> np.ndarray:
    values: np.ndarray | None = None
    for train, test in folds:
        model = rival.make(C, len(train)).fit(X[train], codes[train])
        decisions = np.asarray(model.decision_function(X[test]))
        if values is None:
            values = np.empty((len(codes), *decisions.shape[1:]))
        values[test] = decisions
    assert values is not None
    return values


def _accuracy(values: np.ndarray, codes: np.ndarray, threshold: float = 0.0) -> float:
    found = values.argmax(axis=1) if values.ndim == 2 else (values > threshold).astype(int)
    return float(np.mean(found == codes))


def _most_accurate(held: list[np.ndarray], codes: np.ndarray) -> int:
    return int(np.argmax([_accuracy(values, codes) for values in held]))


def _by_rule(held: list[np.ndarray], codes: np.ndarray) -> int:
    """Choose as HTSVCCV does: the highest agreement among the most accurate."""
    accuracies = np.array([_accuracy(values, codes) for values in held])
    top = accuracies.max()
    able = accuracies >= top - WIDTH * np.sqrt(top * (1.0 - top) / len(codes)) - 1e-12
    return int(np.argmax(np.where(able, [agreement(v, codes) for v in held], -np.inf)))


def _with_threshold(held: list[np.ndarray], codes: np.ndarray) -> tuple[int, float]:
    """Choose C and the threshold with the best accuracy on the held-out decisions."""
    thresholds = [best_threshold(values, codes) for values in held]
    scores = [_accuracy(v, codes, t) for v, t in zip(held, thresholds, strict=True)]
    place = int(np.argmax(scores))
    return place, thresholds[place]


def best_threshold(values: np.ndarray, codes: np.ndarray) -> float:
    """Return the threshold with the best accuracy, halfway between two values."""
    ranked = np.sort(values)
    signed = np.where(codes[np.argsort(values, kind="stable")] == 1, -1, 1)
    edges = np.concatenate([[ranked[0] - 1.0], ranked, [ranked[-1] + 1.0]])
    gain = np.concatenate([[0], np.cumsum(signed)])
    possible = np.flatnonzero(edges[1:] > edges[:-1])
    best = possible[int(gain[possible].argmax())]
    return float(0.5 * (edges[best] + edges[best + 1]))


def _tested(model: Any, threshold: float, data: Dataset, classes: np.ndarray) -> float:
    values = np.asarray(model.decision_function(data.X_test))
    true = np.searchsorted(classes, data.y_test)
    return 100.0 * _accuracy(values, true, threshold)
