"""Training and test data of a cell, prepared on the training part."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from htsvm import datasets as synthetic
from htsvm_paper._typing import Array
from htsvm_paper.datasets import Dataset, Preparation, describe, load
from htsvm_paper.experiments.tasks import CLEAN, FOLDS, Profile, Task

GAUSSIANS = "gaussians"
HUMAN = "human"


@dataclass(frozen=True, eq=False)
class Split:
    """Prepared training and test samples, their labels with noise, and clean test labels.

    `view_widths` counts the columns of the views; it is empty for one view.
    """

    X: Any
    y: Array
    X_test: Any
    y_test: Array
    clean_test: Array
    view_widths: tuple[int, ...] = ()


def folds(profile: Profile) -> Callable[[str], int]:
    """Return the number of folds by data set: 1 with a predefined test part, else 5; quick 2."""
    wanted = profile.folds
    return lambda dataset: 1 if describe(dataset.split(":")[0]).test_rows else wanted


def make_split(task: Task, *, pca_view: bool = False) -> Split:
    """Return the data of a cell, on which its method and protocol have no influence.

    With `pca_view` principal components are the second view.
    """
    family, _, size = task.dataset.partition(":")
    data = _gaussians(int(size), task) if family == GAUSSIANS else load(task.dataset)
    noisy = _with_noise(task, data)
    if data.X_test is not None:
        parts = (data.X, noisy, data.X_test, data.y_test, data.y_test)
    else:
        # Stratified on clean labels, so that all rates of noise share the folds.
        splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=task.seed_of("folds"))
        train, test = list(splitter.split(data.X, data.y))[task.fold]
        parts = (data.X[train], noisy[train], data.X[test], noisy[test], data.y[test])
    X, y, X_test, y_test, clean_test = parts
    preparation = Preparation(pca_view=pca_view)
    X = preparation.fit_transform(X)
    return Split(
        X, y, preparation.transform(X_test), np.asarray(y_test), np.asarray(clean_test),
        preparation.view_widths_ or data.view_widths,
    )  # fmt: skip


def _gaussians(m: int, task: Task) -> Dataset:
    """Return m samples to train and m to test on: 2m are drawn and evenly split."""
    rng = np.random.default_rng(task.seed_of("draw"))
    X, y = synthetic.make_two_gaussians(m, random_state=rng)
    order = rng.permutation(2 * m)
    train, test = order[:m], order[m:]
    return Dataset(task.dataset, X[train], y[train], X[test], y[test])


def _with_noise(task: Task, data: Dataset) -> Array:
    """Return the labels with the noise of the cell."""
    if task.noise == CLEAN:
        return data.y
    kind, amount = task.noise.split(":")[:2]
    if kind == HUMAN:
        return data.other_labels[amount]
    scores = None
    if kind == "boundary":
        scaled = Preparation().fit_transform(data.X)
        model = LogisticRegression(max_iter=1000).fit(scaled, data.y)
        scores = model.decision_function(scaled)
    noisy, _ = synthetic.flip_labels(
        data.y, float(amount), kind=kind, scores=scores, random_state=task.seed_of("noise")
    )
    return noisy
