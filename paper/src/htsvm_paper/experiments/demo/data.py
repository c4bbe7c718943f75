"""The data of the demonstration, and how their labels are spoilt."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from htsvm._typing import Array
from htsvm.datasets import DataFileError, flip_labels, make_two_gaussians
from htsvm.datasets import load as published

BREAST_CANCER = "breast cancer"
GAUSSIANS = "two Gaussians"
INCOME = "income"
DIGITS = "digits"
DATASETS = (BREAST_CANCER, GAUSSIANS, INCOME, DIGITS)

SYMMETRIC = "any label"
ONE_SIDED = "one class only"
NOISES = (SYMMETRIC, ONE_SIDED)

TRAIN_PER_CLASS, TEST_PER_CLASS = 250, 1000
INCOME_TRAIN, INCOME_TEST, DIGITS_TRAIN = 2000, 10_000, 300


def available() -> tuple[str, ...]:
    """Return the data sets that can be had: all, or without that of which there is no file."""
    try:
        published("a9a")
    except DataFileError:
        return tuple(name for name in DATASETS if name != INCOME)
    return DATASETS


@dataclass(frozen=True, eq=False)
class Split:
    """Standardised training and test data. The labels are numbers; only training labels get noise.

    Attributes
    ----------
    X, y : ndarray
        Training samples, and their labels as the classifiers see them.
    X_test, y_test : ndarray
        Test samples and their true labels.
    flipped : ndarray of bool
        Which training labels are wrong.
    """

    X: Array
    y: Array
    X_test: Array
    y_test: Array
    flipped: Array


def load(name: str, seed: int) -> Split:
    """Return a clean split of a data set.

    Parameters
    ----------
    name : {"breast cancer", "two Gaussians", "income", "digits"}
        The data set: 569 samples of 30 features, of which 30 % are for the test; a draw in the
        plane; a part of a9a, 123 features; a third of scikit-learn's digits, 10 classes.
    seed : int
        Drives the split, or the draw.
    """
    X, X_test, y, y_test = _READERS[name](seed)
    scaler = StandardScaler().fit(X)
    clean = np.zeros(len(y), dtype=bool)
    return Split(scaler.transform(X), y, scaler.transform(X_test), y_test, clean)


def _breast_cancer(seed: int) -> list[Array]:
    # scikit-learn calls malignant 0; here it is 1, the class that one wants to find.
    X, benign = load_breast_cancer(return_X_y=True)
    y = 1 - benign
    parts: list[Array] = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    return parts


def _gaussians(seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    X, y = gaussians(TRAIN_PER_CLASS, rng)
    X_test, y_test = gaussians(TEST_PER_CLASS, rng)
    return [X, X_test, y, y_test]


def _income(seed: int) -> list[Array]:
    data = published("a9a")
    y = (data.y + 1) // 2
    X, X_test, y, y_test = train_test_split(
        data.X, y, train_size=INCOME_TRAIN, test_size=INCOME_TEST, stratify=y, random_state=seed
    )
    return [X.toarray(), X_test.toarray(), y, y_test]


def _digits(seed: int) -> list[Array]:
    X, y = load_digits(return_X_y=True)
    parts: list[Array] = train_test_split(
        X, y, train_size=DIGITS_TRAIN, stratify=y, random_state=seed
    )
    return parts


_READERS = {
    BREAST_CANCER: _breast_cancer, GAUSSIANS: _gaussians, INCOME: _income, DIGITS: _digits
}  # fmt: skip


def gaussians(per_class: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return samples of the paper's two Gaussian classes, with labels 1 and 0."""
    X, y = make_two_gaussians(per_class, random_state=rng)
    return X, (y + 1) // 2


def with_noise(split: Split, noise: str, rate: float, seed: int) -> Split:
    """Return the split with a share of its training labels flipped.

    Parameters
    ----------
    split : Split
        Clean data.
    noise : {"any label", "one class only"}
        Give labels of all classes alike another one, or only labels of class 1. Where there are
        several classes, the second moves labels of all of them to the next class.
    rate : float
        The share of flipped labels, among all or among those of class 1.
    seed : int
        Drives the choice. For one seed a higher rate flips the same labels and some more.
    """
    n_classes = int(split.y.max()) + 1
    one_sided = noise == ONE_SIDED
    classes = [1] if one_sided and n_classes == 2 else None
    y, flipped = flip_labels(split.y, rate, classes=classes, random_state=seed)
    if one_sided and n_classes > 2:
        y = np.where(flipped, (split.y + 1) % n_classes, split.y)
    return replace(split, y=y, flipped=flipped)
