"""How many threads do what."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import scipy.linalg  # noqa: F401 - loads the BLAS that the controller below looks for
from threadpoolctl import ThreadpoolController

from htsvm.linalg.operators import Extent

T = TypeVar("T")

# From this many dense columns, and this many entries, on BLAS keeps its threads.
WIDE, LARGE = 64, 4_000_000
# The entries of a block that one thread takes at once: a quarter of a millisecond or more.
BLOCK_ENTRIES = 1_000_000

_lock = threading.Lock()
_inside = 0
_limit: Any = None
# How many threads BLAS had before it was limited, and those that stand in for them.
_threads = 1
_pool: tuple[int, ThreadPoolExecutor] | None = None

# Looks for the BLAS libraries in memory, which takes a while: better now than in the first fit.
# SciPy's is there for certain once scipy.linalg has been imported.
_controller = ThreadpoolController()


def _one_thread() -> None:
    """Keep a forked child to one thread: the others stayed with its parent.

    The OpenMP runtime of GCC does not notice that, and waits for them for ever.
    """
    global _pool, _threads
    _pool, _threads = None, 1
    _controller.limit(limits=1, user_api="openmp")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_one_thread)


@contextmanager
def single_threaded_blas(operator: Extent | None = None) -> Iterator[None]:
    """Keep BLAS to one thread while our own kernels use several.

    BLAS mostly factorises small matrices here, where a second thread gains nothing, and while it
    waits takes a core from the kernels. Only products with large and wide dense data are worth its
    threads. The limit holds for the whole process: the first fit that enters sets it, the last that
    leaves lifts it, whatever thread they run in.

    Parameters
    ----------
    operator : Extent, optional
        The data. Without it BLAS is limited whatever the data: its sums depend on its threads, and
        `in_blocks` shares the work out in a way that does not.
    """
    global _inside, _limit, _threads
    wide = operator is not None and not operator.sparse and operator.shape[1] >= WIDE
    if operator is not None and wide and operator.stored >= LARGE:
        yield
        return
    with _lock:
        if _inside == 0:
            found = [one.num_threads for one in _controller.lib_controllers if _is_blas(one)]
            _threads = max(found, default=1)
            _limit = _controller.limit(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.restore_original_limits()
                _limit, _threads = None, 1


def _is_blas(library: Any) -> bool:
    return bool(library.user_api == "blas")


def in_blocks(work: Callable[[slice], T], rows: int, columns: int) -> list[T]:
    """Return what `work` makes of each block of rows, in order.

    Where BLAS is limited, blocks are shared out among as many threads as it had. Which blocks there
    are depends on the shape alone, so that results do not depend on the number of threads.
    """
    size = max(BLOCK_ENTRIES // max(columns, 1), 1)
    blocks = [slice(low, min(low + size, rows)) for low in range(0, rows, size)]
    threads = min(_threads, len(blocks))
    if threads <= 1:
        return [work(block) for block in blocks]
    # One share for each of the other threads, and one for this.
    shares = [
        blocks[len(blocks) * t // threads : len(blocks) * (t + 1) // threads]
        for t in range(threads)
    ]

    def every(share: list[slice]) -> list[T]:
        return [work(block) for block in share]

    others = [_workers(threads).submit(every, share) for share in shares[1:]]
    found = every(shares[0])
    for other in others:
        found += other.result()
    return found


def _workers(threads: int) -> ThreadPoolExecutor:
    """Return a pool of so many threads or more, less the one that asks."""
    global _pool
    with _lock:
        if _pool is None or _pool[0] < threads:
            _pool = threads, ThreadPoolExecutor(threads - 1, thread_name_prefix="htsvm")
        return _pool[1]
