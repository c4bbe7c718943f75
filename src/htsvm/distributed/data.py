"""A block of data, and what makes problems of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from htsvm._typing import Array
from htsvm.linalg import Operator, as_operator
from htsvm.problems import MulticlassProblem, Problem
from htsvm.problems.build import Task as Stated


@dataclass(frozen=True, eq=False)
class MajorisedTask:
    """The weighted hinge problem that touches the problem of the task `base` at (w, b)."""

    base: Stated
    w: Array
    b: Any

    def problem(
        self, operator: Operator, codes: Array, weights: Array | None
    ) -> Problem | MulticlassProblem:
        """Return the problem on some rows."""
        return self.base.problem(operator, codes, weights).majorised(self.w, self.b)[0]


# Problems that blocks can be made for.
Task = Stated | MajorisedTask


@dataclass(eq=False)
class Data:
    """A block of validated data: rows, codes of the classes, weights of the samples."""

    X: Any
    codes: Array
    weights: Array | None
    offset: int

    def problem(self, task: Task) -> Problem | MulticlassProblem:
        """Return the problem on these rows."""
        return task.problem(as_operator(self.X), self.codes, self.weights)

    def __sizeof__(self) -> int:
        X = self.X
        arrays = (X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (X,)
        return int(sum(a.nbytes for a in (*arrays, self.codes)))
