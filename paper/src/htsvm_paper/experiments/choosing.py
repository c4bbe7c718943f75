"""Many points of a grid at once: the choice by cross-validation, and the multi-view model's sweep.

The nested protocol chooses hyper-parameters by cross-validation on the training part. The sweep
goes through the multi-view model's grid with one preparation of the data, each point from the
solution of its neighbour: what `MultiViewHTSVCCV` does, made to tell what it found on the way.
"""

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from htsvm import HTSVCCV, losses, multiview
from htsvm_paper._typing import Array
from htsvm_paper.experiments.methods import SWEEP, Method, Params
from htsvm_paper.experiments.models import predict
from htsvm_paper.experiments.splits import Split

# Without truncation the loss of HTSVC is the hinge loss times this.
HINGE_SLOPE = losses.HybridTruncated().slope
# Means that differ by less are equal: sums of the same numbers in another order are.
EQUAL = 1e-12
# The parameters of the grid: in MultiViewHTSVC, its axis in MultiViewHTSVCCV, the chosen value.
AXES = {
    "C": ("Cs", "C_"),
    "structure": ("structures", "structure_"),
    "weight_smoothness": ("smoothnesses", "smoothness_"),
    "cap": ("caps", "cap_"),
}
# Point, predicted labels, seconds, view weights.
Swept = tuple[Params, Array, float, Array]


def first_best(means: Sequence[float]) -> int:
    """Return the place of the highest mean; of equal ones the first.

    This is the rule for ties, in both protocols. Grids are in the order of growing penalties, C
    before the others, so that the smallest C wins, then the smallest of the next parameter.
    """
    values = np.asarray(means, dtype=np.float64)
    return int(np.flatnonzero(values >= np.nanmax(values) - EQUAL)[0])


def choose(
    method: Method, points: list[Params], split: Split, *, folds: int, seed: int, fold_seed: int
) -> tuple[Params, float]:
    """Return the point with the best cross-validated accuracy, and that accuracy.

    Ties go to the point that `first_best` names. Only the training part is looked at. `seed` is
    that of the method, `fold_seed` that of the inner folds.
    """
    inner = StratifiedKFold(folds, shuffle=True, random_state=fold_seed)
    if len(points) == 1:
        return points[0], float("nan")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = _SEARCHES[method.search](method, points, split, inner, seed)
    best = first_best(scores)
    return points[best], scores[best]


def _score_points(
    method: Method, points: list[Params], split: Split, inner: Any, seed: int
) -> list[float]:
    """Return the cross-validated accuracy of each point.

    A method that can start from its last solution does so, from the larger to the smaller C: at
    small C a bounded loss ignores many samples, and from there would not look at them again.
    """
    warm = method.has_parameter("warm_start")
    order = sorted(range(len(points)), key=lambda i: -points[i].get("C", 0.0))
    right = np.empty((len(points), len(split.y)), dtype=bool)
    for train, test in inner.split(split.X, split.y):
        models: dict[tuple[Any, ...], Any] = {}
        for i in order:
            point = points[i]
            others = tuple(value for name, value in point.items() if name != "C")
            if not warm or others not in models:
                model = method.make(
                    point, seed=seed, view_widths=split.view_widths, n_samples=len(train)
                )
                models[others] = model.set_params(warm_start=True) if warm else model
            model = models[others].set_params(**point) if warm else models[others]
            model.fit(split.X[train], split.y[train])
            right[i, test] = predict(model, split.X[test]) == split.y[test]
    return [float(mean) for mean in right.mean(axis=1)]


def _along_paths(
    method: Method, points: list[Params], split: Split, inner: Any, seed: int
) -> list[float]:
    """Score C (and the cap) with HTSVCCV: whole paths for little more than one fit.

    For a hinge-loss SVM, whichever solver it will be fitted with: HTSVC without truncation has the
    same optimum at the penalty divided by the slope of its loss.
    """
    hinge = method.search == "hinge-path"
    Cs = [point["C"] / (HINGE_SLOPE if hinge else 1.0) for point in points]
    caps = [np.inf if hinge else point.get("cap", 1.0) for point in points]
    search = HTSVCCV(
        Cs=sorted(set(Cs)), caps=sorted(set(caps)), cv=inner, scoring="accuracy", random_state=seed
    ).fit(split.X, split.y)
    means = search.scores_.mean(axis=0)
    place = {(c, C): means[i, j] for i, c in enumerate(search.caps_.tolist())
             for j, C in enumerate(search.Cs_.tolist())}  # fmt: skip
    return [float(place[cap, C]) for cap, C in zip(caps, Cs, strict=True)]


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


def _swept(
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
    axes = {AXES[name][0]: list(dict.fromkeys(point[name] for point in points)) for name in names}
    fixed = {AXES[k][0] if k in AXES else k: v for k, v in method.fixed.items()}
    record = _Record(names, len(points) * len(parts))
    model = multiview.MultiViewHTSVCCV(
        **{**fixed, **axes}, cv=parts, scoring=record, views=list(view_widths), random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y)
        except _Enough:
            return record.found
    raise AssertionError("the search ended before all points were known")


def _key(point: Params) -> tuple[Any, ...]:
    return tuple(sorted(point.items()))


_SEARCHES = {
    "grid": _score_points, "path": _along_paths, "hinge-path": _along_paths, SWEEP: _swept
}  # fmt: skip
