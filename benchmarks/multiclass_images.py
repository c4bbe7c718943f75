"""CIFAR-10N, where a linear model is wrong about many honest samples: accuracy and time."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC

from benchmarks.bars import Row
from benchmarks.multiclass_data import Noisy, fit_and_test
from benchmarks.plan import Plan
from htsvm import HTSVC, ht_path

# One hold-out in place of folds, and a part of the grid of the small sets.
FITTED, HELD_OUT = 8000, 6000
PENALTIES = (2.0**-6, 2.0**-4, 2.0**-2, 1.0)
CAPS = (np.inf, 4.0, 2.0, 1.0)
STRENGTHS = (1e-5, 1e-4, 1e-3, 1e-2)
TREES = 30


def compare(plan: Plan, data: Noisy) -> list[Row]:
    """Tune on a hold-out of the labels as given, then time one fit to all rows."""
    order = np.random.default_rng(0).permutation(len(data.y))
    fitted, held = order[:FITTED], order[FITTED : FITTED + HELD_OUT]
    rows = []
    for name, model in _tuned(plan, data, fitted, held).items():
        rows.append(fit_and_test(data, name, model))
        said = f"{rows[-1]['accuracy']:.1f} in {rows[-1]['cpu_seconds']:.0f} s"
        plan.say(f"{rows[-1]['set']}: {name} {said}")
    return rows


def _tuned(plan: Plan, data: Noisy, fitted: np.ndarray, held: np.ndarray) -> dict[str, Any]:
    """Return the methods with the parameters that are best on the rows held out."""
    parts = data.X[fitted], data.y[fitted], data.X[held], data.y[held]
    scores = {cap: _path_scores(cap, *parts) for cap in CAPS}
    cap = max(CAPS, key=lambda cap: scores[cap].max())
    C, convex_C = (PENALTIES[int(scores[c].argmax())] for c in (cap, np.inf))
    plan.say(f"{data.name}, {data.noise}: C = {C:g}, cap = {cap:g}; without a cap {convex_C:g}")
    rivals = {
        "LogisticRegression": [LogisticRegression(C=C, max_iter=300) for C in PENALTIES],
        "LinearSVC": [LinearSVC(C=C) for C in PENALTIES],
        "SGD modified_huber": [
            SGDClassifier("modified_huber", alpha=alpha, random_state=0) for alpha in STRENGTHS
        ],
    }
    return {
        "HTSVC": HTSVC(C=C, cap=cap),
        "HTSVC, cap inf": HTSVC(C=convex_C, cap=np.inf),
        **{name: _best(models, *parts) for name, models in rivals.items()},
        "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0, max_iter=TREES),
    }


def _path_scores(
    cap: float, X: np.ndarray, y: np.ndarray, X_held: np.ndarray, y_held: np.ndarray
) -> np.ndarray:
    """Return the accuracy on the rows held out for each C."""
    path = ht_path(X, y, Cs=PENALTIES, cap=cap)
    guesses = [
        path.classes[(X_held @ coef.T + intercept).argmax(axis=1)]
        for coef, intercept in zip(path.coef, path.intercept, strict=True)
    ]
    return np.array([np.mean(guess == y_held) for guess in guesses])


def _best(
    models: list[Any], X: np.ndarray, y: np.ndarray, X_held: np.ndarray, y_held: np.ndarray
) -> Any:
    return max(models, key=lambda model: model.fit(X, y).score(X_held, y_held))
