"""Running graphs on Dask's current scheduler, with an error when its workers are lost."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ProcessPoolExecutor
from contextlib import suppress
from typing import Any

import dask
import dask.multiprocessing
from dask import delayed
from dask.system import CPU_COUNT

# Seconds without any worker before a fit gives up; `htsvm.worker-timeout` in Dask's configuration.
WORKER_TIMEOUT = 60.0
# A fit without a cluster holds the data in memory up to this share of what is free.
MEMORY_SHARE = 0.25
# Results that a node of a reduction tree takes.
FAN_IN = 8
# Seconds between two looks at the workers.
LOOK_EVERY = 1.0
# Stored values that the driver has copies of: in a sample, or of all rows, and of rows that decide.
# 24 and 400 MB; `htsvm.sample-values` and `htsvm.driver-values` in Dask's configuration.
SAMPLE_VALUES, DRIVER_VALUES = 3_000_000, 50_000_000

KILLED = (
    "Workers died again and again at the same task of the fit: {} Give them more memory or smaller "
    "blocks, and fit again."
)
DISCONNECTED = (
    "The connection to the Dask scheduler was lost during the fit. Start the cluster anew and fit "
    "again."
)
NO_WORKER = (
    "The Dask cluster has had no worker for {:g} seconds during the fit. Start workers and fit "
    "again; dask.config.set({{'htsvm.worker-timeout': ...}}) sets how long to wait."
)


class WorkersLostError(RuntimeError):
    """All workers of the cluster, or its scheduler, are gone."""


def sample_values() -> float:
    """Return how many stored values the driver may have in a sample, or of all rows."""
    return float(dask.config.get("htsvm.sample-values", SAMPLE_VALUES))


def driver_values() -> float:
    """Return how many stored values of rows that decide the driver may have."""
    return float(dask.config.get("htsvm.driver-values", DRIVER_VALUES))


class Cluster:
    """The scheduler in use: a distributed client, threads, or processes."""

    def __init__(self) -> None:
        get = dask.base.get_scheduler()
        owner = getattr(get, "__self__", None)
        self.client: Any = owner if hasattr(owner, "scheduler_info") else None
        self.shares_memory = self.client is None and get is not dask.multiprocessing.get
        self._options: dict[str, Any] = {}

    def close(self) -> None:
        """End the processes of this fit, if there are any."""
        pool = self._options.pop("pool", None)
        if pool is not None:
            pool.shutdown()

    def streams(self, size: int) -> bool:
        """Return whether to read `size` bytes of data anew for each pass, and not to hold them.

        ``htsvm.stream`` in Dask's configuration decides, where it is set.
        """
        chosen = dask.config.get("htsvm.stream", None)
        if self.client is not None and chosen:
            raise ValueError(
                "htsvm.stream=True is for fits on one machine, by threads or processes; a cluster "
                "holds the data in the memory of its workers. Unset it, or use "
                "dask.config.set(scheduler='threads')."
            )
        if self.client is None and not self.shares_memory and chosen is False:
            raise ValueError(
                "htsvm.stream=False needs scheduler='threads': processes share no memory."
            )
        if self.client is not None or not self.shares_memory:
            return self.client is None
        return size > MEMORY_SHARE * _free_memory() if chosen is None else bool(chosen)

    def compute(self, *values: Any) -> tuple[Any, ...]:
        """Compute delayed values."""
        if self.client is None:
            given = self.shares_memory or dask.config.get("pool", None) is not None
            if not given and not self._options:
                # Dask would start processes for each graph.
                count = dask.config.get("num_workers", None) or CPU_COUNT
                context = dask.multiprocessing.get_context()
                self._options["pool"] = ProcessPoolExecutor(count, mp_context=context)
            results: tuple[Any, ...] = dask.compute(*values, **self._options)
            return results
        futures = self.client.compute(list(values))
        try:
            return self._wait(futures)
        except BaseException:
            if self.client.status == "running":
                self.client.cancel(futures, force=True)
            raise

    def reduce(self, parts: Sequence[Any], combine: Callable[[list[Any]], Any]) -> Any:
        """Return what is made of delayed values in their order, a few at a time."""
        parts = list(parts)
        while True:
            groups = [parts[low : low + FAN_IN] for low in range(0, len(parts), FAN_IN)]
            parts = [delayed(combine, pure=False)(some) for some in groups]
            if len(parts) == 1:
                return self.compute(*parts)[0]

    def _wait(self, futures: list[Any]) -> tuple[Any, ...]:
        """Wait for results, with a time limit while the cluster has no workers."""
        from distributed import KilledWorker

        patience = float(dask.config.get("htsvm.worker-timeout", WORKER_TIMEOUT))
        seen = time.monotonic()
        while True:
            try:
                found = self.client.sync(
                    lambda: self.client.gather(futures, asynchronous=True),
                    callback_timeout=LOOK_EVERY,
                )
                return tuple(found)
            except (TimeoutError, UnboundLocalError):
                # The latter where the limit is over on both sides of `sync` at the same moment:
                # there is neither a result nor an error then.
                if any(future.status == "error" for future in futures):
                    raise
            except KilledWorker as error:
                raise WorkersLostError(KILLED.format(error)) from error
            except CancelledError as error:
                raise WorkersLostError(DISCONNECTED) from error
            with suppress(OSError, TimeoutError):
                seen = time.monotonic() if self.client.nthreads() else seen
            if time.monotonic() - seen > patience:
                raise WorkersLostError(NO_WORKER.format(patience))


def _free_memory() -> float:
    with suppress(AttributeError, OSError, ValueError):
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    # Where the system does not tell.
    return float("inf")
