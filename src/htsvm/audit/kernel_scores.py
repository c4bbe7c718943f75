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
from scipy.linalg import eigh

from htsvm._typing import Array

N_LANDMARKS = 400
# The kernel is the mean of Gaussian kernels with these factors of the median squared distance:
# as good as the best of them, without a choice.
WIDTHS = (0.05, 0.25, 1.0)
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
# Beyond so many rows features are kept in single precision.
MANY_ROWS = 50_000
# Leverages are kept below one: a sample that alone decides its own score has no other.
MOST_LEVERAGE = 0.999


@dataclass(frozen=True, eq=False)
class KernelSpace:
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
        gram = (centred * weights[:, None].astype(features.dtype)).T @ centred
        spectrum, basis = eigh(gram, overwrite_a=True)
        return cls(centred @ basis, np.maximum(spectrum, 0.0), weights)

    def scores(self, targets: Array, penalty: float) -> Array:
        """Return for each sample the scores of a fit without it, of the shape of `targets`."""
        total = self.weights.sum()
        mean = self.weights @ targets / total
        pulled = self.rotated.T @ (self.weights[:, None] * targets)
        shrink = 1.0 / (self.spectrum + penalty)
        fitted = self.rotated @ (shrink[:, None] * pulled) + mean
        leverage = (self.rotated * self.rotated) @ shrink + 1.0 / total
        leverage = np.minimum(leverage * self.weights, MOST_LEVERAGE)[:, None]
        left_out: Array = (fitted - leverage * targets) / (1.0 - leverage)
        return left_out

    def best(self, targets: Array) -> tuple[Array, float]:
        """Return the scores with the smallest squared leave-one-out error, and the penalty."""
        tried = [(self.scores(targets, penalty), penalty) for penalty in PENALTIES]
        return min(tried, key=lambda pair: self._error(pair[0], targets))

    def _error(self, scores: Array, targets: Array) -> float:
        return float(self.weights @ ((scores - targets) ** 2).mean(axis=1))


def kernel_space(X: Any, n: int, seed: int) -> KernelSpace:
    """Return kernel features of the samples.

    Parameters
    ----------
    X : {ndarray, sparse matrix} or mapping of those
        Samples; several views count alike.
    n : int
        The number of samples.
    seed : int
        Drives the choice of landmarks.

    Returns
    -------
    KernelSpace
        The features.
    """
    rng = np.random.default_rng(seed)
    marks = np.sort(rng.choice(n, min(N_LANDMARKS, n), replace=False))
    distances = _distances(X, marks)
    return KernelSpace(_features(distances, marks), _isolation(distances, marks))


def one_hot(codes: Array, n_classes: int) -> Array:
    """Return targets of +1 for the own class and -1 for the others."""
    targets = np.full((len(codes), n_classes), -1.0)
    targets[np.arange(len(codes)), codes] = 1.0
    return targets


def _distances(X: Any, marks: Array) -> Array:
    """Return squared distances to the landmarks in units of their median; the mean over views."""
    if isinstance(X, Mapping):
        parts = [_distances(view, marks) for view in X.values()]
        return np.asarray(sum(parts[1:], parts[0]) / len(parts))
    chosen = X[marks]
    if sp.issparse(X):
        own, other = (np.asarray(part.multiply(part).sum(axis=1)).ravel() for part in (X, chosen))
        squared = (X @ chosen.T).toarray()
    else:
        own, other = (np.einsum("ij,ij->i", part, part) for part in (X, chosen))
        squared = X @ chosen.T
    squared = squared.astype(np.float32 if len(own) > MANY_ROWS else np.float64, copy=False)
    squared *= -2.0
    squared += own[:, None]
    squared += other
    np.maximum(squared, 0.0, out=squared)
    squared /= float(np.median(squared[:: max(1, len(own) // 2000)])) or 1.0
    return np.asarray(squared)


def _features(distances: Array, marks: Array) -> Array:
    kernel = np.exp(distances * -WIDTHS[0])
    for width in WIDTHS[1:]:
        kernel += np.exp(distances * -width)
    spectrum, basis = eigh(kernel[marks])
    kept = spectrum > 1e-7 * spectrum[-1]
    return np.asarray(kernel @ (basis[:, kept] / np.sqrt(spectrum[kept])))


def _isolation(distances: Array, marks: Array) -> Array:
    """Return the distance to the third nearest landmark other than the sample itself."""
    nearest = min(3, len(marks) - 1)
    if nearest < 1:
        return np.zeros(len(distances))
    ordered = np.partition(distances, (nearest - 1, nearest), axis=1)
    third = ordered[:, nearest - 1].copy()
    third[marks] = ordered[marks, nearest]  # A landmark is its own nearest.
    return np.asarray(third)
