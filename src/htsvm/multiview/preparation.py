"""What all problems of a fit share: the views in coordinates, and their structure."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.kernel_functions import Kernel, kernel_function, resolved_gamma
from htsvm.linalg.spaces import Space, kernel_space, row_space
from htsvm.multiview.parameters import each_view
from htsvm.multiview.structure import Structure, find_structure


@dataclass(frozen=True, eq=False)
class Prepared:
    """Views, ready to be fitted.

    Attributes
    ----------
    spaces : list of Space
        The views in coordinates.
    structure : Structure, optional
        Their clusters and covariances, in these coordinates; None where no view asks for them.
    """

    spaces: list[Space]
    structure: Structure | None = None

    @property
    def coordinates(self) -> list[Any]:
        """The views."""
        return [space.coordinates for space in self.spaces]

    @property
    def covariances(self) -> list[list[Array]] | None:
        """The paper's Sigma^(v,u), by v and u; None without structure."""
        return None if self.structure is None else self.structure.covariances


def prepare_views(
    views: list[Any],
    names: list[Hashable],
    codes: Array,
    weights: Array | None,
    *,
    strength: Array | None = None,
    kernel: Any = "linear",
    gamma: Any = "scale",
    memory: Any = None,
    seed: int = 0,
) -> Prepared:
    """Return the views in coordinates, and their structure if it counts in any of them.

    Parameters
    ----------
    views : list of {ndarray, CSR matrix} of shape (n_samples, n_columns)
        The views.
    names : list
        What they are called.
    codes, weights : ndarrays of shape (n_samples,)
        The class of each sample, and the sample weights or None.
    strength : ndarray of shape (n_views,), optional
        The paper's eta of each view; zero by default.
    kernel, gamma : object
        As the user gave them: one for all views, or one per view.
    memory : joblib.Memory, optional
        Keeps what takes long.
    seed : int
        Drives the summary that is clustered where there are many samples.
    """
    strength = np.zeros(len(views)) if strength is None else strength
    cached = (lambda function: function) if memory is None else memory.cache
    kernels, gammas = each_view("kernel", kernel, names), each_view("gamma", gamma, names)
    spaces: list[Space] = []
    for v, X in enumerate(views):
        if isinstance(kernels[v], str) and kernels[v] == "linear":
            in_coordinates = cached(row_space) if X.shape[1] > X.shape[0] else row_space
            spaces.append(in_coordinates(X, weights, bool(strength[v] > 0.0)))
        else:
            X = X.astype(np.float64, copy=False)
            function = _kernel_of(names[v], kernels[v], gammas[v], X, weights)
            spaces.append(kernel_space(X, function))
    targets = tuple(np.flatnonzero(strength > 0.0).tolist())
    if not targets:
        return Prepared(spaces)
    structure: Structure = cached(find_structure)(
        [space.coordinates for space in spaces], codes, weights, targets=targets, seed=seed
    )
    return Prepared(spaces, structure)


def _kernel_of(name: Hashable, kernel: Any, gamma: Any, X: Any, weights: Array | None) -> Kernel:
    """Return the kernel of a view as a function of two sets of rows."""
    if callable(kernel):
        return kernel_function(kernel, 1.0)
    if kernel != "rbf":
        raise ValueError(
            f"kernel of view {name!r} must be one of ('linear', 'rbf') or a callable, got "
            f"{kernel!r}."
        )
    scale = isinstance(gamma, str) and gamma == "scale"
    if not scale and not (isinstance(gamma, Real) and 0.0 < float(gamma) < np.inf):
        raise ValueError(f"gamma must be 'scale' or a positive number, got {gamma!r}.")
    return kernel_function("rbf", resolved_gamma(gamma, X, weights))
