"""How many threads do what."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import scipy.linalg  # noqa: F401 - loads the BLAS that the controller below looks for
from threadpoolctl import ThreadpoolController

from htsvm.linalg.operators import Extent

# From this many dense columns, and this many entries, on BLAS keeps its threads.
WIDE, LARGE = 64, 4_000_000

_lock = threading.Lock()
_inside = 0
_limit: Any = None

# Looks for the BLAS libraries in memory, which takes a while: better now than in the first fit.
# SciPy's is there for certain once scipy.linalg has been imported.
_controller = ThreadpoolController()


def _one_thread_of_openmp() -> None:
    """Keep a forked child to one thread: the others stayed with its parent.

    The OpenMP runtime of GCC does not notice that, and waits for them for ever.
    """
    _controller.limit(limits=1, user_api="openmp")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_one_thread_of_openmp)


@contextmanager
def single_threaded_blas(operator: Extent) -> Iterator[None]:
    """Keep BLAS to one thread while our own kernels use several.

    BLAS mostly factorises small matrices here, where a second thread gains nothing, and while it
    waits takes a core from the kernels. Only products with large and wide dense data are worth its
    threads. The limit holds for the whole process: the first fit that enters sets it, the last that
    leaves lifts it, whatever thread they run in.
    """
    global _inside, _limit
    wide = not operator.sparse and operator.shape[1] >= WIDE
    if wide and operator.stored >= LARGE:
        yield
        return
    with _lock:
        if _inside == 0:
            _limit = _controller.limit(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.restore_original_limits()
                _limit = None
