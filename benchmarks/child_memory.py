"""One fit in this fresh process: ``python -m benchmarks.child_memory FOLDER ESTIMATOR C``.

Prints, as JSON, the memory that the fit took at its peak beyond what was held before it: as seen
by the operating system, and as asked for by Python and NumPy (which misses C and C++ code).
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rivals import RIVALS
from benchmarks.stored import load

WARM_UP_ROWS = 500


def main(folder: str, key: str, penalty: str) -> None:
    warnings.simplefilter("ignore")
    X, y = load(Path(folder))
    make = next(rival.make for rival in RIVALS if rival.key == key)
    C = float(penalty)
    _warm_up(make, X, y)
    resident = _resident_growth(lambda: make(C, len(y)).fit(X, y))
    print(json.dumps({"resident": resident, "traced": _traced(lambda: make(C, len(y)).fit(X, y))}))


def _warm_up(make: Any, X: Any, y: np.ndarray) -> None:
    """Fit a few rows, so that threads, buffers of BLAS and late imports do not count."""
    rows = np.sort(np.concatenate([np.flatnonzero(y == s)[:WARM_UP_ROWS] for s in (-1, 1)]))
    make(1.0, len(rows)).fit(X[rows], y[rows])


def _resident_growth(work: Any) -> int | None:
    """Return by how much resident memory rose during `work`; None where nobody can tell."""
    gc.collect()
    _give_back()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
        before = _status("VmRSS")
        result = work()
        peak = _status("VmHWM")
    except OSError:
        return None
    del result
    return max(peak - before, 0)


def _give_back() -> None:
    """Return freed memory to the system; otherwise the fit could take it without being seen."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(name)).split()[1])


def _traced(work: Any) -> int:
    tracemalloc.start()
    try:
        result = work()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    del result
    return peak


if __name__ == "__main__":
    main(*sys.argv[1:])
