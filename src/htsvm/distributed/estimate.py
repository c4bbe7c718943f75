"""Estimators on Dask collections: fit, decide, score, and the path of C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from dask import array, delayed
from joblib import Parallel
from joblib import delayed as job

from htsvm._typing import Array
from htsvm.distributed.blocks import Blocks
from htsvm.distributed.data import Data, MulticlassTask, Task
from htsvm.distributed.inputs import Dataset, lazy_rows, open_dataset, partitions
from htsvm.distributed.multiclass_problem import MulticlassBlockProblem, Pulls
from htsvm.distributed.problem import BlockProblem, Multipliers
from htsvm.distributed.slots import fresh, slices
from htsvm.optimality import SampleStatus
from htsvm.problems.build import binary_tasks, class_factors, labels_of
from htsvm.solvers import Newton, Solver
from htsvm.svm.fitted import AnyFitted, continues, store_results
from htsvm.svm.solving import AnyProblem, is_multiclass, solve_any
from htsvm.svm.validation import check_classes
from htsvm.svm.warn import warn_shares, warn_unconverged


def problems_of(
    dataset: Dataset,
    class_weight: Any,
    *,
    C: float,
    loss: Any,
    fit_intercept: bool,
    joint: bool = False,
    view: int = 0,
) -> list[Any]:
    """Return the problems of a view: one for two classes, else one per class or one `joint`."""
    factors = class_factors(class_weight, dataset.classes, dataset.mass)
    if joint:
        task = MulticlassTask(len(dataset.classes), factors, C, loss, fit_intercept)
        return [MulticlassBlockProblem.of(Blocks(dataset.sources[view], task))]
    tasks = binary_tasks(dataset.mass, factors, C=C, loss=loss, fit_intercept=fit_intercept)
    return [BlockProblem.of(Blocks(dataset.sources[view], task)) for task in tasks]


def path_problems(
    X: Any,
    y: Any,
    sample_weight: Any,
    class_weight: Any,
    multi_class: str,
    options: dict[str, Any],
) -> tuple[Array, list[AnyProblem]]:
    """Return the classes and the problems of `ht_path`."""
    from htsvm.svm.path import check_path_classes

    dataset = open_dataset(X, y, sample_weight)
    check_path_classes(dataset.classes)
    joint = is_multiclass(multi_class, len(dataset.classes), "newton")
    return dataset.classes, problems_of(dataset, class_weight, joint=joint, **options)


def check_newton(estimator: Any) -> Solver:
    """Return the solver of an estimator; complain if it goes through the rows one by one."""
    solver: Solver = estimator._solver()
    if not isinstance(solver, Newton):
        raise ValueError(
            f"solver={estimator.solver!r} does not work on Dask collections; use solver='newton'."
        )
    return solver


def fit(estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit `estimator` on Dask collections."""
    solver = check_newton(estimator)
    remember_columns(estimator, X)
    dataset = open_dataset(X, y, sample_weight)
    try:
        check_classes(type(estimator).__name__, dataset.classes, dataset.mass)
        joint = is_multiclass(estimator.multi_class, len(dataset.classes), solver)
        estimator.n_features_in_ = dataset.source.shape[1]
        problems = problems_of(
            dataset, estimator.class_weight, C=estimator._penalty(), loss=estimator._loss(),
            fit_intercept=bool(estimator.fit_intercept), joint=joint,
        )  # fmt: skip
        starts = _warm_starts(estimator, dataset, problems)
        done = Parallel(n_jobs=estimator.n_jobs, prefer="threads")(
            job(_solve)(problem, solver, start)
            for problem, start in zip(problems, starts, strict=True)
        )
        estimator.classes_ = dataset.classes
        fitted = [(result, certificate) for result, certificate, _ in done]
        store_results(estimator, fitted)
        _store_support(estimator, [result.multipliers for result, _ in fitted], dataset)
        _store_status(estimator, fitted, [problem.blocks.task for problem in problems], dataset)
        warn_unconverged(type(estimator).__name__, fitted, estimator.max_iter)
        warn_shares(estimator, fitted, _ignored_shares([counts for _, _, counts in done], joint))
    finally:
        dataset.close()


def _solve(problem: Any, solver: Solver, start: Any) -> tuple[Any, Any, Array]:
    """Solve one problem, and leave nothing on the workers, whatever happens."""
    try:
        result, certificate = solve_any(problem, solver, start=start)
        each = result.multipliers.by_block(problem.blocks)  # type: ignore[attr-defined]
        counts = problem.blocks.ask("ignored", result.coef, result.intercept, each=each)
        return result, certificate, counts
    finally:
        problem.release()


def _ignored_shares(counts: list[Array], joint: bool) -> Array:
    """Return the share of each class that is ignored, in the problem of that class."""
    if joint:
        size, lost = counts[0]
        return np.asarray(lost / np.maximum(size, 1))
    if len(counts) == 1:
        return counts[0][2:] / np.maximum(counts[0][:2], 1)
    return np.array([lost / max(size, 1) for _, size, _, lost in counts])


