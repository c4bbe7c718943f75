"""What a run of the benchmark was asked to do, and how it tells of its progress."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

try:
    from rich.console import Console
except ImportError:
    Console = None

from benchmarks.sets import Dataset, MissingData, Source

PENALTIES = (2.0**-4, 1.0, 2.0**4)


@dataclass(frozen=True)
class Plan:
    """What to measure.

    Attributes
    ----------
    sources : list of Source
        The sets.
    repeats : int
        Repeats of each timing.
    penalties : tuple of float
        The values of C.
    quick : bool
        Whether to leave out what takes long.
    rows : int or None
        The most training rows where accuracy is compared; None for all.
    began : float
        When the run began, by `time.perf_counter`.
    """

    sources: list[Source]
    repeats: int = 5
    penalties: tuple[float, ...] = PENALTIES
    quick: bool = False
    rows: int | None = None
    began: float = field(default_factory=time.perf_counter)

    def say(self, text: str) -> None:
        """Print a line of progress."""
        line = f"{time.perf_counter() - self.began:7.1f} s  {text}"
        if Console is None:
            print(line, flush=True)
        else:
            Console(soft_wrap=True).print(line, markup=False)

    def datasets(self) -> Iterator[Dataset]:
        """Yield the sets that can be had; say why others cannot."""
        for source in self.sources:
            try:
                data = source.load()
            except MissingData as reason:
                self.say(f"{source.name}: skipped, {reason}")
                continue
            m, n = data.X.shape
            self.say(f"{data.name}: {m:,} x {n:,}, {data.nbytes / 1e6:.1f} MB")
            yield data
