"""Timing: one fit, and interleaved repeats of several."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from sklearn.exceptions import ConvergenceWarning

# Fits slower than this many seconds get so many repeats only.
FEWER_REPEATS = ((20.0, 1), (5.0, 2))


@dataclass
class Timings:
    """The repeats of one thing.

    Attributes
    ----------
    seconds : list of float
        One entry per repeat.
    unconverged : int
        Repeats that gave a ConvergenceWarning.
    result : object
        What the last repeat returned; None if it failed.
    error : str
        Why it failed, or "".
    """

    seconds: list[float] = field(default_factory=list)
    unconverged: int = 0
    result: Any = None
    error: str = ""

    @property
    def median(self) -> float:
        """The median of the seconds; NaN if there are none."""
        return median(self.seconds) if self.seconds else float("nan")

    def add(self, work: Callable[[], Any]) -> None:
        """Do `work` once more, unless it failed before."""
        if self.error:
            return
        gc.collect()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            began = time.perf_counter()
            try:
                self.result = work()
            except Exception as error:
                self.seconds, self.result = [], None
                self.error = f"{type(error).__name__}: {error}"
                return
            self.seconds.append(time.perf_counter() - began)
        self.unconverged += any(issubclass(w.category, ConvergenceWarning) for w in caught)


def interleaved(
    works: dict[str, Callable[[], Any]], repeats: int, never_fewer: tuple[str, ...] = ()
) -> dict[str, Timings]:
    """Time A, B, C, A, B, C, ..., so that noise of the machine hits all alike.

    Parameters
    ----------
    works : dict of callables
        What to time.
    repeats : int
        How often; less for works that turn out slow.
    never_fewer : tuple of str
        Works that get all repeats, however slow.
    """
    timings = {name: Timings() for name in works}
    for turn in range(repeats):
        for name, work in works.items():
            limit = repeats if name in never_fewer else allowed(timings[name].seconds, repeats)
            if turn < limit:
                timings[name].add(work)
    return timings


def allowed(seconds: list[float], repeats: int) -> int:
    """Return how many repeats a work may have that has taken so long."""
    if seconds:
        for slow, number in FEWER_REPEATS:
            if min(seconds) > slow:
                return min(number, repeats)
    return repeats


def median_seconds(work: Callable[[], Any], budget: float = 0.3) -> float:
    """Return the median seconds of a short piece of work, repeated for about `budget` seconds."""
    seconds: list[float] = []
    work()
    while len(seconds) < 5 or (sum(seconds) < budget and len(seconds) < 100):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return median(seconds)
