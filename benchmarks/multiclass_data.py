"""Multi-class data with wrong labels, made or human, as the benchmarks take them."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.sets import Dataset, published

# Kinds of noise: name, share of labels, how they change.
NOISES = (
    ("clean", 0.0, "any"),
    ("20 % symmetric", 0.2, "any"),
    ("40 % symmetric", 0.4, "any"),
    ("20 % to the next class", 0.2, "next"),
    ("40 % to the next class", 0.4, "next"),
)
# The labels of CIFAR-10N, by their names in the file.
IMAGE_LABELS = {"random": "random1", "aggregate": "aggre"}


def with_noise(y: np.ndarray, share: float, kind: str, seed: int = 0) -> np.ndarray:
    """Return labels (0 to k - 1) of which a share is moved to another class."""
    rng = np.random.default_rng(seed)
    k = int(y.max()) + 1
    wrong = rng.choice(len(y), size=round(share * len(y)), replace=False)
    noisy = y.copy()
    shift = rng.integers(1, k, size=len(wrong)) if kind == "any" else 1
    noisy[wrong] = (noisy[wrong] + shift) % k
    return noisy


def digits(noise: str, share: float, kind: str, seed: int = 0) -> Dataset:
    X, y = load_digits(return_X_y=True)
    name = f"digits, draw {seed}" if seed else "digits"
    return _split(name, X / 16.0, y, noise, share, kind, seed)


def handwritten(noise: str, share: float, kind: str, seed: int = 0) -> Dataset:
    """Return the six views of Handwritten.mat, concatenated."""
    data = published("handwritten")
    y = np.unique(data.y, return_inverse=True)[1]
    return _split("handwritten", data.X, y, noise, share, kind, seed, scale=True)


def _split(name, X, y, noise, share, kind, seed, scale=False) -> Dataset:
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=seed)
    if scale:
        X, X_test = scaled(X, X_test)
    noisy = with_noise(y, share, kind, seed)
    return Dataset(name, X, noisy, X_test, y_test, noise, y, seed)


def cifar(labels: str) -> Dataset:
    """Return HOG and square-root LBP features of CIFAR-10N, with clean or human labels.

    `labels` is "clean", "aggregate", "random" or "worse", or a name of the registry.
    """
    data = published("cifar10n")
    given = IMAGE_LABELS.get(labels, labels)
    width = data.view_widths[0]
    X, X_test = scaled(
        *(np.hstack([part[:, :width], np.sqrt(part[:, width:])]) for part in (data.X, data.X_test))
    )
    y, true, test = (
        np.asarray(part, int)
        for part in (data.y if given == "clean" else data.other_labels[given], data.y, data.y_test)
    )
    return Dataset("CIFAR-10N", X, y, X_test, test, labels, true)


def scaled(X: np.ndarray, X_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return standardised columns, divided by the square root of their number."""
    scaler = StandardScaler().fit(X)
    root = np.sqrt(X.shape[1])
    return scaler.transform(X) / root, scaler.transform(X_test) / root
