"""What the report says first: how the methods stand, and where our numbers differ from print."""

import math
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from htsvm_paper.datasets import describe
from htsvm_paper.experiments import retests
from htsvm_paper.experiments.blocks import Block, Entry, Table, Words, about, texts
from htsvm_paper.experiments.methods import NESTED, PAPER, get
from htsvm_paper.experiments.stl10 import OUR_IMAGES, THEIR_IMAGES
from htsvm_paper.experiments.tasks import FOLDS, Experiment

Sections = list[tuple[Experiment, list[Block]]]
FOLDED = "Every score that differs by more than 2 points, and why"
# Points of a percentage beyond which a difference needs a reason.
LARGE = 2.0
# Two standard deviations of a difference are chance.
CHANCE = 2.0
# The most that linear models were seen to attain (%), and over what.
ATTAINABLE = {"hepatitis": (87.1, "E26"), "bupa": (69.6, "with C = 256")}
# A classifier that says one class nearly always: recall, and points from that class.
ONE_CLASS, NEAR = 97.0, 1.5
UNKNOWN = "no test explains it"
# They show one column of the paper beside other solvers, and scores that are compared elsewhere.
NOT_COMPARED = ("as-printed", "as-printed-views")
COMPARED = ("accuracy", "precision", "recall", "f1")
CHOICES = {PAPER: "by best test score", NESTED: "by cross-validation"}


def sentences(sections: dict[str, list[Block]]) -> list[str]:
    """Return what the results say, each sentence computed from tables or left out."""
    found = []
    for words, name, metric, method in texts("differences")["standings"]:
        parts = []
        for protocol, choice in CHOICES.items():
            tables = [
                block for block in sections.get(name, [])
                if isinstance(block, Table) and (block.protocol, block.metric) == (protocol, metric)
            ]  # fmt: skip
            if standing := _standing(tables, get(method).label):
                parts.append(f"{choice}, {standing}")
        if parts:
            found.append(f"{words}: {'; '.join(parts)}.")
    return found


def _standing(tables: list[Table], label: str) -> str:
    """Return a method's mean and place, in the rows that it has, among methods that have all."""
    tables = [table for table in tables if label in table.columns]
    if not tables:
        return ""
    columns = [c for c in tables[0].columns if all(c in table.columns for table in tables)]
    values = np.array(
        [[entries[table.columns.index(c)].value for c in columns]
         for table in tables for _, entries in table.rows]
    )  # fmt: skip
    values = values[~np.isnan(values[:, columns.index(label)])]
    mean = values.mean(axis=0) if len(values) else np.full(len(columns), np.nan)
    found = zip(columns, np.round(mean, 2), strict=True)
    means = {column: value for column, value in found if not math.isnan(value)}
    if len(means) < 2:
        return ""
    best = max(means, key=lambda column: means[column])
    place = 1 + sum(mean > means[label] for mean in means.values())
    first = "" if best == label else f"; first is {best} with {means[best]:.2f} %"
    return (
        f"{label} has {means[label]:.2f} % on average of {len(values)} rows, number {place} of "
        f"{len(means)}{first}"
    )


def differences(sections: Sections) -> list[Block]:
    """Return the mean absolute difference of each column, and every large one with its reason."""
    columns: dict[tuple[str, str], list[float]] = defaultdict(list)
    compared = list(_compared(sections))
    large = []
    for experiment, table, row, column, entry in compared:
        subject = table.title.split(":")[0].replace(" (%)", "").strip()
        columns[f"{experiment.title}: {subject}", column].append(entry.difference)
        if abs(entry.difference) > LARGE:
            others = [e.difference for _, t, r, c, e in compared
                      if t is table and r == row and c != column]  # fmt: skip
            why = _reason(experiment.name, table.metric, row, column, entry, others, sections)
            large.append(
                f"{row}, {column} ({subject}): {entry.value:.2f} here, {entry.paper:.2f} in the "
                f"paper; {why}."
            )
    if not columns:
        return []
    labels = list(dict.fromkeys(column for _, column in columns))
    mean = {place: Entry(float(np.mean(np.abs(away)))) for place, away in columns.items()}
    rows = [(name, [mean.get((name, label), Entry(mark="—")) for label in labels])
            for name in dict.fromkeys(name for name, _ in columns)]  # fmt: skip
    table = Table(
        "Mean absolute difference between the paper's scores and ours (points of a percentage, "
        "both by best test score)",
        "table", labels, rows, better="", folded=False,
        note="Only where both have a number.",
    )  # fmt: skip
    explained = sum(UNKNOWN not in line for line in large)
    words = about("differences", large=len(large), points=LARGE, explained=explained)
    return [table, words, *([Words(tuple(large), FOLDED)] if len(large) > 1 else [])]


