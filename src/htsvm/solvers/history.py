"""The record of a run: one row of diagnostics per iteration."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

Callback = Callable[[dict[str, Any]], Any]
Result = TypeVar("Result")


class Clock:
    """The one clock of a solve: the time in its descents, and in the search for where they start.

    The history of a run has the time since that run began; most of a solve may lie before.
    """

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.descents = 0.0

    def descent(self, run: Callable[[], Result]) -> Result:
        """Return what `run` returns, a descent, and count its time."""
        began = time.perf_counter()
        try:
            return run()
        finally:
            self.descents += time.perf_counter() - began

    def seconds(self) -> dict[str, float]:
        """Return the seconds so far, by part; the parts add up to "total"."""
        total = time.perf_counter() - self.began
        return {"search": total - self.descents, "descents": self.descents, "total": total}


class History:
    """One row per iteration, kept in columns and shown to a callback.

    Parameters
    ----------
    callback : callable or None
        Called with each row, a dict.

    Attributes
    ----------
    columns : dict of lists
        One entry per iteration in every column; the first is its number, the last the seconds
        since the run began.
    """

    def __init__(self, callback: Callback | None) -> None:
        self.callback = callback
        self.columns: dict[str, list[Any]] = {}
        self.began = time.perf_counter()

    def __len__(self) -> int:
        return len(self.columns.get("iteration", ()))

    def __getitem__(self, name: str) -> list[Any]:
        return self.columns[name]

    @property
    def seconds(self) -> float:
        """The time since the run began."""
        return time.perf_counter() - self.began

    def add(self, **row: Any) -> None:
        """Add a row and tell the callback."""
        row = {"iteration": len(self) + 1, **row, "seconds": self.seconds}
        for name, value in row.items():
            self.columns.setdefault(name, []).append(value)
        if self.callback is not None:
            self.callback(row)
