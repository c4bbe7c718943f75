"""Tables of methods against data sets, beside the paper's, with ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import rankdata

from htsvm._typing import Array
from htsvm_paper.experiments.blocks import HIGH, LOW, Entry, Table
from htsvm_paper.experiments.methods import get
from htsvm_paper.experiments.paper_numbers import paper_number
from htsvm_paper.experiments.results import ACCURACY, Results
from htsvm_paper.experiments.tasks import CLEAN

IN_WORDS = {
    "paper": "best grid point by test score",
    "nested": "grid point chosen by cross-validation on the training part",
}
# The rows of a summary.
MEAN, RANK = "mean", "average rank"


@dataclass(frozen=True)
class Measure:
    """A metric and how it is shown.

    Attributes
    ----------
    metric : str
        Its name in the store.
    title : str
        Its name for readers.
    paper : str or None
        The paper's table.
    better : {"high", "low"}
        What is good.
    factor : float
        100 for percentages.
    decimals : int
        How many to show.
    by : str
        The metric by which the protocol "paper" chooses.
    """

    metric: str
    title: str
    paper: str | None = None
    better: str = HIGH
    factor: float = 100.0
    decimals: int = 2
    by: str = ACCURACY


@dataclass(frozen=True)
class Line:
    """A row of a table: its label, its data, and its name in the paper's table."""

    label: str
    dataset: str
    noise: str = CLEAN
    paper: str = ""

    @property
    def paper_row(self) -> str:
        """What the paper calls the row."""
        return self.paper or self.label


def support(paper: str | None) -> Measure:
    """Return the measure of support vectors."""
    return Measure("nsv", "Number of support vectors", paper, LOW, 1.0, 0)


def seconds(paper: str | None) -> Measure:
    """Return the measure of training time."""
    return Measure("seconds", "Training time (s)", paper, LOW, 1.0, 4)


def score_table(
    results: Results,
    protocol: str,
    measure: Measure,
    lines: Sequence[Line],
    methods: Sequence[str],
    *,
    corner: str = "data set",
    title: str = "",
    summary: bool = True,
    paper_column: str = "",
) -> Table:
    """Return the table of one measure and one protocol; `summary` adds means and average ranks.

    Methods that take no part in the protocol are left out. `paper_column` is the one column of the
    paper's table that all methods stand beside; by default each stands beside that of its own
    label.
    """
    shown = [name for name in methods if protocol in get(name).protocols]
    rows = [
        (
            line.label,
            [
                _entry(results, protocol, measure, line, name, paper_column or _column(name))
                for name in shown
            ],
        )
        for line in lines
    ]
    table = Table(
        title=f"{title or measure.title}: {IN_WORDS[protocol]}",
        corner=corner,
        columns=[get(name).label for name in shown],
        rows=rows,
        better=measure.better,
        decimals=measure.decimals,
        protocol=protocol,
        metric=measure.metric,
    )
    return with_summary(table) if summary else table


def _column(method: str) -> str:
    """Return the method's column in the paper's tables, empty where it has none."""
    return get(method).label if get(method).in_paper else ""


def _entry(
    results: Results, protocol: str, measure: Measure, line: Line, method: str, column: str
) -> Entry:
    found = results.find(
        protocol, line.dataset, method, measure.metric, noise=line.noise, by=measure.by
    )
    paper = paper_number(measure.paper, line.paper_row, column)
    return Entry(measure.factor * found.mean, measure.factor * found.spread, paper, found.mark)


def with_summary(table: Table) -> Table:
    """Return the table with means and average ranks, ours and the paper's."""
    values = np.array([[e.value for e in entries] for _, entries in table.rows])
    paper = np.array([[e.paper for e in entries] for _, entries in table.rows])
    ours, theirs = (average_ranks(v, table.better, table.decimals) for v in (values, paper))
    if len(values) and np.all(paper == paper[:, :1]):  # One column of the paper beside all methods.
        theirs = np.full_like(theirs, np.nan)
    complete = ~np.isnan(values).any(axis=0)
    means = [
        Entry(float(m), paper=float(p))
        for m, p in zip(
            np.where(complete, values.sum(axis=0) / len(values), np.nan),
            paper.sum(axis=0) / len(paper),
            strict=True,
        )
    ]
    ranks = [Entry(float(o), paper=float(t)) for o, t in zip(ours, theirs, strict=True)]
    return replace(
        table,
        summary=[(MEAN, means, table.better), (RANK, ranks, LOW)],
    )


def average_ranks(values: Array, better: str, decimals: int) -> Array:
    """Return the mean rank of each complete column; NaN for the others. Ties share their ranks."""
    ranks = np.full(values.shape[1], np.nan)
    complete = ~np.isnan(values).any(axis=0)
    if complete.sum() > 1:
        signed = np.round(values[:, complete], decimals) * (-1.0 if better == HIGH else 1.0)
        ranks[complete] = rankdata(signed, axis=1).mean(axis=0)
    return ranks
