"""Coordinates in the space of a kernel, from some of its samples (Nystroem's method).

With the kernel matrix ``K_ZZ = L L'`` of the landmarks Z the coordinates of a sample are
``L⁻¹ k(Z, x)``: those of its projection onto what the landmarks span. With all training samples as
landmarks nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from htsvm._typing import Array

# Values of the kernel that are computed at a time where rows come in blocks: 2 MB, which stay in
# the cache.
BLOCK_VALUES = 250_000

Kernel = Callable[[Any, Any], Array]


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Landmarks whose images are linearly independent, and the way to their coordinates.

    Attributes
    ----------
    rows : ndarray of intp
        Which of the given samples they are.
    factor : ndarray of shape (r, r)
        The lower triangular L.
    """

    rows: Array
    factor: Array

    def coordinates(self, K: Array) -> Array:
        """Return coordinates from kernel values of shape (n_samples, r); K is overwritten."""
        if not len(self.factor):  # SciPy below 1.12 refuses empty systems.
            return K
        out: Array = linalg.solve_triangular(
            self.factor, K.T, lower=True, overwrite_b=True, check_finite=False
        ).T
        return out

    def lift(self, coef: Array) -> Array:
        """Return the coefficients of the landmarks from those of the coordinates (rows)."""
        if not len(self.factor):
            return coef
        lifted: Array = linalg.solve_triangular(self.factor, coef.T, lower=True, trans="T").T
        return lifted


def independent(K: Array) -> Landmarks:
    """Choose landmarks whose images are independent, given the kernel matrix of candidates.

    A Cholesky factorisation with pivots takes the candidate that is worst represented by those
    before it, and ends where rounding is all that is left. `K` is overwritten.
    """
    tolerance = len(K) * float(np.finfo(np.float64).eps) * float(np.diagonal(K).max(initial=0.0))
    factor, pivots, rank, _ = linalg.lapack.dpstrf(K.T, lower=0, tol=tolerance, overwrite_a=1)
    upper = np.triu(factor[:rank, :rank])
    return Landmarks(np.asarray(pivots[:rank] - 1, dtype=np.intp), np.ascontiguousarray(upper.T))


def blocks(n_rows: int, width: int) -> list[slice]:
    """Return slices of rows whose kernel values with `width` samples are a block."""
    size = max(BLOCK_VALUES // max(width, 1), 1)
    return [slice(low, min(low + size, n_rows)) for low in range(0, n_rows, size)]
