"""What estimators ask of Dask collections: fits, decisions, accuracy."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from dask import array, delayed
from joblib import Parallel
from joblib import delayed as job

from htsvm._sklearn import check_feature_names
from htsvm._typing import Array
from htsvm.distributed.blocks import nbytes
from htsvm.distributed.inputs import Dataset, as_rows, open_dataset, partitions, whole_rows
from htsvm.linalg.spaces import RowSpace
from htsvm.multiview.parameters import per_view
from htsvm.multiview.views import resolve_views, split_views
from htsvm.multiview.warn import warn_views
from htsvm.problems.build import labels_of
from htsvm.solvers import Solver, solve_certified
from htsvm.svm.fitted import store_results, warm_starts
from htsvm.svm.validation import check_classes, is_multiclass
from htsvm.svm.warn import warn_shares, warn_unconverged

# What errors call the data.
NAME = "Dask collections"

__all__ = [
    "NAME", "accuracy", "check_columns", "fit", "fit_views", "labels", "map_rows", "open_dataset",
    "view_scores",
]  # fmt: skip


def _newton_of(estimator: Any) -> Solver:
    """Return the solver of an estimator; raise ValueError if it needs the rows in memory."""
    solver: Solver = estimator._solver()
    if not solver.on_dask:
        raise ValueError(
            f"solver={estimator.solver!r} does not work on {NAME}; use solver='newton'."
        )
    return solver


def _frame_of(X: Any) -> Any:
    """Return what tells the names of the columns of X: an empty DataFrame, or X itself."""
    return X._meta if hasattr(X, "columns") else X


def check_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Note the names of the columns of a DataFrame, or compare them with those noted."""
    check_feature_names(estimator, _frame_of(X), reset=reset)


# ------------------------------------------------------------------------------------------- fits


def fit(estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit a linear classifier."""
    solver = _newton_of(estimator)
    check_columns(estimator, X, reset=True)
    dataset = open_dataset(X, y, sample_weight)
    try:
        check_classes(type(estimator).__name__, dataset.classes, dataset.mass)
        estimator.n_features_in_ = dataset.n_features
        if dataset.here is not None:
            _fit_here(estimator, dataset, dataset.here.X)
        else:
            _fit_blocks(estimator, dataset, solver)
    finally:
        dataset.close()


def _fit_here(estimator: Any, dataset: Dataset, X: Any) -> None:
    """Fit few rows in this process."""
    block: Any = dataset.here
    with estimator._overflow_told():
        estimator._fit_checked(X, dataset.classes, block.codes, block.weights)
    estimator.sample_status_ = dataset.as_rows(estimator.sample_status_)
    estimator.ignored_ = array.from_array(estimator.ignored_)
    rounds = len(estimator.history_["iteration"])
    for name, value in (("network_passes", 1), ("network_bytes", float(nbytes(block)))):
        estimator.history_[name] = np.full(rounds, value)


def _fit_blocks(estimator: Any, dataset: Dataset, solver: Solver) -> None:
    """Fit rows on workers."""
    problems = dataset.problems(
        estimator.class_weight, C=estimator._penalty(), loss=estimator._loss(),
        fit_intercept=bool(estimator.fit_intercept),
        multiclass=is_multiclass(estimator.multi_class, len(dataset.classes), solver),
    )  # fmt: skip
    solver = solver.suited_to(problems[0])
    starts = warm_starts(estimator, dataset.classes, problems)
    fitted = Parallel(n_jobs=estimator.n_jobs, prefer="threads")(
        job(solve_certified)(problem, solver, start=start)
        for problem, start in zip(problems, starts, strict=True)
    )
    estimator.classes_ = dataset.classes
    store_results(estimator, fitted)
    results = [result for result, _ in fitted]
    _store_support(estimator, [result.multipliers for result in results], dataset)
    used = np.ones((len(problems), 1), dtype=bool)
    status, estimator.ignored_ = dataset.statuses([problems], [results], used)
    estimator.sample_status_ = status[:, 0] if len(problems) > 1 else status[:, 0, 0]
    warn_unconverged(type(estimator).__name__, fitted, estimator.max_iter)
    counts = [problem.ignored_counts for problem in problems]
    shares = [lost / np.maximum(size, 1) for size, lost in counts]
    own = shares[0] if len(shares) == 1 else np.array([share[1] for share in shares])
    warn_shares(estimator, own)


def _store_support(estimator: Any, found: list[Any], dataset: Dataset) -> None:
    rows = np.unique(np.concatenate([multipliers.rows for multipliers in found]))
    tables = []
    for multipliers in found:
        table = multipliers.table()
        dual = np.zeros((len(table), len(rows)))
        dual[:, np.searchsorted(rows, multipliers.rows)] = table
        tables.append(dual)
    estimator.support_, estimator.dual_coef_ = rows, np.vstack(tables)
    estimator.n_support_ = dataset.count_classes(rows)


def fit_views(estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit a `MultiViewHTSVC`."""
    solver = _newton_of(estimator)
    for name, plain, why in (
        ("memory", None, "what it would keep is found by the data, which is elsewhere"),
        ("kernel", "linear", "pass features that approximate it"),
    ):
        if getattr(estimator, name) != plain:
            raise ValueError(
                f"{name}={getattr(estimator, name)!r} does not work on {NAME}: {why}. "
                f"Use {name}={plain!r}."
            )
    check_columns(estimator, X, reset=True)
    resolved = resolve_views(estimator.views, _frame_of(X))
    estimator.view_names_ = [view.name for view in resolved]
    estimator.view_columns_ = [view.columns for view in resolved]
    estimator._names_in_views = None
    if np.any(per_view("structure", estimator.structure, estimator.view_names_, zero=True) > 0.0):
        raise ValueError(
            f"structure={estimator.structure!r} does not work on {NAME}: clusters of their rows "
            "are not formed. Use structure=0, or pass X.compute() if it fits into memory."
        )
    dataset = open_dataset(X, y, sample_weight, estimator.view_columns_)
    try:
        check_classes(type(estimator).__name__, dataset.classes, dataset.mass)
        estimator.n_features_in_ = int(X.shape[1])
        if dataset.here is not None:
            views = split_views(dataset.here.X, estimator.view_columns_)
            _fit_here(estimator, dataset, views)
        else:
            _fit_view_blocks(estimator, dataset, solver)
    finally:
        dataset.close()


def _fit_view_blocks(estimator: Any, dataset: Dataset, solver: Solver) -> None:
    """Fit views whose rows are on workers."""
    per_source = [
        dataset.problems(
            estimator.class_weight, C=float(C), loss=loss,
            fit_intercept=bool(estimator.fit_intercept), view=v,
            multiclass=is_multiclass(estimator.multi_class, len(dataset.classes), solver),
        )
        for v, (C, loss) in enumerate(
            zip(estimator._penalties(), estimator._losses(), strict=True)
        )
    ]  # fmt: skip
    problems = [list(of_views) for of_views in zip(*per_source, strict=True)]
    outcomes = estimator._solved(problems, estimator._strength(), None)
    estimator.classes_ = dataset.classes
    estimator.n_clusters_ = estimator.cluster_labels_ = None
    estimator._store_fit(outcomes, [RowSpace(None) for _ in per_source])
    estimator._store_certificates(outcomes)
    results = [[one.point.views[v].result for one in outcomes] for v in range(len(per_source))]
    solved = per_source, results, np.array([one.weights > 0.0 for one in outcomes])
    status, estimator.ignored_ = dataset.statuses(*solved)
    estimator.sample_status_ = status if len(outcomes) > 1 else status[:, :, 0]
    warn_views(estimator, outcomes)
    warn_shares(estimator, dataset.ignored_shares(*solved))


# -------------------------------------------------------------------------------------- decisions


def map_rows(X: Any, function: Callable[[Any], Array], shape: tuple[int, ...], model: Any) -> Any:
    """Return a function of blocks of rows as a Dask array.

    The function takes a block of whole rows and returns an array with an entry of that shape for
    each. The model must have been fitted on as many columns.
    """
    check_columns(model, X, reset=False)
    rows = whole_rows(X) if hasattr(X, "chunks") else X
    if rows.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {rows.shape[1]} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )
    if not hasattr(rows, "chunks"):
        rows = _unknown_lengths(rows, as_rows, (len(rows.columns),), np.float64)
    chunks = (rows.chunks[0], *((length,) for length in shape))
    axes: dict[str, Any] = {"chunks": chunks} if shape else {"drop_axis": 1}
    if len(shape) > 1:
        axes["new_axis"] = list(range(2, len(shape) + 1))
    meta = np.zeros((0,) * (1 + len(shape)))
    return rows.map_blocks(function, dtype=np.float64, meta=meta, **axes)


