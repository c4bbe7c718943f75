"""Six descriptions of handwritten digits: how much a classifier trusts each.

The UCI multiple features set has 2000 digits, described by 216 profile correlations, 76 Fourier
coefficients, 64 Karhunen-Loeve coefficients, 6 morphological features, 240 pixel averages and 47
Zernike moments. A third of the training labels is moved to another digit.

Run ``python examples/plot_handwritten_views.py [FOLDER]``: FOLDER holds multiview/Handwritten.mat,
and is taken from the environment variable HTSVM_DATA if it is not given. Prints accuracies on
clean test labels and writes handwritten_views.png.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import scipy.io
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from htsvm import HTSVC
from htsvm.multiview import MultiViewHTSVC
from htsvm.plotting import plot_objective, plot_view_margins, plot_view_weights

NAMES = ("profiles", "fourier", "karhunen", "morphology", "pixels", "zernike")
WRONG = 1 / 3
SETTINGS = {"C": 0.02, "cap": 2.0}


def load(folder: Path) -> tuple[dict[str, np.ndarray], np.ndarray]:
    content = scipy.io.loadmat(folder / "multiview" / "Handwritten.mat")
    views = [np.asarray(view, dtype=float) for view in content["X"].ravel()]
    y = content["y" if "y" in content else "Y"].ravel().astype(int)
    rows = len(y)
    views = [view if len(view) == rows else view.T for view in views]
    return dict(zip(NAMES, views, strict=True)), y


def split(views: dict[str, np.ndarray], y: np.ndarray):
    """Return scaled views and labels to train and to test on; some training labels are wrong."""
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, random_state=0, stratify=y)
    scalers = {name: StandardScaler().fit(X[train]) for name, X in views.items()}
    rng = np.random.default_rng(0)
    labels, classes = y[train].copy(), np.unique(y)
    wrong = rng.random(len(train)) < WRONG
    steps = rng.integers(1, len(classes), size=len(train))
    labels[wrong] = classes[(np.searchsorted(classes, labels) + steps) % len(classes)][wrong]
    parts = [{n: scalers[n].transform(X[rows]) for n, X in views.items()} for rows in (train, test)]
    return parts[0], labels, parts[1], y[test]


def main() -> None:
    folder = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("HTSVM_DATA")
    if folder is None:
        sys.exit("name the data folder, or set HTSVM_DATA")
    train, labels, test, truth = split(*load(Path(folder)))
    model = MultiViewHTSVC(**SETTINGS).fit(train, labels)
    print(f"six views, learned weights  {model.score(test, truth):.3f}")
    uniform = MultiViewHTSVC(**SETTINGS, view_weights="uniform").fit(train, labels)
    print(f"six views, equal weights    {uniform.score(test, truth):.3f}")
    stacked, stacked_test = (np.hstack(list(part.values())) for part in (train, test))
    single = HTSVC(**SETTINGS).fit(stacked, labels)
    print(f"HTSVC on all columns        {single.score(stacked_test, truth):.3f}")
    rival = LinearSVC(C=SETTINGS["C"], random_state=0).fit(stacked, labels)
    print(f"LinearSVC on all columns    {rival.score(stacked_test, truth):.3f}")
    for name in NAMES:
        alone = HTSVC(**SETTINGS).fit(train[name], labels).score(test[name], truth)
        print(f"HTSVC on {name:19}{alone:.3f}   weight "
              f"{model.view_weights_[NAMES.index(name)]:.3f}")  # fmt: skip
    draw(model, train, labels)


def draw(model: MultiViewHTSVC, train: dict[str, np.ndarray], labels: np.ndarray) -> None:
    figure, axes = plt.subplots(1, 3, figsize=(16, 4.6), layout="constrained")
    plot_view_weights(model, axes[0])
    axes[0].tick_params(axis="x", rotation=25)
    plot_objective(model, axes[1])
    plot_view_margins(model, train, labels, axes[2], views=(0, 5), problem=3)
    axes[2].set_title(f"digit {model.classes_[3]}")
    figure.savefig("handwritten_views.png", dpi=110)
    print("wrote handwritten_views.png")


if __name__ == "__main__":
    main()
