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
    *The form.* Minimise :math:`\tfrac12\|\theta - z\|^2` over :math:`\theta \ge 0`,
    :math:`\sum_v \theta_v = s`. The problem is strictly convex with linear constraints, so its
    solution is the one point that satisfies, for some :math:`\tau` and :math:`\mu \ge 0`,

    .. math:: \theta_v - z_v + \tau - \mu_v = 0, \qquad \mu_v \theta_v = 0.

    If :math:`\theta_v > 0` then :math:`\mu_v = 0` and :math:`\theta_v = z_v - \tau`; if
    :math:`\theta_v = 0` then :math:`z_v - \tau = -\mu_v \le 0`. In both cases
    :math:`\theta_v = \max(z_v - \tau, 0)`.

    *The threshold.* :math:`f(\tau) = \sum_v \max(z_v - \tau, 0)` is continuous, falls strictly
    from infinity to zero where it is positive, so :math:`f(\tau) = s` has one solution. Let
    :math:`z_{(1)} \ge z_{(2)} \ge \dots` and suppose the k largest are the positive ones: then
    :math:`\tau_k = (\sum_{j \le k} z_{(j)} - s) / k`. The right k is the largest with
    :math:`z_{(k)} > \tau_k`: where the inequality holds, :math:`f(z_{(k)}) < s`, hence
    :math:`\tau < z_{(k)}` and the k-th is positive at the solution; where it fails,
    :math:`f(z_{(k)}) \ge s`, hence :math:`\tau \ge z_{(k)}` and it is zero. It always holds for
    k = 1.
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
