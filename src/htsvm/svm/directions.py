"""Least squares, strongly shrunk: directions from which truncated fits start.

With many wrong labels and few samples the least squares solution fits the noise, and so does what
is found from there. The more it is shrunk, the closer its direction comes to that from one class
mean to the other, to which every sample contributes alike. A truncated loss has minima near that
direction too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.positive import conjugate_gradients
from htsvm.losses import Loss
from htsvm.problems import AnyProblem

# The relative residual of the systems, and the most steps of conjugate gradients.
ACCURACY, MOST_STEPS = 1e-2, 12
# What a direction is multiplied by, in units of one over the spread of its scores.
FACTORS = np.exp(np.linspace(-2.0, 3.5, 10))
# Where the boundary may lie among the scores.
QUANTILES = np.linspace(0.05, 0.95, 15)
# The most rows on which the factor and the boundary are searched for.
SEARCH_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Direction:
    """Weights of length one, and their scores of some rows.

    Attributes
    ----------
    W : ndarray of shape (1 or n_classes, n_features)
        The weights.
    rows : ndarray
        Some rows of the problem.
    scores : ndarray of shape (n_rows, 1 or n_classes)
        Their scores ``x'W``, less those of the mean sample.
    offset : ndarray of shape (1 or n_classes,)
        The scores of the mean sample.
    """

    W: Array
    rows: Array
    scores: Array
    offset: Array

    def start(self, problem: AnyProblem) -> Any:
        """Return the multiple of the direction, with the boundary, of the lowest objective."""
        share = problem.n_samples / len(self.rows)
        penalty = share * problem.penalty[self.rows]
        if problem.n_scores == 1:
            return self._among_boundaries(problem, penalty)
        return self._among_factors(problem, penalty)

    def _among_boundaries(self, problem: Any, penalty: Array) -> Any:
        y, f = problem.y[self.rows], self.scores[:, 0]
        places = np.quantile(f, QUANTILES) if problem.fit_intercept else -self.offset
        signed = y * (f - places[:, None])
        best = (np.inf, 0.0, 0.0)
        for t in FACTORS / (float(f.std()) or 1.0):
            values = 0.5 * t * t + _totals(problem.loss, 1.0 - t * signed, penalty)
            k = int(values.argmin())
            best = min(best, (float(values[k]), float(t), float(places[k])))
        _, t, place = best
        b = -t * (place + float(self.offset[0])) if problem.fit_intercept else 0.0
        return t * self.W[0], b, None

    def _among_factors(self, problem: Any, penalty: Array) -> Any:
        labels = problem.labels[self.rows]
        rows, best = np.arange(len(labels)), (np.inf, 0.0)
        F = self.scores if problem.fit_intercept else self.scores + self.offset
        for t in FACTORS / (float(F.std()) or 1.0):
            levels = t * F + 1.0
            levels[rows, labels] -= 1.0
            q = levels.max(axis=1) - levels[rows, labels]
            value = 0.5 * t * t + problem.loss.total(q, penalty)
            best = min(best, (float(value), float(t)))
        t = best[1]
        b = -t * self.offset if problem.fit_intercept else np.zeros(len(self.W))
        return t * self.W, b, None


def shrunk(problem: AnyProblem, strength: float, rng: np.random.Generator) -> Direction | None:
    """Return the direction of least squares with a penalty on its length; None if there is none.

    Parameters
    ----------
    problem : Problem or MulticlassProblem
        The rows, their labels and weights.
    strength : float
        The penalty, in units of the mean square of a feature.
    rng : Generator
        Drives the choice of rows that the start is sought on.
    """
    operator, weights = problem.operator, problem.penalty / problem.penalty.sum()
    T = _targets(problem, weights)
    mean = operator.pull(weights[:, None])[0]
    m, n = operator.shape
    mean_square = operator.square_sum / max(m * n, 1)
    ridge = strength * mean_square
    target = operator.pull(weights[:, None] * T)

    def system(W: Array) -> Array:
        F = operator.scores(W, -(W @ mean))
        F *= weights[:, None]
        product: Array = operator.pull(F) - np.outer(F.sum(axis=0), mean) + ridge * W
        return product

    # A power of two as preconditioner: the unit of the system, without a rounding error.
    unit = math.ldexp(1.0, math.frexp(mean_square)[1])
    W, _ = conjugate_gradients(
        system, target, lambda V: V / unit, tolerance=ACCURACY, most_steps=MOST_STEPS
    )
    length = float(np.linalg.norm(W))
    if not (np.isfinite(length) and length > 0.0):
        return None
    W /= length
    rows = np.arange(m)
    if m > SEARCH_ROWS:
        rows = np.sort(rng.choice(m, size=SEARCH_ROWS, replace=False))
    offset = W @ mean
    return Direction(W, rows, operator.take(rows).scores(W, -offset), offset)


def _targets(problem: AnyProblem, weights: Array) -> Array:
    """Return what least squares aims at, a column per class or one, less its mean."""
    T = problem.targets()
    T -= weights @ T
    return T


def _totals(loss: Loss, s: Array, penalty: Array) -> Array:
    """Return the total loss of each row of s."""
    totals: Array = loss.value(s) @ penalty
    return totals
