"""Where the state of blocks lives, and how messages reach them and answers come back.

On a cluster the state of some blocks is an ordinary Dask result, made from the data, the state
before, and a message. Questions are pure, so if a worker is lost, Dask makes the state again by
itself, along the messages that led to it. In one process the state is kept as it is, or in files.
"""

from __future__ import annotations

import functools
import pickle
import shutil
import tempfile
import uuid
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dask import delayed

from htsvm.distributed.cluster import Cluster, groups
from htsvm.distributed.data import Data
from htsvm.distributed.protocol import Message, Reduction, block_of, nbytes

# Dask remembers all messages that led to a state; after this many they are put into one task.
LONGEST_LINEAGE = 50


class Transport(ABC):
    """Takes messages to all blocks of a problem and holds their states."""

    @abstractmethod
    def send(self, message: Message) -> tuple[Any, float]:
        """Return the answer of all blocks, and the bytes that were moved."""

    @abstractmethod
    def forget(self) -> None:
        """Drop all states: the next message starts from fresh blocks."""

    def close(self) -> None:
        """Leave nothing behind."""
        self.forget()


class InProcess(Transport):
    """Blocks in the memory of this process."""

    def __init__(self, cluster: Cluster, data: Sequence[Any]) -> None:
        self.cluster, self.data = cluster, data
        self.blocks: list[Any] = []

    def send(self, message: Message) -> tuple[Any, float]:
        """Return the answer of all blocks, and the bytes that a network would have moved."""
        if not self.blocks:
            values = self.cluster.compute(*self.data)
            self.blocks = self.cluster.map(block_of, values, [message.task] * len(values))
        numbers = range(len(self.blocks))
        results = self.cluster.map(message.put_to, self.blocks, numbers)
        self.blocks = [block for block, _ in results]
        answers = [answer for _, answer in results]
        moved = nbytes(answers) + message.nbytes * len(answers)
        return message.declared.reduce(answers), moved

    def forget(self) -> None:
        """Drop all states."""
        self.blocks = []


# ----------------------------------------------------------------------------- on a cluster


@dataclass(frozen=True)
class Shard:
    """The blocks that one thread of a worker looks after: their numbers and data."""

    numbers: list[int]
    data: list[Any]


class ShardState:
    """The blocks of a shard on its worker, with their answer to the message that led to them."""

    def __init__(self, blocks: list[Any], answer: Any) -> None:
        self.blocks, self.answer = blocks, answer

    def __sizeof__(self) -> int:
        return sum(block.__sizeof__() for block in self.blocks)


# States on this worker, by name, while they are referenced.
_living: weakref.WeakValueDictionary[str, ShardState] = weakref.WeakValueDictionary()


class OnCluster(Transport):
    """Blocks on the workers of a cluster."""

    def __init__(self, cluster: Cluster, shards: Sequence[Shard]) -> None:
        self.cluster, self.shards = cluster, shards
        self.states: list[Any] = [None] * len(shards)
        self.messages: list[Message] = []
        self.name, self.lineage = "", 0

    def send(self, message: Message) -> tuple[Any, float]:
        """Return the answer of all blocks, and the bytes that were moved."""
        client, combine = self.cluster.client, functools.partial(_combine, message.declared.reduce)
        messages = [message.for_blocks(shard.numbers) for shard in self.shards]
        columns = ([s.data for s in self.shards], self.states, messages,
                   [s.numbers for s in self.shards])  # fmt: skip
        if not message.changes:
            futures = client.map(shard_answer, *columns, pure=False)
        else:
            if self.lineage >= LONGEST_LINEAGE:
                self._cut_lineage()
            name = uuid.uuid4().hex
            states = client.map(next_state, *columns, [name] * len(self.shards), pure=False)
            futures = client.map(_answer_of, states, pure=False)
        answer, moved = self.cluster.gather(futures, combine)
        if message.changes:
            self.states, self.name = states, name
            self.messages.append(message)
            self.lineage += 1
        return answer, moved + sum(one.nbytes for one in messages)

    def _cut_lineage(self) -> None:
        """Make the states depend on the data and a list of messages, not on earlier states."""
        client = self.cluster.client
        holders = client.who_has(self.states)
        self.states = [
            client.submit(
                same_state, shard.data, self.name,
                [message.for_blocks(shard.numbers) for message in self.messages], shard.numbers,
                workers=list(holders.get(state.key, ())) or None, allow_other_workers=True,
                pure=False,
            )
            for shard, state in zip(self.shards, self.states, strict=True)
        ]  # fmt: skip
        self.lineage = 0

    def forget(self) -> None:
        """Drop all states."""
        self.states = [None] * len(self.shards)
        self.messages, self.name, self.lineage = [], "", 0


