"""Views in coordinates: of the columns, of the row space, or of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from htsvm._typing import Array
from htsvm.multiview.row_space import RowSpace, distinct_rows, row_space

# The largest side of a kernel matrix: 800 MB.
LARGEST_KERNEL = 10_000
KERNELS = ("linear", "rbf")


@dataclass(frozen=True, eq=False)
class KernelSpace:
    """A view in coordinates of the space that a kernel maps its samples to.

    There a classifier is linear, w = sum_i a_i phi(x_i) over the distinct training samples, and
    the inner products are those of the coordinates.

    Attributes
    ----------
    coordinates : ndarray of shape (n_samples, n_coordinates)
        The samples.
    rows : {ndarray, CSR matrix} of shape (n_distinct, n_columns)
        The distinct training samples.
    factor : ndarray of shape (n_distinct, n_coordinates)
        Leads from coefficients of the coordinates to the a_i.
    kernel : callable
        The kernel, a function of two matrices.
    """

    coordinates: Array
    rows: Any
    factor: Array
    kernel: Callable[[Any, Any], Array]

    def lift(self, coef: Array) -> Array:
        """Return the coefficients of the training samples."""
        lifted: Array = self.factor @ coef
        return lifted

    def features(self, X: Any) -> Array:
        """Return the kernel of other samples with the training samples."""
        return _evaluated(self.kernel, X, self.rows)


@dataclass(frozen=True)
class RBF:
    """The kernel exp(-gamma ||x - z||²)."""

    gamma: float

    def __call__(self, X: Any, Z: Any) -> Array:
        """Return the matrix of the kernel."""
        K: Array = rbf_kernel(X, Z, gamma=self.gamma)
        return K


Space = RowSpace | KernelSpace


def coordinate_spaces(
    views: list[Any], weights: Array | None, kernel: Any, gamma: Any, names: list[Hashable]
) -> list[Space]:
    """Return all views in coordinates.

    Parameters
    ----------
    views : list of {ndarray, CSR matrix}
        The views.
    weights : ndarray of shape (n_samples,) or None
        Sample weights, all positive.
    kernel, gamma : object
        As the user gave them: one for all views, or one per view.
    names : list
        The names of the views.
    """
    kernels = _each("kernel", kernel, names)
    gammas = _each("gamma", gamma, names)
    spaces: list[Space] = []
    for X, of_view, width, name in zip(views, kernels, gammas, names, strict=True):
        X = X.astype(np.float64, copy=False)
        if isinstance(of_view, str) and of_view == "linear":
            spaces.append(row_space(X, weights, False))
        else:
            spaces.append(_kernel_space(X, weights, _resolved(of_view, width, X, weights, name)))
    return spaces


def _each(parameter: str, value: Any, names: list[Hashable]) -> list[Any]:
    """Return one value per view."""
    if isinstance(value, Mapping):
        if set(value) != set(names):
            raise ValueError(
                f"{parameter} must have one entry for each of the views {names!r}, got the keys "
                f"{list(value)!r}."
            )
        return [value[name] for name in names]
    if isinstance(value, (list, tuple, np.ndarray)):
        if len(value) != len(names):
            raise ValueError(
                f"{parameter} must be one for all views or one per view, of which there are "
                f"{len(names)}, got {value!r}."
            )
        return list(value)
    return [value] * len(names)


def _resolved(
    kernel: Any, gamma: Any, X: Any, weights: Array | None, name: Hashable
) -> Callable[[Any, Any], Array]:
    """Return a kernel as a function of two matrices."""
    if callable(kernel):
        function: Callable[[Any, Any], Array] = kernel
        return function
    if kernel != "rbf":
        raise ValueError(
            f"kernel of view {name!r} must be one of {KERNELS} or a callable, got {kernel!r}."
        )
    if isinstance(gamma, str):
        if gamma != "scale":
            raise ValueError(f"gamma must be 'scale' or a positive number, got {gamma!r}.")
        variance = _variance(X, weights)
        gamma = 1.0 / (X.shape[1] * variance) if variance > 0.0 else 1.0
    if not (np.isfinite(gamma) and gamma > 0.0):
        raise ValueError(f"gamma must be 'scale' or a positive number, got {gamma!r}.")
    return RBF(float(gamma))


def _variance(X: Any, weights: Array | None) -> float:
    """Return the variance over all entries, where a sample of weight k counts k times."""
    share = np.full(X.shape[0], 1.0) if weights is None else weights
    share = share / (share.sum() * X.shape[1])
    square = X.multiply(X) if sp.issparse(X) else X * X
    mean = float((X.T @ share).sum())
    return max(float((square.T @ share).sum()) - mean**2, 0.0)


def _kernel_space(
    X: Any, weights: Array | None, kernel: Callable[[Any, Any], Array]
) -> KernelSpace:
    first, place = distinct_rows(X)
    if len(first) > LARGEST_KERNEL:
        raise ValueError(
            f"a kernel needs a matrix of side {len(first)}, the number of distinct samples, more "
            f"than {LARGEST_KERNEL}; use kernel='linear' on features that approximate it, for "
            "example from sklearn.kernel_approximation.Nystroem."
        )
    rows = X[first]
    K = _evaluated(kernel, rows, rows)
    values, vectors = scipy.linalg.eigh(0.5 * (K + K.T))
    largest = float(np.abs(values).max())
    if values[0] < -1e-8 * largest:
        raise ValueError(
            f"kernel is not positive semidefinite: its matrix on the training samples has the "
            f"eigenvalue {values[0]:.3g}, the largest is {values[-1]:.3g}."
        )
    kept = values > len(values) * np.finfo(np.float64).eps * largest
    root = np.sqrt(values[kept])
    return KernelSpace((vectors[:, kept] * root)[place], rows, vectors[:, kept] / root, kernel)


def _evaluated(kernel: Callable[[Any, Any], Array], X: Any, Z: Any) -> Array:
    values: Any = kernel(X, Z)
    K: Array = np.asarray(values.toarray() if sp.issparse(values) else values, dtype=np.float64)
    if K.shape != (X.shape[0], Z.shape[0]):
        raise ValueError(
            f"kernel must return a matrix of shape {(X.shape[0], Z.shape[0])} for that many rows, "
            f"got shape {K.shape}."
        )
    return K
