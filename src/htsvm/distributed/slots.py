"""Where blocks live on a worker, and how a question reaches one and its answer comes back.

A slot is an ordinary Dask result: it is made from a block of the data, and made again, without
its per-row state, when its worker is lost, when Dask moves it or takes it to disk. So each call
says which version of the state it is meant for. A slot in another version does not answer, and is
then sent the log: the calls that lead to that version.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from htsvm._typing import Array
from htsvm.distributed.block import Block
from htsvm.distributed.data import Data, Task
from htsvm.distributed.multiclass_block import MulticlassBlock
from htsvm.linalg import as_operator
from htsvm.optimality.multiclass_summary import merge_multiclass
from htsvm.optimality.summary import merge
from htsvm.problems.multiclass import MulticlassProblem

Step = tuple[str, tuple[Any, ...]]
AnyBlock = Block | MulticlassBlock

# Calls that read the rows that a round looks at.
READ_COPY = frozenset(
    {
        "differentiate", "set_out", "active_rows", "active_product", "active_diagonal",
        "move_and_sum", "product", "strength", "diagonal",
    }
)  # fmt: skip


def fresh(data: Data, task: Task) -> AnyBlock:
    """Return a block that nothing was asked of."""
    problem = data.problem(task)
    if isinstance(problem, MulticlassProblem):
        return MulticlassBlock(problem, data.offset)
    return Block(problem, data.offset)


class Call:
    """A method of `Block` to be called.

    Parameters
    ----------
    name, args : str, tuple
        The method and its arguments.
    version, next_version : int
        The version of the state that the call is meant for, and the one it leads to.
    how : str
        How the answers are reduced.
    log : list of (name, args), optional
        The calls that lead from a fresh block to `version`.
    """

    def __init__(
        self,
        name: str,
        args: tuple[Any, ...],
        version: int,
        next_version: int,
        how: str,
        log: list[Step] | None = None,
    ) -> None:
        self.name, self.args, self.how = name, args, how
        self.version, self.next_version = version, next_version
        self.log = log

    @property
    def nbytes(self) -> int:
        """The size of the call on the wire."""
        return len(pickle.dumps((self.name, self.args), protocol=5))


class Partial(NamedTuple):
    """The answers of some blocks, reduced to one; and the blocks that did not answer."""

    value: Any
    missing: tuple[int, ...] = ()
    nbytes: int = 0


class Slot:
    """A block in the memory of a worker. Copies that Dask makes have no per-row state."""

    def __init__(self, data: Data, task: Task, index: int) -> None:
        self.data, self.task, self.index = data, task, index
        self.block: AnyBlock | None = None
        self.version = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return Slot, (self.data, self.task, self.index)

    def __sizeof__(self) -> int:
        # Twice: the state, and the rows that a round looks at.
        return 2 * self.data.__sizeof__()

    def answer(self, call: Call) -> Partial:
        """Make the call, if the state is the one it is meant for or can be made so."""
        if self.block is None or self.version != call.version:
            if call.log is None and call.version > 0:
                return Partial(None, (self.index,))
            self.block = _replayed(self.data, self.task, call)
        # While the call is under way the state belongs to no version.
        self.version = -1
        value = getattr(self.block, call.name)(*call.args)
        self.version = call.next_version
        return _partial(self.index, call, value)


def answer(slot: Slot, call: Call) -> Partial:
    """Make a call to a slot."""
    return slot.answer(call)


def answer_without_data(state: tuple[str, int, Task], call: Call) -> Partial:
    """Make a call that reads no data to a block whose state is kept in a folder."""
    return answer_from_disk(state, None, call)


def answer_from_disk(state: tuple[str, int, Task], data: Data | None, call: Call) -> Partial:
    """Make a call to a block whose state is kept in a folder and whose data, if any, was just read.

    The state is written anew after each call that changes it; the copy of rows that a round looks
    at is in a file of its own, which is written once.
    """
    folder, index, task = state
    path, copy = Path(folder) / f"state-{index}", Path(folder) / f"rows-{index}"
    block = _load(path, call.version)
    if block is None:
        if (call.log is None and call.version > 0) or data is None:
            return Partial(None, (index,))
        block = _replayed(data, task, call)
        _write(copy, block.copied_rows())
    elif data is not None:
        block.attach(as_operator(data.X))
    if call.name in READ_COPY and block.works_on_copy:
        block.attach_copy(pickle.loads(copy.read_bytes()))
    value = getattr(block, call.name)(*call.args)
    if call.next_version != call.version:
        if call.name.startswith("enter"):
            _write(copy, block.copied_rows())
        block.attach(None)
        block.attach_copy(None)
        _write(path, (call.next_version, block))
    return _partial(index, call, value)


def _partial(index: int, call: Call, value: Any) -> Partial:
    return Partial([(index, value)] if call.how == "list" else value, (), nbytes(value))


def _write(path: Path, value: Any) -> None:
    if value is not None:
        with path.open("wb") as file:
            pickle.dump(value, file, protocol=5)


def _load(path: Path, version: int) -> AnyBlock | None:
    if not path.exists():
        return None
    with path.open("rb") as file:
        found, block = pickle.load(file)
    return block if found == version else None


def _replayed(data: Data, task: Task, call: Call) -> AnyBlock:
    block = fresh(data, task)
    for name, args in call.log or ():
        getattr(block, name)(*args)
    return block


# -------------------------------------------------------------------------------- reductions


def combine(parts: Sequence[Partial], how: str) -> Partial:
    """Reduce answers, in the order of the blocks."""
    missing = tuple(index for part in parts for index in part.missing)
    values = [part.value for part in parts if part.value is not None]
    value = REDUCTIONS[how](values) if values else None
    return Partial(value, missing, sum(part.nbytes for part in parts))


def _joined(values: Sequence[Any]) -> list[tuple[int, Any]]:
    return sorted((pair for value in values for pair in value), key=lambda pair: pair[0])


def _sum(values: Sequence[Any]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


REDUCTIONS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "sum": _sum,
    "max": max,
    "list": _joined,
    "merge": merge,
    "merge_multiclass": merge_multiclass,
}


def nbytes(value: Any) -> int:
    """Return roughly what a value takes on the wire."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, (tuple, list)):
        return sum(nbytes(item) for item in value)
    if hasattr(value, "indptr"):
        return nbytes((value.data, value.indices, value.indptr))
    if hasattr(value, "__dict__"):
        return sum(nbytes(item) for item in vars(value).values())
    return 8


def slices(rows: Array, offsets: Array) -> list[slice]:
    """Return where the rows of each block are in the sorted `rows`."""
    cuts = np.searchsorted(rows, offsets)
    return [slice(low, high) for low, high in pairwise(cuts)]
