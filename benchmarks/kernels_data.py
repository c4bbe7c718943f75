"""Data with wrong labels for kernels, and the rivals of the model with a kernel."""

from __future__ import annotations

import time
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from benchmarks import multiclass_data
from benchmarks.accuracy_data import SMALL as ALL_SMALL
from benchmarks.bars import Row
from benchmarks.sets import Dataset, published, standardised, wrong

# Not its last two, which have many columns.
SMALL = ALL_SMALL[:-2]
IMAGES = "CIFAR-10N"
# What people called the ten kinds of images, by its name there.
HUMAN = {"none": "clean", "human 9 %": "aggregate", "human 17 %": "random", "human 40 %": "worse"}
# Rows to train on, of binary sets and of images, and to test on.
ROWS, IMAGE_ROWS, TEST_ROWS = 2000, 1000, 4000
# The grid: C, and gamma in units of 1 / n_features.
PENALTIES, WIDTHS = (0.125, 1.0, 8.0, 64.0), (0.25, 1.0, 4.0)
FOLDS, LANDMARKS = 3, 300


@lru_cache(maxsize=1)
def whole(name: str) -> tuple[Any, np.ndarray]:
    """Return all rows of a set of the registry, or of the digits, even against odd."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X, np.where(y % 2, 1, -1)
    data = published(name)
    return data.X, np.where(data.y == data.y.max(), 1, -1)


def split(name: str, noise: str, draw: int, rows: int = ROWS) -> Dataset:
    """Return a random part of a set, standardised, with wrong labels in its training part."""
    if name == IMAGES:
        return _images(noise, draw, min(rows, IMAGE_ROWS))
    X, y = whole(name)
    order = np.random.default_rng(draw).permutation(len(y))
    size = min(rows, int(0.6 * len(y)))
    train, test = order[:size], order[size : size + TEST_ROWS]
    X_train, X_test = standardised(_dense(X[train]), _dense(X[test]))
    noisy = wrong(noise, X_train, y[train], draw)
    return Dataset(name, X_train, noisy, X_test, y[test], noise, draw=draw)


def _images(noise: str, draw: int, rows: int) -> Dataset:
    data = multiclass_data.cifar(HUMAN[noise])
    train = np.random.default_rng(draw).permutation(len(data.y))[:rows]
    X, X_test = standardised(data.X[train], data.X_test)
    return Dataset(IMAGES, X, data.y[train], X_test, data.y_test, noise, draw=draw)


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def gammas(data: Dataset) -> list[float]:
    """Return the values of gamma that all methods choose from."""
    return [width / data.X.shape[1] for width in WIDTHS]


def rivals(data: Dataset) -> dict[str, Any]:
    """Return the rivals, each with the same grids and the same number of folds."""
    m, draw = len(data.y), data.draw
    landmarks = Nystroem(n_components=min(LANDMARKS, m // 2), random_state=draw)
    steps = {"nystroem__gamma": gammas(data)}
    return {
        "SVC": _searched(SVC(), {"C": PENALTIES, "gamma": gammas(data)}, draw),
        "landmarks + LinearSVC": _searched(
            make_pipeline(landmarks, LinearSVC()), {**steps, "linearsvc__C": PENALTIES}, draw
        ),
        "landmarks + LogisticRegression": _searched(
            make_pipeline(landmarks, LogisticRegression(max_iter=300)),
            {**steps, "logisticregression__C": PENALTIES}, draw,
        ),
        "boosting": HistGradientBoostingClassifier(random_state=draw),
    }  # fmt: skip


def _searched(model: Any, grid: dict[str, Any], draw: int) -> Any:
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=draw)
    return GridSearchCV(model, grid, cv=folds)


def compare(data: Dataset, models: dict[str, Any]) -> list[Row]:
    """Fit models to the labels as given, and test them on true ones."""
    return [_compared(data, name, model) for name, model in models.items()]


def _compared(data: Dataset, name: str, model: Any) -> Row:
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data.X, data.y)
    seconds = time.process_time() - began
    best = getattr(model, "best_estimator_", model)
    if name == "SVC":
        support = len(best.support_)
    else:
        support = len(model.support_) if hasattr(model, "support_") else None
    certificates = getattr(model, "certificate_", ())
    return {
        "kind": "accuracy", "set": data.name, "noise": data.noise, "draw": data.draw,
        "rows": len(data.y), "method": name,
        "accuracy": 100.0 * float(model.score(data.X_test, data.y_test)), "support": support,
        "cpu_seconds": seconds,
        "certified": all(c.certified for c in certificates) if certificates else None,
    }  # fmt: skip
