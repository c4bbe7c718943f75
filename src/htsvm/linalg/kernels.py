"""The kernels in use: compiled where the extension was built, NumPy otherwise.

Set ``HTSVM_KERNELS=numpy`` before the import to use the NumPy versions anyway.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
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
        compiled = import_module("htsvm.linalg._compiled")
    except ImportError:
        return _numpy
    finally:
        if not chosen:
            del os.environ["GOMP_SPINCOUNT"]
    return compiled


active: Any = _load()

COMPILED: bool = active is not _numpy

# Whole rounds in one or two calls, and the rows as they want them; None where nothing was
# compiled. `solvers/newton_inner.py` and `newton_state.py` do the same step by step.
newton: Any = None
# Searches on smoothed losses in one call each, as in `solvers/starts/quasi_newton.py`.
smooth: Any = None
if COMPILED:
    with suppress(ImportError):
        newton = import_module("htsvm.linalg._newton")
        smooth = import_module("htsvm.linalg._smooth")


losses.kernels = sys.modules[__name__]


def backend() -> str:
    """Return ``"compiled"`` or ``"numpy"``."""
    return "compiled" if COMPILED else "numpy"
