"""The numbers of a table: from stored cells, by protocol, and in print; the published rows."""

import csv
import json
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cache, partial
from importlib import resources
from typing import Any, TextIO

import numpy as np

from htsvm_paper.experiments.choosing import first_best
from htsvm_paper.experiments.isolation import DONE
from htsvm_paper.experiments.methods import PAPER
from htsvm_paper.experiments.store import Cell
from htsvm_paper.experiments.tasks import CLEAN, Metrics, Row, Task

ACCURACY = "accuracy"
KEY = tuple(field.name for field in fields(Task))
COSTS = ("cell_seconds", "peak_mb", "base_mb", "time_limit")
CONTEXT = ("htsvm", "commit", "CPU", "python", "numpy", "scipy", "scikit-learn")
HEAD = (*KEY, "run", "status", "reason", *COSTS, "params", "metrics", *CONTEXT)


@dataclass(frozen=True)
class Found:
    """Mean and deviation over folds (or draws), or why there is none.

    `params` are the hyper-parameters: one for the protocol "paper", one per fold for "nested".
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

    def cell(self, protocol: str, dataset: str, method: str) -> tuple[Cell | None, str]:
        """Return the first cell of a number, and why it has nothing to show (or an empty text)."""
        place = self.place(protocol, dataset, CLEAN, method)
        cell = next((self.cells[task] for task in place if task in self.cells), None)
        return cell, _mark([cell])

    def fits(self, protocol: str, dataset: str, method: str) -> list[Row]:
        """Return the fits of all folds that are there, at every point of the grid."""
        place = self.place(protocol, dataset, CLEAN, method)
        return [row for task in place if task in self.cells for row in self.cells[task].rows]

    def find(
        self, protocol: str, dataset: str, method: str, metric: str, *,
        noise: str = CLEAN, by: str = ACCURACY,
    ) -> Found:  # fmt: skip
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


@cache
def paper_table(name: str) -> dict[str, dict[str, float]]:
    """Return a table of the paper: by row, by column; deviations and averages are left out.

    Where a table has sections, a row is called ``"section/row"``.
    """
    file = resources.files("htsvm_paper.experiments").joinpath(f"paper/{name}.csv")
    head, *rows = list(csv.reader(file.read_text("utf-8").splitlines()))
    sections = head[1] == "r"
    table = {}
    for row in rows:
        if row[0].startswith("Avg.") or row[1] == "r":
            continue
        label = f"{row[0].split()[0]}/{row[1]}" if sections else row[0]
        first = 2 if sections else 1
        table[label] = {
            column: _mean(value) for column, value in zip(head[first:], row[first:], strict=True)
        }
    return table


def paper_number(table: str | None, row: str, column: str) -> float:
    """Return a number of the paper, or NaN where it has none."""
    if table is None:
        return math.nan
    return paper_table(table).get(row, {}).get(column, math.nan)


def _mean(text: str) -> float:
    try:
        return float(text.split("±")[0])
    except ValueError:
        return math.nan


def write_csv(cells: Iterable[Cell], runs: dict[int, dict[str, str]], file: TextIO) -> None:
    """Write one line per fit, with its cell, cost and environment; scores with all their digits."""
    writer, compact = (
        csv.writer(file, lineterminator="\n"),
        partial(json.dumps, separators=(",", ":")),
    )
    writer.writerow(HEAD)
    for cell in cells:
        key = [getattr(cell.task, name) for name in KEY]
        limit = "" if cell.time_limit is None else f"{cell.time_limit:g}"
        costs = [*(f"{v:.4g}" for v in (cell.seconds, cell.peak_mb, cell.base_mb)), limit]
        where = [runs.get(cell.run, {}).get(name, "") for name in CONTEXT]
        for row in cell.rows or (None,):
            fit = ["", ""] if row is None else [compact(row.params), compact(row.metrics)]
            writer.writerow([*key, cell.run, cell.status, cell.reason, *costs, *fit, *where])


def read_csv(file: TextIO) -> tuple[list[Cell], dict[int, dict[str, str]]]:
    """Return the cells and the environments of a table that `write_csv` wrote."""
    found: dict[Task, Cell] = {}
    runs: dict[int, dict[str, str]] = {}
    for line in csv.DictReader(file):
        key: dict[str, Any] = {name: line[name] for name in KEY}
        task = Task(**{**key, "fold": int(key["fold"]), "seed": int(key["seed"])})
        runs.setdefault(int(line["run"]), {name: line[name] for name in CONTEXT})
        rows = found[task].rows if task in found else ()
        if line["metrics"]:
            rows = (*rows, Row(json.loads(line["params"]), json.loads(line["metrics"])))
        seconds, peak, base, limit = (float(line[name] or math.nan) for name in COSTS)
        found[task] = Cell(
            task, line["status"], line["reason"], rows, seconds, peak, base,
            None if math.isnan(limit) else limit, int(line["run"]),
        )  # fmt: skip
    return list(found.values()), runs
