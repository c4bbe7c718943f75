"""What estimators ask of Dask collections: fits, decisions, accuracy."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import dask
import numpy as np
from dask import array
from dask.sizeof import sizeof
from joblib import Parallel, delayed

from htsvm._sklearn import check_feature_names
from htsvm._typing import Array
from htsvm.distributed.inputs import as_rows, open_dataset, row_blocks, whole_rows
from htsvm.distributed.rows import Dataset
from htsvm.linalg.spaces import Space
from htsvm.multiview.parameters import per_view
from htsvm.multiview.views import resolve_views, split_views
from htsvm.multiview.warn import warn_views
from htsvm.problems.build import labels_of
from htsvm.solvers import solve_certified
from htsvm.svm.fitted import store_results, warm_starts
from htsvm.svm.validation import check_classes, is_multiclass
from htsvm.svm.warn import warn_shares, warn_unconverged

# What errors call the data.
NAME = "Dask collections"
# A parameter, the values that it may have on Dask, and why not another.
REFUSED: dict[str, tuple[Any, str]] = {
    "memory": (None, "what it would keep is found by the data, which is elsewhere"),
    "kernel": ("linear", "pass features that approximate it"),
}

__all__ = ["NAME", "accuracy", "fit", "fit_views", "labels", "map_rows", "open_dataset"]


def fit(estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit a linear classifier."""
    _prepare(estimator, X)
    dataset = open_dataset(X, y, sample_weight)
    _fitted(estimator, dataset, lambda X: X, _fit_blocks)


