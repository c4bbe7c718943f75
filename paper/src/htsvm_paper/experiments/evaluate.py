"""One cell: fit a method to the data of a fold, by one of the two protocols."""

import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import precision_recall_fscore_support

from htsvm_paper._typing import Array
from htsvm_paper.experiments.choosing import choose, sweep
from htsvm_paper.experiments.methods import NESTED, SWEEP, Method, Params, get
from htsvm_paper.experiments.models import predict
from htsvm_paper.experiments.splits import Split, make_split
from htsvm_paper.experiments.tasks import Metrics, Row, Task, points

# A first fit quicker than this many seconds is timed again.
WARM_UP = 1.0
# A weight of a view below this is none.
COLLAPSED = 1e-3


def run_cell(task: Task) -> Iterator[Row]:
    """Compute a cell on its data as they are."""
    return evaluate(task, make_split(task))


def run_with_views(task: Task) -> Iterator[Row]:
    """Compute a cell with principal components as a second view."""
    return evaluate(task, make_split(task, pca_view=True))


def evaluate(task: Task, split: Split) -> Iterator[Row]:
    """Yield the fits of a cell, whose setting says what is tried.

    In the protocol "paper" that is one for each point of the grid, in "nested" the one that cross-
    validation on the training part has chosen.
    """
    settings = task.settings
    method = replace(get(task.method), fixed=settings.get("fixed", {}))
    if settings.get("rows"):
        split = first_rows(split, settings["rows"])
    seed, found = task.seed_of("method"), {}
    tried = points(task)
    if task.protocol == NESTED:
        began = time.process_time()
        chosen, score = choose(
            method, tried, split, folds=settings["inner_folds"], seed=seed,
            fold_seed=task.seed_of("inner folds"),
        )  # fmt: skip
        tried = [chosen]
        found = {"inner_accuracy": score, "search_seconds": _rounded(time.process_time() - began)}
    elif method.search == SWEEP and settings.get("sweep"):
        yield from _swept(method, tried, split, seed)
        return
    for i, point in enumerate(tried):
        metrics = measure(method, point, split, seed)
        if i == 0 and metrics["seconds"] < WARM_UP:
            # The first fit of a process also pays for what is loaded and set up on the way.
            metrics = measure(method, point, split, seed)
        yield Row(point, {**metrics, **found})


def first_rows(split: Split, rows: int) -> Split:
    """Return the first training and test rows of a split."""
    return replace(
        split, X=split.X[:rows], y=split.y[:rows], X_test=split.X_test[:rows],
        y_test=split.y_test[:rows], clean_test=split.clean_test[:rows],
    )  # fmt: skip


def measure(method: Method, params: Params, split: Split, seed: int) -> Metrics:
    """Fit once, with a cold start, and return scores, support vectors and seconds.

    Seconds are CPU time: cells run on one thread, and other work on the machine does not count.
    """
    model = method.make(params, seed=seed, view_widths=split.view_widths, n_samples=len(split.y))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.process_time()
        model.fit(split.X, split.y)
        seconds = time.process_time() - began
    predicted = predict(model, split.X_test)
    metrics = {
        **_all_scores(split, predicted),
        "nsv": count_support(model),
        "n_train": float(len(split.y)),
        "seconds": _rounded(seconds),
        "unconverged": float(any(issubclass(w.category, ConvergenceWarning) for w in caught)),
    }
    if (weights := getattr(model, "view_weights_", None)) is not None:
        metrics["collapsed"] = float(np.min(weights) < COLLAPSED)
    return metrics


def _swept(method: Method, tried: list[Params], split: Split, seed: int) -> Iterator[Row]:
    """Yield all points of a grid that share one preparation of the data; no support vectors."""
    for point, predicted, seconds, weights in sweep(method, tried, split, seed):
        metrics = {"nsv": math.nan, "n_train": float(len(split.y)), "seconds": _rounded(seconds),
                   "collapsed": float(np.min(weights) < COLLAPSED)}  # fmt: skip
        yield Row(point, {**_all_scores(split, predicted), **metrics})


def _all_scores(split: Split, predicted: Array) -> Metrics:
    """Return the scores on the test labels, and on those without noise where they differ."""
    metrics = scores(split.y_test, predicted)
    if split.clean_test is not split.y_test and not np.array_equal(split.clean_test, split.y_test):
        clean = scores(split.clean_test, predicted)
        metrics |= {f"clean_{name}": value for name, value in clean.items()}
    return metrics


def scores(truth: Array, predicted: Array) -> Metrics:
    """Return accuracy, precision, recall and F1; of class +1, or averaged over many classes."""
    labels = np.unique(truth)
    options: dict[str, Any] = {"average": "macro"}
    if set(labels.tolist()) <= {-1, 1}:
        options = {"average": "binary", "pos_label": 1}
    precision, recall, f1, _ = precision_recall_fscore_support(
        truth, predicted, zero_division=0.0, **options
    )
    return {
        "accuracy": float(np.mean(truth == predicted)),
        "precision": float(precision),
        "recall": float(recall),
        "f1": float(f1),
    }


def count_support(model: Any) -> float:
    """Return the number of support vectors, of all views together; NaN where it has none."""
    return float(np.sum(getattr(model, "n_support_", np.nan)))


def _rounded(seconds: float) -> float:
    """Return four significant digits, so that files hold exactly what is shown."""
    return float(f"{seconds:.4g}")
