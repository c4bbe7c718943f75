r"""How likely each label is right: unknown before a review, and calibrated by one.

From labels alone the share of wrong ones is not identifiable: classes that overlap look like labels
that are wrong. What can be known is q = P(label as given | x), and how much more often the best
other label is given there. So

.. math:: \mathrm{logit} P(\mathrm{right}) = b_0 + b_1 \min(m, 0) + b_2 \max(m, 0) + b_3 z

with m = log q[given] - log max other q and z the standardised order of suspicion, where b differs
from one data set to another as normal deviates do. Their spread is wide; reviewed rows narrow it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

from htsvm._typing import Array

if TYPE_CHECKING:
    from htsvm.audit.result import LabelAudit

# Mean and covariance of b over sets, learned on the design sets of the benchmark with made noise
# (``python -m benchmarks.audit_learn``); no human label and no set of the verdict was in it.
MEAN = np.array([1.87, 0.14, 1.24, 1.38])
SPREAD = np.array(
    [[4.75, 0.13, -2.26, 2.50], [0.13, 4.04, 2.88, -2.38], [-2.26, 2.88, 4.93, -3.36],
     [2.50, -2.38, -3.36, 4.45]]
)  # fmt: skip
# A label that nobody has reviewed; -1 is a right label that is none of the classes.
UNSEEN = -2
# Reviewed rows that calibrate an audit: with 20 the calibration error is half as large again.
REVIEW = 50
# Labels are replaced where it is 98 % sure (a normal deviate) that this much is gained per label,
# and where the reviewed rows gained by twice their standard error: none of 2,184 runs lost more
# than 0.2 points of right labels with quality="best", one with "fast".
SURE, GAIN, SEEN = 2.054, 0.1, 2.0
# The normal deviate of the ends of ranges that hold in 90 %.
DEVIATE = 1.645
MOST_STEPS = 50


def standard(values: Array) -> Array:
    """Return values with mean zero and variance one; zeros where they are all equal."""
    spread = float(values.std())
    return np.asarray((values - values.mean()) / spread if spread > 1e-12 else 0.0 * values)


def evidence(own: Array, other: Array, suspicion: Array) -> Array:
    """Return the four columns that b belongs to."""
    m = np.clip(np.log(np.clip(own, 1e-3, 1.0)) - np.log(np.clip(other, 1e-3, 1.0)), -6.0, 6.0)
    z = np.clip(-standard(suspicion), -6, 6)
    return np.column_stack([np.ones(len(m)), np.minimum(m, 0), np.maximum(m, 0), z])


@dataclass(frozen=True, eq=False)
class Calibration:
    """What is known of b: its mean and its covariance."""

    mean: Array
    covariance: Array
    spotless: bool = True

    @classmethod
    def of(cls, rows: Array, right: Array) -> Calibration:
        """Learn from reviewed rows (of `evidence`) whether their labels were right: Laplace."""
        precision = np.linalg.inv(SPREAD)
        b, hessian = MEAN.copy(), precision
        for _ in range(MOST_STEPS):
            p = expit(rows @ b)
            slope = rows.T @ (right - p) - precision @ (b - MEAN)
            hessian = (rows * np.maximum(p * (1.0 - p), 1e-6)[:, None]).T @ rows + precision
            step = np.linalg.solve(hessian, slope)
            length = float(np.linalg.norm(step))
            b = b + step * min(1.0, 2.0 / max(length, 1e-12))
            if length < 1e-6:
                break
        return cls(b, np.linalg.inv(hessian), bool(np.all(right)))

    def trust(self, rows: Array) -> Array:
        """Return the probability that each label is right, by the most likely b.

        Its mean over b is further from the truth: calibration error .055 instead of .040.
        """
        return np.asarray(expit(rows @ self.mean))

    def most(self, rows: Array, deviate: float) -> Array:
        """Return an upper end of that probability."""
        variance = np.einsum("ij,jk,ik->i", rows, self.covariance, rows)
        return np.asarray(expit(rows @ self.mean + deviate * np.sqrt(variance)))

    def share(self, rows: Array, weights: Array) -> tuple[float, float, float]:
        """Return the share of wrong labels among some rows, and the ends of its range.

        It holds what is unsure of b (by the delta method, for log odds) and chance.
        """
        p = self.trust(rows)
        part = weights / weights.sum()
        slope = (part * p * (1.0 - p)) @ rows
        share = float(np.clip(part @ (1.0 - p), 1e-9, 1.0 - 1e-9))
        spread = DEVIATE * np.sqrt(slope @ self.covariance @ slope) / (share * (1.0 - share))
        chance = DEVIATE * float(np.sqrt(part**2 @ (p * (1.0 - p))))
        low, high = expit(logit(share) - spread) - chance, expit(logit(share) + spread) + chance
        return share, max(0.0 if self.spotless else float(low), 0.0), min(float(high), 1.0)


def rows_to_review(odd: Array, free: Array, number: int, seed: int) -> Array:
    """Return rows to review first: half of them at random among odd ones, half among the rest."""
    rng = np.random.default_rng(seed)
    parts = [rng.permutation(np.flatnonzero(free & some)) for some in (odd, ~odd)]
    half = min(len(parts[0]), max(number - number // 2, number - len(parts[1])))
    return np.asarray(rng.permutation(np.concatenate([parts[0][:half], parts[1][: number - half]])))


def rows_to_replace(audit: LabelAudit) -> Array:
    """Return which labels to replace by the one that is given most often there; see `SURE`.

    The gain of a replacement is P(the other is right) - P(the given is right); how often the other
    one is right where the given is wrong is scaled by what the review has seen.
    """
    rows = np.flatnonzero(audit.reviewed != UNSEEN)
    other = audit.best != audit.before
    if not other.any():
        return np.asarray(other)
    true = audit.reviewed[rows]
    right, hit = true == audit.before[rows], true == audit.best[rows]
    chance = np.clip(audit.share_other / np.maximum(1.0 - audit.share_given, 1e-6), 0.0, 1.0)
    usual = max(float(chance[other].mean()), 1e-6)
    wrong = ~right & other[rows]
    seen = (hit[wrong].sum() + 4.0 * usual) / (wrong.sum() + 4.0)
    chance = np.clip(chance * min(seen / usual, 1.2), 0.0, 1.0)
    most = audit.calibration.most(audit.evidence, SURE)
    region = other & ((1.0 - most) * chance - most > GAIN)
    gains = (hit.astype(int) - right.astype(int))[region[rows]]
    region &= bool(gains.sum() > SEEN * np.sqrt((gains**2).sum()))
    region[rows] = False
    return np.asarray(region & ~audit.trusted)
