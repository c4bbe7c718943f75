"""The data of a fit: its problems, and what became of its samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dask import array, delayed

from htsvm._typing import Array
from htsvm.distributed.blocks import Blocks, Source
from htsvm.distributed.inputs import as_rows, open_dataset, partitions, whole_rows
from htsvm.distributed.problem import BlockProblem, MulticlassBlockProblem
from htsvm.distributed.protocol import Data, Task, block_of
from htsvm.optimality import SampleStatus
from htsvm.problems.build import class_factors, labels_of, tasks_of

__all__ = ["NAME", "Solved", "accuracy", "frame_of", "labels", "map_rows", "open_dataset"]

# What errors call the data.
NAME = "Dask collections"
# The tasks of each view, their solutions, and which views count in each of them.
Common = tuple[list[list[Task]], list[list[Any]], Array]


@dataclass(eq=False)
class Dataset:
    """Sources, one for each view, with the labels of the classes."""

    sources: list[Source]
    classes: Array

    @property
    def mass(self) -> Array:
        """The sums of the weights of the samples of each class."""
        return self.sources[0].mass

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return self.sources[0].shape[0]

    @property
    def n_features(self) -> int:
        """The number of columns of the first source."""
        return self.sources[0].shape[1]

    def close(self) -> None:
        """Release the data that is held, and end the processes of the fit."""
        for source in self.sources:
            source.close()

    def problems(
        self, class_weight: Any, *, multiclass: bool, view: int = 0, **options: Any
    ) -> list[Any]:
        """Return the problems of a view: one for two classes, else one per class or for all."""
        factors = class_factors(class_weight, self.classes, self.mass)
        kind = MulticlassBlockProblem if multiclass else BlockProblem
        tasks = tasks_of(self.mass, factors, multiclass=multiclass, **options)
        return [kind.of(Blocks(self.sources[view], task)) for task in tasks]

    def count_classes(self, rows: Array) -> Array:
        """Return how many of the sorted `rows` belong to each class."""
        source, count = self.sources[0], len(self.classes)
        blocks = zip(source.data, [rows[part] for part in source.slices(rows)], strict=True)
        counts: Array = source.cluster.reduce(count_classes, blocks, sum, count)
        return counts

    def statuses(self, solved: Solved) -> tuple[Any, Any]:
        """Return what became of each sample, and which are ignored, as Dask arrays.

        The first is of shape (n_samples, n_views, n_problems). They are computed when asked for.
        """
        common = delayed(solved.common, traverse=False)
        raw = [list(views) for views in zip(*(s.raw for s in self.sources), strict=True)]
        # Not by way of one Dask array: that would leave out empty blocks.
        blocks = [delayed(status_of, pure=True)(views, common) for views in raw]
        lost = [
            delayed(ignored_by_all, pure=True)(status, views[0], common)
            for status, views in zip(blocks, raw, strict=True)
        ]
        status = self.sources[0].joined(blocks, solved.shape, np.int8)
        return status, array.flatnonzero(self.sources[0].joined(lost, (), np.int8))

    def ignored_shares(self, solved: Solved) -> Array:
        """Return the share of each class that all views that count ignore."""
        held = zip(*(source.data for source in self.sources), strict=True)
        blocks, cluster = [(list(views),) for views in held], self.sources[0].cluster
        total, lost = cluster.reduce(count_ignored, blocks, sum, solved.common, len(self.classes))
        share: Array = lost / np.maximum(total, 1)
        return share


class Solved:
    """Problems of each view and their results, as workers need them to tell of their samples.

    `used` says which views count in which problem, an array of shape (n_problems, n_views).
    """

    def __init__(
        self, problems: Sequence[Sequence[Any]], results: Sequence[Sequence[Any]], used: Any = None
    ) -> None:
        tasks = [[problem.blocks.task for problem in of_view] for of_view in problems]
        points = [[(r.coef, r.intercept, r.multipliers) for r in of_view] for of_view in results]
        self.shape = len(tasks), len(tasks[0])
        used = np.ones(self.shape[::-1], dtype=bool) if used is None else used
        self.common: Common = tasks, points, used


# ------------------------------------------------------------------------------ on workers


def count_classes(data: Data, rows: Array, count: int) -> Array:
    """Return how many of `rows` belong to each class."""
    return np.bincount(data.codes[rows - data.offset], minlength=count)


def status_of(views: list[Data], common: Common) -> Array:
    """Return the status of the samples of a block, by view and by problem."""
    tasks, points, _ = common
    return np.stack([_status(*of_view) for of_view in zip(views, tasks, points, strict=True)], 1)


def _status(data: Data, tasks: list[Task], points: list[Any]) -> Array:
    columns = []
    for task, (w, b, psi) in zip(tasks, points, strict=True):
        low, high = np.searchsorted(psi.rows, [data.offset, data.offset + len(data.codes)])
        local = (psi.rows[low:high] - data.offset, psi.values[low:high])
        columns.append(block_of(data, task).status(w, b, local))
    return np.column_stack(columns)


def ignored_by_all(status: Array, data: Data, common: Common) -> Array:
    """Return which samples all views that count ignore, in the problem of their own class."""
    used = common[2]
    own = data.codes if len(used) > 1 else np.zeros(len(data.codes), dtype=np.intp)
    ignored = status[np.arange(len(own)), :, own] == SampleStatus.IGNORED
    everyone: Array = np.all(ignored | ~used[own], axis=1)
    return everyone


def count_ignored(views: list[Data], common: Common, n_classes: int) -> Array:
    """Return the number of samples of positive weight per class, and how many are ignored."""
    data = views[0]
    kept = slice(None) if data.weights is None else data.weights > 0.0
    lost = ignored_by_all(status_of(views, common), data, common)[kept]
    codes = data.codes[kept]
    return np.array(
        [np.bincount(some, minlength=n_classes) for some in (codes, codes[lost])], dtype=np.int64
    )


def frame_of(X: Any) -> Any:
    """Return what tells the names of the columns of X: an empty DataFrame, or X itself."""
    return X._meta if hasattr(X, "columns") else X


def map_rows(X: Any, function: Callable[[Any], Array], shape: tuple[int, ...], model: Any) -> Any:
    """Return a function of blocks of rows as a Dask array.

    The function takes a block of whole rows and returns an array with an entry of that shape for
    each. The model must have been fitted on as many columns.
    """
    rows = _lazy_rows(X, model)
    chunks = (rows.chunks[0], *((length,) for length in shape))
    axes: dict[str, Any] = {"chunks": chunks}
    if not shape:
        axes = {"drop_axis": 1}
    elif len(shape) > 1:
        axes["new_axis"] = list(range(2, len(shape) + 1))
    meta = np.zeros((0,) * (1 + len(shape)))
    return rows.map_blocks(function, dtype=np.float64, meta=meta, **axes)


def _lazy_rows(X: Any, model: Any) -> Any:
    """Return a Dask array of X, whole rows to a block; of unknown length for a DataFrame."""
    X = whole_rows(X) if hasattr(X, "chunks") else X
    if X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )
    if hasattr(X, "chunks"):
        return X
    return _unknown_lengths(X, as_rows, (len(X.columns),), np.float64)


def _unknown_lengths(frame: Any, work: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return a Dask array of the partitions of a DataFrame or Series after some work on each."""
    parts = [
        array.from_delayed(delayed(work, pure=True)(part), (np.nan, *shape), dtype)
        for part in partitions(frame)
    ]
    return array.concatenate(parts, allow_unknown_chunksizes=True)


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
