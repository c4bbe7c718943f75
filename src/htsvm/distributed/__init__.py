"""The same fit on Dask collections, past the memory of one machine.

Nothing here is needed to fit a Dask array or DataFrame: estimators notice them. Dask is imported
only then (``pip install "htsvm[dask]"``).
"""

from typing import TYPE_CHECKING

from htsvm._lazy import lazy

if TYPE_CHECKING:
    from htsvm.distributed.cluster import WorkersLostError
    from htsvm.distributed.readers import read_libsvm, read_npy

__all__ = ["WorkersLostError", "read_libsvm", "read_npy"]


__getattr__ = lazy(
    __name__,
    {
        "WorkersLostError": "htsvm.distributed.cluster",
        "read_libsvm": "htsvm.distributed.readers",
        "read_npy": "htsvm.distributed.readers",
    },
)
