"""Where the paper's method stands in every comparison, at a glance."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from htsvm_paper.experiments.blocks import Block, Entry, Table
from htsvm_paper.experiments.methods import NESTED, PAPER, get
from htsvm_paper.experiments.score_tables import IN_WORDS, MEAN, RANK

OURS = ("mvht", "ht")
METRICS = ("accuracy", "clean_accuracy")
NOTE = (
    "Ranks are averages over the rows of a comparison, 1 is the best; the method named is the one "
    "with the best rank. The paper's ranks are among fewer methods. Whether ranks differ by more "
    "than chance is said with each comparison."
)


def overview(sections: Iterable[tuple[str, list[Block]]]) -> list[Block]:
    """Return a table per protocol with a row for each table of accuracies."""
    found = [
        (name, block)
        for name, blocks in sections
        for block in blocks
        if isinstance(block, Table) and block.metric in METRICS and block.summary
    ]
    tables: list[Block] = []
    for protocol in (PAPER, NESTED):
        standings = [
            standing
            for name, table in found
            if table.protocol == protocol and (standing := _standing(name, table)) is not None
        ]
        if standings:
            tables.append(
                Table(
                    title=f"Accuracy of L_ht-SVM and MvL_ht-SVM: {IN_WORDS[protocol]}",
                    corner="comparison",
                    columns=["mean (%)", "rank", "mean of the best (%)", "its rank"],
                    rows=standings,
                    better="",
                    note=NOTE,
                )
            )
    return tables


def _standing(experiment: str, table: Table) -> tuple[str, list[Entry]] | None:
    """Return mean and rank of the paper's method beside the best; None where it has no rank."""
    summary = {label: entries for label, entries, _ in table.summary}
    means, ranks = summary[MEAN], summary[RANK]
    ours = next((get(n).label for n in OURS if get(n).label in table.columns), None)
    if ours is None or math.isnan(ranks[place := table.columns.index(ours)].value):
        return None
    values = np.array([entry.value for entry in ranks])
    best = int(np.nanargmin(values))
    subject = table.title.removesuffix(f": {IN_WORDS[table.protocol]}")
    subject = subject.replace("Accuracy", "").replace("(%)", "").strip(" ,").replace(" , ", ", ")
    label = ": ".join(part for part in (experiment, subject) if part)
    count = np.count_nonzero(~np.isnan(values))
    return f"{label} (best of {count}: {table.columns[best]})", [
        means[place],
        ranks[place],
        Entry(means[best].value),
        Entry(ranks[best].value),
    ]
