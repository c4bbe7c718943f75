"""Labelled sets with four kinds of made noise, and with the labels of people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from benchmarks.multiclass_data import cifar
from benchmarks.sets import Dataset, published
from htsvm.datasets import flip_labels

# The constants of the audit were settled by looking at the truth of the design sets alone; the
# others give the verdict.
DESIGN = ("digits", "australian", "breast-cancer", "wine-red", "balance", "german", "heart",
          "vote", "a9a")  # fmt: skip
VERDICT = ("ijcnn1", "skin", "susy", "wine-white", "wdbc", "handwritten")
KINDS = ("uniform", "class", "feature", "boundary")
SHARES = (0.05, 0.2, 0.4)
# Labels of people, and how many images.
PEOPLE = tuple(
    (labels, rows) for rows in (3_000, 10_000) for labels in ("aggre", "random1", "worse")
)
# The most rows of a set, unless asked for otherwise.
MOST_ROWS = 2000


def wrong_labels(X: Any, y: np.ndarray, share: float, kind: str, seed: int) -> np.ndarray:
    """Return labels (0 to k - 1) of which about a share is wrong."""
    rng, n, k = np.random.default_rng(seed), len(y), int(y.max()) + 1
    if kind == "uniform":
        return flip_labels(y, share, random_state=seed)[0]
    if kind == "class":  # To the next class; classes differ in how often.
        rates = rng.uniform(0.2, 1.8, k)
        moved = rng.random(n) < np.minimum(rates * share / rates[y].mean(), 0.7)[y]
        return np.where(moved, (y + 1) % k, y)
    if kind == "feature":  # The more often, the further out in a random direction.
        along = np.asarray(X @ rng.normal(size=X.shape[1])).ravel()
        ranks = np.argsort(np.argsort(along)) / n
        moved = rng.random(n) < np.minimum(2.0 * share * ranks, 0.95)
        return np.where(moved, (y + rng.integers(1, k, n)) % k, y)
    # The nearest other class, sooner for samples that are close to it.
    logs = np.log(LogisticRegression(max_iter=300).fit(X, y).predict_proba(X) + 1e-12)
    rows = np.arange(n)
    own = logs[rows, y].copy()
    logs[rows, y] = -np.inf
    margin = own - logs.max(axis=1)
    chance = np.exp(-np.maximum(margin, 0.0) / max(float(np.median(np.abs(margin))), 1e-12))
    moved = rng.choice(n, size=round(share * n), replace=False, p=chance / chance.sum())
    noisy = y.copy()
    noisy[moved] = logs[moved].argmax(axis=1)
    return noisy


def settings(quick: bool, draws: int, rows: int = MOST_ROWS) -> Iterator[tuple[str, int, Any]]:
    """Yield names of settings, the draw, and what loads them; those that decide come first."""

    def of(names: tuple[str, ...], seed: int) -> Iterator[tuple[str, int, Any]]:
        for name in names:
            for kind in KINDS:
                for share in SHARES:
                    title = f"{name}, {kind} {share:.0%}"
                    yield title, seed, partial(made, name, kind, share, seed, rows)

    yield from of(("breast-cancer", "wdbc") if quick else VERDICT, 0)
    if quick:
        return
    for labels, size in PEOPLE:
        yield f"CIFAR-10N, {labels}, {size}", 0, partial(people, labels, size)
    for seed in range(1, draws):
        yield from of(VERDICT, seed)
    yield from of(DESIGN, 0)


def is_design(setting: str) -> bool:
    """Return whether the constants of the audit were settled on this setting."""
    return setting.split(", ")[0] in DESIGN


def made(name: str, kind: str, share: float, seed: int, rows: int = MOST_ROWS) -> Dataset:
    """Return a set with made noise: rows to audit and clean ones to test on."""
    X, y = _loaded(name)
    y = np.unique(y, return_inverse=True)[1]
    some = np.random.default_rng(0).choice(len(y), min(len(y), 2 * rows), replace=False)
    X, X_test, y, y_test = train_test_split(
        X[some], y[some], test_size=0.4, random_state=seed, stratify=y[some]
    )
    if not sp.issparse(X):
        X, X_test = np.asarray(X, dtype=float), np.asarray(X_test, dtype=float)
        middle, spread = X.mean(axis=0), X.std(axis=0)
        spread[spread == 0.0] = 1.0
        X, X_test = (X - middle) / spread, (X_test - middle) / spread
    X, y = X[:rows], y[:rows]
    noisy = wrong_labels(X, y, share, kind, seed)
    return Dataset(name, X, noisy, X_test, y_test, kind, y, seed)


def _loaded(name: str) -> tuple[Any, np.ndarray]:
    if name in ("digits", "wdbc"):
        return {"digits": load_digits, "wdbc": load_breast_cancer}[name](return_X_y=True)
    data = published(name)
    X = data.X.toarray() if name == "susy" and sp.issparse(data.X) else data.X
    if not sp.issparse(X):
        middle = np.nanmedian(X, axis=0)
        X = np.where(np.isnan(X), middle, X)
    return X, data.y


def people(labels: str, rows: int) -> Dataset:
    """Return CIFAR-10N with the labels of people, as HOG and square roots of LBP."""
    data = cifar(labels)
    own = np.sort(np.random.default_rng(0).choice(len(data.X), rows, replace=False))
    X, y, true = (part[own] for part in (data.X, data.y, data.y_true))
    return replace(data, X=X, y=y, y_true=true)
