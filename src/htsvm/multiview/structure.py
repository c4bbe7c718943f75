"""The structure of the classes in the views: clusters, and the covariances within them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from htsvm._typing import Array
from htsvm.multiview.clusters import cluster_rows

# Rows are centred some at a time, in blocks of about this many values.
BLOCK_VALUES = 4_000_000


@dataclass(frozen=True, eq=False)
class Structure:
    """What the clusters of all views say about the columns of each.

    Attributes
    ----------
    labels : ndarray of shape (n_samples, n_views)
        The cluster of each sample in each view, numbered through all classes; -1 for samples of
        weight zero.
    covariances : list of lists of ndarrays
        ``covariances[v][u]`` is the sum over the clusters of view u of the covariances of view v
        within them, the paper's Sigma^(v,u). Empty for views v that were not asked for.
    """

    labels: Array
    covariances: list[list[Array]]

    @property
    def n_clusters(self) -> list[int]:
        """The number of clusters in each view."""
        return [int(labels.max()) + 1 for labels in self.labels.T]


def find_structure(
    views: list[Any],
    codes: Array,
    weights: Array | None,
    *,
    targets: tuple[int, ...] | None = None,
    seed: int = 0,
) -> Structure:
    """Cluster every class (`codes`) in every view, and form the covariances of the `targets`.

    These are all views by default. Weights of zero take samples out; others weigh the covariances.
    The seed is that of the summary that is clustered where there are many rows; see `cluster_rows`.
    """
    m = len(codes)
    weights = np.ones(m) if weights is None else weights
    labels = np.column_stack([_labels(view, codes, weights, seed) for view in views])
    wanted = range(len(views)) if targets is None else targets
    covariances = [
        [within_covariance(X, column, weights) for column in labels.T] if v in wanted else []
        for v, X in enumerate(views)
    ]
    return Structure(labels, covariances)


def _labels(X: Any, codes: Array, weights: Array, seed: int) -> Array:
    """Return the clusters of one view, class after class."""
    labels = np.full(len(codes), -1, dtype=np.intp)
    used = 0
    for k in range(int(codes.max()) + 1):
        rows = np.flatnonzero((codes == k) & (weights > 0.0))
        if len(rows):
            labels[rows] = used + cluster_rows(X[rows], seed=seed)
            used = int(labels.max()) + 1
    return labels


def within_covariance(X: Any, labels: Array, weights: Array | None = None) -> Array:
    """Return the sum over clusters of the (population) covariances within them.

    Clusters count alike whatever their size; one of a single sample adds nothing. Samples with a
    negative label are left out, and sparse ones stay sparse.
    """
    weights = np.ones(len(labels)) if weights is None else weights
    rows = np.flatnonzero(labels >= 0)
    X, labels, weights = X[rows], labels[rows], weights[rows]
    count, n = int(labels.max(initial=-1)) + 1, X.shape[1]
    mass, sums = _cluster_sums(X, labels, weights, count)
    means = sums / mass[:, None]
    shares = weights / mass[labels]
    if sp.issparse(X):
        scaled = X.multiply(np.sqrt(shares)[:, None]).tocsr()
        here, sums = _cluster_sums(X, labels, shares, count)
        mixed = (sums - 0.5 * here[:, None] * means).T @ means
        spread: Array = (scaled.T @ scaled).toarray() - (mixed + mixed.T)
        return spread
    total = np.zeros((n, n))
    size = max(1, BLOCK_VALUES // n)
    for low in range(0, len(rows), size):
        part = slice(low, low + size)
        centred = X[part].astype(np.float64) - means[labels[part]]
        centred *= np.sqrt(shares[part])[:, None]
        total += centred.T @ centred
    return total


def _cluster_sums(X: Any, labels: Array, weights: Array, count: int) -> tuple[Array, Array]:
    """Return the weight of each of `count` clusters, and the weighted sum of its rows."""
    assignment = sp.csr_matrix(
        (weights, (labels, np.arange(len(labels)))), shape=(count, len(labels)), dtype=np.float64
    )
    sums = assignment @ X
    mass = np.bincount(labels, weights=weights, minlength=count)
    return mass, sums.toarray() if sp.issparse(sums) else sums
