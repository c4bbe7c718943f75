"""What a certificate needs of all samples together: sums, and a few extremes.

A summary of some rows and one of others make one of both, so that the rows may be anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.optimality.duality import DualSums, merge_dual, sum_dual
from htsvm.optimality.point import Point
from htsvm.optimality.samples import Samples


@dataclass(frozen=True, eq=False)
class Summary:
    """Sums and extremes over samples, at a point (w, b, psi).

    Attributes
    ----------
    pull, signed_sum : ndarray, float
        ``N' psi`` and ``y' psi``.
    support : ndarray of intp
        The samples with a multiplier.
    multiplier_sum : float
        The sum of the sizes of the multipliers.
    square_size, square_errors, square_errors_at_nu : float
        What `residuals.violation` takes, for the prox errors at the default nu and at the one
        asked for.
    largest_nu, margin_width : float
        The least of the limits of nu, and the largest violation that counts as zero.
    loss : float
        The total of the loss.
    class_penalty : ndarray of shape (2,)
        The sums of the penalties of the labels -1 and +1.
    counts : ndarray
        Samples of positive weight per status.
    dual : DualSums or None
        The sums of the dual problem.
    """

    pull: Array
    signed_sum: float
    support: Array
    multiplier_sum: float
    square_size: float
    square_errors: float
    square_errors_at_nu: float
    largest_nu: float
    margin_width: float
    loss: float
    class_penalty: Array
    counts: Array
    dual: DualSums | None

    @property
    def centred_pull(self) -> Array:
        """The pull of rows less their mean, weighted by the sizes of the multipliers.

        It differs from the pull by what the balance of the multipliers lacks times that mean.
        """
        if self.dual is None or not float(self.dual.masses.sum()) > 0.0:
            return self.pull
        down, up = self.dual.pulls
        centred: Array = self.pull - self.signed_sum * (up - down) / float(self.dual.masses.sum())
        return centred


def default_nu(point: Point) -> float:
    """Return the nu of the prox residual, unless another is asked for."""
    return point.loss.unit_step / point.C


def summarise(point: Point, nu: float | None, on_margin: float) -> tuple[Summary, Samples, Array]:
    """Return the summary of a point, what it says of the samples, and the status of each."""
    q = _violations(point)
    support = np.flatnonzero(point.psi)
    samples = Samples(point, q, on_margin)
    dual = sum_dual(point, q, samples.bent())
    if dual is not None and dual.as_given:
        pull, signed_sum = -dual.pulls.sum(axis=0), float(dual.masses[0] - dual.masses[1])
    else:
        share = len(support) / max(len(point.psi), 1)
        pull, signed_sum = point.operator.signed_tdot(point.y, point.psi, share)
    square_errors = samples.square(samples.errors)
    other_nu = None if nu == default_nu(point) else nu
    status = samples.status()
    summary = Summary(
        pull=pull,
        signed_sum=signed_sum,
        support=support,
        multiplier_sum=float(np.abs(point.psi[support]).sum()),
        square_size=kernels.active.square_size(q, point.penalty),
        square_errors=square_errors,
        square_errors_at_nu=square_errors
        if other_nu is None
        else samples.square(samples.prox_errors(other_nu)),
        largest_nu=samples.largest_nu(),
        margin_width=samples.margin_width(),
        loss=point.loss.total(q, point.penalty),
        class_penalty=kernels.active.side_totals(point.y, point.penalty),
        counts=samples.counts(status),
        dual=dual,
    )
    return summary, samples, status


# How fields of several summaries become one, where they are not added up.
MERGED: dict[str, Callable[[list[Any]], Any]] = {
    "support": np.concatenate,
    "largest_nu": min,
    "margin_width": max,
    "dual": merge_dual,
}


def merge(parts: Sequence[Summary]) -> Summary:
    """Return the summary of all samples from those of disjoint sets of them."""
    values = {f.name: [getattr(part, f.name) for part in parts] for f in fields(Summary)}
    return Summary(**{name: MERGED.get(name, sum)(given) for name, given in values.items()})


def _violations(point: Point) -> Array:
    q = np.empty(len(point.y))
    point.operator.signed_dot(point.y, point.w, point.b, q)
    np.subtract(1.0, q, out=q)
    if not np.isfinite(q.sum()):
        raise ValueError("X holds NaN or infinity, or is too large for coef.")
    return q
