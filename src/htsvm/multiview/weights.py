"""How much to trust each view: weights on the simplex, in closed form."""

from __future__ import annotations

from htsvm._typing import Array
from htsvm.linalg.simplex import project_to_simplex


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
