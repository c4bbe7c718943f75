"""What was promised, and whether the figures keep it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import Any

Row = dict[str, Any]

# Ratios of equal sums differ by this much.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Bar:
    """One promise beside its figure.

    Attributes
    ----------
    promise : str
        What was promised, with the limit.
    figure : str
        What was measured, and where the worst of it was.
    met : bool or None
        None where nothing was measured.
    """

    promise: str
    figure: str
    met: bool | None

    @property
    def verdict(self) -> str:
        """The word for it."""
        if self.met is None:
            return "not measured"
        return "met" if self.met else "NOT met"


def numbers(rows: list[Row], column: str) -> list[tuple[float, str]]:
    """Return the values of a column with the names of their rows, leaving out gaps."""
    found = []
    for row in rows:
        value = row.get(column)
        if isinstance(value, (int, float)) and not math.isnan(value):
            found.append((float(value), name_of(row)))
    return found


def name_of(row: Row) -> str:
    """Return what a row is about."""
    C = row.get("C")
    return f"{row['set']}, C = {C:g}" if isinstance(C, (int, float)) else str(row["set"])


def at_most(
    promise: str, rows: list[Row], column: str, limit: float, *, worst: bool = True, digits: int = 3
) -> Bar:
    """Compare the worst value of a column, or else its median, with a limit."""
    values = numbers(rows, column)
    if not values:
        return Bar(promise, "", None)
    if worst:
        value, where = max(values)
        over = sum(v > limit + ROUNDING for v, _ in values)
        figure = f"{value:.{digits}g} ({where}); {over} of {len(values)} above"
        return Bar(promise, figure, over == 0)
    value = median(v for v, _ in values)
    return Bar(promise, f"{value:.{digits}g} (median of {len(values)})", value <= limit)


def every(promise: str, rows: list[Row], column: str) -> Bar:
    """Ask that a column of truth values is true in every row."""
    asked = [row for row in rows if row.get(column) is not None]
    failed = [name_of(row) for row in asked if not row[column]]
    if not asked:
        return Bar(promise, "", None)
    figure = f"{len(asked) - len(failed)} of {len(asked)}"
    if failed:
        figure += f"; not: {'; '.join(failed)}"
    return Bar(promise, figure, not failed)
