"""Results on disk, in one SQLite file that survives a kill at any moment."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from htsvm._version import __version__
from htsvm.experiments.isolation import Outcome
from htsvm.experiments.tasks import Row, Task

# Changes whenever old rows can no longer be read or compared.
SCHEMA = 1

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE runs (id INTEGER PRIMARY KEY, environment TEXT NOT NULL);
CREATE TABLE cells (
    id INTEGER PRIMARY KEY,
    experiment TEXT NOT NULL, protocol TEXT NOT NULL, dataset TEXT NOT NULL,
    noise TEXT NOT NULL, method TEXT NOT NULL, fold INTEGER NOT NULL,
    quick INTEGER NOT NULL, seed INTEGER NOT NULL,
    status TEXT NOT NULL, reason TEXT NOT NULL, seconds REAL NOT NULL,
    peak_mb REAL, base_mb REAL, time_limit REAL, run INTEGER NOT NULL REFERENCES runs,
    UNIQUE (experiment, protocol, dataset, noise, method, fold, quick, seed)
);
CREATE TABLE fits (
    cell INTEGER NOT NULL REFERENCES cells ON DELETE CASCADE, point INTEGER NOT NULL,
    params TEXT NOT NULL, metrics TEXT NOT NULL, PRIMARY KEY (cell, point)
);
"""
KEY = ("experiment", "protocol", "dataset", "noise", "method", "fold", "quick", "seed")


class StoreError(Exception):
    """A file is not a store, or not one of this version."""


@dataclass(frozen=True)
class Cell:
    """A cell as stored.

    Attributes
    ----------
    task : Task
        Which one.
    status, reason : str
        How it ended, and why if not "done".
    rows : tuple of Row
        Its fits.
    seconds, peak_mb, base_mb : float
        Its cost.
    time_limit : float or None
        The limit that it had.
    run : int
        The run that computed it; see `Store.runs`.
    """

    task: Task
    status: str
    reason: str
    rows: tuple[Row, ...]
    seconds: float
    peak_mb: float
    base_mb: float
    time_limit: float | None
    run: int


