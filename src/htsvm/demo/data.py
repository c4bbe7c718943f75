"""The data of the demonstration, and how their labels are spoilt."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from htsvm._typing import Array
from htsvm.datasets import flip_labels, make_two_gaussians

BREAST_CANCER = "breast cancer"
GAUSSIANS = "two Gaussians"
DATASETS = (BREAST_CANCER, GAUSSIANS)

SYMMETRIC = "any label"
ONE_SIDED = "one class only"
NOISES = (SYMMETRIC, ONE_SIDED)

TRAIN_PER_CLASS, TEST_PER_CLASS = 250, 1000


@dataclass(frozen=True, eq=False)
class Split:
    """Standardised training and test data. The labels are 0 and 1; only training labels get noise.

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
    name : {"breast cancer", "two Gaussians"}
        The data set. The first has 569 samples of 30 features, of which 30 % are for the test.
    seed : int
        Drives the split of the first, the draw of the second.
    """
    if name == BREAST_CANCER:
        # scikit-learn calls malignant 0; here it is 1, the class that one wants to find.
        X, benign = load_breast_cancer(return_X_y=True)
        y = 1 - benign
        X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    else:
        rng = np.random.default_rng(seed)
        X, y = gaussians(TRAIN_PER_CLASS, rng)
        X_test, y_test = gaussians(TEST_PER_CLASS, rng)
    scaler = StandardScaler().fit(X)
    clean = np.zeros(len(y), dtype=bool)
    return Split(scaler.transform(X), y, scaler.transform(X_test), y_test, clean)


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
        Flip labels of both classes alike, or only labels of class 1.
    rate : float
        The share of flipped labels, among all or among those of class 1.
    seed : int
        Drives the choice. For one seed a higher rate flips the same labels and some more.
    """
    classes = [1] if noise == ONE_SIDED else None
    y, flipped = flip_labels(split.y, rate, classes=classes, random_state=seed)
    return replace(split, y=y, flipped=flipped)
