"""The data sets as the paper counts them, and as they are here."""

import math
from collections.abc import Iterator

from htsvm_paper.datasets import describe, load, names
from htsvm_paper.experiments.blocks import Block, Entry, Table, about
from htsvm_paper.experiments.results import Results, paper_number
from htsvm_paper.experiments.splits import make_split
from htsvm_paper.experiments.tasks import CLEAN, Experiment, Profile, Row, Task, as_setting
from htsvm_paper.experiments.two_view import QUICK_SETS, paper_name

NAME, COUNT, TWO_VIEWS = "data", "count", "two views"
ONE_VIEW = "one view"
SINGLE = {"m": "samples", "m_t": "test samples", "n": "columns"}
DOUBLE = {"Data (m)": "samples", "View 1 n1": "columns of view 1", "View 2 n2": "of view 2"}


def _sets(profile: Profile) -> dict[str, str]:
    """Return what is counted, and how."""
    double = QUICK_SETS if profile.quick else names("two-view")
    single = ("australian", "a1a") if profile.quick else names("single-view")
    return {**dict.fromkeys(single, ONE_VIEW), **dict.fromkeys(double, TWO_VIEWS)}


def tasks(profile: Profile) -> list[Task]:
    """Return a cell per data set."""
    return [
        Task(NAME, COUNT, name, CLEAN, how, 0, profile.seed, as_setting(variance=0.95))
        for name, how in _sets(profile).items()
    ]


def run(task: Task) -> Iterator[Row]:
    """Count the samples and columns of a set."""
    if task.method == TWO_VIEWS:
        widths = make_split(task, pca_view=True).view_widths
        found = dict(zip(DOUBLE, (describe(task.dataset).rows, *widths), strict=True))
    else:
        data = load(task.dataset)
        tested = 0 if data.X_test is None else data.X_test.shape[0]
        found = {"m": data.X.shape[0], "m_t": tested, "n": data.X.shape[1]}
    yield Row({}, {name: float(value) for name, value in found.items()})


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return tables 2 and 14."""
    blocks: list[Block] = [about(NAME)]
    for how, table, columns in (
        (ONE_VIEW, "sv-datasets", SINGLE), (TWO_VIEWS, "mv-datasets", DOUBLE),
    ):  # fmt: skip
        rows = [
            (name, _entries(results, name, how, table, columns))
            for name, wanted in _sets(profile).items()
            if wanted == how
        ]
        title = f"Data sets with {how} (table {'2' if how == ONE_VIEW else '14'})"
        blocks.append(Table(title, "data set", list(columns.values()), rows, "", decimals=0))
    return blocks


def _entries(
    results: Results, name: str, how: str, table: str, columns: dict[str, str]
) -> list[Entry]:
    row = paper_name(name) if how == TWO_VIEWS else name
    cell, mark = results.cell(COUNT, name, how)
    found = {} if mark or cell is None else cell.rows[0].metrics
    return [
        Entry(found.get(column) or math.nan, paper=paper_number(table, row, column),
              mark=mark or "none")
        for column in columns
    ]  # fmt: skip


EXPERIMENT = Experiment(NAME, tasks, run, sections)
