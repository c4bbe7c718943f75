"""A block of data, and what makes problems of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from htsvm._typing import Array
from htsvm.linalg import as_operator
from htsvm.problems.build import (
    BinaryTask,
    MulticlassTask,
    binary_problem,
    multiclass_problem,
)
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers import Problem

Stated = BinaryTask | MulticlassTask


@dataclass(frozen=True, eq=False)
class MajorisedTask:
    """The weighted hinge problem that touches the problem of the task `base` at (w, b)."""

    base: Stated
    w: Array
    b: Any


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
        if isinstance(task, MajorisedTask):
            return self.problem(task.base).majorised(task.w, task.b)[0]
        if isinstance(task, MulticlassTask):
            return multiclass_problem(
                self.X, task.n_classes, self.codes, self.weights, task.factors,
                C=task.C, loss=task.loss, fit_intercept=task.fit_intercept,
            )  # fmt: skip
        return binary_problem(as_operator(self.X), self.codes, self.weights, task)

    def __sizeof__(self) -> int:
        X = self.X
        arrays = (X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (X,)
        return int(sum(a.nbytes for a in (*arrays, self.codes)))
