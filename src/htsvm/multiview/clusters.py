"""Clusters of the samples of a class in a view: Ward's method, their number by the L-method."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics.pairwise import euclidean_distances

from htsvm._typing import Array
from htsvm.linalg.spaces import distinct_rows

# The L-method needs two points of the graph on either side of the knee.
FEWEST_POINTS = 5
# Ward's method looks at all pairs. Where a class has more distinct rows than this in a view, what
# is clustered is a summary: this many centres of mini-batch k-means on a sample of distinct rows,
# this many times as large.
DIRECT_ROWS = 5000
SUMMARY_ROWS = 500
SAMPLE_TIMES = 4
# Rows whose distances from all centres are looked at together.
ROWS_AT_ONCE = 4096
# Fits that differ by less than this share of the graph's height are equally good.
EQUAL_FITS = 1e-9


def cluster_rows(
    X: Any, *, direct_rows: int = DIRECT_ROWS, summary_rows: int = SUMMARY_ROWS, seed: int = 0
) -> Array:
    """Return the cluster of each row of one class in one view, numbered from 0.

    Up to `direct_rows` distinct rows are clustered one by one, which takes time and memory (8
    bytes) for each pair; where there are more, `summary_rows` centres of mini-batch k-means (with
    that `seed`) stand for them. Equal rows count once: a sample of weight k must do what k samples
    do, and is not to draw the clusters towards it. The order of the samples does not matter.
    """
    first, place = distinct_rows(X)
    distinct = X[first]
    if distinct.shape[0] <= direct_rows:
        return _ward(distinct)[place]
    summary = MiniBatchKMeans(
        n_clusters=summary_rows, random_state=seed, n_init=1, batch_size=2048, max_iter=20
    ).fit(_sample(distinct, SAMPLE_TIMES * direct_rows))
    centres = summary.cluster_centers_[np.unique(summary.labels_)].astype(np.float64)
    return _ward(centres)[_nearest(distinct, centres)][place]


def _sample(distinct: Any, size: int) -> Any:
    """Return distinct rows as they are, or where they are many those with the smallest keys.

    A row is in the sample because of what is in it, so that the order of the rows does not matter.
    """
    if distinct.shape[0] <= size:
        return distinct
    return distinct[np.sort(np.argpartition(row_keys(distinct), size)[:size])]


def _nearest(X: Any, centres: Array) -> Array:
    """Return the centre that is nearest to each row."""
    halves = 0.5 * np.square(centres).sum(axis=1)
    nearest = np.empty(X.shape[0], dtype=np.intp)
    for low in range(0, X.shape[0], ROWS_AT_ONCE):
        part = slice(low, low + ROWS_AT_ONCE)
        products = np.asarray(X[part] @ centres.T, dtype=np.float64)
        nearest[part] = (halves - products).argmin(axis=1)
    return nearest


def row_keys(X: Any) -> Array:
    """Return a number for each row that depends on what is in it; equal rows have equal keys.

    Other rows have other keys, but for one pair in 2^64. Sparse and dense rows with the same
    values have the same keys: zeros add nothing.
    """
    factors = _scrambled(np.arange(1, X.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
    if sp.issparse(X):
        terms = _scrambled(_bits(X.data)) * factors[X.indices]
        sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms)])
        return _scrambled(sums[X.indptr[1:]] - sums[X.indptr[:-1]])
    keys = np.empty(X.shape[0], dtype=np.uint64)
    for low in range(0, X.shape[0], ROWS_AT_ONCE):
        part = slice(low, low + ROWS_AT_ONCE)
        keys[part] = (_scrambled(_bits(X[part])) * factors).sum(axis=1)
    return _scrambled(keys)


def _bits(values: Array) -> Array:
    # Negative zeros are equal to positive ones, but not bit by bit.
    return (np.ascontiguousarray(values, dtype=np.float64) + 0.0).view(np.uint64)


def _scrambled(x: Array) -> Array:
    """Return numbers in which each bit depends on all bits of x (the end of MurmurHash3)."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        x = x ^ (x >> np.uint64(33))
        x = x * np.uint64(factor)
    scrambled: Array = x ^ (x >> np.uint64(33))
    return scrambled


def number_of_clusters(heights: Array, *, refine: bool = True) -> int:
    """Return where the graph of merge heights bends: the L-method of Salvador and Chan (2004).

    `heights` are those of a hierarchical clustering, in the order of merging. To `refine` is to
    look again at the left part of the graph until the bend stays where it is, as published;
    without, a long flat tail on the right draws it to the right. Fewer than five points, too few
    for two lines, are one cluster.
    """
    graph = np.asarray(heights, dtype=np.float64)[::-1]
    points = len(graph) + 1
    if points < FEWEST_POINTS:
        return 1
    bend = _bend(graph)
    while refine:
        last, cutoff = bend, min(2 * bend, points)
        bend = _bend(graph[: max(cutoff, FEWEST_POINTS) - 1])
        if bend >= last:
            break
    return bend


def _bend(graph: Array) -> int:
    """Return c such that lines through {2..c} and {c+1..b} fit the graph best."""
    b = len(graph) + 1
    candidates = np.arange(3, b - 1)
    left = _line_errors(graph)[candidates - 2]
    right = _line_errors(graph[::-1])[b - candidates - 1]
    errors = ((candidates - 1) * left + (b - candidates) * right) / (b - 1)
    equal = EQUAL_FITS * float(np.abs(graph).max(initial=0.0))
    return int(candidates[np.flatnonzero(errors <= errors.min() + equal)[0]])


def _line_errors(values: Array) -> Array:
    """Return the root mean square errors of lines through the first 1, 2, ... values."""
    count = np.arange(1.0, len(values) + 1.0)
    x = count - count.mean()
    y = values - values.mean()
    mean_x, mean_y = np.cumsum(x) / count, np.cumsum(y) / count
    xx = np.cumsum(x * x) / count - mean_x**2
    xy = np.cumsum(x * y) / count - mean_x * mean_y
    yy = np.cumsum(y * y) / count - mean_y**2
    explained = np.divide(xy**2, xx, out=np.zeros_like(xx), where=count > 1.0)
    errors: Array = np.sqrt(np.maximum(yy - explained, 0.0))
    return errors


def _ward(X: Any) -> Array:
    """Return the clusters of distinct rows."""
    if X.shape[0] < FEWEST_POINTS:
        return np.zeros(X.shape[0], dtype=np.intp)
    if sp.issparse(X):
        distances = euclidean_distances(X)
        np.fill_diagonal(distances, 0.0)
        tree = linkage(squareform(distances, checks=False), method="ward")
    else:
        tree = linkage(np.asarray(X, dtype=np.float64), method="ward")
    labels: Array = fcluster(tree, number_of_clusters(tree[:, 2]), criterion="maxclust") - 1
    return labels.astype(np.intp)
