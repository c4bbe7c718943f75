"""What a report is made of: tables, figures and words; nothing about how they look."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

HIGH, LOW = "high", "low"


@dataclass(frozen=True)
class Entry:
    """A place in a table.

    Attributes
    ----------
    value, spread : float
        What was found, and its standard deviation; NaN where there is none.
    paper : float
        What the paper says; NaN where it says nothing.
    mark : str
        Why there is no value, in words.
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
    """Rows of entries.

    Attributes
    ----------
    title, corner : str
        The heading, and that of the first column.
    columns : list of str
        The headings of the other columns.
    rows : list of (str, list of Entry)
        Label and entries.
    better : {"high", "low", ""}
        Which value of a row is the best, shown bold; empty for none.
    summary : list of (str, list of Entry, str)
        Rows below the line, each with its own direction.
    note : str
        Words below.
    decimals : int
        How many to show.
    protocol, metric : str
        What its numbers are, where that is one thing.
    folded : bool
        Whether a page shows its title only, until a reader asks for it.
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
    """A figure.

    Attributes
    ----------
    svg : str
        The drawing.
    caption : str
        Words below.
    """

    svg: str
    caption: str


@dataclass(frozen=True)
class Words:
    """A paragraph, or several lines of a list.

    Attributes
    ----------
    lines : tuple of str
        One line is a paragraph, more are a list.
    title : str
        Where there is one, a list of which a page shows the title only, until a reader asks.
    """

    lines: tuple[str, ...]
    title: str = ""


Block = Table | Picture | Words


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
