"""A .npy file as a Dask array that holds none of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from dask import array, delayed
from dask.utils import parse_bytes

from htsvm._typing import Array


def read_npy(path: Any, *, blocksize: int | str = "32MB") -> Any:
    """Return a .npy file as a Dask array, cut into blocks of whole rows.

    Each block is memory-mapped when it is needed. `dask.array.from_array` of a mapped array is no
    substitute: recent versions of it copy the whole array into memory.

    Parameters
    ----------
    path : str or path
        A file written by `numpy.save`.
    blocksize : int or str, default="32MB"
        Bytes per block, as a number or like "64MB".

    Returns
    -------
    dask.array.Array
        Of the shape and type of the stored array.
    """
    name = str(path)
    if not Path(name).is_file():
        raise FileNotFoundError(f"path must be a .npy file, got {name!r}.")
    mapped = np.load(name, mmap_mode="r")
    size = parse_bytes(blocksize) if isinstance(blocksize, str) else int(blocksize)
    if size < 1:
        raise ValueError(f"blocksize must be positive, got {blocksize!r}.")
    rows = max(size // max(mapped[:1].nbytes, 1), 1)
    blocks = []
    for low in range(0, len(mapped), rows):
        high = min(low + rows, len(mapped))
        block = delayed(_rows, pure=True)(name, low, high)
        blocks.append(array.from_delayed(block, (high - low, *mapped.shape[1:]), mapped.dtype))
    if not blocks:
        raise ValueError(f"{name!r} holds no rows.")
    return array.concatenate(blocks)


def _rows(name: str, low: int, high: int) -> Array:
    part: Array = np.load(name, mmap_mode="r")[low:high]
    return part
