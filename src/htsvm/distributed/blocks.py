"""All blocks of a problem, as the driver sees them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.distributed.block import Block
from htsvm.distributed.cluster import Cluster
from htsvm.distributed.data import MajorisedTask, Task
from htsvm.distributed.protocol import Call, Message, joined
from htsvm.distributed.transport import InProcess, OnCluster, OnDisk, Shard, Transport


@dataclass(eq=False)
class Source:
    """The data of a fit: a delayed `Data` per block, and what is known of all of them.

    Attributes
    ----------
    cluster : Cluster
        Where it is.
    raw, data : list of delayed
        The blocks as they are read, and as passes take them: held in memory unless streamed.
    offsets : ndarray of shape (blocks + 1,)
        The first row of each block, and the number of all rows.
    n_features, stored, square_sum
        The number of columns and of stored values, and the sum of the squares of these.
    streamed : bool
        Whether the data is read anew for each pass.
    """

    cluster: Cluster
    raw: list[Any]
    data: list[Any]
    offsets: Array
    n_features: int
    stored: int
    square_sum: float
    streamed: bool
    _shards: list[Shard] = field(default_factory=list)

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        return int(self.offsets[-1]), self.n_features

    def transport(self) -> Transport:
        """Return what takes messages to the blocks of a new problem on this data."""
        if self.streamed:
            return OnDisk(self.cluster, self.data)
        if self.cluster.client is None:
            return InProcess(self.cluster, self.data)
        if not self._shards:
            futures = self.cluster.client.futures_of(self.data)
            places = self.cluster.places(futures)
            self._shards = [Shard(some, [futures[k] for k in some]) for some in places]
        return OnCluster(self.cluster, self._shards)

    def close(self) -> None:
        """Release the data that is held, and end the processes of the fit."""
        self.data, self._shards = [], []
        self.cluster.close()


@dataclass
class Traffic:
    """Passes over the network, and the bytes that they moved."""

    passes: int = 0
    bytes: float = 0.0

    def columns(self) -> dict[str, float]:
        """Return them as columns of a history."""
        return {"network_passes": self.passes, "network_bytes": self.bytes}


class Multipliers:
    """Multipliers over all rows, of which only those that are not zero are kept.

    Attributes
    ----------
    rows, values : ndarray
        The rows, in order, and their psi; of several classes, their pulls.
    y : ndarray or None
        The labels of the rows; None for pulls.
    """

    def __init__(self, rows: Array, values: Array, y: Array | None = None) -> None:
        kept = np.any(values != 0.0, axis=tuple(range(1, values.ndim)))
        self.rows, self.values, self.y = rows[kept], values[kept], None if y is None else y[kept]

    def __mul__(self, factor: float) -> Multipliers:
        return Multipliers(self.rows, factor * self.values, self.y)

    __rmul__ = __mul__

    def by_block(self, blocks: Blocks) -> list[tuple[Array, ...]]:
        """Return rows of each block, counted from its first, and their values."""
        return blocks.cut(self.rows, self.values)

    def table(self) -> Array:
        """Return the coefficients of the rows in the classifiers."""
        table: Array = self.values.T if self.y is None else -self.values[None] * self.y
        return table


class Blocks:
    """The blocks of one problem: tell them what to do, ask them, and count what that moves.

    What they are told goes with the next question.
    """

    def __init__(self, source: Source, task: Task, traffic: Traffic | None = None) -> None:
        self.source, self.task = source, task
        self.traffic = traffic or Traffic()
        # Whether the round under way looks at copies of some rows.
        self.copied = False
        self.numbers = itertools.count()
        # The samples of each label or class and those ignored of them, by the last certificate.
        self.ignored: Any = None
        self._transport: Transport | None = None
        self._told: list[Call] = []

    def with_penalty(self, C: float) -> Blocks:
        """Return blocks of the same data for a problem with all penalties times `C`."""
        task: Any = self.task
        return Blocks(self.source, replace(task, C=C * task.C))

    def majorised(self, w: Array, b: Any) -> Blocks:
        """Return blocks of the same data for the weighted hinge problem that touches at (w, b)."""
        task: Any = self.task
        return Blocks(self.source, MajorisedTask(task, w, b), self.traffic)

    def close(self) -> None:
        """Release everything on the workers and on disk."""
        if self._transport is not None:
            self._transport.close()
        self._transport = None

    @property
    def has_news(self) -> bool:
        """Whether something was told that was not sent yet."""
        return bool(self._told)

    def start(
        self, question: Callable[..., Any], *args: Any, each: Sequence[Any] | None = None
    ) -> None:
        """Tell fresh blocks where to start; all that was before is forgotten."""
        if self._transport is not None:
            self._transport.forget()
        self._told = [Call(question, args, each)]

    def tell(
        self, question: Callable[..., Any], *args: Any, each: Sequence[Any] | None = None
    ) -> None:
        """Tell the blocks something whose answer is of no interest.

        `each` has one more argument for every block.
        """
        self._told.append(Call(question, args, each))

    def ask(
        self, question: Callable[..., Any], *args: Any, each: Sequence[Any] | None = None
    ) -> Any:
        """Return the answer of all blocks, reduced as the question declares."""
        if self._transport is None:
            self._transport = self.source.transport()
        message = Message(self.task, [*self._told, Call(question, args, each)], self.copied)
        answer, moved = self._transport.send(message)
        self._told = []
        self.traffic.passes += 1
        self.traffic.bytes += moved
        if message.declared.reduce is joined:
            return [answer[number] for number in sorted(answer)]
        return answer

    # ------------------------------------------------------------------------------- rows

    def cut(self, rows: Array, *vectors: Array) -> list[tuple[Array, ...]]:
        """Return the sorted `rows` by block, counted from its first row, and vectors over them."""
        offsets = self.source.offsets
        return [
            (rows[part] - offset, *(vector[part] for vector in vectors))
            for part, offset in zip(slices(rows, offsets), offsets[:-1], strict=True)
        ]

    def states_of(self, rng: np.random.Generator) -> list[Any]:
        """Return the state of a generator before each block draws numbers for its rows, and draw.

        A worker draws those of a block itself; they are those that a local fit would draw.
        """
        states = []
        for rows in np.diff(self.source.offsets):
            states.append(rng.bit_generator.state)
            rng.exponential(size=rows)
        return states

    def take(self, rows: Array) -> tuple[Any, Array, Array]:
        """Return copies of some rows, their labels and penalties."""
        each = [local for (local,) in self.cut(rows)]
        X, labels, penalty = stacked(self.ask(Block.rows_at, each=each))
        return X, labels, penalty


def slices(rows: Array, offsets: Array) -> list[slice]:
    """Return where the rows of each block are in the sorted `rows`."""
    return [slice(low, high) for low, high in pairwise(np.searchsorted(rows, offsets))]


def stacked(parts: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Put rows and vectors over rows of several blocks together."""
    X, *vectors = zip(*parts, strict=True)
    return [stack_rows(list(X)), *(np.concatenate(vector) for vector in vectors)]


def stack_rows(parts: list[Any]) -> Any:
    """Put the rows of several blocks together."""
    if hasattr(parts[0], "indptr"):
        from scipy import sparse

        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)
