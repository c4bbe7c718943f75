"""One cell: fit a method to the data of a fold, by one of the two protocols."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import precision_recall_fscore_support

from htsvm._typing import Array
from htsvm.experiments.choosing import choose
from htsvm.experiments.methods import NESTED, Method, Params, get
from htsvm.experiments.predicting import predict
from htsvm.experiments.splits import Split
from htsvm.experiments.tasks import Metrics, Row, Task

INNER_FOLDS = 5
# A first fit quicker than this many seconds is timed again.
WARM_UP = 1.0


def evaluate(
    task: Task,
    split: Split,
    penalties: Sequence[float],
    *,
    tied: bool = False,
    inner_folds: int = INNER_FOLDS,
) -> Iterator[Row]:
    """Yield the fits of a cell.

    In the protocol "paper" that is one for each point of the grid, in "nested" the one that
    cross-validation on the training part has chosen.

    Parameters
    ----------
    task : Task
        The cell.
    split : Split
        Its data.
    penalties : sequence of float
        The values of the grid.
    tied : bool, default=False
        Whether all penalties of a method take the same value.
    inner_folds : int, default=5
        Folds of the inner cross-validation.
    """
    method = get(task.method)
    points = method.points(penalties, tied=tied, quick=task.quick)
    seed = task.seed_of("method")
    found: Metrics = {}
    if task.protocol == NESTED:
        began = time.perf_counter()
        chosen, score = choose(
            method, points, split,
            folds=inner_folds, seed=seed, fold_seed=task.seed_of("inner folds"),
        )  # fmt: skip
        points = [chosen]
        found = {"inner_accuracy": score, "search_seconds": time.perf_counter() - began}
    for i, point in enumerate(points):
        metrics = measure(method, point, split, seed)
        if i == 0 and metrics["seconds"] < WARM_UP:
            # The first fit of a process also pays for what is loaded and set up on the way.
            metrics = measure(method, point, split, seed)
        yield Row(point, {**metrics, **found})


def measure(method: Method, params: Params, split: Split, seed: int) -> Metrics:
    """Fit once, with a cold start, and return scores, support vectors and seconds."""
    model = method.make(params, seed=seed, view_widths=split.view_widths)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        model.fit(split.X, split.y)
        seconds = time.perf_counter() - began
    predicted = predict(model, split.X_test)
    metrics = {
        **scores(split.y_test, predicted),
        "nsv": count_support(model),
        "n_train": float(len(split.y)),
        "seconds": seconds,
        "unconverged": float(any(issubclass(w.category, ConvergenceWarning) for w in caught)),
    }
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
