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
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from htsvm.distributed.cluster import Cluster
from htsvm.distributed.protocol import Data, Message, Reduction, block_of, nbytes


class Transport(ABC):
    """Takes messages to all blocks of a problem and holds their states."""

    @abstractmethod
    def send(self, message: Message) -> tuple[Any, float]:
        """Return the answer of all blocks, and the bytes that a network moves for it."""

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
        return message.reduce(answers), nbytes(answers) + message.nbytes * len(answers)

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


class OnCluster(Transport):
    """Blocks on the workers of a cluster."""

    def __init__(self, cluster: Cluster, shards: Sequence[Shard]) -> None:
        self.cluster, self.shards = cluster, shards
        self.states: list[Any] = [None] * len(shards)

    def send(self, message: Message) -> tuple[Any, float]:
        """Return the answer of all blocks, and the bytes that were moved."""
        client, states = self.cluster.client, self.states
        messages = [message.for_blocks(shard.numbers) for shard in self.shards]
        columns = ([shard.data for shard in self.shards], states, messages,
                   [shard.numbers for shard in self.shards])  # fmt: skip
        if message.changes:
            states = client.map(next_state, *columns, pure=False)
            futures = client.map(_answer_of, states, pure=False)
        else:
            futures = client.map(shard_answer, *columns, pure=False)
        combine = functools.partial(_combine, message.reduce)
        answer, moved = self.cluster.gather(futures, combine)
        self.states = states
        return answer, moved + sum(one.nbytes for one in messages)

    def forget(self) -> None:
        """Drop all states."""
        self.states = [None] * len(self.shards)


def next_state(
    data: list[Data], state: ShardState | None, message: Message, numbers: list[int]
) -> ShardState:
    """Return the state of a shard after a message, with the answer and its size."""
    if state is None:
        blocks = [block_of(one, message.task) for one in data]
    else:
        blocks = state.blocks
        for block, one in zip(blocks, data, strict=True):
            block.attach(one)
    results = [message.put_to(*pair) for pair in zip(blocks, numbers, strict=True)]
    answers = [answer for _, answer in results]
    return ShardState([block for block, _ in results], (message.reduce(answers), nbytes(answers)))


def shard_answer(*args: Any) -> Any:
    """Return the answer of a shard to a message that changes nothing, and its size."""
    return next_state(*args).answer


def _answer_of(state: ShardState) -> Any:
    return state.answer


def _combine(reduce: Reduction, parts: list[Any]) -> Any:
    return reduce([value for value, _ in parts]), sum(size for _, size in parts)


# ----------------------------------------------------------------------------------- on disk


class OnDisk(Transport):
    """Blocks in files; their data is read when a question needs it."""

    def __init__(self, cluster: Cluster, data: Sequence[Any]) -> None:
        self.cluster, self.data = cluster, data
        self.folder, self.begun = "", False

    def send(self, message: Message) -> tuple[Any, float]:
        """Return the answer of all blocks, and the bytes that a network would have moved."""
        self.folder = self.folder or tempfile.mkdtemp(prefix="htsvm-")
        count = len(self.data)
        data = self.data if message.reads or not self.begun else [None] * count
        combine = functools.partial(_combine, message.reduce)
        answer, moved = self.cluster.reduce(
            answer_from_disk, enumerate(data), combine, message, self.folder, self.begun
        )
        self.begun = True
        return answer, moved + message.nbytes * count

    def forget(self) -> None:
        """Drop all states."""
        self.begun = False

    def close(self) -> None:
        """Remove the files."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder, self.begun = "", False


def answer_from_disk(number: int, data: Any, message: Message, folder: str, begun: bool) -> Any:
    """Return the answer of a block whose state is in a file, and whose data, if any, was read."""
    path = Path(folder) / str(number)
    block = pickle.loads(path.read_bytes()) if begun else block_of(data, message.task)
    if data is not None:
        block.attach(data)
    after, answer = message.put_to(block, number)
    if message.changes or not begun:
        with path.open("wb") as file:
            pickle.dump(after, file, protocol=5)
    return answer, nbytes(answer)
