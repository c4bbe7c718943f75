"""Kernels by name or as a user gives them, as functions of two sets of rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from htsvm._typing import Array

Kernel = Callable[[Any, Any], Array]
# Columns whose mean is so many times their deviation are far from the origin.
FAR_OFF = 1e3
NAMES = ("rbf", "poly", "sigmoid", "laplacian", "cosine", "linear")


def kernel_function(kernel: Any, gamma: float, degree: float = 3.0, coef0: float = 0.0) -> Kernel:
    """Return a kernel, one of `NAMES` or a callable, as a function of two sets of rows."""
    if callable(kernel):
        return partial(_called, kernel)
    # It pulls in much of scikit-learn, for which `import htsvm` should not wait.
    from sklearn.metrics import pairwise

    known: dict[str, Kernel] = {
        "rbf": partial(_rbf, gamma=gamma),
        "laplacian": partial(pairwise.laplacian_kernel, gamma=gamma),
        "poly": partial(pairwise.polynomial_kernel, degree=degree, gamma=gamma, coef0=coef0),
        "sigmoid": partial(pairwise.sigmoid_kernel, gamma=gamma, coef0=coef0),
        "cosine": pairwise.cosine_similarity,
        "linear": partial(pairwise.linear_kernel, dense_output=True),
    }
    return known[kernel]


def _rbf(X: Any, Z: Any, gamma: float) -> Array:
    """Return ``exp(-gamma |x - z|²)``; dense rows without scikit-learn's checks and copies."""
    if sp.issparse(X) or sp.issparse(Z):
        from sklearn.metrics.pairwise import rbf_kernel

        return np.asarray(rbf_kernel(X, Z, gamma=gamma), dtype=np.float64)
    A = np.asarray(X, dtype=np.float64)
    B = A if Z is X else np.asarray(Z, dtype=np.float64)
    A, B = _near_the_origin(A, B)
    # In scikit-learn's order: a callable of the user's gives the same numbers, bit for bit.
    K: Array = A @ B.T
    K *= -2.0
    K += np.einsum("ij,ij->i", A, A)[:, None]
    K += np.einsum("ij,ij->i", B, B)
    np.maximum(K, 0.0, out=K)
    if Z is X:
        np.fill_diagonal(K, 0.0)
    K *= -gamma
    return np.exp(K, out=K)


def _near_the_origin(A: Array, B: Array) -> tuple[Array, Array]:
    """Return two sets of rows, moved alike where they are far off: distances would cancel."""
    middle = B.mean(axis=0)
    if np.all(np.abs(middle) <= FAR_OFF * B.std(axis=0)) or not np.any(middle):
        return A, B
    moved = B - middle
    return (moved if A is B else A - middle), moved


def _called(kernel: Callable[[Any, Any], Any], X: Any, Z: Any) -> Array:
    """Evaluate a user's kernel, and say what is wrong with what it returns."""
    values = kernel(X, Z)
    K = np.asarray(values.toarray() if sp.issparse(values) else values, dtype=np.float64)
    if K.shape != (X.shape[0], Z.shape[0]):
        raise ValueError(
            f"kernel must return a matrix of shape {(X.shape[0], Z.shape[0])} for that many rows, "
            f"got shape {K.shape}."
        )
    if not np.all(np.isfinite(K)):
        raise ValueError(
            f"kernel returned NaN or infinity for {int(np.sum(~np.isfinite(K)))} of {K.size} pairs "
            "of rows; check the kernel function and the scale of the columns."
        )
    return K


def resolved_gamma(gamma: Any, X: Any, weights: Array | None) -> float:
    """Return gamma as a number: "scale" is 1 / (n_features * variance of X), "auto" 1 / n_features.

    In the variance a sample of weight k counts k times.
    """
    if gamma == "auto":
        return 1.0 / float(X.shape[1])
    if gamma != "scale":
        return float(gamma)
    share = np.ones(X.shape[0]) if weights is None else weights
    share = share / (float(share.sum()) * X.shape[1])
    mean = float((X.T @ share).sum())
    if sp.issparse(X):
        variance = float((X.multiply(X).T @ share).sum()) - mean**2
    else:
        variance = float((np.square(np.subtract(X, mean, dtype=np.float64)).T @ share).sum())
    return 1.0 / (float(X.shape[1]) * variance) if variance > 0.0 else 1.0