def _unknown_lengths(frame: Any, work: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return a Dask array of the partitions of a DataFrame or Series after some work on each."""
    parts = [
        array.from_delayed(delayed(work, pure=True)(part), (np.nan, *shape), dtype)
        for part in partitions(frame)
    ]
    return array.concatenate(parts, allow_unknown_chunksizes=True)


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
    return scores.map_blocks(
        labels_of, classes, dtype=classes.dtype, meta=np.zeros(0, dtype=classes.dtype),
        **({} if scores.ndim == 1 else {"drop_axis": 1}),
    )  # fmt: skip


def accuracy(predicted: Any, y: Any, sample_weight: Any) -> float:
    """Return the share of samples, by weight, that are predicted right."""
    hits = _like(y, predicted, "y") == predicted
    if sample_weight is None:
        return float(hits.mean())
    weights = _like(sample_weight, predicted, "sample_weight")
    total, right = array.compute(weights.sum(), (weights * hits).sum())
    return float(right / total)


def _like(values: Any, model: Any, name: str) -> Any:
    """Return a vector as a Dask array with the chunks of `model`."""
    if hasattr(values, "to_dask_array"):
        values = _unknown_lengths(values, np.asarray, (), values.dtype)
    if not hasattr(values, "chunks"):
        values = array.from_array(np.asarray(values))
    unknown = [one for one in (values, model) if np.isnan(one.chunks[0]).any()]
    if len(unknown) == 2 and values.numblocks == model.numblocks:
        return values
    for one in unknown:
        one.compute_chunk_sizes()
    if sum(values.chunks[0]) != sum(model.chunks[0]):
        raise ValueError(
            f"{name} has {sum(values.chunks[0])} entries, X has {sum(model.chunks[0])} rows."
        )
    return values.rechunk(model.chunks)
