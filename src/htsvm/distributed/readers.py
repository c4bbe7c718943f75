"""Files as Dask arrays that hold none of them: LIBSVM text and .npy."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from dask import array, delayed
from dask.bytes import read_bytes
from dask.utils import parse_bytes
from sklearn.datasets import load_svmlight_file

from htsvm._typing import Array
from htsvm.distributed.cluster import Cluster


def read_libsvm(
    path: Any,
    *,
    blocksize: int | str = "32MB",
    n_features: int | None = None,
    zero_based: bool = False,
    dtype: Any = np.float64,
) -> tuple[Any, Any]:
    r"""Return the rows and labels of a LIBSVM text file as Dask arrays.

    The file is cut at line ends into blocks, each of which is read when it is needed. A first pass
    over the text counts the lines and, unless `n_features` is given, looks for the largest index.

    Parameters
    ----------
    path : str or path
        The file: lines ``label index:value index:value ...``, with comments after ``#``.
    blocksize : int or str, default="32MB"
        Bytes of text per block, as a number or like "64MB".
    n_features : int, optional
        The number of columns; by default the largest index in the file.
    zero_based : bool, default=False
        Whether indices start at 0.
    dtype : {float64, float32}, default=float64
        The type of the values.

    Returns
    -------
    X : dask.array.Array of shape (n_samples, n_features)
        With `scipy.sparse.csr_matrix` blocks.
    y : dask.array.Array of shape (n_samples,)
        The labels, as floats.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "tiny.libsvm"
    >>> _ = file.write_text("+1 1:0.5 3:2\n-1 2:1\n")
    >>> X, y = read_libsvm(file)
    >>> X.shape, y.compute().tolist()
    ((2, 3), [1.0, -1.0])
    """
    name, size = _checked(path, "a LIBSVM text file", blocksize)
    if n_features is not None and n_features < 1:
        raise ValueError(f"n_features must be positive, got {n_features!r}.")
    texts = read_bytes(name, delimiter=b"\n", blocksize=size, sample=False)[1][0]
    found = Cluster().compute(*[delayed(_look, pure=True)(text, n_features) for text in texts])
    kept = [(text, lines) for text, (lines, _) in zip(texts, found, strict=True) if lines]
    if not kept:
        raise ValueError(f"{name!r} holds no samples.")
    width = max(n_features or max(largest for _, largest in found) + int(zero_based), 1)
    read = delayed(_read, pure=True)
    parts = [(read(text, name, width, zero_based, np.dtype(dtype)), m) for text, m in kept]
    meta = sp.csr_matrix((0, 0), dtype=dtype)
    rows = [array.from_delayed(part[0], (m, width), meta=meta) for part, m in parts]
    labels = [array.from_delayed(part[1], (m,), dtype=np.float64) for part, m in parts]
    return array.concatenate(rows), array.concatenate(labels)


def _look(text: bytes, known_width: int | None) -> tuple[int, int]:
    """Return the number of samples in a text, and the largest index if it is needed."""
    lines, largest = 0, 0
    for raw in io.BytesIO(text):
        line = raw.partition(b"#")[0].strip()
        lines += bool(line)
        # Indices ascend within a line, so the last one is the largest.
        index, colon, _ = line.rpartition(b" ")[2].partition(b":")
        if known_width is None and colon and index != b"qid":
            largest = max(largest, int(index))
    return lines, largest


def _read(text: bytes, name: str, width: int, zero_based: bool, dtype: Any) -> tuple[Any, Array]:
    """Return the rows and labels in a text."""
    try:
        X, y = load_svmlight_file(
            io.BytesIO(text), n_features=width, dtype=dtype, zero_based=zero_based
        )
    except ValueError as error:
        raise ValueError(f"{name!r}: {error}") from error
    return sp.csr_matrix(X), y


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
    name, size = _checked(path, "a .npy file", blocksize)
    mapped = np.load(name, mmap_mode="r")
    rows = max(size // max(mapped[:1].nbytes, 1), 1)
    cuts = [(low, min(low + rows, len(mapped))) for low in range(0, len(mapped), rows)]
    if not cuts:
        raise ValueError(f"{name!r} holds no rows.")
    shape, read = mapped.shape[1:], delayed(_rows, pure=True)
    blocks = [
        array.from_delayed(read(name, low, high), (high - low, *shape), mapped.dtype)
        for low, high in cuts
    ]
    return array.concatenate(blocks)


def _rows(name: str, low: int, high: int) -> Array:
    part: Array = np.load(name, mmap_mode="r")[low:high]
    return part


def _checked(path: Any, kind: str, blocksize: int | str) -> tuple[str, int]:
    """Return the name of a file and the bytes per block, or complain."""
    name = str(path)
    if not Path(name).is_file():
        raise FileNotFoundError(f"path must be {kind}, got {name!r}.")
    size = parse_bytes(blocksize) if isinstance(blocksize, str) else int(blocksize)
    if size < 1:
        raise ValueError(f"blocksize must be positive, got {blocksize!r}.")
    return name, size