def fit_views(estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit a `MultiViewHTSVC`."""
    for name, (plain, why) in REFUSED.items():
        if getattr(estimator, name) != plain:
            raise ValueError(
                f"{name}={getattr(estimator, name)!r} does not work on {NAME}: {why}. "
                f"Use {name}={plain!r}."
            )
    _prepare(estimator, X)
    resolved = resolve_views(estimator.views, X._meta if hasattr(X, "columns") else X)
    estimator.view_names_ = list(resolved)
    estimator.view_columns_ = columns = list(resolved.values())
    estimator._names_in_views = None
    if np.any(per_view("structure", estimator.structure, estimator.view_names_, zero=True) > 0.0):
        raise ValueError(
            f"structure={estimator.structure!r} does not work on {NAME}: clusters of their rows "
            "are not formed. Use structure=0, or pass X.compute() if it fits into memory."
        )
    dataset = open_dataset(X, y, sample_weight, columns)
    _fitted(estimator, dataset, lambda X: split_views(X, columns), _fit_view_blocks)


def _prepare(estimator: Any, X: Any) -> None:
    """Raise ValueError for a solver that needs the rows in memory; note the names of columns."""
    if not estimator._solver().on_dask:
        raise ValueError(
            f"solver={estimator.solver!r} does not work on {NAME}; use solver='newton'."
        )
    _check_names(estimator, X, reset=True)
    estimator.n_features_in_ = int(X.shape[1])


def _check_names(estimator: Any, X: Any, *, reset: bool) -> None:
    check_feature_names(estimator, X._meta if hasattr(X, "columns") else X, reset=reset)


def _fitted(estimator: Any, dataset: Dataset, views: Any, fit_blocks: Callable[..., None]) -> None:
    """Fit few rows in this process, others in their blocks."""
    block = dataset.here
    try:
        check_classes(type(estimator).__name__, dataset.classes, dataset.mass)
        if block is None:
            fit_blocks(estimator, dataset)
            return
        with estimator._overflow_told():
            estimator._fit_checked(views(block.X), dataset.classes, block.codes, block.weights)
    finally:
        dataset.cluster.close()
        dataset.data = []
    status = estimator.sample_status_
    chunks = tuple(np.diff(dataset.offsets).tolist()), *status.shape[1:]
    estimator.sample_status_ = array.from_array(status, chunks=chunks)
    estimator.ignored_ = array.from_array(estimator.ignored_)
    rounds = len(estimator.history_["iteration"])
    estimator.history_["network_passes"] = np.ones(rounds, dtype=np.intp)
    estimator.history_["network_bytes"] = np.full(rounds, float(sizeof(block.X)))


def _stated(estimator: Any, dataset: Dataset, C: float, loss: Any, view: int = 0) -> list[Any]:
    solver = estimator._solver()
    return dataset.problems(
        estimator.class_weight, C=C, loss=loss, fit_intercept=bool(estimator.fit_intercept),
        multiclass=is_multiclass(estimator.multi_class, len(dataset.classes), solver), view=view,
    )  # fmt: skip


def _fit_blocks(estimator: Any, dataset: Dataset) -> None:
    """Fit a linear classifier to rows on workers."""
    problems = _stated(estimator, dataset, estimator._penalty(), estimator._loss())
    solver = estimator._solver()
    starts = warm_starts(estimator, dataset.classes, problems)
    fitted = Parallel(n_jobs=estimator.n_jobs, prefer="threads")(
        delayed(solve_certified)(problem, solver, start=start)
        for problem, start in zip(problems, starts, strict=True)
    )
    estimator.classes_ = dataset.classes
    store_results(estimator, fitted)
    results = [result for result, _ in fitted]
    rows = np.unique(np.concatenate([result.multipliers.rows for result in results]))
    estimator.support_ = rows
    estimator.dual_coef_ = np.vstack([result.multipliers.table(rows) for result in results])
    solved = [problems], [results], np.ones((len(problems), 1), dtype=bool)
    status, estimator.ignored_ = dataset.statuses(*solved)
    estimator.sample_status_ = status[:, 0] if len(problems) > 1 else status[:, 0, 0]
    shares, estimator.n_support_ = dataset.counts(*solved, rows)
    warn_unconverged(type(estimator).__name__, fitted, estimator.max_iter)
    warn_shares(estimator, shares)


def _fit_view_blocks(estimator: Any, dataset: Dataset) -> None:
    """Fit views to rows on workers."""
    parameters = enumerate(zip(estimator._penalties(), estimator._losses(), strict=True))
    by_view = [_stated(estimator, dataset, float(C), loss, v) for v, (C, loss) in parameters]
    problems = [list(of_views) for of_views in zip(*by_view, strict=True)]
    outcomes = estimator._solved(problems, estimator._strength(), None)
    estimator.classes_ = dataset.classes
    estimator.n_clusters_ = estimator.cluster_labels_ = None
    estimator._store_fit(outcomes, [Space(None) for _ in by_view])
    estimator._store_certificates(outcomes)
    results = [[one.point.views[v].result for one in outcomes] for v in range(len(by_view))]
    solved = by_view, results, np.array([one.weights > 0.0 for one in outcomes])
    status, estimator.ignored_ = dataset.statuses(*solved)
    estimator.sample_status_ = status if len(outcomes) > 1 else status[:, :, 0]
    warn_views(estimator, outcomes)
    warn_shares(estimator, dataset.counts(*solved, np.zeros(0, dtype=np.intp))[0])


def map_rows(X: Any, function: Callable[[Any], Array], shape: tuple[int, ...], model: Any) -> Any:
    """Return a function of blocks of rows as a Dask array.

    The function takes a block of whole rows and returns an array with an entry of that shape for
    each. The model must have been fitted on as many columns.
    """
    _check_names(model, X, reset=False)
    rows = _as_array(X, as_rows, np.float64, len(X.columns)) if hasattr(X, "columns") else X
    rows = whole_rows(rows)
    if rows.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {rows.shape[1]} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )
    chunks = (rows.chunks[0], *((length,) for length in shape))
    axes: dict[str, Any] = {"chunks": chunks} if shape else {"drop_axis": 1}
    if len(shape) > 1:
        axes["new_axis"] = list(range(2, len(shape) + 1))
    meta = np.zeros((0,) * (1 + len(shape)))
    return rows.map_blocks(function, dtype=np.float64, meta=meta, **axes)


def _as_array(frame: Any, work: Callable[[Any], Array], dtype: Any, *shape: int) -> Any:
    """Return a Dask array of some work on the partitions of a DataFrame or Series."""
    parts = [dask.delayed(work, pure=True)(part) for part in row_blocks(frame)]
    blocks = [array.from_delayed(part, (np.nan, *shape), dtype) for part in parts]
    return array.concatenate(blocks, allow_unknown_chunksizes=True)


def view_scores(estimator: Any, X: Any, *, weighted: bool) -> Any:
    """Return what each view contributes to the decision, as a Dask array."""
    model = copy.copy(estimator)
    for name in ("sample_status_", "ignored_", "cluster_labels_"):
        vars(model).pop(name, None)
    shape = (len(estimator.view_names_), len(estimator.intercept_))
    scores = map_rows(X, partial(_scores, model, weighted), shape, estimator)
    return scores[:, :, 0] if shape[1] == 1 else scores


def _scores(model: Any, weighted: bool, X: Any) -> Array:
    scores: Array = model._view_scores(split_views(X, model.view_columns_), weighted=weighted)
    return scores


def labels(scores: Any, classes: Array) -> Any:
    """Return the predicted classes as a Dask array."""
    axes: dict[str, Any] = {} if scores.ndim == 1 else {"drop_axis": 1}
    meta = np.zeros(0, dtype=classes.dtype)
    return scores.map_blocks(labels_of, classes, dtype=classes.dtype, meta=meta, **axes)


def accuracy(predicted: Any, y: Any, sample_weight: Any) -> float:
    """Return the share of samples, by weight, that are predicted right."""
    predicted = _of_known_length(predicted)
    hits = _of_known_length(y).rechunk(predicted.chunks) == predicted
    if sample_weight is None:
        return float(hits.mean())
    weights = _of_known_length(sample_weight).rechunk(predicted.chunks)
    total, right = array.compute(weights.sum(), (weights * hits).sum())
    return float(right / total)


def _of_known_length(values: Any) -> Any:
    """Return a vector as a Dask array."""
    if hasattr(values, "to_dask_array"):
        values = _as_array(values, np.asarray, values.dtype)
    values = array.asarray(values)
    return values.compute_chunk_sizes() if np.isnan(values.shape[0]) else values
