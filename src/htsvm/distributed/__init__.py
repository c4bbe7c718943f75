"""The same fit on Dask collections, past the memory of one machine.

Nothing here is needed to fit a Dask array or DataFrame: estimators notice them. Dask is imported
only then (``pip install "htsvm[dask]"``).
"""

import importlib
from typing import Any

__all__ = ["WorkersLostError", "read_libsvm", "read_npy"]


_PLACES = {"WorkersLostError": "cluster", "read_libsvm": "readers", "read_npy": "readers"}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(importlib.import_module(f"htsvm.distributed.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
