"""The backend of data that is not in this process: looked up by the type of X.

A backend is a module with what `htsvm.distributed.backend` has: `open_dataset`, `frame_of`,
`map_rows`, `labels` and `accuracy`. It is imported when such data turns up, never before.
"""

from __future__ import annotations

import importlib
from typing import Any

# The package that defines the type of X, and the module that serves it.
_modules = {
    "dask": "htsvm.distributed.backend",
    "dask_expr": "htsvm.distributed.backend",
}


def register(package: str, module: str) -> None:
    """Make a module the backend of all types that a package defines.

    Parameters
    ----------
    package : str
        The first part of the name of the module that defines the types.
    module : str
        The module to import for them.
    """
    _modules[package] = module


def backend_of(X: Any) -> Any:
    """Return the backend of X; None for data in this process."""
    module = _modules.get(type(X).__module__.partition(".")[0])
    return None if module is None else importlib.import_module(module)
