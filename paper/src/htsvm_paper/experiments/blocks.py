"""What a report is made of: tables, figures and words; nothing about how they look."""

import math
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from htsvm_paper._typing import Array

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

    @property
    def values(self) -> Array:
        """The numbers, by row and column."""
        numbers = [[entry.value for entry in entries] for _, entries in self.rows]
        return np.array(numbers).reshape(len(self.rows), len(self.columns))


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


@cache
def _words() -> dict[str, dict[str, Any]]:
    text = resources.files("htsvm_paper.experiments").joinpath("words.toml").read_text("utf-8")
    return tomllib.loads(text)


def texts(name: str) -> dict[str, Any]:
    """Return the title of an experiment, what of the paper it shows, and its words."""
    return _words()[name]


def about(name: str, **values: object) -> Words:
    """Return the words of an experiment, with values in the places of their names."""
    return Words(tuple(line.format(**values) for line in texts(name)["about"]))


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
