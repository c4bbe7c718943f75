"""The multi-class problem with one margin violation per sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import Operator, Quadratic, kernels
from htsvm.losses import Loss
from htsvm.problems.base import BaseProblem

# A warm start (W, b, B); where B is None, a solver makes its own guess.
MulticlassStart = tuple[Array, Array, Array | None]


@dataclass(frozen=True, eq=False)
class MulticlassProblem(BaseProblem):
    r"""min over W, b of ``sum_j w_j'R w_j / 2 + sum_i penalty_i g(h_i)``.

    The scores of sample i are ``f = W x_i + b``, and its violation is that of Crammer and Singer,
    ``h_i = max(0, 1 + max_{j != y_i} f_j - f_{y_i})``; g is the concave profile of the loss. Only
    differences of scores count, so the rows of W sum to zero at a solution, and b is kept so.

    With two classes and R = I the best W is ``(-w/2, w/2)``, which has ``||W||²/2 = ||w||²/4``: the
    problem with penalty C is half the binary one with penalty 2C, and has the same
    ``w = w_1 - w_0`` and ``b = b_1 - b_0``.

    Attributes
    ----------
    operator : Operator
        The rows x_i.
    labels : ndarray of intp
        The class of each sample, 0 to ``n_classes - 1``.
    n_classes : int
        The number of classes, at least two.
    penalty : ndarray of float64
        C times the weight of each sample; zero takes a sample out.
    loss : Loss
        The loss, of which only the profile is used.
    regularizer : Quadratic
        R, the same for all classes.
    C : float
        The penalty of a sample of weight one: the unit in which multipliers are measured.
    fit_intercept : bool
        Whether b is free; otherwise it is zero.
    """

    operator: Operator
    labels: Array
    n_classes: int
    penalty: Array
    loss: Loss
    regularizer: Quadratic
    C: float = 1.0
    fit_intercept: bool = True

    @cached_property
    def class_penalty(self) -> Array:
        """The sum of the penalties of each class."""
        return np.bincount(self.labels, weights=self.penalty, minlength=self.n_classes)

    def take(self, rows: Array) -> MulticlassProblem:
        """Return the problem on a copy of some rows."""
        return replace(
            self,
            operator=self.operator.take(rows),
            labels=self.labels[rows],
            penalty=self.penalty[rows],
        )

    @property
    def n_scores(self) -> int:
        """The number of scores of a sample."""
        return self.n_classes

    def classifier(self, coef: Array, intercept: Array) -> tuple[Array, Array]:
        """Return (W, b), which are these."""
        return coef, intercept

    def coefficients(self, multipliers: Array) -> Array:
        """Return the pulls of the samples, a row per class."""
        return multipliers.T

    def targets(self) -> Array:
        """Return what least squares aims at: 1 for the own class, less the mean over classes."""
        T = np.full((self.n_samples, self.n_classes), -1.0 / self.n_classes)
        T[np.arange(self.n_samples), self.labels] += 1.0
        return T

    def multipliers_from(self, rows: Array, coefficients: Array) -> Any:
        """Return the pulls from the coefficients of some rows, zero for all others."""
        pulls = np.zeros((self.n_samples, self.n_classes))
        pulls[rows] = coefficients.T
        return pulls

    def levels(self, W: Array, b: Array) -> Array:
        """Return the scores plus one for every class but the sample's own.

        The violation is the largest of a row less the entry of its own class.
        """
        return self.raised(self.operator.scores(W, b))

    def raised(self, U: Array) -> Array:
        """Add one to the scores U of every class but the sample's own, in place."""
        U += 1.0
        U[np.arange(len(U)), self.labels] -= 1.0
        return U

    def violations(self, U: Array) -> Array:
        """Return ``1 + max_{j != y} f_j - f_y``, negative for safe samples, from the levels."""
        q = np.empty(len(U))
        kernels.active.top_rivals(U, self.labels, q)
        return q

    def violations_at(self, W: Array, b: Array) -> Array:
        """Return the violations at (W, b), which takes a pass."""
        return self.violations(self.levels(W, b))

    def own(self, alpha: Array) -> Array:
        """Turn multipliers alpha over the rivals into pulls B in place and return them.

        ``B_ij = -alpha_ij`` for the rivals j of sample i, and its own class gets what they lose.
        """
        rows = np.arange(len(alpha))
        alpha[rows, self.labels] = 0.0
        total = alpha.sum(axis=1)
        np.negative(alpha, out=alpha)
        alpha[rows, self.labels] = total
        return alpha

    def trivial(self) -> tuple[float, Array]:
        """Return the objective and the intercepts of the best constant classifier, W = 0.

        Between kinks of the violations the objective is concave in b, so the best b is one of
        these: all equal (every violation is 1), or one class ahead of all others by 1 (its own
        violations are 0, all others 2).
        """
        equal = float(self.loss.profile(1.0)) * float(self.penalty.sum())
        b = np.zeros(self.n_classes)
        if not self.fit_intercept:
            return equal, b
        mass = self.class_penalty
        top = int(mass.argmax())
        ahead = float(self.loss.profile(2.0)) * float(np.delete(mass, top).sum())
        if ahead > equal:
            return equal, b
        b[:] = -1.0 / self.n_classes
        b[top] += 1.0
        return ahead, b
