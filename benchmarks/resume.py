"""Rows of a long run, kept on disk one by one, so that a broken run goes on where it broke."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.bars import Row
from benchmarks.stored import ROOT

FOLDER = ROOT / "benchmarks" / "results" / "partial"

_complete: list[Kept] = []


class Kept:
    """Rows by name, each written as soon as it is measured.

    Rows that other sources have measured are not taken over.

    Parameters
    ----------
    name : str
        The name of the run.
    folder : Path
        Where its rows are kept.
    sources : str, optional
        What the rows depend on; by default every file of the library and of the benchmark.
    """

    def __init__(self, name: str, folder: Path = FOLDER, sources: str | None = None) -> None:
        self.path = folder / f".{name}.jsonl"
        self.sources = sources or _fingerprint()
        self.rows: dict[str, list[Row]] = {}
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                stored = json.loads(line)
                if stored["sources"] == self.sources:
                    self.rows[stored["name"]] = stored["rows"]

    def get(self, name: str, measure: Callable[[], list[Row]]) -> list[Row]:
        """Return the rows of that name; measure and keep them if there are none."""
        if name not in self.rows:
            self.rows[name] = measure()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                line = {"sources": self.sources, "name": name, "rows": self.rows[name]}
                file.write(json.dumps(line) + "\n")
        return self.rows[name]

    def done(self) -> None:
        """Say that the run is complete: its rows are kept until all is written."""
        _complete.append(self)


@contextmanager
def kept_until_written() -> Iterator[None]:
    """Forget the rows of the runs that are completed within, but only if nothing fails there."""
    _complete.clear()
    yield
    while _complete:
        _complete.pop().path.unlink(missing_ok=True)


def _fingerprint() -> str:
    """Return a digest of the library and of the benchmark."""
    digest = hashlib.sha256()
    for folder in ("src", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py*")):
            if path.suffix in (".py", ".pyx", ".pxd"):
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
