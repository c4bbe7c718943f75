"""What a certificate needs of all samples together: sums, and a few extremes.

A summary of some rows and one of others make one of both, so that the rows may be anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from htsvm._typing import Array
from htsvm.optimality._inputs import Point
from htsvm.optimality._samples import Samples


@dataclass(frozen=True, eq=False)
class Summary:
    """Sums and extremes over samples, at a point (w, b, psi).

    Attributes
    ----------
    pull, signed_sum : ndarray, float
        ``N' psi`` and ``y' psi``.
    support : ndarray of intp
        The samples with a multiplier.
    support_mass, multiplier_sum : float
        The sum of their penalties, and of the sizes of their multipliers.
    square_norm, square_errors, square_errors_at_nu : float
        Squared lengths of q and of the prox errors at the default nu and at the one asked for, a
        sample of weight k counting k times.
    largest_nu, margin_width : float
        The least of the limits of nu, and the largest violation that counts as zero.
    loss, penalty, signed_penalty : float
        The total of the loss, of the penalties, and of penalties times labels.
    counts : ndarray
        Samples of positive weight per status.
    """

    pull: Array
    signed_sum: float
    support: Array
    support_mass: float
    multiplier_sum: float
    square_norm: float
    square_errors: float
    square_errors_at_nu: float
    largest_nu: float
    margin_width: float
    loss: float
    penalty: float
    signed_penalty: float
    counts: Array


def default_nu(point: Point) -> float:
    """Return the nu of the prox residual, unless another is asked for."""
    return point.loss.unit_step / point.C


def summarise(point: Point, nu: float | None, on_margin: float) -> tuple[Summary, Samples, Array]:
    """Return the summary of a point, what it says of the samples, and the status of each."""
    q = _violations(point)
    support = np.flatnonzero(point.psi)
    share = len(support) / max(len(point.psi), 1)
    pull, signed_sum = point.operator.signed_tdot(point.y, point.psi, share)
    reference = default_nu(point)
    samples = Samples(point, q, on_margin)
    square_errors = samples.square(samples.errors)
    other_nu = None if nu == reference else nu
    status = samples.status()
    summary = Summary(
        pull=pull,
        signed_sum=signed_sum,
        support=support,
        support_mass=float(point.penalty[support].sum()),
        multiplier_sum=float(np.abs(point.psi[support]).sum()),
        square_norm=samples.square_norm,
        square_errors=square_errors,
        square_errors_at_nu=square_errors
        if other_nu is None
        else samples.square(samples.prox_errors(other_nu)),
        largest_nu=samples.largest_nu(),
        margin_width=samples.margin_width(),
        loss=point.loss.total(q, point.penalty),
        penalty=float(point.penalty.sum()),
        signed_penalty=float(np.dot(point.penalty, point.y)),
        counts=samples.counts(status),
    )
    return summary, samples, status


def merge(parts: Sequence[Summary]) -> Summary:
    """Return the summary of all samples from those of disjoint sets of them."""

    def total(name: str) -> float:
        return float(sum(getattr(part, name) for part in parts))

    return Summary(
        pull=np.sum([part.pull for part in parts], axis=0),
        signed_sum=total("signed_sum"),
        support=np.concatenate([part.support for part in parts]),
        support_mass=total("support_mass"),
        multiplier_sum=total("multiplier_sum"),
        square_norm=total("square_norm"),
        square_errors=total("square_errors"),
        square_errors_at_nu=total("square_errors_at_nu"),
        largest_nu=min(part.largest_nu for part in parts),
        margin_width=max(part.margin_width for part in parts),
        loss=total("loss"),
        penalty=total("penalty"),
        signed_penalty=total("signed_penalty"),
        counts=np.sum([part.counts for part in parts], axis=0),
    )


def _violations(point: Point) -> Array:
    q = np.empty(len(point.y))
    point.operator.signed_dot(point.y, point.w, point.b, q)
    np.subtract(1.0, q, out=q)
    if not np.isfinite(q.sum()):
        raise ValueError("X holds NaN or infinity, or is too large for coef.")
    return q
