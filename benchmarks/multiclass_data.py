"""Multi-class data with wrong labels, made or human, and how a model does on it."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.sets import DEFAULT_FOLDER, MissingData

# Kinds of noise: name, share of labels, how they change.
NOISES = (
    ("clean", 0.0, "any"),
    ("20 % symmetric", 0.2, "any"),
    ("40 % symmetric", 0.4, "any"),
    ("20 % to the next class", 0.2, "next"),
    ("40 % to the next class", 0.4, "next"),
)
# The labels of CIFAR-10N, by their names in the file.
IMAGE_LABELS = {
    "clean": "clean", "worse": "worse", "random": "random1", "aggregate": "aggre"
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Noisy:
    """Training rows with labels as given, and the truth to test against."""

    name: str
    noise: str
    X: np.ndarray
    y: np.ndarray
    y_true: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def with_noise(y: np.ndarray, share: float, kind: str, seed: int = 0) -> np.ndarray:
    """Return labels (0 to k - 1) of which a share is moved to another class."""
    rng = np.random.default_rng(seed)
    k = int(y.max()) + 1
    wrong = rng.choice(len(y), size=round(share * len(y)), replace=False)
    noisy = y.copy()
    shift = rng.integers(1, k, size=len(wrong)) if kind == "any" else 1
    noisy[wrong] = (noisy[wrong] + shift) % k
    return noisy


def digits(noise: str, share: float, kind: str, seed: int = 0) -> Noisy:
    X, y = load_digits(return_X_y=True)
    name = f"digits, draw {seed}" if seed else "digits"
    return _split(name, X / 16.0, y, noise, share, kind, seed)


def handwritten(noise: str, share: float, kind: str, seed: int = 0) -> Noisy:
    """Return the six views of Handwritten.mat, concatenated."""
    path = _folder() / "multiview" / "Handwritten.mat"
    if not path.exists():
        raise MissingData("no multiview/Handwritten.mat in the data folder")
    stored = scipy.io.loadmat(path)
    X = np.hstack([np.asarray(view, dtype=np.float64) for view in stored["X"].ravel()])
    y = np.unique(stored["y"].ravel(), return_inverse=True)[1]
    return _split("handwritten", X, y, noise, share, kind, seed, scale=True)


def _split(name, X, y, noise, share, kind, seed, scale=False) -> Noisy:
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=seed)
    if scale:
        scaler = StandardScaler().fit(X)
        root = np.sqrt(X.shape[1])
        X, X_test = scaler.transform(X) / root, scaler.transform(X_test) / root
    return Noisy(name, noise, X, with_noise(y, share, kind, seed), y, X_test, y_test)


def cifar(labels: str) -> Noisy:
    """Return HOG and square-root LBP features of CIFAR-10N, with clean or human labels.

    `labels` is "clean", "aggregate", "random" or "worse".
    """
    path = _folder() / "images" / "cifar10n_train20000_test4000_hog_lbp.npz"
    if not path.exists():
        raise MissingData("no images/cifar10n_train20000_test4000_hog_lbp.npz in the data folder")
    stored = np.load(path)
    X, X_test = (
        np.hstack([stored[f"hog{part}"].astype(np.float64), np.sqrt(stored[f"lbp{part}"])])
        for part in ("", "_test")
    )
    scaler = StandardScaler().fit(X)
    root = np.sqrt(X.shape[1])
    given, true, test = (
        stored[f"y_{name}"].astype(int) for name in (IMAGE_LABELS[labels], "clean", "test")
    )
    X, X_test = scaler.transform(X) / root, scaler.transform(X_test) / root
    return Noisy("CIFAR-10N", labels, X, given, true, X_test, test)


def fit_and_test(data: Noisy, method: str, model: Any) -> dict[str, Any]:
    """Fit a model to the labels as given; return its accuracy, its time and its choices."""
    began = time.process_time()
    model.fit(data.X, data.y)
    seconds = time.process_time() - began
    certificates = getattr(model, "certificate_", None)
    return {
        "set": f"{data.name}, {data.noise}",
        "method": method,
        "accuracy": 100.0 * float(model.score(data.X_test, data.y_test)),
        "cpu_seconds": seconds,
        "chosen_C": getattr(model, "C_", None) or getattr(model, "C", None),
        "chosen_cap": getattr(model, "cap_", None) or getattr(model, "cap", None),
        "certified": None if certificates is None else all(c.certified for c in certificates),
    }


def _folder() -> Path:
    return Path(os.environ.get("HTSVM_DATA") or DEFAULT_FOLDER)