def _compared(sections: Sections) -> Iterator[tuple[Experiment, Table, str, str, Entry]]:
    """Yield every score of the protocol that the paper used, where there are both numbers."""
    for experiment, blocks in sections:
        for table in blocks if experiment.name not in NOT_COMPARED else ():
            if not isinstance(table, Table) or table.protocol != PAPER:
                continue
            for row, entries in table.rows if table.metric in COMPARED else ():
                for column, entry in zip(table.columns, entries, strict=True):
                    if not math.isnan(entry.difference):
                        yield experiment, table, row, column, entry


def _reason(
    experiment: str, metric: str, row: str, column: str, entry: Entry, others: list[float],
    sections: Sections,
) -> str:  # fmt: skip
    """Return why a number differs, as far as a test says it."""

    def tried(kind: str, name: str) -> float:
        """Return a number of the experiments that tried to explain; NaN where there is none."""
        return next(
            (entries[table.columns.index(column)].value
             for one, blocks in sections if one.name in (retests.AGAIN, retests.NEAREST)
             for table in blocks
             if isinstance(table, Table) and (table.protocol, table.metric) == (kind, name)
             for label, entries in table.rows if label == row and column in table.columns),
            math.nan,
        )  # fmt: skip

    slack = math.sqrt(2.0) * tried(retests.OTHER_FOLDS, f"{retests.MOVES} {metric}")
    moves = {"two-view": slack, "label-noise": math.sqrt(2.0 / FOLDS) * entry.spread}.get(
        experiment, _image_error(metric, entry) if experiment == "stl10" else math.nan
    )
    if abs(entry.difference) <= CHANCE * moves:
        return f"chance: a standard deviation is {moves:.2f}"
    if experiment == "two-view" and (found := _of_the_set(row, column, sections)):
        return found
    for kind, where in ((retests.UNSCALED, "unscaled features"), (PAPER, "other points")):
        low, high = (tried(kind, f"{end} {metric}") for end in (retests.LOWEST, retests.HIGHEST))
        if experiment == "two-view" and low - slack <= entry.paper <= high + slack:
            return f"{where} reach {low:.2f} to {high:.2f}"
    shared = float(np.mean(others)) if len(others) > 2 else math.nan
    alike = abs(entry.difference - shared) <= CHANCE * moves
    if experiment == "stl10" and alike and shared / entry.difference >= 0.5:
        return f"the pair, not the method: the others are {shared:+.2f} away"
    for kind in (retests.SMALLER, retests.MOVED):
        if (away := tried(kind, retests.DISTANCE)) <= CHANCE:
            return f"{kind}: {away:.1f} standard deviations from all four printed scores"
    for where, line, method, why in texts("differences")["reasons"]:
        if where == experiment and line in ("", row) and method in ("", column):
            return str(why)
    return UNKNOWN


def _of_the_set(row: str, column: str, sections: Sections) -> str:
    """Return whether a classifier is nearly constant, or linear models cannot attain what is said.

    The former in print or here, by accuracy and recall.
    """
    found = {
        table.metric: entry
        for experiment, table, label, name, entry in _compared(sections)
        if (experiment.name, label, name) == ("two-view", row, column)
    }
    if not {"accuracy", "recall"} <= found.keys():
        return ""
    accuracy, recall = found["accuracy"], found["recall"]
    balance = describe(row).balance.values()
    largest = 100.0 * max(balance) / sum(balance)
    for where, right, called in (
        ("in print", accuracy.paper, recall.paper), ("here", accuracy.value, recall.value)
    ):  # fmt: skip
        one = called >= ONE_CLASS or called <= 100.0 - ONE_CLASS
        if one and abs(right - largest) <= NEAR:
            return f"{where} nearly a constant classifier ({largest:.2f} % are of one class)"
    most, how = ATTAINABLE.get(row, (math.inf, ""))
    above = accuracy.paper > most
    return f"linear models attain {most} % accuracy at most ({how})" if above else ""


def _image_error(metric: str, entry: Entry) -> float:
    """Return the standard error of a difference between our test part and the paper's."""
    images = 1.0 if metric == "accuracy" else 0.5  # Precision and recall: one class of two.
    right = OUR_IMAGES * entry.value + THEIR_IMAGES * entry.paper
    share = right / (OUR_IMAGES + THEIR_IMAGES) / 100.0
    parts = 1.0 / OUR_IMAGES + 1.0 / THEIR_IMAGES
    return 100.0 * math.sqrt(share * (1.0 - share) * parts / images)
