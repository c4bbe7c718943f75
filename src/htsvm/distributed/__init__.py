"""The same fit on Dask collections, past the memory of one machine.

Nothing here is needed to fit a Dask array or DataFrame: estimators notice them. Dask is imported
only then, or with this package (``pip install ".[dask]"`` in its folder).
"""

from htsvm.distributed.cluster import WorkersLostError
from htsvm.distributed.readers import read_libsvm, read_npy

__all__ = ["WorkersLostError", "read_libsvm", "read_npy"]
