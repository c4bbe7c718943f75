"""Kernel matrices and their checks, and the choice of landmarks."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from sklearn.cluster import kmeans_plusplus

from htsvm._typing import Array
from htsvm.linalg.kernel_functions import Kernel
from htsvm.linalg.landmarks import blocks
from htsvm.linalg.spaces import distinct_rows

# The side of the tiles in which a kernel matrix is computed: one stays in the cache.
TILE = 500
# These kernels are positive whatever the data.
POSITIVE = ("rbf", "laplacian", "cosine", "linear")
SELECTIONS = ("kmeans++", "uniform")
# Of larger matrices only a part of this side is checked for negative eigenvalues.
CHECKED_SIDE = 500
# By how much, as a share of the largest entry, rounding may spoil symmetry and positivity.
ROUNDING = 1e-8
# k-means++ looks at no more rows than this, or twice the landmarks.
SEEN_BY_KMEANS = 10_000


def kernel_matrix(function: Kernel, X: Any) -> Array:
    """Return the kernel matrix of all rows; half of it is computed, in tiles, half copied."""
    m = X.shape[0]
    K = np.empty((m, m))
    tiles = [slice(low, min(low + TILE, m)) for low in range(0, m, TILE)]
    rows = [X[tile] for tile in tiles]
    for i, upper in enumerate(tiles):
        for lower, others in zip(tiles[i:], rows[i:], strict=True):
            K[upper, lower] = function(rows[i], others)
            if lower != upper:
                K[lower, upper] = K[upper, lower].T
    return K


def check_precomputed(K: Array) -> None:
    """Complain of a kernel matrix that is not square, symmetric or positive semidefinite."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            "kernel='precomputed' needs a square matrix of the kernel between all training "
            f"samples, got shape {K.shape}; to fit rows of features choose another kernel."
        )
    size = float(np.abs(K).max(initial=0.0))
    for part in blocks(len(K), len(K)):
        apart = np.abs(K[part] - K[:, part].T)
        if float(apart.max(initial=0.0)) > ROUNDING * size:
            i, j = np.unravel_index(int(apart.argmax()), apart.shape)
            i += part.start
            raise ValueError(
                f"kernel='precomputed' needs a symmetric matrix, but X[{i}, {j}] = {K[i, j]:.6g} "
                f"and X[{j}, {i}] = {K[j, i]:.6g}; if the difference is rounding, pass "
                "(X + X.T) / 2."
            )


def check_positive(K: Array, kernel: Any) -> None:
    """Complain of negative eigenvalues of (a part of) a kernel matrix, where they are possible.

    A callable may be anything: there the part has to be symmetric as well.
    """
    if isinstance(kernel, str) and kernel in POSITIVE:
        return
    side = min(len(K), CHECKED_SIDE)
    some = np.linspace(0, len(K) - 1, side).astype(np.intp)
    part_of_it = K[np.ix_(some, some)]
    apart = float(np.abs(part_of_it - part_of_it.T).max(initial=0.0))
    if callable(kernel) and apart > np.sqrt(ROUNDING) * float(np.abs(part_of_it).max()):
        raise ValueError(
            f"kernel={kernel!r} is not symmetric: k(a, b) and k(b, a) of two training samples "
            f"differ by {apart:.3g}. Return the inner products of the rows of the first argument "
            "with those of the second."
        )
    values = linalg.eigvalsh(part_of_it, check_finite=False)
    if values[0] < -np.sqrt(ROUNDING) * max(float(values[-1]), 0.0) or values[-1] < 0.0:
        part = "" if side == len(K) else f" of {side} of its rows and columns"
        raise ValueError(
            f"kernel={kernel!r} is not positive semidefinite: its matrix{part} has the eigenvalue "
            f"{values[0]:.3g}, where the largest is {values[-1]:.3g}. Choose other parameters or "
            "another kernel; of a precomputed one, clip the negative eigenvalues."
        )


def choose_landmarks(
    X: Any, weights: Array | None, count: int, selection: str, rng: np.random.Generator
) -> Array:
    """Return the rows of X that become landmarks, all of them different.

    The choice depends neither on the order of the rows nor on how often one is repeated. k-means++
    prefers rows far from those already chosen; it looks at a sample of the rows.
    """
    rows = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights > 0.0)
    rows = rows[distinct_rows(X[rows])[0]]
    if count >= len(rows):
        return rows
    if selection == "uniform":
        return rng.choice(rows, count, replace=False)
    if len(rows) > SEEN_BY_KMEANS:
        rows = rng.choice(rows, min(max(SEEN_BY_KMEANS, 2 * count), len(rows)), replace=False)
    seed = int(rng.integers(2**31))
    _, chosen = kmeans_plusplus(X[rows], count, random_state=seed, n_local_trials=1)
    kept: Array = rows[np.unique(chosen)]
    return kept
