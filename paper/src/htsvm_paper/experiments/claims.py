"""Who computes what: runs that work on one store at a time share its cells.

A run holds a lock on a file of its own beside the store for as long as it lives. The system lets
go of it when the process ends, however it ends, so that no clock and no sign of life is needed: a
claim counts while the lock of its run is held.
"""

from __future__ import annotations

import contextlib
import glob
import os
from pathlib import Path
from typing import Any


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