def _warm_starts(estimator: Any, dataset: Dataset, problems: list[Any]) -> list[Any]:
    """Return the starts of the problems: the last solution, or None for cold ones."""
    if not continues(estimator, dataset.classes, problems):
        return [None] * len(problems)
    same_size = len(estimator.sample_status_) == dataset.source.shape[0]
    if len(problems) < len(estimator.coef_):
        pulls = Pulls(estimator.support_, estimator.dual_coef_.T) if same_size else None
        return [(estimator.coef_, estimator.intercept_, pulls)]
    starts = []
    for w, b, dual in zip(estimator.coef_, estimator.intercept_, estimator.dual_coef_, strict=True):
        signs = np.sign(dual).astype(np.int8)
        psi = Multipliers(estimator.support_, -np.abs(dual), signs) if same_size else None
        starts.append((w, float(b), psi))
    return starts


# ----------------------------------------------------------------------------- after the fit


def _store_support(estimator: Any, found: Sequence[Multipliers | Pulls], dataset: Dataset) -> None:
    rows = np.unique(np.concatenate([psi.rows for psi in found]))
    tables = [psi.table() for psi in found]
    dual = np.zeros((sum(len(table) for table in tables), len(rows)))
    low = 0
    for psi, table in zip(found, tables, strict=True):
        dual[low : low + len(table), np.searchsorted(rows, psi.rows)] = table
        low += len(table)
    estimator.support_, estimator.dual_coef_ = rows, dual
    source, count = dataset.source, len(dataset.classes)
    parts = [
        delayed(count_classes, pure=False)(data, rows[part], count)
        for data, part in zip(source.data, slices(rows, source.offsets), strict=True)
    ]
    estimator.n_support_ = np.sum(source.cluster.compute(*parts), axis=0)


def count_classes(data: Data, rows: Array, count: int) -> Array:
    """Return how many of `rows` belong to each class."""
    return np.bincount(data.codes[rows - data.offset], minlength=count)


def _store_status(
    estimator: Any, fitted: list[AnyFitted], tasks: list[Task], dataset: Dataset
) -> None:
    """Store what became of each sample, as Dask arrays that are computed when asked for."""
    source = dataset.source
    points = [(r.coef, r.intercept, r.multipliers) for r, _ in fitted]
    common = delayed((tasks, points), traverse=False)
    # Not by way of one Dask array: that would leave out empty blocks.
    blocks = [delayed(status_of, pure=True)(data, common) for data in source.raw]
    own = [delayed(own_status, pure=True)(*pair) for pair in zip(blocks, source.raw, strict=True)]
    sizes = [int(size) for size in np.diff(source.offsets)]
    status = joined(blocks, [(size, len(fitted)) for size in sizes])
    estimator.sample_status_ = status if len(fitted) > 1 else status[:, 0]
    ignored = joined(own, [(size,) for size in sizes]) == SampleStatus.IGNORED
    estimator.ignored_ = array.flatnonzero(ignored)


def joined(blocks: list[Any], shapes: list[tuple[int, ...]]) -> Any:
    """Return a Dask array of delayed blocks of small whole numbers or truth values."""
    parts = zip(blocks, shapes, strict=True)
    return array.concatenate(
        [array.from_delayed(block, shape, dtype=np.int8) for block, shape in parts]
    )


def status_of(data: Data, common: tuple[list[Any], list[Any]]) -> Array:
    """Return the status of the samples of a block, one column per problem."""
    columns = []
    for task, (w, b, psi) in zip(*common, strict=True):
        low, high = np.searchsorted(psi.rows, [data.offset, data.offset + len(data.codes)])
        local = (psi.rows[low:high] - data.offset, psi.values[low:high])
        columns.append(fresh(data, task).status(w, b, local))
    return np.column_stack(columns)


def own_status(status: Array, data: Data) -> Array:
    """Return the status of each sample in the problem of its own class."""
    own: Array = (
        status[:, 0] if status.shape[1] == 1 else status[np.arange(len(status)), data.codes]
    )
    return own


# ----------------------------------------------------------------------------- predictions


def remember_columns(estimator: Any, X: Any, *, reset: bool = True) -> None:
    """Note the names of the columns of a DataFrame, or compare them with those noted."""
    from sklearn.utils.validation import _check_feature_names

    _check_feature_names(estimator, X._meta if hasattr(X, "columns") else X, reset=reset)


def decision_function(estimator: Any, X: Any) -> Any:
    """Return the signed scores as a Dask array."""
    remember_columns(estimator, X, reset=False)
    rows = lazy_rows(X, estimator)
    local = _without_data(estimator)
    if len(estimator.coef_) == 1:
        return rows.map_blocks(
            _scores, local, dtype=np.float64, drop_axis=1, meta=np.zeros(0, dtype=np.float64)
        )
    return rows.map_blocks(
        _scores, local, dtype=np.float64, chunks=(rows.chunks[0], (len(estimator.coef_),)),
        meta=np.zeros((0, 0), dtype=np.float64),
    )  # fmt: skip


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
        parts = [
            array.from_delayed(delayed(np.asarray, pure=True)(part), (np.nan,), values.dtype)
            for part in partitions(values)
        ]
        values = array.concatenate(parts, allow_unknown_chunksizes=True)
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


def _without_data(estimator: Any) -> dict[str, Any]:
    return {"coef": estimator.coef_, "intercept": estimator.intercept_}


def _scores(X: Any, model: dict[str, Any]) -> Array:
    scores: Array = np.asarray(X @ model["coef"].T) + model["intercept"]
    return scores.ravel() if scores.shape[1] == 1 else scores
