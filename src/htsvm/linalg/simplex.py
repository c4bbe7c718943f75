"""The projection onto a simplex."""

from __future__ import annotations

from typing import Any

import numpy as np

from htsvm._typing import Array


def project_to_simplex(points: Any, size: Any = 1.0) -> Array:
    r"""Return the points of simplices that are nearest to `points`.

    Parameters
    ----------
    points : array-like of shape (n,) or (m, n)
        One point, or one per row.
    size : float or ndarray of shape (m,), default=1.0
        What the coordinates add up to; a simplex of size zero (or less) is the origin.

    Returns
    -------
    ndarray of the shape of `points`
        Not negative, each row with the sum `size`.

    Notes
    -----
    The projection is :math:`\max(z - \tau, 0)` with the threshold :math:`\tau` at which it sums to
    the size s. Of sorted coordinates the k largest stay positive, k the largest number with
    :math:`z_{(k)} > \tau_k = (\sum_{j \le k} z_{(j)} - s) / k` (Held, Wolfe and Crowder, 1974).
    """
    z: Array = np.asarray(points, dtype=np.float64)
    if z.ndim == 1:
        one: Array = project_to_simplex(z[None, :], np.array([size]))[0]
        return one
    size = np.asarray(size, dtype=np.float64)
    # A shift of all coordinates moves the threshold along; this one keeps large values exact.
    z = z - z.max(axis=1, keepdims=True)
    falling = -np.sort(-z, axis=1)
    thresholds = np.cumsum(falling, axis=1)
    thresholds -= np.broadcast_to(size, len(z))[:, None]
    thresholds /= np.arange(1, z.shape[1] + 1)
    count = np.maximum(np.count_nonzero(falling > thresholds, axis=1), 1)
    z -= thresholds[np.arange(len(z)), count - 1][:, None]
    np.maximum(z, 0.0, out=z)
    z[np.broadcast_to(size, len(z)) <= 0.0] = 0.0
    return z
