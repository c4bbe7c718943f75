"""The numbers that the paper prints."""

from __future__ import annotations

import csv
import math
from functools import cache
from importlib import resources


@cache
def paper_table(name: str) -> dict[str, dict[str, float]]:
    """Return a table of the paper: by row, by column; deviations and averages are left out.

    Where a table has sections, a row is called ``"section/row"``.
    """
    text = (
        resources.files("htsvm_paper.experiments").joinpath(f"paper/{name}.csv").read_text("utf-8")
    )
    head, *rows = list(csv.reader(text.splitlines()))
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
