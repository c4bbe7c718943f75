r"""The duality gap of a convex problem: a bound on how far the objective is above its minimum.

With the multipliers alpha = -psi and the conjugate l* of the loss, the dual of
min w'Rw/2 + sum_i c_i l(1 - y_i (x_i'w + b)) is

.. math:: \max_\alpha \sum_i \alpha_i - \tfrac12 \|X^\top (y \alpha)\|^2_{R^{-1}}
          - \sum_i c_i\, l^*(\alpha_i / c_i) \quad\text{subject to}\quad y^\top\alpha = 0 .

Every feasible alpha gives a lower bound of the minimum.
"""

from __future__ import annotations

import numpy as np

from htsvm._typing import Array
from htsvm.optimality._inputs import Point

# Far out, where a convex loss has its smallest and its largest slope.
FAR = 1e150


def duality_gap(point: Point, objective: float) -> float:
    """Return `objective` less a lower bound of the minimum; NaN where there is no bound.

    There is none for losses without a conjugate, nor for a regulariser that is not a positive
    number or diagonal. The multipliers are made feasible first, by at most the size of the
    residuals, and then cost one product with the transpose of X.
    """
    loss, regularizer = point.loss, point.regularizer
    if "conjugate" not in loss.abilities or not regularizer.positive:
        return float("nan")
    alpha = _feasible(point)
    pull, _ = point.operator.signed_tdot(point.y, alpha)
    kept = point.penalty > 0.0
    penalty = point.penalty[kept]
    conjugate = float(penalty @ loss.conjugate(alpha[kept] / penalty))
    energy = 0.5 * float(pull @ (pull / regularizer.diagonal()))
    return max(objective - (float(alpha.sum()) - energy - conjugate), 0.0)


def _feasible(point: Point) -> Array:
    """Return multipliers within their bounds and, with an intercept, balanced between the classes.

    The heavier class is scaled down to the weight of the other one, which keeps within bounds,
    because zero is.
    """
    lowest, highest = float(point.loss.subdifferential(-FAR)[0]), point.loss.subdifferential(FAR)[1]
    alpha: Array = np.clip(-point.psi, lowest * point.penalty, float(highest) * point.penalty)
    if not point.fit_intercept:
        return alpha
    positive = point.y > 0
    up, down = float(alpha[positive].sum()), float(alpha[~positive].sum())
    if up * down <= 0.0:
        return np.zeros_like(alpha)
    if abs(up) > abs(down):
        alpha[positive] *= down / up
    else:
        alpha[~positive] *= up / down
    return alpha
