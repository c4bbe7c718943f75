"""The data of a fit: its problems, and what became of its samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dask import array, delayed

from htsvm._typing import Array
from htsvm.distributed.blocks import Blocks, Source
from htsvm.distributed.problem import BlockProblem, MulticlassBlockProblem
from htsvm.distributed.protocol import Data, Task, block_of
from htsvm.optimality import SampleStatus
from htsvm.problems.build import class_factors, tasks_of

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
