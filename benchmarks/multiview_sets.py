"""Two views of the same samples: the paper's ten UCI sets, and pairs of image classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.plan import Plan
from benchmarks.sets import MissingData, published, signs
from htsvm_paper.datasets import names

# How many sets a quick run looks at.
QUICK_SETS = 2
# The cells of the LBP histograms count so many pixels.
STL10_CELL, CIFAR_CELL = 24 * 24, 16 * 16


@dataclass(frozen=True)
class ViewSet:
    """A set, by the name of the paper's tables, and how to get samples and labels in {-1, +1}."""

    name: str
    load: Callable[[], tuple[Any, np.ndarray]]


def uci(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples of a UCI set, with NaN for gaps, and its labels."""
    data = published(name)
    return data.X, data.y


def stl10(first: str, second: str) -> tuple[list[np.ndarray], np.ndarray]:
    """Return HOG and LBP, scaled to unit range, and labels for two classes of STL-10."""
    data = published(f"stl10:{first}:{second}")
    return _views(data.X, data.view_widths, STL10_CELL), data.y


def cifar10n(positive: int, negative: int | None, labels: str) -> tuple[list[np.ndarray], Any]:
    """Return HOG and LBP and labels of CIFAR-10N: one class against another, or all others."""
    data = published("cifar10n")
    return _chosen(data.X, data.other_labels[labels], data.view_widths, positive, negative)


def cifar10n_test(positive: int, negative: int | None) -> tuple[list[np.ndarray], Any]:
    """Return the same for the test images, whose labels are clean."""
    data = published("cifar10n")
    return _chosen(data.X_test, data.y_test, data.view_widths, positive, negative)


def _chosen(
    X: np.ndarray, y: np.ndarray, widths: tuple[int, ...], positive: int, negative: int | None
) -> tuple[list[np.ndarray], Any]:
    kept = np.ones(len(y), dtype=bool) if negative is None else np.isin(y, (positive, negative))
    return _views(X[kept], widths, CIFAR_CELL), signs(y[kept] == positive)


def _views(X: np.ndarray, widths: tuple[int, ...], cell: int) -> list[np.ndarray]:
    hog, lbp = np.split(np.asarray(X, dtype=np.float64), [widths[0]], axis=1)
    return [np.ascontiguousarray(hog), lbp / cell]


def loaded(sets: Sequence[ViewSet], plan: Plan) -> Iterator[tuple[ViewSet, Any, np.ndarray]]:
    """Yield the sets that can be had with their samples and labels; say why others cannot."""
    for one in sets[:QUICK_SETS] if plan.quick else sets:
        try:
            samples, y = one.load()
        except MissingData as reason:
            plan.say(f"{one.name}: skipped, {reason}")
            continue
        yield one, samples, y


UCI_SETS = tuple(
    ViewSet(name.upper() if name == "bupa" else name.capitalize(), partial(uci, name))
    for name in names("two-view")
)
IMAGE_SETS = tuple(
    ViewSet(f"STL-10 {first}/{second}", partial(stl10, first, second))
    for first, second in (("airplane", "bird"), ("cat", "dog"), ("car", "truck"))
)
