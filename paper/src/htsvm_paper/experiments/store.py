"""Results on disk, in one SQLite file that survives a kill at any moment."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from htsvm._version import __version__
from htsvm_paper.experiments.claims import RunLock, is_alive, remove_left_locks
from htsvm_paper.experiments.isolation import DONE, Outcome
from htsvm_paper.experiments.tasks import Row, Task

# Changes whenever old rows can no longer be read or compared.
SCHEMA = 2

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, environment TEXT NOT NULL);
CREATE TABLE cells (
    id INTEGER PRIMARY KEY,
    experiment TEXT NOT NULL, protocol TEXT NOT NULL, dataset TEXT NOT NULL,
    noise TEXT NOT NULL, method TEXT NOT NULL, fold INTEGER NOT NULL,
    seed INTEGER NOT NULL, setting TEXT NOT NULL,
    status TEXT NOT NULL, reason TEXT NOT NULL, seconds REAL NOT NULL,
    peak_mb REAL, base_mb REAL, time_limit REAL, run INTEGER NOT NULL REFERENCES runs,
    UNIQUE (experiment, protocol, dataset, noise, method, fold, seed, setting)
);
CREATE TABLE fits (
    cell INTEGER NOT NULL REFERENCES cells ON DELETE CASCADE, point INTEGER NOT NULL,
    params TEXT NOT NULL, metrics TEXT NOT NULL, PRIMARY KEY (cell, point)
);
CREATE TABLE claims (
    experiment TEXT NOT NULL, protocol TEXT NOT NULL, dataset TEXT NOT NULL,
    noise TEXT NOT NULL, method TEXT NOT NULL, fold INTEGER NOT NULL,
    seed INTEGER NOT NULL, setting TEXT NOT NULL, run INTEGER NOT NULL REFERENCES runs,
    PRIMARY KEY (experiment, protocol, dataset, noise, method, fold, seed, setting)
);
"""
KEY = ("experiment", "protocol", "dataset", "noise", "method", "fold", "seed", "setting")
WHERE = " AND ".join(f"{name} = ?" for name in KEY)


