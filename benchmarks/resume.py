"""Rows of a long run, kept on disk one by one, so that a broken run goes on where it broke."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from benchmarks.bars import Row
from htsvm.experiments import environment

FOLDER = Path(__file__).parent / "results" / "partial"


class Kept:
    """Rows by name, each written as soon as it is measured.

    Rows of another commit are not taken over.

    Parameters
    ----------
    name : str
        The name of the run.
    """

    def __init__(self, name: str, folder: Path = FOLDER) -> None:
        self.path = folder / f".{name}.jsonl"
        self.commit = environment.describe()["commit"]
        self.rows: dict[str, list[Row]] = {}
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                stored = json.loads(line)
                if stored["commit"] == self.commit:
                    self.rows[stored["name"]] = stored["rows"]

    def get(self, name: str, measure: Callable[[], list[Row]]) -> list[Row]:
        """Return the rows of that name; measure and keep them if there are none."""
        if name not in self.rows:
            self.rows[name] = measure()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                line = {"commit": self.commit, "name": name, "rows": self.rows[name]}
                file.write(json.dumps(line) + "\n")
        return self.rows[name]

    def done(self) -> None:
        """Forget the rows: the run is complete."""
        self.path.unlink(missing_ok=True)
