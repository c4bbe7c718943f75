"""Products in single precision, where a rough result will do: half the memory, twice the speed."""

from __future__ import annotations

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.operators import Operator
from htsvm.linalg.threads import in_blocks

# From this many values times columns of the other factor on it pays, unless the mean of a column is
# so many standard deviations: then rounding would hide what the column tells.
LARGE, MOST_OFFSET = 5_000_000, 100.0


def pays(operator: Operator, columns: int, moments: Array, *, large: int = LARGE) -> bool:
    """Return whether products with so many columns may be rough.

    `moments` are the second moments of the rows (x, 1), with any weights; the lower triangle is
    used.
    """
    if not operator.by_blas or operator.stored * columns < large:
        return False
    total = float(moments[-1, -1]) or 1.0
    squares = np.square(moments[-1, :-1] / total)
    variances = np.diagonal(moments)[:-1] / total - squares
    return bool(np.all(squares <= MOST_OFFSET**2 * variances))


def product(A: Array, B: Array) -> Array:
    """Return A times a small B in single precision."""
    small, scale = _rounded(A)
    rough: Array = (small @ B).astype(np.float64)
    rough *= scale
    return rough


def scores(rows: Array, W: Array, b: Array) -> Array:
    """Return ``rows @ W.T + b``, the rows in single precision."""
    small, scale = _rounded(W)
    out = np.empty((len(rows), len(W)))

    def some(block: slice) -> None:
        part = out[block]
        np.multiply((small @ rows[block].T).T, scale, out=part, dtype=np.float64)
        np.add(part, b, out=part)

    in_blocks(some, *rows.shape)
    return out


def pull(rows: Array, S: Array) -> Array:
    """Return ``S.T @ rows``, the rows in single precision."""

    def some(block: slice) -> Array:
        small, scale = _rounded(S[block].T)
        part: Array = np.multiply(small @ rows[block], scale, dtype=np.float64)
        return part

    parts = in_blocks(some, *rows.shape)
    total: Array = np.sum(parts, axis=0) if parts else np.zeros((S.shape[1], rows.shape[1]))
    return total


def _rounded(A: Array) -> tuple[Array, float]:
    """Return A in single precision, scaled so that it fits in there, and the scale."""
    scale = float(np.abs(A).max(initial=0.0)) or 1.0
    return (A / scale).astype(np.float32), scale
