"""From stored cells to the numbers of a table, by protocol."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from htsvm_paper.experiments.choosing import first_best
from htsvm_paper.experiments.isolation import DONE
from htsvm_paper.experiments.methods import PAPER
from htsvm_paper.experiments.store import Cell
from htsvm_paper.experiments.tasks import CLEAN, Metrics, Row, Task

ACCURACY = "accuracy"


@dataclass(frozen=True)
class Found:
    """A number of a table, or why there is none.

    Attributes
    ----------
    mean, spread : float
        Mean and standard deviation over folds (or draws), NaN where there is none.
    params : tuple of dict
        The hyper-parameters: one for the protocol "paper", one per fold for "nested".
    mark : str
        Why there is no number.
    """

    mean: float = math.nan
    spread: float = math.nan
    params: tuple[dict[str, Any], ...] = ()
    mark: str = ""


class Results:
    """The cells of an experiment and profile; a number needs all folds that are `expected`."""

    def __init__(self, cells: Iterable[Cell], expected: Iterable[Task]) -> None:
        self.cells = {cell.task: cell for cell in cells}
        self._tasks: dict[tuple[str, ...], list[Task]] = defaultdict(list)
        for task in expected:
            self._tasks[_place(task)].append(task)

    def place(self, protocol: str, dataset: str, noise: str, method: str) -> list[Task]:
        """Return the cells that belong to one number of a table."""
        return self._tasks.get((protocol, dataset, noise, method), [])

    def find(
        self,
        protocol: str,
        dataset: str,
        method: str,
        metric: str,
        *,
        noise: str = CLEAN,
        by: str = ACCURACY,
    ) -> Found:
        """Return the mean of a metric over the folds.

        In the protocol "paper" that is at the one point of the grid where the mean of `by` on the
        test folds is highest; in "nested" at the point that was chosen in each fold.
        """
        tasks = self.place(protocol, dataset, noise, method)
        if not tasks:
            return Found(mark="in larger profiles")
        stored = [self.cells.get(task) for task in tasks]
        mark = _mark(stored)
        if mark:
            return Found(mark=mark)
        folds = [cell.rows for cell in stored if cell is not None]
        chosen = _best_point(folds, by) if protocol == PAPER else [rows[-1] for rows in folds]
        values = [_metric(row.metrics, metric) for row in chosen]
        params = (chosen[0].params,) if protocol == PAPER else tuple(r.params for r in chosen)
        return Found(float(np.mean(values)), float(np.std(values)), params)

    def points(
        self, protocol: str, dataset: str, method: str, metric: str, *, noise: str = CLEAN
    ) -> list[tuple[dict[str, Any], float]]:
        """Return the mean of a metric over the folds at every point of the grid."""
        stored = [self.cells.get(task) for task in self.place(protocol, dataset, noise, method)]
        if not stored or _mark(stored):
            return []
        folds = [cell.rows for cell in stored if cell is not None]
        return [
            (rows[0].params, float(np.mean([_metric(row.metrics, metric) for row in rows])))
            for rows in _by_point(folds)
        ]


def _place(task: Task) -> tuple[str, ...]:
    """Return the number that a cell belongs to: realisations of one noise are like folds."""
    noise = ":".join(task.noise.split(":")[:2])
    return (task.protocol, task.dataset, noise, task.method)


def _mark(stored: list[Cell | None]) -> str:
    """Return why there is no number: the reason of the first cell that ended badly."""
    there = [cell for cell in stored if cell is not None]
    if not there:
        return "not computed"
    for cell in there:
        if cell.status != DONE:
            return f"{cell.status}: {cell.reason}"
    if len(there) < len(stored):
        return f"incomplete: {len(there)} of {len(stored)} folds"
    return ""


def _by_point(folds: list[tuple[Row, ...]]) -> list[list[Row]]:
    """Return the rows of all folds by point of the grid, in the order of the grid."""
    points: dict[str, list[Row]] = defaultdict(list)
    for rows in folds:
        for row in rows:
            points[json.dumps(row.params, sort_keys=True)].append(row)
    return [rows for rows in points.values() if len(rows) == len(folds)]


def _best_point(folds: list[tuple[Row, ...]], by: str) -> list[Row]:
    """Return the rows of the best point by the rule of `first_best`."""
    points = _by_point(folds)
    means = [float(np.mean([_metric(row.metrics, by) for row in rows])) for rows in points]
    return points[first_best(means)]


def _metric(metrics: Metrics, name: str) -> float:
    # Without noise the clean labels are the labels, and are not stored twice.
    if name not in metrics and name.startswith("clean_"):
        name = name.removeprefix("clean_")
    return metrics.get(name, math.nan)
