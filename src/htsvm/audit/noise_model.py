r"""How labels went wrong, estimated without a single clean one.

A sample with scores :math:`s` has the true class k with probability
:math:`p_k = \mathrm{softmax}(a s + b + c s^2)_k`, and a sample of class k is given the label j with
probability :math:`T_{kj}`. Only the given labels are seen, with probability
:math:`\sum_k p_k T_{kj}`. Because a softmax tends to 0 and 1, a share of labels that stays wrong
however clear the scores are can only come from T; a share that goes on falling is put down to the
curve c, that is to classes that overlap. All of a, b, c, T are fitted at once by maximum
likelihood, with out-of-sample scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from htsvm._typing import Array

# Weak priors. On T: one more sample of each class with the right label; rates of one matrix
# resemble each other (variance one on the log scale). On b and c: close to zero.
RIGHT_LABELS, RATE_VARIANCE, OFFSET_PRECISION, CURVE_PRECISION = 1.0, 1.0, 0.1, 1.0
# What a sample of uncertain true class costs, per unit of entropy: where the likelihood cannot tell
# wrong labels from classes that overlap, this decides for wrong labels. So that nothing is won by
# giving up a class, the same price is put on true classes being rarer than their labels.
AMBIGUITY = 0.02
# Where a fit starts: the slope of the scores, and the rate of wrong labels.
START_SCALE, START_RATE = 4.0, 0.2
MAX_ITER = 100
# No wrong label of a class may be more than half as frequent as the right one: without the bound
# the fit may swap two classes (news titles: ROC area .62 instead of .72).
MOST_RATE = 0.5
# Where it ends: relative decrease of the objective, and its slope.
DECREASE, SLOPE = 1e-7, 1e-4


@dataclass(frozen=True, eq=False)
class NoiseModel:
    """A fitted model of wrong labels."""

    rates: Array
    scale: float
    offsets: Array
    curves: Array

    def classes(self, scores: Array) -> Array:
        """Return the probabilities of the true class, before the given label is looked at."""
        lines = self.scale * scores + self.offsets + self.curves * scores**2
        return np.asarray(softmax(lines, axis=1))

    def given(self, scores: Array) -> Array:
        """Return the probabilities of the label as it would be given."""
        return np.asarray(self.classes(scores) @ self.rates)

    def posterior(self, scores: Array, codes: Array) -> Array:
        """Return the probabilities of the true class given scores and label."""
        joint = self.classes(scores) * self.rates[:, codes].T
        total = joint.sum(axis=1, keepdims=True)
        own = np.eye(len(self.rates))[codes]
        return np.where(total > 0.0, joint / np.maximum(total, 1e-300), own)


def fit_noise(
    scores: Array,
    codes: Array,
    weights: Array | None = None,
    trusted: Array | None = None,
    max_iter: int = MAX_ITER,
) -> NoiseModel:
    """Fit the model of wrong labels."""
    k = scores.shape[1]
    unit = _unit(scores)
    own = np.ones(len(codes)) if weights is None else weights
    objective = _Objective(scores / unit, codes, own, trusted, AMBIGUITY)
    rates = np.full(k * k - k, np.log(START_RATE / (k - 1) / (1.0 - START_RATE)))
    x = np.concatenate([[np.log(START_SCALE)], np.zeros(2 * k), rates])
    limits = {"maxiter": max_iter, "ftol": DECREASE, "gtol": SLOPE}
    bounds = [(None, None)] * (1 + 2 * k) + [(None, np.log(MOST_RATE))] * (k * k - k)
    found = minimize(objective, x, jac=True, method="L-BFGS-B", bounds=bounds, options=limits)
    scale, offsets, curves, logits = objective.parts(found.x)
    rates = np.asarray(softmax(logits, axis=1))
    return NoiseModel(rates, scale / unit, offsets, curves / unit**2)


def _unit(scores: Array) -> float:
    """Return the size of the scores: one for scores of about -1 and +1."""
    centred = scores - scores.mean(axis=1, keepdims=True)
    size = float(np.sqrt(np.mean(centred**2)))
    return size if size > 1.5 else 1.0


class _Objective:
    """The negative log-likelihood with its priors and its gradient, per sample; a row per class."""

    def __init__(
        self, scores: Array, codes: Array, weights: Array, trusted: Array | None, ambiguity: float
    ) -> None:
        self.scores, self.codes, self.ambiguity = np.ascontiguousarray(scores.T), codes, ambiguity
        self.squares = self.scores**2
        self.weights, self.total = weights, weights.sum()
        self.k = scores.shape[1]
        self.shares = np.bincount(codes, weights=weights, minlength=self.k)
        self.trusted = trusted if trusted is not None and trusted.any() else None
        self.off = ~np.eye(self.k, dtype=bool)
        free = np.ones(len(codes), bool) if self.trusted is None else ~self.trusted
        self.members = [np.flatnonzero((codes == j) & free) for j in range(self.k)]

    def parts(self, x: Array) -> tuple[float, Array, Array, Array]:
        logits = np.zeros((self.k, self.k))
        logits[self.off] = x[1 + 2 * self.k :]
        return float(np.exp(x[0])), x[1 : 1 + self.k], x[1 + self.k : 1 + 2 * self.k], logits

    def __call__(self, x: Array) -> tuple[float, Array]:
        scale, offsets, curves, logits = self.parts(x)
        logs = scale * self.scores
        logs += curves[:, None] * self.squares
        logs += offsets[:, None]
        logs -= logs.max(axis=0)
        logs -= np.log(np.exp(logs).sum(axis=0))
        classes = np.exp(logs)
        rates = np.exp(logits - logits.max(axis=1, keepdims=True))
        rates /= rates.sum(axis=1, keepdims=True)
        joint = np.take(rates, self.codes, axis=1)
        if self.trusted is not None:
            joint = np.where(self.trusted, np.eye(self.k)[:, self.codes], joint)
        joint *= classes
        given = joint.sum(axis=0) + 1e-300
        joint /= given  # Now the posterior.
        entropy = -np.einsum("kn,kn->n", classes, logs)
        mean = classes @ self.weights / self.total
        value = self.weights @ (self.ambiguity * entropy - np.log(given))
        value -= self.ambiguity * self.shares @ np.log(np.maximum(mean, 1e-300))
        lost = self.ambiguity * self.shares / self.total / np.maximum(mean, 1e-300)
        logs += entropy
        logs *= -self.ambiguity
        logs += 1.0 - lost[:, None] + lost @ classes
        logs *= classes
        slope = logs
        slope -= joint
        slope *= self.weights
        joint *= self.weights
        counts = np.column_stack([joint[:, rows].sum(axis=1) for rows in self.members])
        # The priors.
        apart = np.where(self.off, logits - logits[self.off].mean(), 0.0)
        right = np.log(np.maximum(np.diag(rates), 1e-300))
        value += 0.5 * (OFFSET_PRECISION * offsets @ offsets + CURVE_PRECISION * curves @ curves)
        value += 0.5 / RATE_VARIANCE * np.sum(apart**2) - RIGHT_LABELS * right.sum()
        pull = apart / RATE_VARIANCE - RIGHT_LABELS * (np.eye(self.k) - rates)
        d_logits = rates * counts.sum(axis=1, keepdims=True) - counts + pull
        gradient = np.concatenate(
            [
                [scale * np.vdot(slope, self.scores)],
                slope.sum(axis=1) + OFFSET_PRECISION * offsets,
                np.einsum("kn,kn->k", slope, self.squares) + CURVE_PRECISION * curves,
                d_logits[self.off],
            ]
        )
        n = len(self.codes)
        return float(value) / n, gradient / n
