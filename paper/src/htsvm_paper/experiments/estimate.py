"""How long cells will take, from the times of those that were computed."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping
from importlib import resources
from statistics import fmean, median
from typing import TextIO

from htsvm_paper.experiments.isolation import DONE
from htsvm_paper.experiments.methods import NESTED
from htsvm_paper.experiments.store import Cell
from htsvm_paper.experiments.tasks import Task, points

HEAD = ("experiment", "protocol", "method", "dataset", "seconds")
ANY = "*"
# What to take where nothing alike was ever computed.
UNKNOWN = 1.0


def work(task: Task) -> float:
    """Return the number of fits of a cell; those of inner folds count for their share of rows."""
    n = max(1, len(points(task)))
    if task.protocol != NESTED:
        return float(n)
    inner = task.settings.get("inner_folds", 1)
    return 1.0 if n == 1 else n * (inner - 1.0) + 1.0


class Estimate:
    """Seconds per fit: of the same method and data where known, else of the nearest that is.

    `times` holds experiment, protocol, method and data set, and the seconds per fit.
    """

    def __init__(self, times: Iterable[tuple[tuple[str, ...], float]]) -> None:
        levels: dict[tuple[str, ...], list[float]] = defaultdict(list)
        for (experiment, protocol, method, dataset), seconds in times:
            for place in _places(experiment, protocol, method, dataset):
                levels[place].append(seconds)
        self._levels = {place: fmean(found) for place, found in levels.items()}

    @classmethod
    def of(
        cls, cells: Iterable[Cell] = (), runs: Mapping[int, Mapping[str, str]] | None = None
    ) -> Estimate:
        """Return what some cells say; where they say nothing, what comes with the package."""
        return cls(_known(cells, runs or {}).items())

    def seconds(self, task: Task) -> float:
        """Return the seconds that a cell will take."""
        known = (self._levels[p] for p in _places(*_place(task)) if p in self._levels)
        return work(task) * next(known, UNKNOWN)

    def in_words(self, tasks: Iterable[Task], jobs: int = 1) -> str:
        """Return the time of some cells for people."""
        minutes = sum(map(self.seconds, tasks)) / 60.0 / jobs
        if minutes < 1.0:
            return "less than a minute"
        return f"about {minutes:.0f} min" if minutes < 100.0 else f"about {minutes / 60.0:.1f} h"


def _place(task: Task) -> tuple[str, str, str, str]:
    """Return what the time of a cell is kept under; some rows of a set are another set."""
    rows = task.settings.get("rows")
    dataset = f"{rows} rows of {task.dataset}" if rows else task.dataset
    return (task.experiment, task.protocol, task.method, dataset)


def _places(experiment: str, protocol: str, method: str, dataset: str) -> list[tuple[str, ...]]:
    """Return where to look, the nearest first: the same experiment, then the same method."""
    family = dataset.split(":")[0]
    return [
        (experiment, protocol, method, dataset), (experiment, protocol, method, family),
        (experiment, protocol, method), (ANY, protocol, method, dataset),
        (ANY, ANY, method, family),
        (experiment, protocol), (experiment,), (ANY, ANY, ANY, family), (ANY, ANY, method), (),
    ]  # fmt: skip


def _known(
    cells: Iterable[Cell], runs: Mapping[int, Mapping[str, str]]
) -> dict[tuple[str, ...], float]:
    """Return the times of cells, and for methods of an experiment without any those shipped.

    Only cells of the processor that computed last count: times of two machines do not mix.
    """
    last = runs[max(runs)].get("CPU") if runs else None
    found: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for cell in cells:
        if cell.status == DONE and runs.get(cell.run, {}).get("CPU") == last:
            found[_place(cell.task)].append(cell.seconds / work(cell.task))
    newer = {place[:3] for place in found}
    text = resources.files("htsvm_paper.experiments").joinpath("times.csv").read_text("utf-8")
    shipped = {tuple(row[:4]): float(row[4]) for row in list(csv.reader(text.splitlines()))[1:]}
    kept = {place: seconds for place, seconds in shipped.items() if place[:3] not in newer}
    return {**kept, **{place: median(seconds) for place, seconds in found.items()}}


def write_times(cells: Iterable[Cell], runs: Mapping[int, Mapping[str, str]], file: TextIO) -> None:
    """Write the times that come with the package: a line per experiment, method and data set."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(HEAD)
    for place, seconds in sorted(_known(cells, runs).items()):
        writer.writerow([*place, f"{seconds:.3g}"])
