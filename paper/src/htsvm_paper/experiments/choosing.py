"""The nested protocol: hyper-parameters by cross-validation on the training part."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from htsvm import HTSVCCV
from htsvm.losses import HybridTruncated
from htsvm_paper.experiments.methods import SWEEP, Method, Params
from htsvm_paper.experiments.predicting import predict
from htsvm_paper.experiments.splits import Split

# Without truncation the loss of HTSVC is the hinge loss times this.
HINGE_SLOPE = HybridTruncated().slope
# Means that differ by less are equal: sums of the same numbers in another order are.
EQUAL = 1e-12


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
    """Score C (and the cap) with HTSVCCV: whole paths for little more than one fit."""
    Cs = [point["C"] for point in points]
    caps = [point.get("cap", 1.0) for point in points]
    return _path_scores(Cs, caps, split, inner, seed)


def _along_hinge_path(
    method: Method, points: list[Params], split: Split, inner: Any, seed: int
) -> list[float]:
    """Score the C of a hinge-loss SVM, whichever solver it will be fitted with.

    HTSVC without truncation has the same optimum at the penalty divided by the slope of its loss.
    """
    Cs = [point["C"] / HINGE_SLOPE for point in points]
    return _path_scores(Cs, [np.inf] * len(Cs), split, inner, seed)


def _path_scores(
    Cs: list[float], caps: list[float], split: Split, inner: Any, seed: int
) -> list[float]:
    """Return the accuracy of the pairs of C and cap."""
    search = HTSVCCV(
        Cs=sorted(set(Cs)), caps=sorted(set(caps)), cv=inner, scoring="accuracy", random_state=seed
    ).fit(split.X, split.y)
    means = search.scores_.mean(axis=0)
    place = {(c, C): means[i, j] for i, c in enumerate(search.caps_.tolist())
             for j, C in enumerate(search.Cs_.tolist())}  # fmt: skip
    return [float(place[cap, C]) for cap, C in zip(caps, Cs, strict=True)]


def _swept(
    method: Method, points: list[Params], split: Split, inner: Any, seed: int
) -> list[float]:
    from htsvm_paper.experiments.sweeping import cross_validated

    return cross_validated(method, points, split, inner, seed)


_SEARCHES = {
    "grid": _score_points, "path": _along_paths, "hinge-path": _along_hinge_path, SWEEP: _swept
}  # fmt: skip
