"""From Dask collections to validated blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import dask
import numpy as np
import scipy.sparse as sp
from dask import delayed
from sklearn.utils.multiclass import check_classification_targets

from htsvm._typing import Array
from htsvm.distributed.blocks import Block, stacked
from htsvm.distributed.cluster import Cluster, sample_values
from htsvm.distributed.rows import Dataset
from htsvm.linalg import as_operator
from htsvm.multiview.views import take_columns
from htsvm.svm.backend import backend_of


class Facts(NamedTuple):
    """What is learnt of a block when it is first looked at; extents are by view."""

    rows: int
    fault: str = ""
    width: int = 0
    nbytes: int = 0
    extents: Any = None
    classes: Any = ()
    mass: Any = ()


def open_dataset(
    X: Any, y: Any, sample_weight: Any = None, views: Sequence[Array] | None = None
) -> Dataset:
    """Look at all blocks once, complain about the first that is unfit, and return the data.

    `views` are the columns of each view, where there are several.
    """
    cluster, raw = Cluster(), row_blocks(X)
    vectors = [_vector_blocks("y", y, X, raw), [None] * len(raw)]
    if sample_weight is not None:
        vectors[1] = _vector_blocks("sample_weight", sample_weight, X, raw)
    given, columns = list(zip(raw, *vectors, strict=True)), [None] if views is None else views
    facts = list(cluster.compute(*[delayed(inspect, pure=False)(*one, columns) for one in given]))
    offsets = np.concatenate([[0], np.cumsum([fact.rows for fact in facts])])
    _complain(facts, offsets)
    classes = np.unique(np.concatenate([fact.classes for fact in facts]))
    check_classification_targets(classes)
    mass = np.zeros(len(classes))
    for fact in facts:
        mass[np.searchsorted(classes, fact.classes)] += fact.mass
    extents = sum(fact.extents for fact in facts)
    extents[:, 0] /= len(facts)
    streamed, known = cluster.streams(sum(f.nbytes for f in facts)), delayed(classes)
    firsts = zip(given, offsets.tolist(), strict=False)
    blocks = [delayed(prepare, pure=False)(*one, known, first) for one, first in firsts]
    here = None
    if extents[:, 1].sum() <= sample_values():
        found = [(one.X, one.codes, one.weights) for one in cluster.compute(*blocks)]
        X, codes, weights = zip(*found, strict=True)
        w = None if sample_weight is None else np.concatenate(weights)
        here = Block(stacked(X), np.concatenate(codes), w, 0)
    held = blocks if streamed or here is not None else list(dask.persist(*blocks))
    return Dataset(cluster, blocks, held, here, offsets, classes, mass, columns, extents)


def row_blocks(X: Any) -> list[Any]:
    """Return one delayed block of whole rows for each chunk or partition."""
    if hasattr(X, "chunks"):
        return list(whole_rows(X).to_delayed().ravel())
    # Dask's optimiser may put some together, not the same ones for X and y.
    return list(X.to_delayed(optimize_graph=False))


def whole_rows(X: Any) -> Any:
    """Return a Dask array of two dimensions with whole rows to a block."""
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}.")
    return X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X


def _known_lengths(values: Any) -> tuple[int, ...] | None:
    lengths = values.chunks[0] if hasattr(values, "chunks") else (np.nan,)
    return None if np.isnan(lengths).any() else tuple(int(k) for k in lengths)


def _vector_blocks(name: str, values: Any, X: Any, raw: list[Any]) -> list[Any]:
    """Return `values` cut into blocks like the rows of X."""
    lengths, own = _known_lengths(X), _known_lengths(values)
    if backend_of(values) is None:
        values = np.asarray(values)
        if lengths is None:
            lengths = Cluster().compute(*[delayed(len, pure=False)(block) for block in raw])
        own = (len(values),) if values.ndim == 1 else (0,)
    if lengths is not None and own is not None:
        if sum(own) != sum(lengths):
            raise ValueError(f"{name} has {sum(own)} entries, X has {sum(lengths)} rows.")
        if isinstance(values, np.ndarray):
            parts = np.split(values, np.cumsum(lengths)[:-1])
            return [delayed(part, traverse=False) for part in parts]
        values = values.rechunk((lengths,))
    blocks = row_blocks(values) if not hasattr(values, "chunks") else values.to_delayed().ravel()
    if len(blocks) != len(raw):
        raise ValueError(
            f"{name} has {len(blocks)} blocks, X has {len(raw)}, and their lengths are not known. "
            f"Repartition {name} like X, or call compute_chunk_sizes() on both."
        )
    return list(blocks)


def as_rows(X: Any) -> Any:
    """Return a block as a CSR matrix or a C-ordered array of float64 or float32."""
    X = X.to_numpy() if hasattr(X, "to_numpy") else X
    X = sp.csr_matrix(X) if sp.issparse(X) else np.asarray(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    return X if sp.issparse(X) else np.ascontiguousarray(X)


def _as_vector(values: Any) -> Array:
    return np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values).ravel()


def inspect(X: Any, y: Any, weights: Any, views: Sequence[Array | None]) -> Facts:
    """Look at a block: what is wrong with it, or else its size and its classes."""
    try:
        X = as_rows(X)
    except (TypeError, ValueError) as error:
        return Facts(0, f"X cannot be read as numbers: {error}")
    y, rows = _as_vector(y), X.shape[0]
    w = np.ones(rows) if weights is None else _as_vector(weights).astype(np.float64)
    for name, values in (("y", y), ("sample_weight", w)):
        if len(values) != rows:
            return Facts(rows, f"X has {rows} rows, {name} has {len(values)}")
    for name, values in (("X", X.data if sp.issparse(X) else X), ("y", y), ("sample_weight", w)):
        if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
            return Facts(rows, f"{name} holds NaN or infinity")
    if np.any(w < 0.0):
        return Facts(rows, f"sample_weight holds a negative value, {w.min()!r}")
    classes, codes = np.unique(y, return_inverse=True)
    parts = [as_operator(X if view is None else take_columns(X, view)) for view in views]
    extents = np.array([(float(p.shape[1]), p.stored, p.square_sum) for p in parts])
    mass = np.bincount(codes.reshape(-1), weights=w, minlength=len(classes))
    size = Block(X, codes, None, 0).__sizeof__()
    return Facts(rows, "", X.shape[1], size, extents, classes, mass)


def prepare(X: Any, y: Any, weights: Any, classes: Array, first: int) -> Block:
    """Return a block of data as fits use it."""
    codes = np.searchsorted(classes, _as_vector(y)).astype(np.int32)
    w = None if weights is None else np.ascontiguousarray(_as_vector(weights), dtype=np.float64)
    X = as_rows(X)
    return Block(as_operator(X).block(slice(None)) if sp.issparse(X) else X, codes, w, first)


def _complain(facts: list[Facts], offsets: Array) -> None:
    for k, fact in enumerate(facts):
        where = f"Block {k} of {len(facts)} (rows {offsets[k]} to {offsets[k + 1] - 1})"
        if fact.fault:
            raise ValueError(f"{where}: {fact.fault}.")
        if fact.width != facts[0].width:
            raise ValueError(f"{where} has {fact.width} columns, block 0 has {facts[0].width}.")
    if not offsets[-1]:
        raise ValueError("X has no rows.")
    if all(not np.any(fact.mass) for fact in facts):
        raise ValueError(
            "sample_weight is zero for every sample; give at least one sample of each class a "
            "positive weight."
        )
