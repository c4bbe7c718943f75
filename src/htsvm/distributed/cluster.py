"""Running graphs on whichever scheduler Dask would use, and noticing when nobody is left."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError
from typing import Any

import dask
import dask.multiprocessing

# The workers may be away for so many seconds; `htsvm.worker-timeout` in Dask's configuration.
WORKER_TIMEOUT = 60.0
# A fit without a cluster holds the data in memory up to this share of what is free.
MEMORY_SHARE = 0.25
# Seconds between two looks at the workers.
LOOK_EVERY = 1.0


class WorkersLostError(RuntimeError):
    """All workers of the cluster, or its scheduler, are gone."""


class Cluster:
    """The scheduler in use: a distributed client, threads, or processes."""

    def __init__(self) -> None:
        get = dask.base.get_scheduler()
        owner = getattr(get, "__self__", None)
        self.client: Any = owner if hasattr(owner, "scheduler_info") else None
        self.shares_memory = self.client is None and get is not dask.multiprocessing.get

    def streams(self, size: int) -> bool:
        """Return whether to read `size` bytes of data anew for each pass, and not to hold them.

        ``htsvm.stream`` in Dask's configuration decides, where it is set.
        """
        chosen = dask.config.get("htsvm.stream", None)
        if self.client is not None:
            if chosen:
                raise ValueError(
                    "htsvm.stream=True is for fits on one machine, by threads or processes; a "
                    "cluster holds the data in the memory of its workers. Unset it, or use "
                    "dask.config.set(scheduler='threads')."
                )
            return False
        if not self.shares_memory:
            if chosen is False:
                raise ValueError(
                    "htsvm.stream=False needs scheduler='threads': processes share no memory."
                )
            return True
        return size > MEMORY_SHARE * _free_memory() if chosen is None else bool(chosen)

    def persist(self, collections: Sequence[Any]) -> list[Any]:
        """Compute delayed values and leave the results where they are."""
        return list(dask.persist(*collections))

    def compute(self, *values: Any) -> tuple[Any, ...]:
        """Compute delayed values."""
        if self.client is None:
            results: tuple[Any, ...] = dask.compute(*values)
            return results
        futures = self.client.compute(list(values))
        try:
            return tuple(self._wait(future) for future in futures)
        except BaseException:
            self._cancel(futures)
            raise

    def _cancel(self, futures: Sequence[Any]) -> None:
        if self.client.status == "running":
            self.client.cancel(futures, force=True)

    def _wait(self, future: Any) -> Any:
        """Wait for a result, but not for ever where there is nobody to compute it."""
        patience = float(dask.config.get("htsvm.worker-timeout", WORKER_TIMEOUT))
        seen = time.monotonic()
        while True:
            try:
                return future.result(timeout=LOOK_EVERY)
            except TimeoutError:
                if future.status == "error":
                    raise
            except CancelledError as error:
                raise WorkersLostError(
                    "The connection to the Dask scheduler was lost during the fit. Start the "
                    "cluster anew and fit again."
                ) from error
            if self._has_workers():
                seen = time.monotonic()
            elif time.monotonic() - seen > patience:
                raise WorkersLostError(
                    f"The Dask cluster has had no worker for {patience:g} seconds during the fit. "
                    "Start workers and fit again; dask.config.set({'htsvm.worker-timeout': ...}) "
                    "sets how long to wait."
                )

    def _has_workers(self) -> bool:
        try:
            return bool(self.client.nthreads())
        except (OSError, TimeoutError):
            return False


def _free_memory() -> float:
    """Return the bytes of memory that are free; endless where nobody can tell."""
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return float("inf")
