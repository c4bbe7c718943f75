"""Running graphs on whichever scheduler Dask would use, and noticing when nobody is left."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import dask
import dask.multiprocessing
import dask.threaded
import numpy as np
from dask.system import CPU_COUNT

# The workers may be away for so many seconds; `htsvm.worker-timeout` in Dask's configuration.
WORKER_TIMEOUT = 60.0
# A fit without a cluster holds the data in memory up to this share of what is free.
MEMORY_SHARE = 0.25
# Results that a node of a reduction tree takes.
FAN_IN = 8
# How often to look where values are; after so many losses each is a task of its own.
MOST_REGROUPINGS = 20
# Seconds between two looks at the workers.
LOOK_EVERY = 1.0


class WorkersLostError(RuntimeError):
    """All workers of the cluster, or its scheduler, are gone."""


@dataclass
class Held:
    """Values that stay where they are, on a cluster as futures.

    Attributes
    ----------
    values : list
        The values.
    groups : list of lists of int
        Which of them are on the same thread of a worker; empty where that is not known.
    regroupings : int
        How often that was looked up: after the first pass, and whenever some were lost.
    """

    values: list[Any]
    groups: list[list[int]] = field(default_factory=list)
    regroupings: int = 0


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

    def hold(self, values: Sequence[Any]) -> Held:
        """Compute delayed values and hold the results for `reduce_held`.

        Only where memory is shared or there is a client.
        """
        if self.client is None:
            return Held(list(self.compute(*values)))
        return Held([self.client.futures_of(value)[0] for value in self.persist(values)])

    def reduce_held(
        self,
        held: Held,
        indices: Sequence[int],
        arguments: Sequence[Any],
        work: Callable[[Any, Any], Any],
        combine: Callable[[list[Any]], Any],
    ) -> Any:
        """Apply `work` to held values and arguments, and combine the results, a few at a time.

        On a cluster the values that one thread of a worker has are one task: a task costs the
        scheduler about as much as a small pass costs a worker.
        """
        values = [held.values[k] for k in indices]
        if self.client is None or len(indices) < len(held.values) or not held.groups:
            result = self.reduce(values, arguments, work, combine)
            if self.client is not None and held.regroupings < MOST_REGROUPINGS:
                held.regroupings += 1
                held.groups = self._groups(held.values)
            return result
        several = functools.partial(_work_on_several, work=work, combine=combine)
        return self.reduce(
            [[values[k] for k in group] for group in held.groups],
            [[arguments[k] for k in group] for group in held.groups],
            several,
            combine,
        )

    def _groups(self, values: Sequence[Any]) -> list[list[int]]:
        """Return the positions of values that are to be one task, by worker and thread."""
        places = self.client.who_has(values)
        threads = self.client.nthreads()
        found: dict[str, list[int]] = {}
        for k, value in enumerate(values):
            found.setdefault(next(iter(places.get(value.key, ())), ""), []).append(k)
        lost = found.pop("", [])
        groups = [[k] for k in lost]
        for address, some in found.items():
            count = min(threads.get(address, 1), len(some))
            groups += [part.tolist() for part in np.array_split(np.array(some), count)]
        return groups

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
        while len(futures) > FAN_IN:
            futures = self.client.map(combine, groups(futures), pure=False)
        # The driver is the last node of the tree.
        return combine(list(self._result(futures)))

    def compute(self, *values: Any) -> tuple[Any, ...]:
        """Compute delayed values."""
        if self.client is None:
            results: tuple[Any, ...] = dask.compute(*values, **self._pool())
            return results
        return self._result(self.client.compute(list(values)))

    def _result(self, futures: Sequence[Any]) -> tuple[Any, ...]:
        try:
            return self._wait(list(futures))
        except BaseException:
            self._cancel(futures)
            raise

    def _cancel(self, futures: Sequence[Any]) -> None:
        if self.client.status == "running":
            self.client.cancel(futures, force=True)

    def _wait(self, futures: list[Any]) -> tuple[Any, ...]:
        """Wait for results, but not for ever where there is nobody to compute them."""
        patience = float(dask.config.get("htsvm.worker-timeout", WORKER_TIMEOUT))
        seen = time.monotonic()
        while True:
            try:
                return tuple(
                    self.client.sync(
                        lambda: self.client.gather(futures, asynchronous=True),
                        callback_timeout=LOOK_EVERY,
                    )
                )
            except TimeoutError:
                if any(future.status == "error" for future in futures):
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


def _work_on_several(
    values: list[Any],
    arguments: list[Any],
    work: Callable[[Any, Any], Any],
    combine: Callable[[list[Any]], Any],
) -> Any:
    """Work on values that are in one place, and combine the results there."""
    return combine([work(*pair) for pair in zip(values, arguments, strict=True)])


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