class Store:
    """Cells by task. One process writes; a cell is there as a whole or not at all.

    Parameters
    ----------
    path : Path
        The file; made if it does not exist.
    version : str, optional
        The version whose results it holds; those of another are refused.
    """

    def __init__(self, path: Path, version: str = __version__) -> None:
        self.path = Path(path)
        self.version = version
        if not self.path.parent.is_dir():
            raise StoreError(f"{self.path}: the folder {self.path.parent} does not exist.")
        # Written from whichever thread has a result; `_writing` makes them take turns.
        try:
            self._connection = sqlite3.connect(self.path, timeout=30.0, isolation_level=None)
        except sqlite3.OperationalError as error:
            raise StoreError(_unusable(self.path, error)) from error
        try:
            self._open()
        except sqlite3.OperationalError as error:
            self._connection.close()
            raise StoreError(_unusable(self.path, error)) from error
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise StoreError(f"{self.path} is not a store of results: {error}.") from error
        except StoreError:
            self._connection.close()
            raise

    def _open(self) -> None:
        if (tables := self._tables()) and "meta" not in tables:
            raise StoreError(f"{self.path} is a database of something else.")
        self._connection.execute("PRAGMA journal_mode = WAL")
        # With WAL, NORMAL loses nothing when the process is killed.
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute("PRAGMA foreign_keys = ON")
        with self._writing():
            # Looked up again: another process may have made them in the meantime.
            if not self._tables():
                for statement in TABLES.split(";"):
                    self._connection.execute(statement)
                meta = {"schema": str(SCHEMA), "version": self.version}
                self._connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
        found = dict(self._connection.execute("SELECT name, value FROM meta"))
        if found.get("version") != self.version or found.get("schema") != str(SCHEMA):
            raise StoreError(
                f"{self.path} holds results of htsvm {found.get('version', '?')} (layout "
                f"{found.get('schema', '?')}), this is htsvm {self.version} (layout {SCHEMA}). "
                "Results of different versions are not mixed: choose another file with --store, "
                "or delete this one."
            )

    def _tables(self) -> set[str]:
        return {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master")}

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def new_run(self, environment: dict[str, str]) -> int:
        """Note the version, commit, machine and libraries of a run; return its number."""
        with self._writing():
            cursor = self._connection.execute(
                "INSERT INTO runs (environment) VALUES (?)", (json.dumps(environment),)
            )
        return int(cursor.lastrowid or 0)

    def runs(self) -> dict[int, dict[str, str]]:
        """Return the environments of all runs by number."""
        rows = self._connection.execute("SELECT id, environment FROM runs ORDER BY id")
        return {number: json.loads(text) for number, text in rows}

    def add(self, task: Task, outcome: Outcome, *, run: int, time_limit: float | None) -> None:
        """Write a cell, in the place of an earlier one of the same task."""
        key = [getattr(task, name) for name in KEY]
        where = " AND ".join(f"{name} = ?" for name in KEY)
        with self._writing():
            self._connection.execute(f"DELETE FROM cells WHERE {where}", key)
            cursor = self._connection.execute(
                f"INSERT INTO cells ({', '.join(KEY)}, status, reason, seconds, peak_mb, base_mb, "
                f"time_limit, run) VALUES ({', '.join('?' * (len(KEY) + 7))})",
                [
                    *key, outcome.status, outcome.reason, outcome.seconds,
                    outcome.peak_mb, outcome.base_mb, time_limit, run,
                ],
            )  # fmt: skip
            self._connection.executemany(
                "INSERT INTO fits VALUES (?, ?, ?, ?)",
                [
                    (cursor.lastrowid, i, json.dumps(row.params), json.dumps(row.metrics))
                    for i, row in enumerate(outcome.rows)
                ],
            )

    def cells(self, experiment: str | None = None, *, quick: bool | None = None) -> list[Cell]:
        """Return the stored cells, all or those of one experiment or profile."""
        wanted = {"experiment": experiment, "quick": quick}
        wanted = {name: value for name, value in wanted.items() if value is not None}
        where = " AND ".join(f"{name} = ?" for name in wanted) or "1"
        values: list[Any] = list(wanted.values())
        fits: dict[int, list[Row]] = {}
        for cell, params, metrics in self._connection.execute(
            "SELECT cell, params, metrics FROM fits JOIN cells ON cells.id = fits.cell "
            f"WHERE {where} ORDER BY cell, point",
            values,
        ):
            fits.setdefault(cell, []).append(Row(json.loads(params), json.loads(metrics)))
        found = self._connection.execute(
            f"SELECT id, {', '.join(KEY)}, status, reason, seconds, peak_mb, base_mb, time_limit, "
            f"run FROM cells WHERE {where} ORDER BY id",
            values,
        )
        return [_cell(row, tuple(fits.get(row[0], ()))) for row in found]


def _unusable(path: Path, error: Exception) -> str:
    return f"{path} cannot be read and written: {error}. Choose another file with --store."


def _cell(row: tuple[Any, ...], fits: tuple[Row, ...]) -> Cell:
    key = dict(zip(KEY, row[1 : 1 + len(KEY)], strict=True))
    key["quick"] = bool(key["quick"])
    status, reason, seconds, peak, base, limit, run = row[1 + len(KEY) :]
    nan = float("nan")
    return Cell(
        Task(**key), status, reason, fits, seconds,
        nan if peak is None else peak, nan if base is None else base, limit, run,
    )  # fmt: skip


def write_csv(cells: Iterable[Cell], runs: dict[int, dict[str, str]], file: TextIO) -> None:
    """Write one line per fit, with its cell, cost and environment.

    Parameters
    ----------
    cells : iterable of Cell
        What to write.
    runs : dict
        The environments, as `Store.runs` returns them.
    file : text file
        Open for writing.
    """
    writer = csv.writer(file, lineterminator="\n")
    context = ("htsvm", "commit", "CPU", "python", "numpy", "scipy", "scikit-learn")
    head = [*KEY, "status", "reason", "cell_seconds", "peak_mb", "base_mb", "params", "metrics"]
    writer.writerow([*head, *context])
    for cell in cells:
        key = [getattr(cell.task, name) for name in KEY]
        costs = [f"{value:.4g}" for value in (cell.seconds, cell.peak_mb, cell.base_mb)]
        where = [runs.get(cell.run, {}).get(name, "") for name in context]
        for row in cell.rows or (None,):
            fit = [] if row is None else [_compact(row.params), _compact(row.metrics)]
            writer.writerow([*key, cell.status, cell.reason, *costs, *(fit or ["", ""]), *where])


def _compact(values: dict[str, Any]) -> str:
    rounded = {
        name: float(f"{value:.6g}") if isinstance(value, float) else value
        for name, value in values.items()
    }
    return json.dumps(rounded, separators=(",", ":"))
