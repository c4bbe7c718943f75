"""How much to trust each view: weights on the simplex, in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from htsvm._typing import Array


def project_to_simplex(point: Any) -> Array:
    r"""Return the point of the simplex that is nearest to `point`.

    Parameters
    ----------
    point : array-like of shape (n_views,)
        Any point.

    Returns
    -------
    ndarray of shape (n_views,)
        Not negative, with sum one.

    Notes
    -----
    *The form.* Minimise :math:`\tfrac12\|\theta - z\|^2` over :math:`\theta \ge 0`,
    :math:`\sum_v \theta_v = 1`. The problem is strictly convex with linear constraints, so its
    solution is the one point that satisfies, for some :math:`\tau` and :math:`\mu \ge 0`,

    .. math:: \theta_v - z_v + \tau - \mu_v = 0, \qquad \mu_v \theta_v = 0.

    If :math:`\theta_v > 0` then :math:`\mu_v = 0` and :math:`\theta_v = z_v - \tau`; if
    :math:`\theta_v = 0` then :math:`z_v - \tau = -\mu_v \le 0`. In both cases
    :math:`\theta_v = \max(z_v - \tau, 0)`.

    *The threshold.* :math:`s(\tau) = \sum_v \max(z_v - \tau, 0)` is continuous, falls strictly
    from infinity to zero where it is positive, so :math:`s(\tau) = 1` has one solution. Let
    :math:`z_{(1)} \ge z_{(2)} \ge \dots` and suppose the k largest are the positive ones: then
    :math:`\tau_k = (\sum_{j \le k} z_{(j)} - 1) / k`. The right k is the largest with
    :math:`z_{(k)} > \tau_k`: where the inequality holds, :math:`s(z_{(k)}) < 1`, hence
    :math:`\tau < z_{(k)}` and the k-th is positive at the solution; where it fails,
    :math:`s(z_{(k)}) \ge 1`, hence :math:`\tau \ge z_{(k)}` and it is zero. It always holds for
    k = 1.
    """
    z = np.asarray(point, dtype=np.float64)
    # A shift of all coordinates moves the threshold along; this one keeps large values exact.
    z = z - z.max()
    falling = np.sort(z)[::-1]
    thresholds = (np.cumsum(falling) - 1.0) / np.arange(1, len(z) + 1)
    k = int(np.flatnonzero(falling > thresholds)[-1])
    theta: Array = np.maximum(z - thresholds[k], 0.0)
    return theta


def best_weights(cost: Array, smoothness: float) -> Array:
    r"""Return the view weights for given classifiers.

    Parameters
    ----------
    cost : ndarray of shape (n_views,)
        What a view costs per unit of weight: the paper's :math:`g = \pi + \eta\rho`.
    smoothness : float
        The paper's alpha.

    Returns
    -------
    ndarray of shape (n_views,)
        The minimiser of :math:`\tfrac12 g^\top\theta + \tfrac\alpha2\|\theta\|^2` on the simplex.

    Notes
    -----
    :math:`\tfrac12 g^\top\theta + \tfrac\alpha2\|\theta\|^2 = \tfrac\alpha2
    \|\theta + g/(2\alpha)\|^2 - \|g\|^2/(8\alpha)`, so the minimiser is the projection of
    :math:`-g/(2\alpha)`: a view that is cheaper, for instance because it separates the classes
    with a wider margin, gets more weight.
    """
    return project_to_simplex(-cost / (2.0 * smoothness))


def balanced_smoothness(cost: Array) -> float:
    r"""Return an alpha for which weights fall with a view's share of the cost, but not to zero.

    :math:`\alpha = V(V-1)\bar g` makes :math:`\theta_v` the mean of 1/V and
    :math:`(1 - g_v/\sum_u g_u)/(V-1)`, so at least 1/(2V). Half of that alpha would do for the
    first round, but a view with less weight is regularised less, costs more, and would lose still
    more of it in the next. (With all weights positive :math:`\theta_v = 1/V +
    (\bar g - g_v)/(2\alpha)`, and :math:`g_v \le V \bar g`.)
    """
    total = float(cost.sum())
    return (len(cost) - 1) * total if total > 0.0 and len(cost) > 1 else 1.0
