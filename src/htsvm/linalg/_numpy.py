"""NumPy twins of the compiled kernels: the reference in tests, the fallback without a compiler."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from htsvm._typing import Array

# Rows per block where a temporary of the block's size is unavoidable.
BLOCK = 8192


def max_threads() -> int:
    """Return how many threads these functions use by themselves (BLAS has its own)."""
    return 1


def has_openmp() -> bool:
    """Return whether OpenMP is in use."""
    return False


def _csr(indptr: Array, indices: Array, data: Array, n: int) -> sp.csr_matrix:
    return sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, n), copy=False)


def csr_signed_dot(
    indptr: Array, indices: Array, data: Array, y: Array, w: Array, b: float, out: Array
) -> None:
    """Set ``out[i] = y[i] * (x_i @ w + b)``."""
    np.multiply(y, _csr(indptr, indices, data, len(w)) @ w + b, out=out)


def csr_signed_tdot(
    indptr: Array, indices: Array, data: Array, y: Array, v: Array, out: Array
) -> float:
    """Set ``out = X.T @ (y * v)``; return ``y @ v``."""
    signed = y * v
    out[:] = _csr(indptr, indices, data, len(out)).T @ signed
    return float(signed.sum())


def csr_add_gram(
    indptr: Array, indices: Array, data: Array, rows: Array, weights: Array, out: Array
) -> None:
    """Add ``sum_i weights_i (x_i, 1)(x_i, 1)^T`` over `rows` to the lower triangle of `out`."""
    n = out.shape[0] - 1
    part = _csr(indptr, indices, data, n)[rows].astype(np.float64)
    out[:n, :n] += (part.T @ part.multiply(weights[:, None])).toarray()
    out[n, :n] += part.T @ weights
    out[n, n] += weights.sum()


def dense_signed_dot(X: Array, y: Array, w: Array, b: float, out: Array) -> None:
    """Set ``out[i] = y[i] * (x_i @ w + b)``."""
    for low in range(0, len(X), BLOCK):
        part = slice(low, low + BLOCK)
        np.multiply(y[part], X[part].astype(np.float64, copy=False) @ w + b, out=out[part])


def dense_signed_tdot(X: Array, y: Array, v: Array, out: Array) -> float:
    """Set ``out = X.T @ (y * v)``; return ``y @ v``."""
    signed = y * v
    out[:] = 0.0
    for low in range(0, len(X), BLOCK):
        part = slice(low, low + BLOCK)
        out += signed[part] @ X[part].astype(np.float64, copy=False)
    return float(signed.sum())


def capped_slope(
    h: Array, penalty: Array, top: float, start: float, fall: float, out: Array
) -> None:
    """Set ``out = penalty * clip(start - fall * h, 0, top)``."""
    np.multiply(penalty, np.clip(start - fall * h, 0.0, top), out=out)


def hybrid_totals(q: Array, penalty: Array, knee: float, cap: float, multiples: Array) -> Array:
    """Return the totals of the hybrid truncated loss at multiples of the point with violations q.

    The cap is finite. With the multiple one that is ``sum(penalty * loss(q))``.
    """
    totals = np.empty(len(multiples))
    for k, multiple in enumerate(multiples):
        u = np.clip((1.0 - multiple * (1.0 - q)) / cap, 0.0, 1.0)
        value = np.where(u <= knee, 2.0 / (1.0 + knee) * u, 1.0 - (1.0 - u) ** 2 / (1.0 - knee**2))
        totals[k] = cap * (penalty @ value)
    return totals


def dual_sums(
    q: Array,
    psi: Array,
    penalty: Array,
    weights: Array,
    bent: Array,
    y: Array,
    top: float,
    tilt: float,
    down: Array,
    up: Array,
) -> Array:
    """Set the multipliers of both labels, made to fit hinge losses; see the compiled twin."""
    shift = tilt * penalty
    weights = np.where(bent, np.clip(shift - psi, 0.0, top * penalty), weights)
    alpha = np.clip(-psi, -shift, weights - shift)
    np.multiply(alpha, y < 0, out=down)
    np.multiply(alpha, y > 0, out=up)
    primal = float(weights @ np.maximum(q, 0.0)) - float(shift @ q)
    off, count = np.count_nonzero(alpha != -psi), np.count_nonzero(alpha)
    return np.array([down.sum(), up.sum(), down @ q, up @ q, primal, off, count])


def side_totals(y: Array, v: Array) -> Array:
    """Return the sums of v over the labels -1 and +1."""
    return np.array([v[y < 0].sum(), v[y > 0].sum()])


def square_size(q: Array, penalty: Array) -> float:
    """Return ``sum(penalty * (1 + q ** 2))``."""
    return float(penalty @ (1.0 + q * q))
