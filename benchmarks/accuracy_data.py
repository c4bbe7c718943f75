"""Data with wrong labels for the comparison of accuracies: large, small, and of several classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import train_test_split

from benchmarks import multiclass_data
from benchmarks.sets import Dataset, published, standardised, wrong

LARGE = ("a9a", "w8a", "ijcnn1", "skin", "susy")
SMALL = (
    "australian", "balance", "bankruptcy", "breast-cancer", "bupa", "german", "haberman", "heart",
    "hepatitis", "vote", "wine-red", "a1a", "w1a",
)  # fmt: skip
# The rule of choice was found on these, or on parts of them (choosing-c-and-cap.md).
DESIGN = frozenset(("german", "vote", "heart", "bupa", "a1a", "a9a", "ijcnn1"))
CLEAN = "none"
NOISES = (CLEAN, "symmetric 20 %", "symmetric 40 %", "one-sided 30 %", "boundary 20 %")
MADE = tuple(row for row in multiclass_data.NOISES if row[0] != "20 % symmetric")
HUMAN = ("clean", "aggregate", "random", "worse")
TEST_ROWS = 20_000
# Of the large sets only skin has more training rows than this; images take longest by far.
MOST_ROWS, IMAGE_ROWS = 50_000, 3_000
# Draws of a large set differ little: no more of them than this.
LARGE_DRAWS = 1
# Small sets keep this share for the test.
TEST_SHARE = 0.4


@dataclass(frozen=True, eq=False)
class Cell:
    """One data set with one kind of noise, one draw.

    Attributes
    ----------
    group : {"large", "small", "several classes"}
        Which table it belongs to.
    name, noise, draw : str, str, int
        What it is.
    """

    group: str
    name: str
    noise: str
    draw: int

    @property
    def key(self) -> str:
        """A name for files."""
        return f"{self.group}, {self.name}, {self.noise}, draw {self.draw}"

    def load(self, rows: int | None) -> Dataset:
        """Return the data, or raise MissingData; at most so many training rows of large sets."""
        if self.group == "several classes":
            return _several(self, rows)
        X, y, X_test, y_test = _split(self, rows)
        return Dataset(self.name, X, wrong(self.noise, X, y, self.draw), X_test, y_test)


def cells(draws: int, quick: bool) -> list[Cell]:
    """Return all cells; the first draws of all come first, so that a part of a run is of use."""
    if quick:
        noises = (NOISES[0], NOISES[2])
        return [Cell("small", "australian", noise, 0) for noise in noises] + [
            Cell("several classes", "digits", "40 % to the next class", 0)
        ]
    found = []
    for draw in range(draws):
        if draw < LARGE_DRAWS:
            found += [Cell("large", name, noise, draw) for name in LARGE for noise in NOISES]
        found += [Cell("small", name, noise, draw) for name in SMALL for noise in NOISES]
        for name in ("digits", "handwritten"):
            found += [Cell("several classes", name, row[0], draw) for row in MADE]
        if draw == 0:
            # Its test part and its labels are given: there is nothing to draw.
            found += [Cell("several classes", "CIFAR-10N", noise, 0) for noise in HUMAN]
    return found


def _several(cell: Cell, rows: int | None) -> Dataset:
    if cell.name == "CIFAR-10N":
        data = multiclass_data.cifar(cell.noise)
        # The rows are in no order.
        some = slice(min(rows or IMAGE_ROWS, IMAGE_ROWS))
        return replace(data, X=data.X[some], y=data.y[some])
    read = getattr(multiclass_data, cell.name)
    return read(*next(row for row in MADE if row[0] == cell.noise), seed=cell.draw)


def _split(cell: Cell, rows: int | None) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    data = published(cell.name)
    X, y, X_test, y_test = data.X, data.y, data.X_test, data.y_test
    rng = np.random.default_rng(cell.draw)
    if X_test is None:
        share = TEST_SHARE if cell.group == "small" else 0.2
        X, X_test, y, y_test = train_test_split(
            X, y, test_size=share, stratify=y, random_state=cell.draw
        )
    if len(y_test) > TEST_ROWS:
        some = rng.permutation(len(y_test))[:TEST_ROWS]
        X_test, y_test = X_test[some], y_test[some]
    rows = min(rows or MOST_ROWS, MOST_ROWS)
    if len(y) > rows:
        some = rng.permutation(len(y))[:rows]
        X, y = X[some], y[some]
    X, X_test = _scaled(X, X_test)
    return X, y, X_test, y_test


def _scaled(X: Any, X_test: Any) -> tuple[Any, Any]:
    """Standardise dense data and fill gaps; sparse data of few columns are made dense."""
    if sp.issparse(X) and X.shape[1] > 100:
        return X, X_test
    dense = [
        part.toarray() if sp.issparse(part) else np.asarray(part, float) for part in (X, X_test)
    ]
    first, second = map(np.ascontiguousarray, standardised(*dense))
    return first, second