def _put(
    data: list[Data], state: ShardState | None, message: Message, numbers: list[int]
) -> tuple[list[Any], Any]:
    """Return the blocks of a shard after a message, and their answer."""
    if state is None:
        blocks = [block_of(one, message.task) for one in data]
    else:
        blocks = state.blocks
        for block, one in zip(blocks, data, strict=True):
            block.attach(one)
    results = [message.put_to(*pair) for pair in zip(blocks, numbers, strict=True)]
    answers = [answer for _, answer in results]
    return [block for block, _ in results], (message.declared.reduce(answers), nbytes(answers))


def shard_answer(
    data: list[Data], state: ShardState | None, message: Message, numbers: list[int]
) -> Any:
    """Return the answer to a message that changes nothing, and its size."""
    return _put(data, state, message, numbers)[1]


def next_state(
    data: list[Data], state: ShardState | None, message: Message, numbers: list[int], name: str
) -> ShardState:
    """Return the state after a message, with the answer."""
    result = ShardState(*_put(data, state, message, numbers))
    _living[f"{name}-{numbers[0]}"] = result
    return result


def same_state(
    data: list[Data], name: str, messages: list[Message], numbers: list[int]
) -> ShardState:
    """Return the state of that name: as it is on this worker, or else made from the data."""
    state = _living.get(f"{name}-{numbers[0]}")
    if state is None:
        for message in messages:
            state = next_state(data, state, message, numbers, name)
    assert state is not None
    return state


def _answer_of(state: ShardState) -> Any:
    return state.answer


def _combine(reduce: Reduction, parts: list[Any]) -> Any:
    return reduce([value for value, _ in parts]), sum(size for _, size in parts)


# ----------------------------------------------------------------------------------- on disk


class OnDisk(Transport):
    """Blocks in files; their data is read when a question needs it.

    Vectors over the rows are in one file for each block, the copies of rows that a round looks at
    in another.
    """

    def __init__(self, cluster: Cluster, data: Sequence[Any]) -> None:
        self.cluster, self.data = cluster, data
        self.folder, self.begun = "", False

    def send(self, message: Message) -> tuple[Any, float]:
        """Return the answer of all blocks, and the bytes that a network would have moved."""
        if not self.folder:
            self.folder = tempfile.mkdtemp(prefix="htsvm-")
        count = len(self.data)
        where = [(self.folder, k, self.begun) for k in range(count)]
        data = self.data if message.reads or not self.begun else [None] * count
        known = delayed(message, traverse=False)
        parts = [
            delayed(answer_from_disk, pure=False)(delayed(at, traverse=False), one, known)
            for at, one in zip(where, data, strict=True)
        ]
        combine = functools.partial(_combine, message.declared.reduce)
        answer, moved = self.cluster.compute(tree(parts, combine))[0]
        self.begun = True
        return answer, moved + message.nbytes * count

    def forget(self) -> None:
        """Drop all states."""
        self.begun = False

    def close(self) -> None:
        """Remove the files."""
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder, self.begun = "", False


def answer_from_disk(where: tuple[str, int, bool], data: Data | None, message: Message) -> Any:
    """Return the answer of a block whose state is in a file, and whose data, if any, was read."""
    folder, number, begun = where
    path, copies = Path(folder) / f"state-{number}", Path(folder) / f"round-{number}"
    if begun:
        block = _load(path)
        if data is not None:
            block.attach(data)
        else:
            block.part = _load(copies) if copies.exists() else None
    else:
        assert data is not None, "a block is made from data"
        block = block_of(data, message.task)
        copies.unlink(missing_ok=True)
    after, answer = message.put_to(block, number)
    if message.changes or not begun:
        _dump(path, after)
    if data is not None and after.part is not None and after.part.copied:
        _dump(copies, after.part)
    return answer, nbytes(answer)


def _dump(path: Path, value: Any) -> None:
    with path.open("wb") as file:
        pickle.dump(value, file, protocol=5)


def _load(path: Path) -> Any:
    with path.open("rb") as file:
        return pickle.load(file)


# ------------------------------------------------------------------------------- reductions


def tree(parts: list[Any], combine: Callable[[list[Any]], Any]) -> Any:
    """Return the delayed reduction of delayed answers, a few at a time."""
    while True:
        parts = [delayed(combine, pure=False)(some) for some in groups(parts)]
        if len(parts) == 1:
            return parts[0]
