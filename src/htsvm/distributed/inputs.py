"""From Dask collections to validated blocks, and to what became of their rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import dask
import numpy as np
import scipy.sparse as sp
from dask import array, delayed
from sklearn.utils.multiclass import check_classification_targets

from htsvm._typing import Array
from htsvm.distributed import blocks as ask
from htsvm.distributed.blocks import Block, stacked
from htsvm.distributed.cluster import Cluster, sample_values
from htsvm.distributed.rows import BlockProblem, MulticlassBlockProblem, Source
from htsvm.linalg import as_operator
from htsvm.multiview.views import better_dense, take_columns
from htsvm.problems.build import class_factors, stated_problems, tasks_of
from htsvm.svm.backend import backend_of


@dataclass(eq=False)
class Dataset:
    """The data of a fit: a source for each view, or all rows here where they are few."""

    cluster: Cluster
    classes: Array
    # The sums of the weights of the samples of each class, and the lengths of the chunks.
    mass: Array
    lengths: tuple[int, ...]
    n_features: int
    here: Block | None
    sources: list[Source]

    def close(self) -> None:
        """Let go of the data that is held, and end the processes of the fit."""
        self.sources = []
        self.cluster.close()

    def problems(
        self, class_weight: Any, *, multiclass: bool, view: int = 0, **options: Any
    ) -> list[Any]:
        """Return the problems of a view: one for two classes, else one per class or for all."""
        factors, loss = class_factors(class_weight, self.classes, self.mass), options["loss"]
        if loss.tilt != 0.0 or math.isinf(loss.weak_convexity):
            raise ValueError(
                f"{loss!r} does not work on Dask collections: only losses that never fall and "
                "whose slope does not jump down do; use HybridTruncated or Hinge."
            )
        if self.here is not None:
            X, codes, weights = self.here.X, self.here.codes, self.here.weights
            return list(
                stated_problems(X, codes, weights, factors, multiclass=multiclass, **options)
            )
        kind = MulticlassBlockProblem if multiclass else BlockProblem
        tasks = tasks_of(self.mass, factors, multiclass=multiclass, **options)
        return [kind.of(self.sources[view], task) for task in tasks]

    def as_rows(self, values: Array) -> Any:
        """Return an array with an entry per row as a Dask array, in the chunks of the data."""
        return array.from_array(values, chunks=(self.lengths, *values.shape[1:]))

    def count_classes(self, rows: Array) -> Array:
        """Return how many of the sorted `rows` belong to each class."""
        each = self.sources[0].cut(rows)
        counts: Array = self.sources[0].ask(ask.count_classes, len(self.classes), each=each)
        return counts

    def statuses(self, *solved: Any) -> tuple[Any, Any]:
        """Return what became of each sample, and which are ignored, as Dask arrays.

        The first is of shape (n_samples, n_views, n_problems). They are computed when asked for.
        Given are the problems and the results, by view, and which views count by problem.
        """
        *_, used = solved
        raw = [list(views) for views in zip(*(s.raw for s in self.sources), strict=True)]
        # Not by way of one Dask array: that would leave out empty blocks.
        blocks = [
            delayed(ask.status_of, pure=True)(views, delayed(parts, traverse=False))
            for views, parts in zip(raw, self._points(*solved), strict=True)
        ]
        lost = [
            delayed(ask.ignored_by_all, pure=True)(status, views[0], used)
            for status, views in zip(blocks, raw, strict=True)
        ]
        status = self._joined(blocks, used.shape[::-1], np.int8)
        return status, array.flatnonzero(self._joined(lost, (), np.int8))

    def ignored_shares(self, *solved: Any) -> Array:
        """Return the share of each class that all views that count ignore."""
        *_, used = solved
        views = zip(*(source.data for source in self.sources), strict=True)
        parts = [
            delayed(ask.ignored_counts, pure=False)(
                list(blocks), used, len(self.classes), delayed(points, traverse=False)
            )
            for blocks, points in zip(views, self._points(*solved), strict=True)
        ]
        total, lost = self.cluster.reduce(parts, ask.added)
        share: Array = lost / np.maximum(total, 1)
        return share

    def _points(self, problems: Any, results: Any, used: Array) -> list[Any]:
        """Return for each block, by view and problem, the task, the point and its multipliers."""
        of_views = []
        for source, *both in zip(self.sources, problems, results, strict=True):
            of_problems = [
                [
                    (problem.task, result.coef, result.intercept, psi)
                    for psi in source.cut(result.multipliers.rows, result.multipliers.values)
                ]
                for problem, result in zip(*both, strict=True)
            ]
            of_views.append(list(zip(*of_problems, strict=True)))
        return list(zip(*of_views, strict=True))

    def _joined(self, blocks: Sequence[Any], shape: tuple[int, ...], dtype: Any) -> Any:
        """Return a Dask array of delayed blocks with an entry of that shape for each row."""
        parts = zip(blocks, self.lengths, strict=True)
        return array.concatenate(
            [array.from_delayed(block, (size, *shape), dtype=dtype) for block, size in parts]
        )


@dataclass(eq=False)
class Facts:
    """What is learnt of a block when it is first looked at; `stored` and `square_sum` by view."""

    rows: int
    fault: str = ""
    width: int = 0
    itemsize: int = 8
    sparse: bool = False
    stored: Array = field(default_factory=lambda: np.zeros(0))
    square_sum: Array = field(default_factory=lambda: np.zeros(0))
    nbytes: int = 0
    classes: Array = field(default_factory=lambda: np.zeros(0))
    mass: Array = field(default_factory=lambda: np.zeros(0))
    largest: Array = field(default_factory=lambda: np.zeros(0))


def open_dataset(
    X: Any, y: Any, sample_weight: Any = None, views: Sequence[Array] | None = None
) -> Dataset:
    """Look at all blocks once, complain about the first that is unfit, and return the data.

    `views` are the columns of each view, where there are several.
    """
    cluster, raw = Cluster(), row_blocks(X)
    labels = _vector_blocks("y", y, X, len(raw))
    weights: list[Any] = [None] * len(raw)
    if sample_weight is not None:
        weights = _vector_blocks("sample_weight", sample_weight, X, len(raw))
    blocks = list(zip(raw, labels, weights, strict=True))
    looks = [delayed(inspect, pure=False)(*block, views) for block in blocks]
    facts: list[Facts] = list(cluster.compute(*looks))
    offsets = np.concatenate([[0], np.cumsum([fact.rows for fact in facts])])
    _complain(facts, offsets)
    classes = np.unique(np.concatenate([fact.classes for fact in facts]))
    check_classification_targets(classes)
    mass, largest = np.zeros(len(classes)), np.zeros(len(classes))
    for fact in facts:
        mass[np.searchsorted(classes, fact.classes)] += fact.mass
        np.maximum.at(largest, np.searchsorted(classes, fact.classes), fact.largest)
    few = sum(float(fact.stored.sum()) for fact in facts) <= sample_values()
    streamed = cluster.streams(sum(fact.nbytes for fact in facts))
    known = delayed(classes, traverse=False)
    parts = [Selection(None, False)] if views is None or few else _parts(views, facts)
    prepared = [
        [
            delayed(prepare, pure=False)(*block, known, int(offset), part)
            for block, offset in zip(blocks, offsets[:-1], strict=True)
        ]
        for part in parts
    ]
    lengths = tuple(fact.rows for fact in facts)
    of_all = cluster, classes, mass, lengths, facts[0].width
    if few:
        return Dataset(*of_all, _whole(cluster.compute(*prepared[0])), [])
    # All at once, so that a block is read once for all views.
    held = prepared if streamed else dask.persist(*prepared)
    sources = [
        Source(
            cluster, prepared[v], held[v], offsets, part.width(facts[0].width),
            part.stored(facts, v), float(sum(f.square_sum[v] for f in facts)), mass, largest,
        )
        for v, part in enumerate(parts)
    ]  # fmt: skip
    return Dataset(*of_all, None, sources)


def _whole(blocks: Sequence[Block]) -> Block:
    """Return the block of all rows."""
    weights = [block.weights for block in blocks if block.weights is not None]
    return Block(
        stacked([block.X for block in blocks]),
        np.concatenate([block.codes for block in blocks]),
        np.concatenate(weights) if weights else None,
        0,
    )


@dataclass(frozen=True, eq=False)
class Selection:
    """What a source has of each block: these columns, or all; and whether as dense arrays."""

    columns: Array | None
    dense: bool

    def width(self, of_all: int) -> int:
        """Return the number of columns, of `of_all`."""
        return of_all if self.columns is None else len(self.columns)

    def stored(self, facts: list[Facts], v: int) -> int:
        """Return the number of stored values, where this is the part number `v`."""
        if self.dense and self.columns is not None:
            return sum(f.rows for f in facts) * len(self.columns)
        return int(sum(f.stored[v] for f in facts))

    def of(self, X: Any) -> Any:
        """Return this part of the rows X."""
        if self.columns is None:
            return X
        part = take_columns(X, self.columns)
        return part.toarray() if self.dense and sp.issparse(part) else part


def _parts(views: Sequence[Array], facts: list[Facts]) -> list[Selection]:
    """Return the parts of all views: sparse ones as dense arrays where those are smaller."""
    rows, some = sum(f.rows for f in facts), facts[0]
    parts = []
    for v, columns in enumerate(views):
        stored = int(sum(f.stored[v] for f in facts))
        shape = (rows, len(columns))
        dense = not some.sparse or better_dense(stored, shape, some.itemsize, some.width)
        parts.append(Selection(columns, dense))
    return parts


def row_blocks(X: Any) -> list[Any]:
    """Return one delayed block of whole rows for each chunk or partition."""
    if not hasattr(X, "chunks"):
        return partitions(X)
    return list(whole_rows(X).to_delayed().ravel())


def whole_rows(X: Any) -> Any:
    """Return a Dask array of two dimensions with whole rows to a block."""
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}.")
    return X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X


def partitions(frame: Any) -> list[Any]:
    """Return the delayed partitions of a DataFrame or Series as it has them.

    Dask's optimiser may put some together, not the same ones for X and y.
    """
    return list(frame.to_delayed(optimize_graph=False))


def _known_lengths(values: Any) -> tuple[int, ...] | None:
    lengths = values.chunks[0] if hasattr(values, "chunks") else (np.nan,)
    return None if np.isnan(lengths).any() else tuple(int(k) for k in lengths)


def _vector_blocks(name: str, values: Any, X: Any, count: int) -> list[Any]:
    """Return `values` cut into blocks like the rows of X."""
    lengths = _known_lengths(X)
    if backend_of(values) is None:
        values = np.asarray(values)
        if lengths is None:
            sizes = [delayed(len, pure=False)(block) for block in row_blocks(X)]
            lengths = tuple(Cluster().compute(*sizes))
        if values.ndim != 1 or len(values) != sum(lengths):
            raise ValueError(
                f"{name} must be a vector with one entry per row of X ({sum(lengths)}), "
                f"got shape {values.shape}."
            )
        cuts = np.cumsum(lengths)[:-1]
        return [delayed(part, traverse=False) for part in np.split(values, cuts)]
    if values.ndim != 1:
        raise ValueError(
            f"{name} must be a vector (a Dask array or Series), got {values.ndim} dimensions."
        )
    own = _known_lengths(values)
    if lengths is not None and own is not None:
        if sum(own) != sum(lengths):
            raise ValueError(f"{name} has {sum(own)} entries, X has {sum(lengths)} rows.")
        values = values.rechunk((lengths,))
    is_array = hasattr(values, "chunks")
    blocks = list(values.to_delayed().ravel()) if is_array else partitions(values)
    if len(blocks) != count:
        raise ValueError(
            f"{name} has {len(blocks)} blocks, X has {count}, and their lengths are not known. "
            f"Repartition {name} like X, or call compute_chunk_sizes() on both."
        )
    return blocks


# ------------------------------------------------------------------------------ on workers


def as_rows(X: Any) -> Any:
    """Return a block as a CSR matrix or a C-ordered array of float64 or float32."""
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    X = sp.csr_matrix(X) if sp.issparse(X) else np.asarray(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    return X if sp.issparse(X) else np.ascontiguousarray(X)


def _as_vector(values: Any) -> Array:
    return np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values).ravel()


def inspect(X: Any, y: Any, weights: Any, views: Sequence[Array] | None) -> Facts:
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
    parts = [X] if views is None else [take_columns(X, columns) for columns in views]
    operators = [as_operator(part) for part in parts]
    return Facts(
        rows, "", X.shape[1], X.dtype.itemsize, sp.issparse(X),
        np.array([operator.stored for operator in operators]),
        np.array([operator.square_sum for operator in operators]),
        Block(X, y, None, 0).__sizeof__(), classes,
        np.bincount(codes.reshape(-1), weights=w, minlength=len(classes)), _largest(codes, w),
    )  # fmt: skip


def _largest(codes: Array, weights: Array) -> Array:
    """Return the largest weight of each class."""
    largest = np.zeros(int(codes.max(initial=-1)) + 1)
    np.maximum.at(largest, codes.reshape(-1), weights)
    return largest


def prepare(X: Any, y: Any, weights: Any, classes: Array, offset: int, part: Selection) -> Block:
    """Return a block of data as fits use it: all its columns, or those of a view."""
    codes = np.searchsorted(classes, _as_vector(y)).astype(np.int32)
    w = None if weights is None else np.ascontiguousarray(_as_vector(weights), dtype=np.float64)
    X = part.of(as_rows(X))
    return Block(as_operator(X).block(slice(None)) if sp.issparse(X) else X, codes, w, offset)


def _complain(facts: list[Facts], offsets: Array) -> None:
    for k, fact in enumerate(facts):
        if fact.fault:
            raise ValueError(
                f"Block {k} of {len(facts)} (rows {offsets[k]} to {offsets[k + 1] - 1}): "
                f"{fact.fault}."
            )
        if fact.width != facts[0].width:
            raise ValueError(
                f"Block {k} of X has {fact.width} columns, block 0 has {facts[0].width}."
            )
    if not offsets[-1]:
        raise ValueError("X has no rows.")
    if all(not np.any(fact.mass) for fact in facts):
        raise ValueError(
            "sample_weight is zero for every sample; give at least one sample of each class a "
            "positive weight."
        )
