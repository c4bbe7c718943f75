"""A block of data, and what makes problems of it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from htsvm._typing import Array
from htsvm.linalg import as_operator
from htsvm.losses import Hinge, Loss
from htsvm.solvers import Problem
from htsvm.solvers.joint_problem import JointProblem
from htsvm.svm._joint import joint_problem
from htsvm.svm._problems import BinaryTask, binary_problem


@dataclass(frozen=True, eq=False)
class JointTask:
    """What makes a multi-class problem of rows, class codes and sample weights.

    Attributes
    ----------
    n_classes : int
        The number of classes.
    factors : ndarray
        Factors of the weights per class.
    C, loss, fit_intercept
        As in `JointProblem`.
    """

    n_classes: int
    factors: Array
    C: float
    loss: Loss
    fit_intercept: bool


# Problems that blocks can be made for.
Task = BinaryTask | JointTask


@dataclass(frozen=True, eq=False)
class MajorisedTask(BinaryTask):
    """The weighted hinge problem that touches the problem of the task `base` at (w, b)."""

    base: BinaryTask
    w: Array
    b: float

    @classmethod
    def of(cls, base: BinaryTask, w: Array, b: float) -> MajorisedTask:
        """Return the task that touches `base` at (w, b)."""
        known = {f.name: getattr(base, f.name) for f in fields(BinaryTask)}
        return cls(**(known | {"loss": Hinge()}), base=base, w=w, b=b)


@dataclass(eq=False)
class Data:
    """A block of validated data: rows, codes of the classes, weights of the samples."""

    X: Any
    codes: Array
    weights: Array | None
    offset: int

    def problem(self, task: Task) -> Problem | JointProblem:
        """Return the problem on these rows."""
        return self.joint(task) if isinstance(task, JointTask) else self.binary(task)

    def joint(self, task: JointTask) -> JointProblem:
        """Return the multi-class problem on these rows."""
        return joint_problem(
            self.X, task.n_classes, self.codes, self.weights, task.factors,
            C=task.C, loss=task.loss, fit_intercept=task.fit_intercept,
        )  # fmt: skip

    def binary(self, task: BinaryTask) -> Problem:
        """Return the binary problem on these rows."""
        if isinstance(task, MajorisedTask):
            return self.binary(task.base).majorised(task.w, task.b)[0]
        return binary_problem(as_operator(self.X), self.codes, self.weights, task)

    def __sizeof__(self) -> int:
        X = self.X
        arrays = (X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (X,)
        return int(sum(a.nbytes for a in (*arrays, self.codes)))
