"""Tables of methods against data sets, beside the paper's, with ranks, and tests of these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
from scipy.stats import friedmanchisquare, rankdata

from htsvm_paper._typing import Array
from htsvm_paper.experiments.blocks import HIGH, LOW, Block, Entry, Picture, Table, said
from htsvm_paper.experiments.figures import drawing
from htsvm_paper.experiments.methods import get
from htsvm_paper.experiments.results import ACCURACY, Results, paper_number
from htsvm_paper.experiments.tasks import CLEAN

IN_WORDS = {
    "paper": "best grid point by test score",
    "nested": "grid point chosen by cross-validation on the training part",
}
# The rows of a summary.
MEAN, RANK = "mean", "average rank"
# Of the tests: Friedman's, and Nemenyi's after it.
LEVEL = 0.05


@dataclass(frozen=True)
class Measure:
    """A metric and how it is shown: its title, the paper's table, what is good, and a factor.

    `by` is the metric by which the protocol "paper" chooses.
    """

    metric: str
    title: str
    paper: str | None = None
    better: str = HIGH
    factor: float = 100.0
    decimals: int = 2
    by: str = ACCURACY

    @classmethod
    def accuracy(cls, prefix: str | None) -> Measure:
        """Return the measure of accuracy; tables of the paper are named by a prefix."""
        return cls("accuracy", "Accuracy (%)", prefix and f"{prefix}-acc")

    @classmethod
    def support(cls, prefix: str | None) -> Measure:
        """Return the measure of support vectors."""
        table = prefix and f"{prefix}-nsv"
        return cls("nsv", "Number of support vectors", table, LOW, 1.0, 0)

    @classmethod
    def seconds(cls, prefix: str | None) -> Measure:
        """Return the measure of training time."""
        return cls("seconds", "Training time (s)", prefix and f"{prefix}-time", LOW, 1.0, 4)


@dataclass(frozen=True)
class Line:
    """A row of a table: its label, its data, and its name in the paper's table."""

    label: str
    dataset: str
    noise: str = CLEAN
    paper: str = ""


def score_table(
    results: Results, protocol: str, measure: Measure, lines: Sequence[Line],
    methods: Sequence[str], *, corner: str = "data set", title: str = "", paper_column: str = "",
) -> Table:  # fmt: skip
    """Return the table of one measure and one protocol, with means and average ranks.

    Methods that take no part in the protocol are left out. `paper_column` is the one column of the
    paper's table that all methods stand beside; by default each stands beside that of its own
    label.
    """
    shown = [name for name in methods if protocol in get(name).protocols]

    def entry(line: Line, name: str) -> Entry:
        found = results.find(
            protocol, line.dataset, name, measure.metric, noise=line.noise, by=measure.by
        )
        column = paper_column or (get(name).label if get(name).in_paper else "")
        paper = paper_number(measure.paper, line.paper or line.label, column)
        return Entry(measure.factor * found.mean, measure.factor * found.spread, paper, found.mark)

    return with_summary(
        Table(
            f"{title or measure.title}: {IN_WORDS[protocol]}", corner,
            [get(name).label for name in shown],
            [(line.label, [entry(line, name) for name in shown]) for line in lines],
            better=measure.better, decimals=measure.decimals, protocol=protocol,
            metric=measure.metric,
        )
    )  # fmt: skip


def per_method(
    title: str, lines: Iterable[tuple[str, Any]], methods: Sequence[str],
    entry: Callable[[Any, str], Entry], **options: Any,
) -> Table:  # fmt: skip
    """Return a table without a best: `entry` gets what stands behind a line, and a method."""
    rows = [(label, [entry(where, name) for name in methods]) for label, where in lines]
    labels = [get(name).label for name in methods]
    return Table(
        title, options.pop("corner", "data set"), labels, rows, **{"better": "", **options}
    )


def with_summary(table: Table) -> Table:
    """Return the table with means and average ranks, ours and the paper's."""
    values = table.values
    paper = np.array([[e.paper for e in entries] for _, entries in table.rows])
    ours, theirs = (average_ranks(v, table.better, table.decimals) for v in (values, paper))
    if len(values) and np.all(paper == paper[:, :1]):  # One column of the paper beside all methods.
        theirs = np.full_like(theirs, np.nan)
    complete = ~np.isnan(values).any(axis=0)
    mean = np.where(complete, values.sum(axis=0) / len(values), np.nan)
    means, ranks = (
        [Entry(float(o), paper=float(p)) for o, p in zip(here, there, strict=True)]
        for here, there in ((mean, paper.sum(axis=0) / len(paper)), (ours, theirs))
    )
    return replace(table, summary=[(MEAN, means, table.better), (RANK, ranks, LOW)])


def average_ranks(values: Array, better: str, decimals: int) -> Array:
    """Return the mean rank of each complete column; NaN for the others. Ties share their ranks."""
    ranks = np.full(values.shape[1], np.nan)
    complete = ~np.isnan(values).any(axis=0)
    if complete.sum() > 1:
        signed = np.round(values[:, complete], decimals) * (-1.0 if better == HIGH else 1.0)
        ranks[complete] = rankdata(signed, axis=1).mean(axis=0)
    return ranks


def significance(table: Table, *, name: str) -> list[Block]:
    """Return Friedman's test and, from three methods on, the critical-difference diagram.

    Columns with a gap take no part; `name` says what is compared.
    """
    complete = np.asarray(~np.isnan(table.values).any(axis=0))
    labels = list(compress(table.columns, complete))
    values = np.round(table.values[:, complete], table.decimals)
    if len(labels) < 3 or len(values) < 3:
        return [said(f"No test for {name}: it needs three methods with numbers on three sets.")]
    # Differences, so that identical columns do not divide by zero.
    if np.all(values == values[:, :1]):
        return [said(f"No test for {name}: all methods are equal everywhere.")]
    statistic, p = friedmanchisquare(*values.T)
    ranks = average_ranks(values, table.better or HIGH, table.decimals)
    order = ", ".join(f"{labels[i]} {ranks[i]:.2f}" for i in np.argsort(ranks, kind="stable"))
    verdict = "differ more than by chance" if p < LEVEL else "may differ by chance alone"
    words = said(
        f"Friedman's test over {len(values)} sets and {len(labels)} methods: χ² = "
        f"{statistic:.2f}, p = {p:.2g}: the average ranks {verdict}. Ranks: {order}."
    )
    caption = (
        f"Critical-difference diagram ({name}): average ranks, best left; methods joined by a bar "
        f"are not told apart by Nemenyi's test at {LEVEL:.0%}. Folds of one set overlap, so that "
        "even this is optimistic."
    )
    return [words, Picture(_diagram(values, labels, ranks, table.better, name), caption)]


def _diagram(values: Array, labels: list[str], ranks: Array, better: str, name: str) -> str:
    import pandas as pd
    import scikit_posthocs as sp

    frame = pd.DataFrame(values if better == HIGH else -values, columns=labels)
    p_values = sp.posthoc_nemenyi_friedman(frame)
    with drawing(2.0 + 0.16 * len(labels)) as (ax, finish):
        sp.critical_difference_diagram(
            dict(zip(labels, ranks, strict=True)), p_values, alpha=LEVEL, ax=ax,
            label_props={"fontsize": 9},
        )  # fmt: skip
    return finish(f"Critical differences of average ranks: {name}")
