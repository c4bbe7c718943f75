"""What fits data that is not in this process: a module, looked up by the type of X.

It has what `htsvm.distributed.fit` has, and is imported when such data turns up, never before.
"""

from __future__ import annotations

import importlib
from typing import Any

# The package that defines the type of X, and the module that serves it.
MODULES = {"dask": "htsvm.distributed.fit", "dask_expr": "htsvm.distributed.fit"}


def backend_of(X: Any) -> Any:
    """Return the module for X; None for data in this process."""
    module = MODULES.get(type(X).__module__.partition(".")[0])
    return None if module is None else importlib.import_module(module)
