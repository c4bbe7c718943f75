"""Out-of-sample scores of every sample by kernel least squares, from one decomposition.

A least squares classifier on a few hundred kernel features has its leave-one-out scores in closed
form: no folds, and other targets or other penalties cost a product each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky, eigh, solve_triangular

from htsvm._typing import Array

# Landmarks: a third of the rows, but within these bounds.
LEAST_LANDMARKS, MOST_LANDMARKS = 100, 200
# The kernel is the mean of Gaussian kernels with these factors of the median squared distance:
# as good as the best of them, without a choice.
WIDTHS = (0.02, 0.5)
# Data with few columns have them as features too, of this size in the mean. A linear rule is
# then hardly shrunk by a penalty that suits the kernel.
LINEAR_COLUMNS, LINEAR_PART = 50, 3.0
PENALTIES = tuple(10.0 ** (step / 2.0) for step in range(-4, 5))
# Beyond this many rows features are kept in single precision.
MANY_ROWS = 2_000
# Landmarks of sparse data with more columns than this stay sparse.
DENSE_COLUMNS = 20_000
# Added to the diagonal of the kernel between landmarks, times their number: directions in which it
# hardly differs from zero count little.
RIDGE = 1e-5
# Leverages are kept below one: a sample that alone decides its own score has no other.
MOST_LEVERAGE = 0.999


@dataclass(frozen=True, eq=False)
class KernelFeatures:
    """Samples as rows of kernel features.

    Attributes
    ----------
    features : ndarray of shape (n_samples, n_components)
        Their inner products are the approximate kernel.
    isolation : ndarray of shape (n_samples,)
        Squared distance to the third nearest landmark, in units of the median.
    """

    features: Array
    isolation: Array


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """A decomposed least squares problem: leave-one-out scores for any targets and penalty."""

    rotated: Array
    spectrum: Array
    weights: Array

    @classmethod
    def of(cls, features: Array, weights: Array) -> LeaveOneOut:
        """Decompose the problem with these features and sample weights (summing to n)."""
        total = weights.sum()
        centred = features - (weights @ features / total).astype(features.dtype)
        roots = np.sqrt(weights).astype(features.dtype)[:, None]
        weighted = centred if np.all(weights == 1.0) else centred * roots
        gram = weighted.T @ weighted  # NumPy sees that both are the same and calls syrk.
        spectrum, basis = eigh(gram.astype(np.float64), overwrite_a=True, driver="evd")
        rotated = centred @ basis.astype(features.dtype)
        return cls(rotated, np.maximum(spectrum, 0.0), weights)

    def scores(self, targets: Array, penalty: float) -> Array:
        """Return for each sample the scores of a fit without it, of the shape of `targets`."""
        return self._tried(targets, (penalty,))[0]

    def best(self, targets: Array) -> tuple[Array, float]:
        """Return the scores with the smallest squared leave-one-out error, and the penalty."""
        tried = self._tried(targets, PENALTIES)
        errors = [self.weights @ ((scores - targets) ** 2).mean(axis=1) for scores in tried]
        chosen = int(np.argmin(errors))
        return tried[chosen], PENALTIES[chosen]

    def _tried(self, targets: Array, penalties: tuple[float, ...]) -> list[Array]:
        """Return the scores for some penalties, with one pass over the data for all of them."""
        kind = self.rotated.dtype
        total = self.weights.sum()
        mean = self.weights @ targets / total
        pulled = self.rotated.T @ (self.weights[:, None] * targets).astype(kind)
        shrinks = 1.0 / (self.spectrum[:, None] + np.array(penalties))
        coefs = (shrinks[:, :, None] * pulled[:, None, :]).reshape(len(shrinks), -1)
        fitted = (self.rotated @ coefs.astype(kind)).reshape(len(targets), len(penalties), -1)
        leverages = np.square(self.rotated) @ shrinks.astype(kind) + 1.0 / total
        leverages = np.minimum(leverages * self.weights[:, None], MOST_LEVERAGE)
        found = []
        for place in range(len(penalties)):
            own = leverages[:, place, None]
            left_out = (fitted[:, place] + mean - own * targets) / (1.0 - own)
            found.append(np.asarray(left_out, dtype=np.float64))
        return found


def kernel_space(X: Any, n: int, seed: int) -> KernelFeatures:
    """Return kernel features of n samples; several views, given as a mapping, count alike."""
    rng = np.random.default_rng(seed)
    size = min(n, max(LEAST_LANDMARKS, min(MOST_LANDMARKS, n // 3)))
    marks = np.sort(rng.choice(n, size, replace=False))
    distances = _distances(X, marks)
    features = _features(distances, marks)
    if not isinstance(X, Mapping) and X.shape[1] <= LINEAR_COLUMNS:
        columns = _linear(X.toarray() if sp.issparse(X) else X)
        features = np.hstack([features, columns.astype(features.dtype)])
    return KernelFeatures(features, _isolation(distances, marks))


def one_hot(codes: Array, n_classes: int) -> Array:
    """Return targets of +1 for the own class and -1 for the others."""
    targets = np.full((len(codes), n_classes), -1.0)
    targets[np.arange(len(codes)), codes] = 1.0
    return targets


def _distances(X: Any, marks: Array) -> Array:
    """Return squared distances to landmarks, the mean over views; one is their median."""
    if isinstance(X, Mapping):
        parts = [_distances(view, marks) for view in X.values()]
        return np.asarray(sum(parts[1:], parts[0]) / len(parts))
    chosen = X[marks]
    if sp.issparse(X):
        own, other = (np.asarray(part.multiply(part).sum(axis=1)).ravel() for part in (X, chosen))
        few = chosen.shape[1] <= DENSE_COLUMNS
        squared = X @ chosen.toarray().T if few else (X @ chosen.T).toarray()
    else:
        own, other = (np.einsum("ij,ij->i", part, part) for part in (X, chosen))
        squared = X @ chosen.T
    squared *= -2.0
    squared += own[:, None].astype(squared.dtype)
    squared += other.astype(squared.dtype)
    if len(own) > MANY_ROWS:
        squared = squared.astype(np.float32, copy=False)
    np.maximum(squared, 0.0, out=squared)
    squared /= float(np.median(squared[marks])) or 1.0
    return np.asarray(squared)


def _features(distances: Array, marks: Array) -> Array:
    kernel = np.zeros_like(distances)
    part = np.empty_like(distances)
    for width in WIDTHS:
        np.multiply(distances, -width, out=part)
        kernel += np.exp(part, out=part)
    between = kernel[marks].astype(np.float64)
    between[np.diag_indices_from(between)] += RIDGE * len(marks)
    root = cholesky(between, lower=True, overwrite_a=True, check_finite=False)
    found = solve_triangular(
        root.astype(kernel.dtype), kernel.T, lower=True, overwrite_b=True, check_finite=False
    )
    return np.asarray(found.T)


def _linear(X: Array) -> Array:
    """Return the columns themselves: the linear part of the kernel, which is hardly shrunk."""
    centred = X - X.mean(axis=0)
    size = float(np.sqrt(np.mean(np.einsum("ij,ij->i", centred, centred))))
    return np.asarray(centred * (LINEAR_PART / size if size > 0.0 else 0.0))


def _isolation(distances: Array, marks: Array) -> Array:
    """Return the distance to the third nearest landmark other than the sample itself."""
    others = distances.copy()
    others[marks, np.arange(len(marks))] = np.inf
    rows = np.arange(len(others))
    nearest = np.zeros(len(others))
    for _ in range(min(3, len(marks) - 1)):
        places = others.argmin(axis=1)
        nearest = others[rows, places]
        others[rows, places] = np.inf
    return np.asarray(nearest)
