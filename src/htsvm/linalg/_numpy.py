"""NumPy twins of the compiled kernels: the reference in tests, the fallback without a compiler."""

from __future__ import annotations

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.simplex import project_to_simplex
from htsvm.losses.rounded import Rounded, Sigmoid


def max_threads() -> int:
    """Return how many threads these functions use by themselves (BLAS has its own)."""
    return 1


def has_openmp() -> bool:
    """Return whether OpenMP is in use."""
    return False


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


def simplex_step(V: Array, c: Array, out: Array, counts: Array) -> None:
    """Project the rows of V onto simplices of the sizes c, and count their positive entries."""
    out[:] = project_to_simplex(V, c)
    counts[:] = np.count_nonzero(out, axis=1)


def rounded_maximum(
    shift: Array, U: Array, D: Array, t: float, width: float, labels: Array, out: Array,
    counts: Array, h: Array, along: Array,
) -> None:  # fmt: skip
    """Maximise ``a'u_i - width |a - shift_i|² / 2`` over the unit simplex, row by row.

    The levels u_i are those of ``U_i + t D_i`` less that of the own class. Sets `out` to the
    maximisers, `counts` to the number of their positive entries, `h` to the maxima and `along` to
    their derivatives in t.
    """
    rows = np.arange(len(U))
    levels = U + t * D
    levels -= levels[rows, labels][:, None]
    out[:] = project_to_simplex(shift + levels / width, np.ones(len(U)))
    counts[:] = np.count_nonzero(out, axis=1)
    h[:] = np.einsum("ij,ij->i", out, levels) - 0.5 * width * np.square(out - shift).sum(axis=1)
    along[:] = np.einsum("ij,ij->i", out, D) - D[rows, labels]


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


def smooth_losses(
    F: Array, labels: Array, penalty: Array, spread: float, kind: int, shape: Array, out: Array
) -> float:
    """Return the total of a smoothed loss of scores F, and set `out` to its derivatives.

    The largest rival is rounded over `spread`. `kind` is 1 for a sigmoid, `shape` its height,
    centre and width; 0 for a loss with a rounded kink, `shape` its slope, knee, cap and width.
    """
    rows = np.arange(len(F))
    rivals = F.copy()
    rivals[rows, labels] = -np.inf
    top = rivals.max(axis=1)
    near = np.maximum((rivals - top[:, None]) / spread, -2.0)
    a = project_to_simplex(near, np.ones(len(F)))
    q = 1.0 + np.einsum("ij,ij->i", a, F) - F[rows, labels]
    q += 0.5 * spread * (1.0 - np.square(a).sum(axis=1))
    value, slope = (Sigmoid(*shape) if kind else Rounded(*shape)).value_slope(q)
    slope = penalty * slope
    np.multiply(a, slope[:, None], out=out)
    out[rows, labels] = -slope
    return float(penalty @ value)
