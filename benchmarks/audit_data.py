"""Labelled sets with five kinds of made noise, and with the labels of people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from benchmarks.multiclass_data import cifar, scaled
from benchmarks.sets import Dataset, published
from htsvm.datasets import flip_labels
from htsvm_paper.datasets import Preparation

UCI = ("australian", "breast-cancer", "mushroom", "wine-red", "wine-white", "balance", "bankruptcy",
       "bupa", "german", "haberman", "heart", "hepatitis", "iris", "vote", "wine")  # fmt: skip
LARGE = ("a9a", "w8a", "ijcnn1")
QUICK = ("digits", "breast-cancer", "german", "vote")
# The constants of the audit were settled by looking at the truth of these sets and of CIFAR-10N's
# first labels alone; the others give the verdict.
DESIGN = ("digits", "australian", "breast-cancer", "wine-red", "balance", "german", "heart",
          "vote", "a9a", "CIFAR-10N, random1")  # fmt: skip
# The most rows of a set, and of its test set, unless asked for otherwise.
MOST_ROWS = 4000
PEOPLE = ("aggre", "random1", "random2", "worse")
# Name, share, how labels change. "Shifted": to the next class; of two classes, the larger one only.
KINDS = (
    ("20 % at random", 0.2, "random"),
    ("40 % at random", 0.4, "random"),
    ("20 % shifted", 0.2, "shifted"),
    ("40 % shifted", 0.4, "shifted"),
    ("20 % near the boundary", 0.2, "boundary"),
)
Parts = tuple[Any, np.ndarray, Any, np.ndarray]


def wrong_labels(X: Any, y: np.ndarray, share: float, kind: str, seed: int) -> np.ndarray:
    """Return labels (0 to k - 1) of which some are wrong."""
    if kind == "random":
        return flip_labels(y, share, random_state=seed)[0]
    rng = np.random.default_rng(seed)
    noisy = y.copy()
    n_classes = int(y.max()) + 1
    if kind == "shifted":
        rows = np.arange(len(y)) if n_classes > 2 else np.flatnonzero(y == np.bincount(y).argmax())
        moved = rng.choice(rows, size=round(share * len(rows)), replace=False)
        noisy[moved] = (y[moved] + 1) % n_classes
        return noisy
    # The nearest other class, sooner for samples that are close to it: as "boundary" of
    # flip_labels, for any number of classes.
    logs = np.log(LogisticRegression(max_iter=300).fit(X, y).predict_proba(X) + 1e-12)
    rows = np.arange(len(y))
    own = logs[rows, y].copy()
    logs[rows, y] = -np.inf
    distance = np.abs(own - logs.max(axis=1))
    keys = np.log(rng.standard_exponential(len(y))) + 3.0 * distance / distance.mean()
    moved = np.argsort(keys)[: round(share * len(y))]
    noisy[moved] = logs[moved].argmax(axis=1)
    return noisy


def settings(quick: bool, draws: int, rows: int = MOST_ROWS) -> Iterator[tuple[str, int, Any]]:
    """Yield names of settings, the draw, and what loads them."""
    names = QUICK if quick else ("digits", "handwritten", *UCI, *LARGE)
    for name in names:
        for kind in KINDS:
            for seed in range(draws if name in UCI else 1):
                yield f"{name}, {kind[0]}", seed, partial(made, name, kind, seed, rows)
    if not quick:
        for labels in PEOPLE:
            yield f"CIFAR-10N, {labels}", 0, partial(people, labels, rows)


def is_design(setting: str) -> bool:
    """Return whether the constants of the audit were settled on this setting."""
    return setting == DESIGN[-1] or setting.split(", ")[0] in DESIGN


def made(name: str, kind: tuple[str, float, str], seed: int, rows: int = MOST_ROWS) -> Dataset:
    """Return a set with made noise."""
    X, y, X_test, y_test = _large(name, rows) if name in LARGE else _small(name, seed)
    noisy = wrong_labels(X, y, kind[1], kind[2], seed)
    return Dataset(name, X, noisy, X_test, y_test, kind[0], y, seed)


def people(labels: str, rows: int = MOST_ROWS) -> Dataset:
    """Return CIFAR-10N with the labels of people, as HOG and square roots of LBP."""
    data = cifar(labels)
    own, test = _some(len(data.X), rows), _some(len(data.X_test), rows)
    X, y, true = (part[own] for part in (data.X, data.y, data.y_true))
    return replace(data, X=X, y=y, y_true=true, X_test=data.X_test[test], y_test=data.y_test[test])


def _small(name: str, seed: int) -> Parts:
    """Return 60 % of a set to audit and 40 % to test on."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        X = X / 16.0
    else:
        data = published(name)
        X, y = data.X, np.unique(data.y, return_inverse=True)[1]
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y)
    if name == "handwritten":
        X, X_test = scaled(X, X_test)
    elif name != "digits":
        preparation = Preparation().fit(X)
        X, X_test = preparation.transform(X), preparation.transform(X_test)
    return X, y, X_test, y_test


def _large(name: str, rows: int) -> Parts:
    data = published(name)
    X, y = data.X, (data.y > 0).astype(int)
    own = _some(X.shape[0], rows)
    return X[own], y[own], data.X_test, (data.y_test > 0).astype(int)


def _some(n: int, most: int) -> np.ndarray:
    """Return some of n rows, in their order."""
    return np.sort(np.random.default_rng(0).choice(n, min(n, most), replace=False))


def dense(X: Any) -> np.ndarray:
    """Return X as an array, for methods that need one."""
    return X.toarray() if sp.issparse(X) else X
