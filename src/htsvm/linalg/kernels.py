"""The kernels in use: compiled where the extension was built, NumPy otherwise.

Set ``HTSVM_KERNELS=numpy`` before the import to use the NumPy versions anyway.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from htsvm.linalg import _numpy
from htsvm.losses import base as losses


def _load() -> Any:
    """Import the compiled kernels with OpenMP threads that do not spin while they wait.

    Our parallel regions are short and many. A waiting thread that spins takes a core from the one
    it waits for whenever the machine is busy, which costs a factor of four or more; asleep it costs
    a few microseconds. The OpenMP runtime reads this setting once, when it is loaded.
    """
    if os.environ.get("HTSVM_KERNELS", "") == "numpy":
        return _numpy
    chosen = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys()
    if not chosen:
        os.environ["GOMP_SPINCOUNT"] = "1000"
    try:
        modules = [import_module(f"htsvm.linalg.{name}") for name in ("_rows", "_vectors")]
    except ImportError:
        return _numpy
    finally:
        if not chosen:
            del os.environ["GOMP_SPINCOUNT"]
    return SimpleNamespace(**{name: value for one in modules for name, value in vars(one).items()})


active: Any = _load()

COMPILED: bool = active is not _numpy


def optional(name: str) -> Any:
    """Return a compiled module of the package, None where nothing was compiled.

    A solver keeps the compiled form of its steps beside the reference, and uses it if it is there.
    """
    if COMPILED:
        with suppress(ImportError):
            return import_module(f"htsvm.{name}")
    return None


losses.kernels = sys.modules[__name__]


def rows(*given: Any) -> Any:
    """Return an array or CSR matrix as compiled loops want it, None where these are not in use."""
    return None if active is _numpy else active.Rows(*given)


def backend() -> str:
    """Return ``"compiled"`` or ``"numpy"``."""
    return "compiled" if COMPILED else "numpy"
