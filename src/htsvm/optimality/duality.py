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
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import Quadratic, kernels
from htsvm.optimality.point import Point

# Far out, where a convex loss has its smallest and its largest slope.
FAR = 1e150


@dataclass(frozen=True, eq=False)
class DualSums:
    """Sums over the samples of the labels -1 and +1, at multipliers within their bounds.

    Attributes
    ----------
    pulls : ndarray of shape (2, n)
        ``X'(y alpha)``.
    masses, values : ndarray of shape (2,)
        The sums of alpha, and of alpha q less the conjugate.
    primal : float
        The total of the loss that touches, of both labels.
    as_given : bool
        Whether the multipliers were within their bounds.
    """

    pulls: Array
    masses: Array
    values: Array
    primal: float
    as_given: bool


def sum_dual(point: Point, q: Array, bent: Array) -> DualSums | None:
    """Return the sums of a point; None for losses that have neither a profile nor a conjugate.

    Where the loss is `bent` it is touched where the multiplier is its slope. That is not where q
    is, but the difference is what the prox residual measures.
    """
    loss = point.loss
    if "profile" in loss.abilities:
        return _sum_profile(point, q, bent)
    if "conjugate" in loss.abilities:
        return _sum_conjugate(point, q)
    return None


def _sum_profile(point: Point, q: Array, bent: Array) -> DualSums:
    """Return the sums for a loss that hinge losses touch from above."""
    loss = point.loss
    down, up = np.empty(len(q)), np.empty(len(q))
    # The weights are replaced by multipliers one by one, which saves an array.
    loss.slopes(q, point.penalty, down)
    sums = kernels.active.dual_sums(
        q, point.psi, point.penalty, down, bent.view(np.uint8), point.y,
        float(loss.profile_slope(0.0)), float(loss.tilt), down, up,
    )  # fmt: skip
    return DualSums(
        pulls=_pulls(point, down, up, float(sums[6])),
        masses=sums[:2],
        values=sums[2:4],
        primal=float(sums[4]),
        as_given=bool(sums[5] == 0.0),
    )


def _sum_conjugate(point: Point, q: Array) -> DualSums:
    """Return the sums for a convex loss whose conjugate is known."""
    loss, penalty = point.loss, point.penalty
    low, high = (float(loss.subdifferential(s)[k]) for k, s in ((0, -FAR), (1, FAR)))
    kept = penalty > 0.0
    # An unbounded slope times a penalty of zero is no bound either.
    alpha = np.where(kept, -point.psi, 0.0)
    np.clip(alpha, low * penalty, high * penalty, out=alpha, where=kept)
    values = alpha * q
    values[kept] -= penalty[kept] * loss.conjugate(alpha[kept] / penalty[kept])
    down, up = (np.where(side, alpha, 0.0) for side in (point.y < 0, point.y > 0))
    return DualSums(
        pulls=_pulls(point, down, up, int(np.count_nonzero(alpha))),
        masses=np.array([down.sum(), up.sum()]),
        values=np.array([values[side].sum() for side in (point.y < 0, point.y > 0)]),
        primal=loss.total(q, penalty),
        as_given=bool(np.array_equal(alpha, -point.psi)),
    )


def _pulls(point: Point, down: Array, up: Array, count: float) -> Array:
    """Return ``X'(y alpha)`` of both labels, given how many alpha are not zero."""
    share = 0.5 * count / max(len(up), 1)
    return np.array([point.operator.signed_tdot(point.y, part, share)[0] for part in (down, up)])


def merge_dual(parts: Sequence[DualSums | None]) -> DualSums | None:
    """Return the sums over all samples from those over disjoint sets of them."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    return DualSums(
        pulls=np.sum([part.pulls for part in known], axis=0),
        masses=np.sum([part.masses for part in known], axis=0),
        values=np.sum([part.values for part in known], axis=0),
        primal=math.fsum(part.primal for part in known),
        as_given=all(part.as_given for part in known),
    )


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
