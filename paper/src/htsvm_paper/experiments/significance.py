"""Is the difference of average ranks more than chance? Friedman's test, and Nemenyi's after it."""

from __future__ import annotations

import numpy as np
from scipy.stats import friedmanchisquare

from htsvm._typing import Array
from htsvm_paper.experiments.blocks import HIGH, Block, Picture, Table, Words
from htsvm_paper.experiments.score_tables import average_ranks
from htsvm_paper.svg import drawing

LEVEL = 0.05


def significance(table: Table, *, name: str) -> list[Block]:
    """Return Friedman's test and, from three methods on, the critical-difference diagram.

    Columns with a gap take no part; `name` says what is compared.
    """
    values = np.array([[entry.value for entry in entries] for _, entries in table.rows])
    complete = ~np.isnan(values).any(axis=0) if len(values) else np.zeros(0, dtype=bool)
    labels = [label for label, there in zip(table.columns, complete, strict=False) if there]
    values = np.round(values[:, complete], table.decimals) if len(labels) else values
    if len(labels) < 3 or len(values) < 3:
        return [Words((f"No test for {name}: it needs three methods with numbers on three sets.",))]
    # Differences, so that identical columns do not divide by zero.
    if np.all(values == values[:, :1]):
        return [Words((f"No test for {name}: all methods are equal everywhere.",))]
    statistic, p = friedmanchisquare(*values.T)
    ranks = average_ranks(values, table.better or HIGH, table.decimals)
    order = ", ".join(f"{labels[i]} {ranks[i]:.2f}" for i in np.argsort(ranks, kind="stable"))
    verdict = "differ more than by chance" if p < LEVEL else "may differ by chance alone"
    words = Words(
        (
            f"Friedman's test over {len(values)} sets and {len(labels)} methods: χ² = "
            f"{statistic:.2f}, p = {p:.2g}: the average ranks {verdict}. Ranks: {order}.",
        )
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
            dict(zip(labels, ranks, strict=True)),
            p_values,
            alpha=LEVEL,
            ax=ax,
            label_props={"fontsize": 9},
        )
    return finish(f"Critical differences of average ranks: {name}")
