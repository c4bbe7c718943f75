"""All points of the multi-view model's grid with one preparation of the data.

Each point starts from the solution of its neighbour: what `MultiViewHTSVCCV` does, made to tell
what it found on the way.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.multiview import MultiViewHTSVCCV
from htsvm_paper.experiments.methods import Method, Params
from htsvm_paper.experiments.splits import Split

# The parameters of the grid: in MultiViewHTSVC, its axis in MultiViewHTSVCCV, the chosen value.
AXES = {
    "C": ("Cs", "C_"),
    "structure": ("structures", "structure_"),
    "weight_smoothness": ("smoothnesses", "smoothness_"),
    "cap": ("caps", "cap_"),
}
# Point, predicted labels, seconds, view weights.
Swept = tuple[Params, Array, float, Array]


class _Enough(Exception):
    """All points are known: the search would now fit the best once more, on all rows."""


class _Record:
    """A scorer that keeps what it sees, and ends the search after the last point."""

    def __init__(self, names: list[str], expected: int) -> None:
        self.names = names
        self.expected = expected
        self.found: list[Swept] = []
        self.last = time.process_time()

    def __call__(self, model: Any, X: Any, y: Array, **_: Any) -> float:
        predicted = np.asarray(model.predict(X))
        point = {name: getattr(model, AXES[name][1]) for name in self.names}
        now = time.process_time()
        self.found.append((point, predicted, now - self.last, np.array(model.view_weights_)))
        if len(self.found) == self.expected:
            raise _Enough
        self.last = time.process_time()
        return float(np.mean(predicted == y))


def sweep(method: Method, points: list[Params], split: Split, seed: int) -> list[Swept]:
    """Return every point of the grid, fitted to the training part, in the order of the grid.

    `method` is a `MultiViewHTSVC` with some parameters fixed, `points` the product of the values of
    each of the others.
    """
    n = len(split.y)
    X = np.vstack([split.X, split.X_test])
    y = np.concatenate([split.y, split.y_test])
    parts = [(np.arange(n), np.arange(n, len(y)))]
    found = _search(method, points, X, y, parts, split.view_widths, seed)
    by_point = {_key(swept[0]): swept for swept in found}
    return [(point, *by_point[_key(point)][1:]) for point in points]


def cross_validated(
    method: Method, points: list[Params], split: Split, inner: Any, seed: int
) -> list[float]:
    """Return the cross-validated accuracy of each point, on the training part alone."""
    parts = list(inner.split(split.X, split.y))
    found = _search(method, points, split.X, split.y, parts, split.view_widths, seed)
    right = {_key(point): 0 for point in points}
    for i, (point, predicted, *_) in enumerate(found):
        test = parts[i // len(points)][1]
        right[_key(point)] += int(np.sum(predicted == split.y[test]))
    return [right[_key(point)] / len(split.y) for point in points]


def _search(
    method: Method, points: list[Params], X: Array, y: Array, parts: list[Any],
    view_widths: Any, seed: int,
) -> list[Swept]:  # fmt: skip
    names = list(points[0])
    axes = {AXES[name][0]: _distinct(point[name] for point in points) for name in names}
    fixed = {AXES[k][0] if k in AXES else k: v for k, v in method.fixed.items()}
    record = _Record(names, len(points) * len(parts))
    model = MultiViewHTSVCCV(
        **{**fixed, **axes}, cv=parts, scoring=record, views=list(view_widths), random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y)
        except _Enough:
            return record.found
    raise AssertionError("the search ended before all points were known")


def _distinct(values: Any) -> list[Any]:
    return list(dict.fromkeys(values))


def _key(point: Params) -> tuple[Any, ...]:
    return tuple(sorted(point.items()))
