"""The nested protocol: hyper-parameters by cross-validation on the training part."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from htsvm import HTSVCCV
from htsvm._typing import Array
from htsvm.experiments.methods import Method, Params
from htsvm.experiments.predicting import predict
from htsvm.experiments.splits import Split
from htsvm.losses import HybridTruncated

# Without truncation the loss of HTSVC is the hinge loss times this.
HINGE_SLOPE = HybridTruncated().slope


def choose(
    method: Method, points: list[Params], split: Split, *, folds: int, seed: int, fold_seed: int
) -> tuple[Params, float]:
    """Return the point with the best cross-validated accuracy, and that accuracy.

    Of equal points the first wins, which has the smaller penalties. Test data are not looked at.

    Parameters
    ----------
    method : Method
        What is tuned.
    points : list of dict
        The grid.
    split : Split
        The data; only the training part is used.
    folds : int
        Inner folds.
    seed, fold_seed : int
        Seeds of the method and of the inner folds.
    """
    inner = StratifiedKFold(folds, shuffle=True, random_state=fold_seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if len(points) == 1:
            return points[0], float("nan")
        if method.search == "path":
            return _along_paths(points, split, inner, seed)
        if method.search == "hinge-path":
            return _along_hinge_path(points, split, inner, seed)
        scores = _score_points(method, points, split, inner, seed)
    best = int(np.argmax(scores))
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
                model = method.make(point, seed=seed, view_widths=split.view_widths)
                models[others] = model.set_params(warm_start=True) if warm else model
            model = models[others].set_params(**point)
            model.fit(split.X[train], split.y[train])
            right[i, test] = predict(model, split.X[test]) == split.y[test]
    return [float(mean) for mean in right.mean(axis=1)]


def _along_paths(points: list[Params], split: Split, inner: Any, seed: int) -> tuple[Params, float]:
    """Choose C (and the cap) with HTSVCCV: whole paths for little more than one fit."""
    model = _fit_paths(
        sorted({point["C"] for point in points}),
        sorted({point.get("cap", 1.0) for point in points}),
        split, inner, seed,
    )  # fmt: skip
    chosen = {"C": model.C_}
    if "cap" in points[0]:
        chosen["cap"] = model.cap_
    return chosen, float(model.scores_.mean(axis=0).max())


def _along_hinge_path(
    points: list[Params], split: Split, inner: Any, seed: int
) -> tuple[Params, float]:
    """Choose the C of a hinge-loss SVM, whichever solver it will be fitted with.

    HTSVC without truncation has the same optimum at the penalty divided by the slope of its loss.
    """
    Cs = sorted({point["C"] for point in points})
    model = _fit_paths([C / HINGE_SLOPE for C in Cs], [np.inf], split, inner, seed)
    scores: Array = model.scores_.mean(axis=0)[0]
    best = int(np.argmax(scores))
    return {"C": Cs[best]}, float(scores[best])


def _fit_paths(Cs: list[float], caps: list[float], split: Split, inner: Any, seed: int) -> HTSVCCV:
    search = HTSVCCV(Cs=Cs, caps=caps, cv=inner, scoring="accuracy", random_state=seed)
    return search.fit(split.X, split.y)
