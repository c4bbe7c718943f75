r"""The duality gap of a problem, or of the convex problem that touches it at a point.

A loss with a concave profile lies below the hinge losses with weights c that touch it at the
violations q. With alpha = -psi and the conjugate l* of those (or of the loss itself, if it is
convex and has no profile), every balanced alpha gives the lower bound

.. math:: \sum_i \alpha_i - \tfrac12 \|X^\top (y \alpha)\|^2_{R^{-1}}
          - \sum_i c_i l^*(\alpha_i / c_i)

of the minimum. The objective less this bound is a sum of terms that are not negative,
``||Rw - X'(y alpha)||² / 2`` in the norm of the inverse of R and one per sample, and is computed
as that sum: nothing cancels.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import Quadratic, kernels
from htsvm.problems import Problem

# Far out, where a convex loss has its smallest and its largest slope.
FAR = 1e150


class DualSums(NamedTuple):
    """Sums over the samples of the labels -1 and +1, at multipliers within their bounds.

    Attributes
    ----------
    pulls : ndarray of shape (2, n)
        ``X'(y alpha)``.
    masses, values : ndarray of shape (2,)
        The sums of alpha, and of alpha q less the conjugate.
    primal : float
        The total of the loss that touches, of both labels.
    off : float
        How many multipliers were not within their bounds.
    """

    pulls: Array
    masses: Array
    values: Array
    primal: float
    off: float


def sum_dual(problem: Problem, psi: Array, q: Array, bent: Array) -> DualSums | None:
    """Return the sums at a point; None for losses that have neither a profile nor a conjugate.

    Where the loss is `bent` it is touched where the multiplier is its slope. That is not where q
    is, but the difference is what the prox residual measures.
    """
    loss, penalty, y = problem.loss, problem.penalty, problem.y
    if "profile" in loss.abilities:
        # The weights are replaced by multipliers one by one, which saves an array.
        down, up = np.empty(len(q)), np.empty(len(q))
        loss.slopes(q, penalty, down)
        sums = kernels.active.dual_sums(
            q, psi, penalty, down, bent.view(np.uint8), y,
            float(loss.profile_slope(0.0)), float(loss.tilt), down, up,
        )  # fmt: skip
        masses, values, (primal, off, count) = sums[:2], sums[2:4], sums[4:7].tolist()
    elif "conjugate" in loss.abilities:
        low, high = (float(loss.subdifferential(s)[k]) for k, s in ((0, -FAR), (1, FAR)))
        kept = penalty > 0.0
        # An unbounded slope times a penalty of zero is no bound either.
        alpha = np.where(kept, -psi, 0.0)
        np.clip(alpha, low * penalty, high * penalty, out=alpha, where=kept)
        each = alpha * q
        each[kept] -= penalty[kept] * loss.conjugate(alpha[kept] / penalty[kept])
        down, up = (np.where(side, alpha, 0.0) for side in (y < 0, y > 0))
        masses = np.array([down.sum(), up.sum()])
        values = np.array([each[y < 0].sum(), each[y > 0].sum()])
        primal, off = loss.total(q, penalty), np.count_nonzero(alpha != -psi)
        count = np.count_nonzero(alpha)
    else:
        return None
    share = 0.5 * count / max(len(q), 1)
    pulls = [problem.operator.signed_tdot(y, part, share)[0] for part in (down, up)]
    return DualSums(np.array(pulls), masses, values, primal, off)


def duality_gap(dual: DualSums | None, w: Array, R: Quadratic, fit_intercept: bool) -> float:
    """Return the gap; NaN where R or the loss admit no bound."""
    if dual is None:
        return math.nan
    factors = balancing_factors(dual.masses) if fit_intercept else np.ones(2)
    energy = R.inverse_energy(R.dot(w) - factors @ dual.pulls)
    return max(energy + dual.primal - float(factors @ dual.values), 0.0)


def balancing_factors(masses: Array) -> Array:
    """Return factors of the multipliers of the two labels after which these sum to the same.

    The heavier side is scaled down, which keeps within bounds, because zero is.
    """
    down, up = masses
    if not up * down > 0.0:
        return np.zeros(2)
    return np.array([min(up / down, 1.0), min(down / up, 1.0)])
