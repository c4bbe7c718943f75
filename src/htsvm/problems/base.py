"""What problems of two and of several classes have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import Operator, Quadratic
from htsvm.linalg.scaled import Moments, in_columns, moments
from htsvm.losses import Hinge, Loss


class BaseProblem:
    """A problem with rows, penalties and a loss; w and b are those of one or of all classes."""

    operator: Operator
    penalty: Array
    loss: Loss
    regularizer: Quadratic
    C: float

    # What solves the problem in the place of a solver, given its options and a start, where rows
    # are not in this process.
    solved_by: ClassVar[Callable[..., Any] | None] = None

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return self.operator.shape[0]

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return self.operator.shape[1]

    @property
    @abstractmethod
    def n_scores(self) -> int:
        """The number of scores of a sample: one, or one per class."""

    @abstractmethod
    def trivial(self) -> tuple[float, Any]:
        """Return the objective and the intercept of the best constant classifier."""

    def energy(self, w: Array) -> float:
        """Return the regulariser at w."""
        return self.regularizer.energy(w)

    @abstractmethod
    def violations_at(self, w: Array, b: Any) -> Array:
        """Return the violations at (w, b), which takes a pass."""

    @cached_property
    def trivial_objective(self) -> float:
        """The objective of the best constant classifier."""
        return float(self.trivial()[0])

    def objective(self, w: Array, q: Array) -> float:
        """Return the objective at w, given its violations q."""
        return self.energy(w) + self.loss.total(q, self.penalty)

    def objective_at(self, w: Array, b: Any) -> float:
        """Return the objective at (w, b), which takes a pass."""
        return self.objective(w, self.violations_at(w, b))

    def scaled(self, C: float) -> Self:
        """Return the problem with C and all penalties times a number."""
        return replace(self, penalty=C * self.penalty, C=C * self.C)  # type: ignore[type-var]

    def majorised(self, w: Array, b: Any) -> tuple[Self, float]:
        """Return the weighted hinge problem that touches this one at (w, b), and the objective.

        Its loss lies above that of this problem, up to a constant, and is the same to first order
        at that point.
        """
        q = self.violations_at(w, b)
        weights = np.empty(self.n_samples)
        self.loss.slopes(q, self.penalty, weights)
        # Every problem is a dataclass; this base, which declares no fields of its own, is not.
        convex = replace(self, loss=Hinge(), penalty=weights)  # type: ignore[type-var]
        return convex, self.objective(w, q)

    def moments(self) -> Moments:
        """Return the moments of the columns, weighted by penalties."""
        self.operator.count(1.0)
        return moments(self.operator, self.penalty, float(self.penalty.max(initial=0.0)))

    def in_columns(self, mean: Array, scale: Array) -> Self:
        """Return the problem on the rows ``(x - mean) * scale``; its regulariser stays."""
        operator = in_columns(self.operator, mean, scale)
        return replace(self, operator=operator)  # type: ignore[type-var]

    def traffic(self) -> dict[str, float]:
        """Return what went over a network for this problem: nothing."""
        return {}
