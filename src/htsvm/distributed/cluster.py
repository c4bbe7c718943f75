"""Running graphs on whichever scheduler Dask would use, and noticing when nobody is left."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ProcessPoolExecutor
from typing import Any

import dask
import dask.multiprocessing
import dask.threaded
from dask.system import CPU_COUNT

# The workers may be away for so many seconds; `htsvm.worker-timeout` in Dask's configuration.
WORKER_TIMEOUT = 60.0
# A fit without a cluster holds the data in memory up to this share of what is free.
MEMORY_SHARE = 0.25
# Results that a node of a reduction tree takes.
FAN_IN = 8
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
        self._get = get or dask.threaded.get
        self._options: dict[str, Any] = {}

    def close(self) -> None:
        """End the processes of this fit, if there are any."""
        pool = self._options.pop("pool", None)
        if pool is not None:
            pool.shutdown()

    def _pool(self) -> dict[str, Any]:
        """Return a pool of processes to keep, as an option; Dask would start one for each graph."""
        given = dask.config.get("pool", None) is not None
        if self.client is None and not self.shares_memory and not self._options and not given:
            self._options["pool"] = ProcessPoolExecutor(
                dask.config.get("num_workers", None) or CPU_COUNT,
                mp_context=dask.multiprocessing.get_context(),
            )
        return self._options

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

    def hold(self, values: Sequence[Any]) -> list[Any]:
        """Compute delayed values; return what `reduce` takes: futures, or the results themselves.

        Only where memory is shared or there is a client.
        """
        if self.client is None:
            return list(self.compute(*values))
        return [self.client.futures_of(value)[0] for value in self.persist(values)]

    def reduce(
        self,
        held: Sequence[Any],
        arguments: Sequence[Any],
        work: Callable[[Any, Any], Any],
        combine: Callable[[list[Any]], Any],
    ) -> Any:
        """Apply `work` to held values and arguments, and combine the results, a few at a time."""
        if self.client is None:
            graph, last = _graph(held, arguments, work, combine)
            return self._get(graph, last, **self._pool())
        futures = self.client.map(work, held, arguments, pure=False)
        while True:
            futures = self.client.map(combine, groups(futures), pure=False)
            if len(futures) == 1:
                return self._result(futures)[0]

    def compute(self, *values: Any) -> tuple[Any, ...]:
        """Compute delayed values."""
        if self.client is None:
            results: tuple[Any, ...] = dask.compute(*values, **self._pool())
            return results
        return self._result(self.client.compute(list(values)))

    def _result(self, futures: Sequence[Any]) -> tuple[Any, ...]:
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


def groups(items: Sequence[Any]) -> list[list[Any]]:
    """Return the items a few at a time: the lists that nodes of a reduction tree take."""
    return [list(items[low : low + FAN_IN]) for low in range(0, len(items), FAN_IN)]


def _graph(
    held: Sequence[Any],
    arguments: Sequence[Any],
    work: Callable[[Any, Any], Any],
    combine: Callable[[list[Any]], Any],
) -> tuple[dict[Any, Any], Any]:
    """Return a Dask graph and the key of its result."""
    pairs = enumerate(zip(held, arguments, strict=True))
    graph: dict[Any, Any] = {("work", k): (work, value, argument) for k, (value, argument) in pairs}
    level, keys = 0, list(graph)
    while True:
        level += 1
        nodes = {(f"combine-{level}", k): (combine, some) for k, some in enumerate(groups(keys))}
        graph |= nodes
        keys = list(nodes)
        if len(keys) == 1:
            return graph, keys[0]


def _free_memory() -> float:
    """Return the bytes of memory that are free; endless where nobody can tell."""
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return float("inf")
