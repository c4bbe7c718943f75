"""How many threads do what."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

from htsvm.linalg.operators import CSROperator, Operator

_lock = threading.Lock()
_inside = 0
_limit: Any = None


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def single_threaded_blas(operator: Operator) -> Iterator[None]:
    """Keep BLAS to one thread while our own kernels use several.

    With sparse data BLAS only factorises small matrices, where a second thread gains nothing and
    its waiting threads would take the cores from the kernels. With dense data BLAS also forms the
    Gram matrices, and keeps its threads. The limit holds for the whole process, so it is set by
    the first fit that enters and lifted by the last that leaves, whatever thread they run in.
    """
    global _inside, _limit
    if not isinstance(operator, CSROperator):
        yield
        return
    with _lock:
        if _inside == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.restore_original_limits()
                _limit = None
