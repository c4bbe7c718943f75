"""All blocks of a problem, as the driver sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from dask import array

from htsvm._typing import Array
from htsvm.distributed.block import Block
from htsvm.distributed.cluster import Cluster
from htsvm.distributed.protocol import Call, MajorisedTask, Message, Task, joined
from htsvm.distributed.transport import InProcess, OnCluster, OnDisk, Shard, Transport
from htsvm.linalg import as_operator

Question = Callable[..., Any]
# One more argument for every block.
Each = Sequence[Any] | None


@dataclass(eq=False)
class Source:
    """The data of a fit: a delayed `Data` per block, and what is known of all of them."""

    cluster: Cluster
    # The blocks as they are read, and as passes take them: held in memory unless streamed.
    raw: list[Any]
    data: list[Any]
    # The first row of each block, and the number of all rows.
    offsets: Array
    n_features: int
    # The number of stored values, and the sum of their squares.
    stored: int
    square_sum: float
    # The sums of the weights of the samples of each class.
    mass: Array
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

    def slices(self, rows: Array) -> list[slice]:
        """Return where the rows of each block are in the sorted `rows`."""
        return [slice(low, high) for low, high in pairwise(np.searchsorted(rows, self.offsets))]

    def joined(self, blocks: Sequence[Any], shape: tuple[int, ...], dtype: Any) -> Any:
        """Return a Dask array of delayed blocks with an entry of that shape for each row."""
        sizes = [int(size) for size in np.diff(self.offsets)]
        parts = zip(blocks, sizes, strict=True)
        return array.concatenate(
            [array.from_delayed(block, (size, *shape), dtype=dtype) for block, size in parts]
        )

    def close(self) -> None:
        """Release the data that is held, and end the processes of the fit."""
        self.data, self._shards = [], []
        self.cluster.close()


class Multipliers:
    """The rows whose multipliers are not zero, with their psi and labels; or with their pulls."""

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
    """The blocks of one problem; what they are told goes with the next question."""

    def __init__(
        self, source: Source, task: Task, penalties: Array | None = None,
        traffic: dict[str, float] | None = None,
    ) -> None:  # fmt: skip
        self.source, self.task = source, task
        # Passes over the network and the bytes that they moved, as columns of a history.
        self.traffic = traffic or {"network_passes": 0, "network_bytes": 0.0}
        # The sums of the penalties by label or class.
        self.penalties = self._stated_penalties() if penalties is None else penalties
        # Whether the round under way looks at copies of some rows.
        self.copied = False
        # The samples of each label or class and those ignored of them, by the last certificate.
        self.ignored: Any = None
        self._transport: Transport | None = None
        self._told: list[Call] = []

    def with_penalty(self, C: float) -> Blocks:
        """Return blocks of the same data for a problem with all penalties times `C`."""
        task: Any = self.task
        return Blocks(self.source, replace(task, C=C * task.C))

    def majorised(self, w: Array, b: Any) -> tuple[Blocks, float]:
        """Return blocks of the weighted hinge problem that touches at (w, b), and the loss."""
        *penalties, loss = self.ask(Block.majorised_at, w, b)
        # What is majorised already is convex and never majorised again: the task is a stated one.
        task: Any = MajorisedTask(self.task, w, b)  # type: ignore[arg-type]
        return Blocks(self.source, task, np.array(penalties), self.traffic), float(loss)

    def _stated_penalties(self) -> Array:
        """Return the sums of the penalties: those of one sample per class, with all its weight."""
        mass = self.source.mass
        one_each = as_operator(np.zeros((len(mass), 1)))
        stated: Any = self.task.problem(one_each, np.arange(len(mass)), mass)
        codes = stated.labels if stated.n_scores > 1 else (stated.y == 1).astype(np.intp)
        return np.bincount(codes, weights=stated.penalty, minlength=2)

    def close(self) -> None:
        """Release everything on the workers and on disk."""
        if self._transport is not None:
            self._transport.close()
        self._transport = None

    @property
    def has_pending(self) -> bool:
        """Whether something that was told is still to be sent."""
        return bool(self._told)

    def start(self, question: Question, *args: Any, each: Each = None) -> None:
        """Tell fresh blocks where to start; all that was before is forgotten."""
        if self._transport is not None:
            self._transport.forget()
        self._told = [Call(question, args, each)]

    def tell(self, question: Question, *args: Any, each: Each = None) -> None:
        """Tell the blocks something whose answer is of no interest."""
        self._told.append(Call(question, args, each))

    def ask(self, question: Question, *args: Any, each: Each = None) -> Any:
        """Return the answer of all blocks, reduced as the question declares."""
        if self._transport is None:
            self._transport = self.source.transport()
        message = Message(self.task, [*self._told, Call(question, args, each)], self.copied)
        answer, moved = self._transport.send(message)
        self._told = []
        self.traffic["network_passes"] += 1
        self.traffic["network_bytes"] += moved
        if message.reduce is joined:
            return [answer[number] for number in sorted(answer)]
        return answer

    # ------------------------------------------------------------------------------- rows

    def cut(self, rows: Array, *vectors: Array) -> list[tuple[Array, ...]]:
        """Return the sorted `rows` by block, counted from its first row, and vectors over them."""
        offsets = self.source.offsets
        return [
            (rows[part] - offset, *(vector[part] for vector in vectors))
            for part, offset in zip(self.source.slices(rows), offsets[:-1], strict=True)
        ]

    def states_of(self, rng: np.random.Generator) -> list[Any]:
        """Return the states of a generator from which blocks draw what a local fit would draw."""
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


def stacked(parts: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Put rows and vectors over rows of several blocks together."""
    X, *vectors = zip(*parts, strict=True)
    return [stack_rows(X), *(np.concatenate(vector) for vector in vectors)]


def stack_rows(parts: Sequence[Any]) -> Any:
    """Put the rows of several blocks together."""
    if hasattr(parts[0], "indptr"):
        from scipy import sparse

        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)
