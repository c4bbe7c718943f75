"""The same fit on Dask collections, past the memory of one machine.

Nothing here is needed to fit a Dask array or DataFrame: estimators notice them. Dask is imported
only then (``pip install "htsvm[dask]"``).
"""

from typing import Any

__all__ = ["WorkersLostError", "read_libsvm", "read_npy"]


def __getattr__(name: str) -> Any:
    if name == "read_libsvm":
        from htsvm.distributed.libsvm import read_libsvm

        return read_libsvm
    if name == "read_npy":
        from htsvm.distributed.npy import read_npy

        return read_npy
    if name == "WorkersLostError":
        from htsvm.distributed.cluster import WorkersLostError

        return WorkersLostError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
