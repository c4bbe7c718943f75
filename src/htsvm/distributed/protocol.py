"""Blocks of data and what they are asked: questions declare what they read, change and add up to.

A question is a method of a block under the decorator `question`; the driver names it by the method
itself. Questions are pure: one that changes the state is put to a copy of the block and replaces
arrays instead of writing into them. So the same block and the same message always give the same
state and answer, which is all that Dask needs to make a lost state again (`transport.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple, TypeVar

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import Operator, as_operator
from htsvm.problems import MulticlassProblem, Problem
from htsvm.problems.build import Task as Stated

Method = TypeVar("Method", bound=Callable[..., Any])
Reduction = Callable[[Sequence[Any]], Any]


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


@dataclass(frozen=True, eq=False)
class ColumnsTask:
    """The problem of the task `base` on the rows ``(x - mean) * scale``."""

    base: Stated
    mean: Array
    scale: Array

    def problem(
        self, operator: Operator, codes: Array, weights: Array | None
    ) -> Problem | MulticlassProblem:
        """Return the problem on some rows; only the driver knows the regulariser."""
        return self.base.problem(operator, codes, weights).in_columns(self.mean, self.scale)


# Problems that blocks can be made for.
Task = Stated | MajorisedTask | ColumnsTask


@dataclass(eq=False)
class Data:
    """A block of validated data: rows, codes of the classes, weights, number of its first row."""

    X: Any
    codes: Array
    weights: Array | None
    offset: int

    def problem(self, task: Task) -> Problem | MulticlassProblem:
        """Return the problem on these rows."""
        return task.problem(as_operator(self.X), self.codes, self.weights)

    def __sizeof__(self) -> int:
        return nbytes(self.X) + int(self.codes.nbytes)


class Reads(Enum):
    """Which rows of X a question needs: none, those of the round under way, or all."""

    NOTHING, ROUND, DATA = range(3)


class Declared(NamedTuple):
    """What a question reads, whether it changes the state, and what adds up answers of blocks."""

    reads: Reads
    changes: bool
    reduce: Reduction


def add(answers: Sequence[Any]) -> Any:
    """Return the sum of the answers."""
    return sum(answers[1:], start=answers[0])


def joined(answers: Sequence[dict[int, Any]]) -> dict[int, Any]:
    """Return all answers, by the number of their block."""
    return {number: value for answer in answers for number, value in answer.items()}


def question(
    reads: Reads = Reads.NOTHING, *, changes: bool = False, reduce: Reduction = add
) -> Callable[[Method], Method]:
    """Declare a method of a block as a question; see `Declared`."""

    def declare(method: Method) -> Method:
        # A function may have attributes, but a type of functions cannot say so.
        method.declared = Declared(reads, changes, reduce)  # type: ignore[attr-defined]
        return method

    return declare


class Call(NamedTuple):
    """A question with its arguments; `each` has one more argument for every block, by number."""

    question: Callable[..., Any]
    args: tuple[Any, ...]
    each: Sequence[Any] | dict[int, Any] | None = None

    @property
    def declared(self) -> Declared:
        """What the question declares."""
        declared: Declared = self.question.declared  # type: ignore[attr-defined]
        return declared

    def put_to(self, block: Any, number: int) -> Any:
        """Return the answer of a block."""
        args = self.args if self.each is None else (*self.args, self.each[number])
        return getattr(block, self.question.__name__)(*args)


@dataclass(eq=False)
class Message:
    """What travels to the blocks at once: changes that need no answer, then a question."""

    # The problem, for blocks that are to be made.
    task: Task
    # The last of them is answered.
    calls: list[Call]
    # Whether the round under way looks at copies of some rows, which are part of the state.
    copied: bool = False

    @property
    def reduce(self) -> Reduction:
        """What makes one answer of those of several blocks."""
        return self.calls[-1].declared.reduce

    @property
    def changes(self) -> bool:
        """Whether the state is another one afterwards."""
        return any(call.declared.changes for call in self.calls)

    @property
    def nbytes(self) -> int:
        """The size on the wire."""
        return sum(nbytes(call.args) for call in self.calls)

    @property
    def reads(self) -> bool:
        """Whether any of the calls needs X itself."""
        needed = {call.declared.reads for call in self.calls}
        return Reads.DATA in needed or (Reads.ROUND in needed and not self.copied)

    def for_blocks(self, numbers: Sequence[int]) -> Message:
        """Return the message as some blocks need it: without what others are told."""
        calls = [
            call if call.each is None else call._replace(each={k: call.each[k] for k in numbers})
            for call in self.calls
        ]
        return replace(self, calls=calls)

    def put_to(self, block: Any, number: int) -> tuple[Any, Any]:
        """Return the block afterwards and its answer; the given one keeps its state."""
        if self.changes:
            block = block.fork()
        answers = [call.put_to(block, number) for call in self.calls]
        return block, {number: answers[-1]} if self.reduce is joined else answers[-1]


def block_of(data: Data, task: Task) -> Any:
    """Return a block that nothing was asked of."""
    from htsvm.distributed.binary_block import BinaryBlock
    from htsvm.distributed.multiclass_block import MulticlassBlock

    problem: Any = data.problem(task)
    kind: Any = BinaryBlock if problem.n_scores == 1 else MulticlassBlock
    return kind(problem, data.offset)


def nbytes(value: Any) -> int:
    """Return roughly what a value takes on the wire."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if hasattr(value, "indptr"):
        value = (value.data, value.indices, value.indptr)
    elif hasattr(value, "__dict__"):
        value = vars(value)
    if isinstance(value, dict):
        value = tuple(value.values())
    return sum(map(nbytes, value)) if isinstance(value, (tuple, list)) else 8
