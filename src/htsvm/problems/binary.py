"""The problem of two classes: rows, labels, penalties and a loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import Operator, Quadratic
from htsvm.losses import Loss
from htsvm.problems.base import BaseProblem

# A warm start (w, b, psi); where psi is None, a solver makes its own guess.
Start = tuple[Array, float, Array | None]


class Rest(NamedTuple):
    """What rows elsewhere add to an objective: ``base + linear @ (w, b)``.

    Attributes
    ----------
    base : float
        The constant.
    linear : ndarray of shape (n + 1,)
        The gradient in (w, b).
    gross : float
        The sum of the sizes of the slopes of these rows.
    """

    base: float
    linear: Array
    gross: float


@dataclass(frozen=True, eq=False)
class Problem(BaseProblem):
    """min over w, b of w'Rw/2 + sum_i penalty_i * loss(1 - y_i (x_i'w + b)).

    Attributes
    ----------
    operator : Operator
        The rows x_i.
    y : ndarray of int8
        Labels in {-1, +1}.
    penalty : ndarray of float64
        C times the weight of each sample; zero takes a sample out.
    loss : Loss
        The loss.
    regularizer : Quadratic
        R.
    C : float
        The penalty of a sample of weight one: the unit in which multipliers are measured, so that
        a sample of weight k counts exactly like k samples.
    fit_intercept : bool
        Whether b is free; otherwise it is zero.
    """

    operator: Operator
    y: Array
    penalty: Array
    loss: Loss
    regularizer: Quadratic
    C: float = 1.0
    fit_intercept: bool = True

    def take(self, rows: Array) -> Problem:
        """Return the problem on a copy of some rows."""
        return replace(
            self, operator=self.operator.take(rows), y=self.y[rows], penalty=self.penalty[rows]
        )

    @property
    def n_scores(self) -> int:
        """The number of scores of a sample."""
        return 1

    def classifier(self, coef: Array, intercept: Array) -> tuple[Array, float]:
        """Return (w, b) from arrays with one row and one entry."""
        return coef[0], float(intercept[0])

    def coefficients(self, multipliers: Array) -> Array:
        """Return the coefficients of the samples in the classifier, as one row."""
        table: Array = -multipliers[None] * self.y
        return table

    def targets(self) -> Array:
        """Return what least squares aims at: the labels, as a column."""
        return self.y[:, None].astype(np.float64)

    def multipliers_from(self, rows: Array, coefficients: Array) -> Any:
        """Return psi from the coefficients of some rows, zero for all others."""
        psi = np.zeros(self.n_samples)
        psi[rows] = -coefficients[0] * self.y[rows]
        return psi

    def objectives_along(
        self, w: Array, b: float, dw: Array, db: float, moves: Array
    ) -> tuple[Array, Array]:
        """Return steps along (dw, db), and the objective after each of them.

        The steps are those that change the violation that changes most by the given `moves`.
        """
        q = self.violations(w, b)
        delta = np.empty_like(q)
        self.operator.signed_dot(self.y, dw, db, delta)
        steps = moves / (float(np.abs(delta).max(initial=0.0)) or 1.0)
        return steps, np.array([self.objective(w + t * dw, q - t * delta) for t in steps])

    def violations(self, w: Array, b: float, out: Array | None = None) -> Array:
        """Return q = 1 - y * (X w + b)."""
        out = np.empty(self.n_samples) if out is None else out
        self.operator.signed_dot(self.y, w, b, out)
        return np.subtract(1.0, out, out=out)

    def violations_at(self, w: Array, b: float) -> Array:
        """Return the violations at (w, b), which takes a pass."""
        return self.violations(w, b)

    @cached_property
    def class_penalty(self) -> Array:
        """The sums of the penalties of the labels -1 and +1."""
        return np.bincount(self.y > 0, weights=self.penalty, minlength=2)

    def trivial(self) -> tuple[float, float]:
        """Return the objective and the intercept of the best constant classifier, w = 0.

        With a free intercept that is mostly b = 1 or b = -1; without one, w = 0 has b = 0.
        """
        negative, positive = (float(mass) for mass in self.class_penalty)
        if not self.fit_intercept:
            return float(self.loss.value(1.0)) * (negative + positive), 0.0
        return self.loss.best_constant(positive, negative)
