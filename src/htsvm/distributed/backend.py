"""What estimators ask of Dask collections: the data of a fit, decisions, accuracy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from dask import array, delayed

from htsvm._typing import Array
from htsvm.distributed.dataset import Solved
from htsvm.distributed.inputs import as_rows, open_dataset, partitions, whole_rows
from htsvm.problems.build import labels_of

__all__ = ["NAME", "Solved", "accuracy", "frame_of", "labels", "map_rows", "open_dataset"]

# What errors call the data.
NAME = "Dask collections"


def frame_of(X: Any) -> Any:
    """Return what tells the names of the columns of X: an empty DataFrame, or X itself."""
    return X._meta if hasattr(X, "columns") else X


def map_rows(X: Any, function: Callable[[Any], Array], shape: tuple[int, ...], model: Any) -> Any:
    """Return a function of blocks of rows as a Dask array.

    The function takes a block of whole rows and returns an array with an entry of that shape for
    each. The model must have been fitted on as many columns.
    """
    rows = _lazy_rows(X, model)
    chunks = (rows.chunks[0], *((length,) for length in shape))
    axes: dict[str, Any] = {"chunks": chunks}
    if not shape:
        axes = {"drop_axis": 1}
    elif len(shape) > 1:
        axes["new_axis"] = list(range(2, len(shape) + 1))
    meta = np.zeros((0,) * (1 + len(shape)))
    return rows.map_blocks(function, dtype=np.float64, meta=meta, **axes)


def _lazy_rows(X: Any, model: Any) -> Any:
    """Return a Dask array of X, whole rows to a block; of unknown length for a DataFrame."""
    X = whole_rows(X) if hasattr(X, "chunks") else X
    if X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )
    if hasattr(X, "chunks"):
        return X
    return _unknown_lengths(X, as_rows, (len(X.columns),), np.float64)


def _unknown_lengths(frame: Any, work: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return a Dask array of the partitions of a DataFrame or Series after some work on each."""
    parts = [
        array.from_delayed(delayed(work, pure=True)(part), (np.nan, *shape), dtype)
        for part in partitions(frame)
    ]
    return array.concatenate(parts, allow_unknown_chunksizes=True)


def labels(scores: Any, classes: Array) -> Any:
    """Return the predicted classes as a Dask array."""
    return scores.map_blocks(
        labels_of, classes, dtype=classes.dtype, meta=np.zeros(0, dtype=classes.dtype),
        **({} if scores.ndim == 1 else {"drop_axis": 1}),
    )  # fmt: skip


def accuracy(predicted: Any, y: Any, sample_weight: Any) -> float:
    """Return the share of samples, by weight, that are predicted right."""
    hits = _like(y, predicted, "y") == predicted
    if sample_weight is None:
        return float(hits.mean())
    weights = _like(sample_weight, predicted, "sample_weight")
    total, right = array.compute(weights.sum(), (weights * hits).sum())
    return float(right / total)


def _like(values: Any, model: Any, name: str) -> Any:
    """Return a vector as a Dask array with the chunks of `model`."""
    if hasattr(values, "to_dask_array"):
        values = _unknown_lengths(values, np.asarray, (), values.dtype)
    if not hasattr(values, "chunks"):
        values = array.from_array(np.asarray(values))
    unknown = [one for one in (values, model) if np.isnan(one.chunks[0]).any()]
    if len(unknown) == 2 and values.numblocks == model.numblocks:
        return values
    for one in unknown:
        one.compute_chunk_sizes()
    if sum(values.chunks[0]) != sum(model.chunks[0]):
        raise ValueError(
            f"{name} has {sum(values.chunks[0])} entries, X has {sum(model.chunks[0])} rows."
        )
    return values.rechunk(model.chunks)
