"""The structure of the classes in the views, where the rows are in blocks.

What is clustered is gathered: all distinct rows of a class, or a sample that does not depend on
the blocks (`sample_rows`). The clusters go to the workers, and sums over rows come back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dask
import numpy as np
from dask import delayed

from htsvm._typing import Array
from htsvm.distributed.blocks import Source, stack_rows
from htsvm.distributed.protocol import Data
from htsvm.linalg.spaces import LARGEST_SIDE, distinct_rows
from htsvm.multiview.clusters import (
    DIRECT_ROWS,
    SUMMARY_ROWS,
    Clusters,
    find_clusters,
    sample_rows,
)
from htsvm.multiview.structure import cluster_sums, scatter

# The clusters of one view, class after class.
OfView = list[Clusters | None]
# Arrays by view and by view of the clusters.
Sums = dict[tuple[int, int], Any]


@dataclass(frozen=True, eq=False)
class BlockStructure:
    """What `Structure` is, for rows in blocks; `clusters` are those of each class in each view."""

    clusters: list[OfView]
    covariances: list[list[Array]]

    @property
    def n_clusters(self) -> list[int]:
        """The number of clusters in each view."""
        return [_count(of_view) for of_view in self.clusters]

    def labels(self, sources: list[Source]) -> Any:
        """Return the cluster of each sample in each view, as a Dask array."""
        known = delayed(self.clusters, traverse=False)
        blocks = zip(*(source.raw for source in sources), strict=True)
        found = [delayed(labels_of_block, pure=True)(list(views), known) for views in blocks]
        return sources[0].joined(found, (len(sources),), np.intp)


def find_structure(
    sources: list[Source], n_classes: int, targets: list[int], seed: int
) -> BlockStructure:
    """Cluster every class in every view and form the covariances of the views `targets`."""
    for v in targets:
        if sources[v].shape[1] > LARGEST_SIDE:
            raise ValueError(
                f"structure > 0 needs a matrix of side {sources[v].shape[1]} for a view with as "
                f"many columns, more than {LARGEST_SIDE}; set structure=0 for this view, or reduce "
                "its columns first."
            )
    cluster = sources[0].cluster
    clusters = [_clusters(source, n_classes, seed) for source in sources]
    known = delayed(clusters, traverse=False)
    blocks = [list(views) for views in zip(*(source.data for source in sources), strict=True)]
    labels = [delayed(labels_of_block, pure=False)(views, known) for views in blocks]
    if not sources[0].streamed:
        labels = list(dask.persist(*labels))
    pairs = [(v, u) for v in targets for u in range(len(sources))]
    counts = [_count(of_view) for of_view in clusters]
    rows = list(zip(blocks, labels, strict=True))
    sums = cluster.reduce(block_sums, rows, _add, pairs, counts)
    means = {pair: (mass, total / mass[:, None]) for pair, (mass, total) in sums.items()}
    spread = cluster.reduce(block_scatter, rows, _add, means)
    covariances = [
        [spread[v, u][0] for u in range(len(sources))] if v in targets else []
        for v in range(len(sources))
    ]
    return BlockStructure(clusters, covariances)


def _clusters(source: Source, n_classes: int, seed: int) -> OfView:
    """Return the clusters of each class in one view."""
    blocks = [(data,) for data in source.data]
    samples = source.cluster.reduce(sample_block, blocks, join_samples, n_classes)
    return [
        None
        if sample is None
        else find_clusters(sample, direct_rows=DIRECT_ROWS, summary_rows=SUMMARY_ROWS, seed=seed)
        for sample in samples
    ]


def _count(of_view: OfView) -> int:
    return sum(clusters.count for clusters in of_view if clusters is not None)


# ------------------------------------------------------------------------------ on workers


def sample_block(data: Data, n_classes: int) -> list[Any]:
    """Return the sample of each class in a block; None where there is no row."""
    rows = [np.flatnonzero((data.codes == k) & _counts(data)) for k in range(n_classes)]
    return [_sampled(data.X[some]) if len(some) else None for some in rows]


def join_samples(parts: list[list[Any]]) -> list[Any]:
    """Return the sample of each class from those of several blocks."""
    found = [[part for part in parts if part is not None] for parts in zip(*parts, strict=True)]
    return [_sampled(stack_rows(some)) if some else None for some in found]


def _sampled(X: Any) -> Any:
    return sample_rows(X[distinct_rows(X)[0]], DIRECT_ROWS)


def labels_of_block(views: list[Data], clusters: list[OfView]) -> Array:
    """Return the cluster of each row in each view; -1 for rows without weight."""
    labels = np.full((len(views[0].codes), len(views)), -1, dtype=np.intp)
    for v, (data, of_view) in enumerate(zip(views, clusters, strict=True)):
        used = 0
        for k, known in enumerate(of_view):
            if known is None:
                continue
            rows = np.flatnonzero((data.codes == k) & _counts(data))
            if len(rows):
                labels[rows, v] = used + known.of(data.X[rows])
            used += known.count
    return labels


def block_sums(
    views: list[Data], labels: Array, pairs: list[tuple[int, int]], counts: list[int]
) -> Sums:
    """Return the weight of each cluster of view u and the sum of its rows in view v."""
    return {
        (v, u): cluster_sums(views[v].X, labels[:, u], _weights(views[v]), counts[u])
        for v, u in pairs
    }


def block_scatter(views: list[Data], labels: Array, means: Sums) -> Sums:
    """Return what the rows of a block add to the covariances."""
    return {
        (v, u): (scatter(views[v].X, labels[:, u], _weights(views[v]), *found),)
        for (v, u), found in means.items()
    }


def _add(parts: list[Sums]) -> Sums:
    """Return the sums of the arrays of several blocks."""
    return {
        pair: tuple(sum(arrays) for arrays in zip(*(part[pair] for part in parts), strict=True))
        for pair in parts[0]
    }


def _weights(data: Data) -> Array:
    return np.ones(len(data.codes)) if data.weights is None else data.weights


def _counts(data: Data) -> Any:
    return True if data.weights is None else data.weights > 0.0
