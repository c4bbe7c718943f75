"""Two views of the same samples: the paper's ten UCI sets, and pairs of image classes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.plan import Plan
from benchmarks.sets import DEFAULT_FOLDER, MissingData, signs

# How many sets a quick run looks at.
QUICK_SETS = 2
VOTES = {"y": 1.0, "n": -1.0, "?": 0.0}
LEVELS = {"P": 1.0, "A": 0.0, "N": -1.0}
STL10_CLASSES = (
    "airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck",
)  # fmt: skip


def data_file(*parts: str) -> Path:
    """Return a file of the data folder ($HTSVM_DATA), or raise MissingData."""
    path = Path(os.environ.get("HTSVM_DATA") or DEFAULT_FOLDER).joinpath(*parts)
    if not path.is_file():
        raise MissingData(f"the data folder holds no {'/'.join(parts)}; set HTSVM_DATA to one")
    return path


@dataclass(frozen=True)
class UCISet:
    """A set of the paper, with the class that its tables call positive.

    Attributes
    ----------
    name, file : str
        As in the paper's tables, and in the data folder.
    label : int
        The column of the label.
    positive : str
        The positive class.
    separator : str or None
        What separates the columns.
    codes : dict, optional
        Numbers for entries that are words; other entries that are no numbers are gaps.
    without : str, optional
        A class that is left out.
    """

    name: str
    file: str
    label: int
    positive: str
    separator: str | None = ","
    codes: dict[str, float] | None = None
    without: str | None = None

    def load(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the samples, with NaN for gaps, and labels in {-1, +1}."""
        lines = data_file("uci", self.file).read_text(encoding="utf-8").split("\n")
        table = [
            [cell.strip() for cell in line.split(self.separator)] for line in lines if line.strip()
        ]
        labels = np.array([row.pop(self.label) for row in table])
        X = np.array([[self._number(cell) for cell in row] for row in table])
        kept = labels != self.without
        return X[kept], signs(labels[kept] == self.positive)

    def _number(self, cell: str) -> float:
        if self.codes is not None:
            return self.codes[cell]
        return np.nan if cell == "?" else float(cell)


UCI_SETS = (
    UCISet("Balance", "balance-scale.data", 0, "L", without="B"),
    UCISet("Bankruptcy", "Qualitative_Bankruptcy.data.txt", -1, "B", codes=LEVELS),
    UCISet("BUPA", "bupa.data", -1, "1"),
    UCISet("German", "german.data-numeric", -1, "1", separator=None),
    UCISet("Haberman", "haberman.data", -1, "1"),
    UCISet("Heart", "heart.dat", -1, "1", separator=None),
    UCISet("Hepatitis", "hepatitis.data", 0, "1"),
    UCISet("Iris", "iris.data", -1, "Iris-setosa"),
    UCISet("Vote", "house-votes-84.data", 0, "republican", codes=VOTES),
    UCISet("Wine", "wine.data", 0, "1", without="3"),
)


@dataclass(frozen=True)
class ImageSet:
    """Two classes of a set of images, described by HOG and LBP."""

    name: str
    load: Callable[[], tuple[list[np.ndarray], np.ndarray]]


def stl10(first: str, second: str) -> tuple[list[np.ndarray], np.ndarray]:
    """Return HOG and LBP, scaled to unit range, and labels for two classes of STL-10."""
    content = np.load(data_file("images", "stl10_train4001_hog_lbp.npz"))
    numbers = [STL10_CLASSES.index(name) + 1 for name in (first, second)]
    kept = np.isin(content["y"], numbers)
    # Each cell of the LBP histograms counts 24 x 24 pixels.
    views = [content["hog"][kept].astype(np.float64), content["lbp"][kept] / 576.0]
    return views, signs(content["y"][kept] == numbers[0])


def cifar10n(positive: int, negative: int | None, labels: str) -> tuple[list[np.ndarray], Any]:
    """Return HOG and LBP and labels of CIFAR-10N: one class against another, or all others."""
    return _cifar("hog", "lbp", labels, positive, negative)


def cifar10n_test(positive: int, negative: int | None) -> tuple[list[np.ndarray], Any]:
    """Return the same for the test images, whose labels are clean."""
    return _cifar("hog_test", "lbp_test", "y_test", positive, negative)


def _cifar(
    hog: str, lbp: str, labels: str, positive: int, negative: int | None
) -> tuple[list[np.ndarray], Any]:
    content = np.load(data_file("images", "cifar10n_train20000_test4000_hog_lbp.npz"))
    y = content[labels]
    kept = np.ones(len(y), dtype=bool) if negative is None else np.isin(y, (positive, negative))
    # Each cell of the LBP histograms counts 16 x 16 pixels.
    views = [content[hog][kept].astype(np.float64), content[lbp][kept] / 256.0]
    return views, signs(y[kept] == positive)


def loaded(sets: Sequence[Any], plan: Plan) -> Iterator[tuple[Any, Any, np.ndarray]]:
    """Yield the sets that can be had with their samples and labels; say why others cannot."""
    for one in sets[:QUICK_SETS] if plan.quick else sets:
        try:
            samples, y = one.load()
        except MissingData as reason:
            plan.say(f"{one.name}: skipped, {reason}")
            continue
        yield one, samples, y


IMAGE_SETS = tuple(
    ImageSet(f"STL-10 {first}/{second}", partial(stl10, first, second))
    for first, second in (("airplane", "bird"), ("cat", "dog"), ("car", "truck"))
)
