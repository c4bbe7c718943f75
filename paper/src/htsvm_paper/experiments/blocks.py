"""What a report is made of: tables, figures and words; nothing about how they look."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

HIGH, LOW = "high", "low"


@dataclass(frozen=True)
class Entry:
    """A place in a table: a number, its deviation and the paper's, each NaN where there is none.

    `mark` says why there is no number.
    """

    value: float = math.nan
    spread: float = math.nan
    paper: float = math.nan
    mark: str = ""

    @property
    def difference(self) -> float:
        """What was found less what the paper says."""
        return self.value - self.paper


@dataclass(frozen=True)
class Table:
    """Rows of entries, with their labels.

    The best of a row is bold, by `better`. Rows of the `summary` stand below the line, each with
    its own direction. `protocol` and `metric` say what the numbers are, where that is one thing.
    Of a `folded` table a page shows the title only, until a reader asks for it.
    """

    title: str
    corner: str
    columns: list[str]
    rows: list[tuple[str, list[Entry]]]
    better: str = HIGH
    summary: list[tuple[str, list[Entry], str]] = field(default_factory=list)
    note: str = ""
    decimals: int = 2
    protocol: str = ""
    metric: str = ""
    folded: bool = True


@dataclass(frozen=True)
class Picture:
    """A figure: the drawing as SVG, and the words below."""

    svg: str
    caption: str


@dataclass(frozen=True)
class Words:
    """A paragraph, or several lines of a list; where it has a title, a page folds the list."""

    lines: tuple[str, ...]
    title: str = ""


Block = Table | Picture | Words


def said(*lines: str, title: str = "") -> Words:
    """Return lines as a block."""
    return Words(lines, title)


def best_places(entries: list[Entry], better: str, decimals: int) -> set[int]:
    """Return where the best of a row stands; equal as printed is equally good."""
    values = {
        i: round(entry.value, decimals)
        for i, entry in enumerate(entries)
        if not math.isnan(entry.value)
    }
    if not better or len(values) < 2:
        return set()
    best = max(values.values()) if better == HIGH else min(values.values())
    return {i for i, value in values.items() if value == best}
