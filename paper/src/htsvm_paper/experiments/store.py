"""Results on disk, in one SQLite file that survives a kill at any moment.

Runs that work on one store at a time share its cells. A run holds a lock on a file of its own
beside the store for as long as it lives. The system lets go of it when the process ends, however
it ends, so that no clock and no sign of life is needed: a claim counts while the lock of its run is
held.
"""

from __future__ import annotations

import contextlib
import glob
import json
import math
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from htsvm import __version__
from htsvm_paper.experiments.isolation import DONE, Outcome
from htsvm_paper.experiments.tasks import Row, Task

# Changes whenever old rows can no longer be read or compared.
SCHEMA = 3
# A task is all its fields, as JSON.
TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, environment TEXT NOT NULL);
CREATE TABLE cells (
    id INTEGER PRIMARY KEY, task TEXT NOT NULL UNIQUE, status TEXT NOT NULL, reason TEXT NOT NULL,
    fits TEXT NOT NULL, seconds REAL NOT NULL, peak_mb REAL, base_mb REAL, time_limit REAL,
    run INTEGER NOT NULL REFERENCES runs
);
CREATE TABLE claims (task TEXT PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs);
"""


class StoreError(ValueError):
    """A file is not a store, or not one of this version, or cannot be read or written."""


@dataclass(frozen=True)
class Cell:
    """A cell as stored: its task, how it ended and why, its fits, cost, limit and run."""

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

    Results of another version are refused. A store that is only read may lie where nothing can be
    written.
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
        """Make the tables of a new file; a file of something else is left as it is."""
        tables = self._tables()
        if tables and "meta" not in tables:
            return
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
            raise StoreError(
                f"{self.path} cannot be read and written: {error}. What is stored stays as it "
                "was. Make room, or choose another file with --store."
            ) from error
        except (sqlite3.DatabaseError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise StoreError(
                f"{self.path} is not a store of results, or parts of it are damaged: {error}. "
                "Take a copy of it, or choose another file with --store."
            ) from error

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
        with contextlib.suppress(StoreError), self._writing():
            # Where it fails: claims of a run that is over count for nothing.
            self._connection.execute("DELETE FROM claims WHERE run = ?", (run,))
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
            found = self._connection.execute(
                "SELECT run, '' FROM claims WHERE task = ? "
                "UNION ALL SELECT run, status FROM cells WHERE task = ?", (key, key)
            ).fetchall()  # fmt: skip
            done = any(status == DONE for _, status in found)
            if done or any(other != run and self._alive(other) for other, _ in found):
                return False
            self._connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?)", (key, run))
        return True

    def _alive(self, run: int) -> bool:
        return run in self._locks or is_alive(self.path, run)

    def add(self, task: Task, outcome: Outcome, *, run: int, time_limit: float | None) -> None:
        """Write a cell, in the place of an earlier one of the same task."""
        key, fits = _key(task), json.dumps([[row.params, row.metrics] for row in outcome.rows])
        # As many digits as are published, so that a report says the same from either.
        costs = (outcome.seconds, outcome.peak_mb, outcome.base_mb)
        with self._writing():
            for table in ("claims", "cells"):
                self._connection.execute(f"DELETE FROM {table} WHERE task = ?", (key,))
            self._connection.execute(
                "INSERT INTO cells VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (key, outcome.status, outcome.reason, fits, *(float(f"{c:.4g}") for c in costs),
                 time_limit, run),
            )  # fmt: skip

    def cells(self) -> list[Cell]:
        """Return the stored cells."""
        with self._turn, self._refusing():
            found = self._connection.execute("SELECT * FROM cells ORDER BY id").fetchall()
            return [_cell(*row[1:]) for row in found]


def _key(task: Task) -> str:
    return json.dumps(astuple(task))


def _cell(
    task: str, status: str, reason: str, fits: str, seconds: float, peak: float | None,
    base: float | None, limit: float | None, run: int,
) -> Cell:  # fmt: skip
    rows = tuple(Row(params, metrics) for params, metrics in json.loads(fits))
    return Cell(
        Task(*json.loads(task)), status, reason, rows, seconds,
        math.nan if peak is None else peak, math.nan if base is None else base, limit, run,
    )  # fmt: skip


class RunLock:
    """The sign that the run of a number on a store is alive."""

    def __init__(self, store: Path, run: int) -> None:
        self.path = lock_path(store, run)
        self._file: Any = None

    def acquire(self) -> bool:
        """Take the lock; return whether it was free."""
        file = open(self.path, "a+b")  # noqa: SIM115 - held until it is released
        if not _lock(file):
            file.close()
            return False
        self._file = file
        return True

    def release(self) -> None:
        """Release the lock and remove its file."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.unlink(self.path)
            self._file.close()
            self._file = None


def lock_path(store: Path, run: int) -> Path:
    """Return the file whose lock the run holds."""
    return store.with_name(f"{store.name}-run{run}.lock")


def is_alive(store: Path, run: int) -> bool:
    """Return whether the run still holds its lock; a file that a killed run left is removed."""
    if not lock_path(store, run).exists():
        return False
    lock = RunLock(store, run)
    try:
        free = lock.acquire()
    except OSError:
        return True
    if free:
        lock.release()
    return not free


def remove_left_locks(store: Path) -> None:
    """Remove the files that killed runs have left; no run may be starting meanwhile."""
    start, end = f"{store.name}-run", ".lock"
    for path in store.parent.glob(f"{glob.escape(start)}*{end}"):
        number = path.name[len(start) : -len(end)]
        if number.isdecimal():
            is_alive(store, int(number))


def _lock(file: Any) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
