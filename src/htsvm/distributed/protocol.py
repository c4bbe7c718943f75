"""What blocks are asked, and how: questions declare what they read, change and add up to.

A question is a method of a block under the decorator `question`. The driver names it by the
method itself; it is pure: a question that changes the state is put to a copy of the block, so that
the same block and the same message always give the same state and the same answer. That is all
that Dask needs to make a lost state again (`transport.py`).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple, TypeVar

import numpy as np

from htsvm.distributed.data import Data, Task

Method = TypeVar("Method", bound=Callable[..., Any])
Reduction = Callable[[Sequence[Any]], Any]


class Reads(Enum):
    """What a question needs besides vectors over the rows of its block."""

    NOTHING = "nothing"
    ROUND = "the rows that a round looks at"
    DATA = "all rows"


@dataclass(frozen=True)
class Declared:
    """What is known of a question before it is asked.

    Attributes
    ----------
    reads : Reads
        Which rows of X it needs.
    changes : bool
        Whether it changes the state that a block has between rounds.
    reduce : callable
        Makes one answer of those of several blocks.
    """

    reads: Reads
    changes: bool
    reduce: Reduction


def add(answers: Sequence[Any]) -> Any:
    """Return the sum of the answers."""
    total = answers[0]
    for answer in answers[1:]:
        total = total + answer
    return total


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
    """What travels to the blocks at once: changes that need no answer, then a question.

    Attributes
    ----------
    task : Task
        The problem, for blocks that are to be made.
    calls : list of Call
        The last of them is answered.
    copied : bool
        Whether rounds look at copies of some rows, which are at hand.
    """

    task: Task
    calls: list[Call]
    copied: bool = False

    @property
    def declared(self) -> Declared:
        """What the question declares that is answered."""
        return self.calls[-1].declared

    @property
    def changes(self) -> bool:
        """Whether the state is another one afterwards."""
        return any(call.declared.changes for call in self.calls)

    @property
    def nbytes(self) -> int:
        """The size on the wire."""
        calls = [(call.question.__name__, call.args) for call in self.calls]
        return len(pickle.dumps(calls, protocol=5))

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
        for call in self.calls:
            answer = call.put_to(block, number)
            if call.declared.changes:
                block.part = None
        return block, {number: answer} if self.declared.reduce is joined else answer


def block_of(data: Data, task: Task) -> Any:
    """Return a block that nothing was asked of."""
    from htsvm.distributed.block import BinaryBlock
    from htsvm.distributed.multiclass_block import MulticlassBlock

    problem: Any = data.problem(task)
    kind: Any = BinaryBlock if problem.n_scores == 1 else MulticlassBlock
    return kind(problem, data.offset)


def nbytes(value: Any) -> int:
    """Return roughly what a value takes on the wire."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, dict):
        return nbytes(list(value.values()))
    if isinstance(value, (tuple, list)):
        return sum(nbytes(item) for item in value)
    if hasattr(value, "indptr"):
        return nbytes((value.data, value.indices, value.indptr))
    if hasattr(value, "__dict__"):
        return sum(nbytes(item) for item in vars(value).values())
    return 8