class StoreError(ValueError):
    """A file is not a store, or not one of this version, or cannot be read or written."""


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
    """Cells by task. A cell is there as a whole or not at all; several runs may share a store.

    Parameters
    ----------
    path : Path
        The file; made if it does not exist.
    version : str, optional
        The version whose results it holds; those of another are refused.
    read_only : bool, default=False
        Whether it is only read: then it may lie where nothing can be written.
    """

    def __init__(self, path: Path, version: str = __version__, *, read_only: bool = False) -> None:
        self.path = Path(path)
        self.version = version
        self._turn = threading.RLock()
        self._locks: dict[int, RunLock] = {}
        if not self.path.parent.is_dir():
            raise StoreError(f"{self.path}: the folder {self.path.parent} does not exist.")
        with self._refusing():
            self._connection = self._connect(read_only)
        try:
            with self._refusing():
                if not read_only:
                    self._make()
                self._check()
        except StoreError:
            self._connection.close()
            raise

    def _connect(self, read_only: bool) -> sqlite3.Connection:
        # Written from whichever thread has something; `_writing` makes them take turns.
        if not read_only:
            return sqlite3.connect(
                self.path, timeout=30.0, isolation_level=None, check_same_thread=False
            )
        address = self.path.resolve().as_uri()
        connection = sqlite3.connect(f"{address}?mode=ro", uri=True, isolation_level=None)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            # Where nothing may be written, not even the index of its log: take it as it is.
            connection.close()
            connection = sqlite3.connect(f"{address}?immutable=1", uri=True, isolation_level=None)
        return connection

    def _make(self) -> None:
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

    def _check(self) -> None:
        if "meta" not in self._tables():
            raise StoreError(f"{self.path} is a database of something else.")
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
    def _refusing(self) -> Iterator[None]:
        """Turn what the database says into one sentence that names the file and a remedy."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise StoreError(_unusable(self.path, error)) from error
        except (sqlite3.DatabaseError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise StoreError(
                f"{self.path} is not a store of results, or parts of it are damaged: {error}. "
                "Take a copy of it, or choose another file with --store."
            ) from error

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """See the store as it is now, whatever other runs write meanwhile."""
        with self._turn, self._refusing():
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("ROLLBACK")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._turn, self._refusing():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                # After some errors, as a full disk, the database has rolled back by itself.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the file, and release the cells that are claimed here."""
        for run in list(self._locks):
            self.end_run(run)
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------------- runs and claims

    def new_run(self, environment: dict[str, str]) -> int:
        """Note the version, commit, machine and libraries of a run; return its number."""
        with self._writing():
            cursor = self._connection.execute(
                "INSERT INTO runs (environment) VALUES (?)", (json.dumps(environment),)
            )
            run = int(cursor.lastrowid or 0)
            remove_left_locks(self.path)
            lock = RunLock(self.path, run)
            lock.acquire()
        self._locks[run] = lock
        return run

    def end_run(self, run: int) -> None:
        """Release the claims of a run."""
        try:
            with self._writing():
                self._connection.execute("DELETE FROM claims WHERE run = ?", (run,))
        except StoreError:
            pass  # Claims of a run that is over count for nothing.
        self._locks.pop(run).release()

    def runs(self) -> dict[int, dict[str, str]]:
        """Return the environments of all runs by number."""
        with self._refusing():
            rows = self._connection.execute("SELECT id, environment FROM runs ORDER BY id")
            return {number: json.loads(text) for number, text in rows}

    def claim(self, task: Task, run: int) -> bool:
        """Take a cell for a run; return whether it is free.

        It is not if it is finished, or if another run that is alive has it or had it.
        """
        key = _key(task)
        with self._writing():
            holders = [number for table in ("claims", "cells") for (number,) in
                       self._connection.execute(f"SELECT run FROM {table} WHERE {WHERE}", key)
                       ]  # fmt: skip
            done = self._connection.execute(
                f"SELECT count(*) FROM cells WHERE {WHERE} AND status = ?", [*key, DONE]
            ).fetchone()[0]
            if done or any(other != run and self._alive(other) for other in holders):
                return False
            self._connection.execute(
                f"INSERT OR REPLACE INTO claims ({', '.join(KEY)}, run) "
                f"VALUES ({', '.join('?' * (len(KEY) + 1))})",
                [*key, run],
            )
        return True

    def _alive(self, run: int) -> bool:
        return run in self._locks or is_alive(self.path, run)

    def add(self, task: Task, outcome: Outcome, *, run: int, time_limit: float | None) -> None:
        """Write a cell, in the place of an earlier one of the same task."""
        key = _key(task)
        with self._writing():
            self._connection.execute(f"DELETE FROM claims WHERE {WHERE}", key)
            self._connection.execute(f"DELETE FROM cells WHERE {WHERE}", key)
            cursor = self._connection.execute(
                f"INSERT INTO cells ({', '.join(KEY)}, status, reason, seconds, peak_mb, base_mb, "
                f"time_limit, run) VALUES ({', '.join('?' * (len(KEY) + 7))})",
                [
                    *key, outcome.status, outcome.reason, _short(outcome.seconds),
                    _short(outcome.peak_mb), _short(outcome.base_mb), time_limit, run,
                ],
            )  # fmt: skip
            self._connection.executemany(
                "INSERT INTO fits VALUES (?, ?, ?, ?)",
                [
                    (cursor.lastrowid, i, json.dumps(row.params), json.dumps(row.metrics))
                    for i, row in enumerate(outcome.rows)
                ],
            )

    def cells(self, experiment: str | None = None) -> list[Cell]:
        """Return the stored cells, all or those of one experiment."""
        where, values = ("experiment = ?", [experiment]) if experiment else ("1", [])
        fits: dict[int, list[Row]] = {}
        with self._reading():
            for cell, params, metrics in self._connection.execute(
                "SELECT cell, params, metrics FROM fits JOIN cells ON cells.id = fits.cell "
                f"WHERE {where} ORDER BY cell, point",
                values,
            ):
                fits.setdefault(cell, []).append(Row(json.loads(params), json.loads(metrics)))
            found = self._connection.execute(
                f"SELECT id, {', '.join(KEY)}, status, reason, seconds, peak_mb, base_mb, "
                f"time_limit, run FROM cells WHERE {where} ORDER BY id",
                values,
            )
            return [_cell(row, tuple(fits.get(row[0], ()))) for row in found]


def _short(value: float) -> float:
    """Return the digits that are published, so that a report says the same from either."""
    return float(f"{value:.4g}")


def _key(task: Task) -> list[Any]:
    return [getattr(task, name) for name in KEY]


def _unusable(path: Path, error: Exception) -> str:
    return (
        f"{path} cannot be read and written: {error}. What is stored stays as it was. "
        "Make room, or choose another file with --store."
    )


def _cell(row: tuple[Any, ...], fits: tuple[Row, ...]) -> Cell:
    key = dict(zip(KEY, row[1 : 1 + len(KEY)], strict=True))
    status, reason, seconds, peak, base, limit, run = row[1 + len(KEY) :]
    nan = float("nan")
    return Cell(
        Task(**key), status, reason, fits, seconds,
        nan if peak is None else peak, nan if base is None else base, limit, run,
    )  # fmt: skip
