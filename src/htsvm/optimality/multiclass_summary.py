"""What the certificate of a multi-class point needs of all samples together: sums.

Those of some rows and of others add up to those of both, so that the rows may be anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import Operator
from htsvm.linalg.simplex import project_to_simplex
from htsvm.losses import Loss
from htsvm.optimality.status import SampleStatus, sample_status


@dataclass(frozen=True, eq=False)
class MulticlassSummary:
    """Sums over samples at a point (W, b, B).

    Attributes
    ----------
    pull, totals : ndarray of shape (k, n) and (k,)
        ``B' X`` and the column sums of B.
    gross_pull : ndarray of shape (n,)
        The sum of the rows times the sizes of their B.
    support, gross : float
        The number of samples that pull, and the sum of the sizes of B.
    square_errors, square_size : float
        What `residuals.violation` takes, but for the square of the step along the levels.
    stray : float
        What samples without penalty pull.
    loss, convex_loss : float
        The totals of the loss, and of the linear bound that touches it here.
    class_penalty : ndarray of shape (k,)
        The sums of the penalties of each class.
    flow : ndarray of shape (k, k)
        The sum of the (feasible) multipliers of class l in the samples of class j.
    counts : ndarray
        Samples of positive weight per status.
    rows : int
        The number of samples.
    """

    pull: Array
    totals: Array
    gross_pull: Array
    support: float
    gross: float
    square_errors: float
    square_size: float
    stray: float
    loss: float
    convex_loss: float
    class_penalty: Array
    flow: Array
    counts: Array
    rows: int

    @property
    def centred_pull(self) -> Array:
        """The pull of rows less their mean, weighted by the sizes of B."""
        if not self.gross > 0.0:
            return self.pull
        centred: Array = self.pull - np.outer(self.totals, self.gross_pull / self.gross)
        return centred


def merge_multiclass(parts: Sequence[MulticlassSummary]) -> MulticlassSummary:
    """Return the summary of all samples from those of disjoint sets of them."""
    totals: dict[str, Any] = {
        f.name: sum(getattr(part, f.name) for part in parts) for f in fields(MulticlassSummary)
    }
    return MulticlassSummary(**totals)


def step_length(loss: Loss) -> float:
    """Return the step along the levels that the prox residual takes."""
    rho = loss.weak_convexity if "prox" in loss.abilities else 0.0
    return 0.5 / rho if 0.0 < rho < math.inf else 1.0


class MulticlassPoint:
    """Samples and their multipliers at a point.

    Parameters
    ----------
    operator : Operator
        The rows.
    y, W, b, B, penalty, C, loss
        As in `certify_multiclass`, with C times the weight of each sample.
    """

    def __init__(
        self,
        operator: Operator,
        y: Array,
        W: Array,
        b: Array,
        B: Array,
        penalty: Array,
        C: float,
        loss: Loss,
    ) -> None:
        self.operator, self.y, self.B = operator, y, B
        self.penalty, self.C, self.loss = penalty, C, loss
        self.places, self.k = np.arange(len(y)), len(W)
        self.levels = levels = operator.scores(W, b)
        levels += 1.0
        levels[self.places, y] -= 1.0
        rivals = levels.copy()
        rivals[self.places, y] = -np.inf
        self.q: Array = rivals.max(axis=1) - levels[self.places, y]
        self.c = penalty * loss.profile_slope(np.maximum(self.q, 0.0))
        self.held = -B
        self.held[self.places, y] = 0.0
        rivals = self.held.sum(axis=1)
        self.held[self.places, y] = self.c - rivals
        # Where the loss bends, the convex problem of the duality gap touches it where the
        # multipliers are its slopes.
        top = float(loss.profile_slope(0.0)) * penalty
        bent = self.q > loss.curved_interval[0]
        self.weights = np.where(bent, np.clip(rivals, 0.0, top), self.c)
        steps = (penalty / step_length(loss))[:, None]
        self.target = project_to_simplex(self.held + steps * levels, self.c)

    def summarise(self) -> tuple[MulticlassSummary, Array]:
        """Return the sums, and the status of each sample."""
        support = np.any(self.B != 0.0, axis=1)
        kept = self.penalty > 0.0
        moved = np.square(self.target[kept] - self.held[kept]).sum(axis=1) / self.penalty[kept]
        status = self.status()
        flow = np.zeros((self.k, self.k))
        np.add.at(flow, self.y, self._feasible())
        sizes = np.abs(self.B).sum(axis=1)
        pulls = self.operator.pull(np.column_stack([self.B, sizes]))
        summary = MulticlassSummary(
            pull=pulls[:-1],
            totals=self.B.sum(axis=0),
            gross_pull=pulls[-1],
            support=int(np.count_nonzero(support)),
            gross=float(sizes.sum()),
            square_errors=float(moved.sum()),
            square_size=float(self.penalty @ (1.0 + np.square(self.q))),
            stray=float(np.abs(self.B[~kept]).sum()),
            loss=float(self.penalty @ self.loss.profile(np.maximum(self.q, 0.0))),
            convex_loss=float(self.weights @ np.maximum(self.q, 0.0)),
            class_penalty=np.bincount(self.y, weights=self.penalty, minlength=self.k),
            flow=flow,
            counts=np.bincount(status[kept], minlength=len(SampleStatus)),
            rows=len(self.y),
        )
        return summary, status

    def status(self) -> Array:
        """Return the `SampleStatus`; who holds the margin is read off the multipliers."""
        own = self.target[self.places, self.y]
        on_margin = (own > 0.0) & (np.count_nonzero(self.target, axis=1) > 1)
        return sample_status(np.where(on_margin, 0.0, self.q), self.loss, 0.0)

    def dual_sums(self, keep: Array) -> tuple[Array, float]:
        """Return ``B' X`` for feasible multipliers a, lowered by the factors `keep`, and ``a'v``.

        ``keep[j, l]`` belongs to the multipliers of class l in the samples of class j, and v is
        how far a rival's level is above that of the own class.
        """
        a = self._feasible() * keep[self.y]
        above = self.levels - self.levels[self.places, self.y][:, None]
        value = float(np.vdot(a, above))
        B = -a
        B[self.places, self.y] = a.sum(axis=1)
        return self.operator.pull(B), value

    def _feasible(self) -> Array:
        """Return the multipliers of rivals, scaled back where they exceed their simplex."""
        a = np.maximum(self.held, 0.0)
        a[self.places, self.y] = 0.0
        total = a.sum(axis=1)
        factor = np.ones(len(total))
        np.divide(self.weights, total, out=factor, where=total > self.weights)
        a *= factor[:, None]
        return a
