"""NumPy twins of the compiled kernels for scores of several classes."""

from __future__ import annotations

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.simplex import project_to_simplex


def simplex_step(
    alpha: Array, U: Array, D: Array, t: float, sigma: Array, c: Array, out: Array, counts: Array
) -> float:
    """Project ``alpha_i + sigma_i (u_i + t d_i)`` onto the simplex of size ``c_i``, row by row.

    Sets `out` to the projections and `counts` to the number of their positive entries (0 where
    ``c_i`` is 0), and returns ``sum(out * D)``.
    """
    out[:] = project_to_simplex(alpha + sigma[:, None] * (U + t * D), c)
    counts[:] = np.count_nonzero(out, axis=1)
    return float(np.vdot(out, D))


def top_rivals(U: Array, labels: Array, out: Array) -> None:
    """Set ``out[i] = max(U[i, j] over j != labels[i]) - U[i, labels[i]]``."""
    rows = np.arange(len(U))
    rivals = U.copy()
    rivals[rows, labels] = -np.inf
    np.subtract(rivals.max(axis=1), U[rows, labels], out=out)


def spread_products(S: Array, mask: Array, counts: Array, sigma: Array) -> None:
    """Replace each row s of S by ``sigma_i (I_A - 1 1' / |A|) s``, A the entries in `mask`."""
    S *= mask
    S -= mask * (S.sum(axis=1) / counts)[:, None]
    S *= sigma[:, None]
