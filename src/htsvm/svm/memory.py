"""Whether there is memory for a fit: said before it starts, not by the system in the middle."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

MEGABYTE = 1e6
# Vectors with an entry per sample that a fit holds at the same time (10 to 27 by
# ``python -m benchmarks --only memory``), and bytes of a number.
VECTORS, VALUE = 16, 8
MEMINFO, CGROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def available() -> float:
    """Return how many bytes are available; infinity where the system does not say."""
    return min(_of_machine(), _of_group())


def _of_machine() -> float:
    try:
        lines = MEMINFO.read_text().splitlines()
    except OSError:
        return math.inf
    for line in lines:
        if line.startswith("MemAvailable:"):
            return 1024.0 * float(line.split()[1])
    return math.inf


def _of_group() -> float:
    """Return what a container may still take."""
    try:
        most = (CGROUP / "memory.max").read_text().strip()
        used = float((CGROUP / "memory.current").read_text())
        # Pages of files are given back when memory is needed.
        parts = dict(line.split() for line in (CGROUP / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return math.inf
    if most == "max":
        return math.inf
    return max(float(most) - used + float(parts.get("inactive_file", 0.0)), 0.0)


def bytes_of_copy(X: Any) -> float:
    """Return the size of the copy that a fit has to make of X, if any.

    CSR matrices and C-ordered arrays of floats are used as they are.
    """
    shape = getattr(X, "shape", None)
    dtype = getattr(X, "dtype", None)
    if shape is None or len(shape) != 2:
        return 0.0
    plain = dtype in (np.float32, np.float64)
    if sp.issparse(X):
        kept = plain and X.format == "csr"
        return 0.0 if kept else float(X.nnz) * (VALUE + 4)
    if isinstance(X, np.ndarray) and plain and X.flags.c_contiguous:
        return 0.0
    return float(shape[0]) * float(shape[1]) * VALUE


def check_memory(name: str, X: Any) -> None:
    """Raise MemoryError if a fit on X would need more than there is.

    Parameters
    ----------
    name : str
        The name of the estimator, for the message.
    X : object
        The data as the user gave it, or a list or dict of views; of what is neither an array nor a
        matrix nothing is known.
    """
    given = X.values() if isinstance(X, dict) else X if isinstance(X, list | tuple) else [X]
    parts = [part for part in given if len(getattr(part, "shape", None) or ()) == 2]
    copy = sum(bytes_of_copy(part) for part in parts)
    needed = copy + VECTORS * VALUE * sum(float(part.shape[0]) for part in parts)
    # Small fits are not worth a look at the system.
    if needed < 100.0 * MEGABYTE:
        return
    free = available()
    if needed <= free:
        return
    remedy = "Fit a Dask array, block by block (see the guide on large data)"
    if copy > 0.0:
        remedy = (
            "Pass X as a CSR matrix or as a C-ordered array of float32 or float64, which is used "
            f"without the copy of {copy / MEGABYTE:,.0f} MB; or fit a Dask array, block by block"
        )
    raise MemoryError(
        f"{name} would need about {needed / MEGABYTE:,.0f} MB beside X, and {free / MEGABYTE:,.0f} "
        f"MB can be had. {remedy}."
    )
