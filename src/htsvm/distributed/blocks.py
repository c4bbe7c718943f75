"""All blocks of a problem, as the driver sees them."""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dask import delayed

from htsvm._typing import Array
from htsvm.distributed import slots
from htsvm.distributed.cluster import Cluster, Held, groups
from htsvm.distributed.data import MajorisedTask, Task
from htsvm.distributed.slots import Call, Partial, Slot, Step

# How often blocks may be lost within one pass.
MOST_LOSSES = 20

# Calls that read neither X nor a copy of its rows.
WITHOUT_DATA = frozenset(
    {
        "count_relevant", "largest_penalty", "largest_violation", "line_terms", "loss_total",
        "penalties", "restore_penalties", "sampled_violations", "set_ramp", "support", "weigh",
        "accept", "class_penalties", "close", "look", "majoriser", "residual", "rows_that_count",
        "set_pulls", "trial", "weigh_convex", "hinge_total", "leave",
    }
)  # fmt: skip


class Source:
    """The data of a fit: a delayed `Data` per block, and what is known of all of them.

    Attributes
    ----------
    raw, data : list of delayed
        The blocks as they are read, and as passes take them: held in memory unless streamed.
    offsets : ndarray of shape (blocks + 1,)
        The first row of each block, and the number of all rows.
    shape : (int, int)
        Samples and features.
    stored : int
        Stored values.
    square_sum : float
        The sum of their squares.
    streamed : bool
        Whether the data is read anew for each pass.
    """

    def __init__(
        self,
        cluster: Cluster,
        raw: Sequence[Any],
        data: Sequence[Any],
        offsets: Array,
        n_features: int,
        stored: int,
        square_sum: float,
        streamed: bool,
    ) -> None:
        self.cluster, self.raw, self.data, self.offsets = cluster, list(raw), list(data), offsets
        self.shape = (int(offsets[-1]), n_features)
        self.stored, self.square_sum, self.streamed = stored, square_sum, streamed

    def close(self) -> None:
        """Let go of the data that is held, and of processes."""
        self.data = []
        self.cluster.close()


@dataclass
class Traffic:
    """Passes over the network, and the bytes that they moved."""

    passes: int = 0
    bytes: float = 0.0

    def columns(self) -> dict[str, float]:
        """Return them as columns of a history."""
        return {"network_passes": self.passes, "network_bytes": self.bytes}


class Blocks:
    """The blocks of one problem, the log that makes them again, and what went over the wire.

    `log` leads to the state at the beginning of the present round; `tail` from there to now.
    """

    def __init__(self, source: Source, task: Task, traffic: Traffic | None = None) -> None:
        self.source, self.task = source, task
        self.traffic = traffic or Traffic()
        self.version = 0
        self.log: list[tuple[str, tuple[Any, ...], list[Any] | None]] = []
        self.tail: list[Step] = []
        self.copied = False
        self._slots: Held | None = None
        self._folder = ""

    def with_penalty(self, C: float) -> Blocks:
        """Return blocks of the same data for a problem with all penalties times `C`."""
        task: Any = self.task
        return Blocks(self.source, replace(task, C=C * task.C))

    def majorised(self, w: Array, b: Any) -> Blocks:
        """Return blocks of the same data for the weighted hinge problem that touches at (w, b)."""
        task: Any = self.task
        return Blocks(self.source, MajorisedTask(task, w, b), self.traffic)

    def close(self) -> None:
        """Let go of everything on the workers and on disk."""
        self._slots = None
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""

    def ask(self, name: str, *args: Any, how: str = "sum", each: list[Any] | None = None) -> Any:
        """Call a method of every block that leaves its state as it is; return the reduced answer.

        `each` has one more argument for each block.
        """
        return self._pass(name, args, each, how, self.version)

    def tell(self, name: str, *args: Any, how: str = "sum", each: list[Any] | None = None) -> Any:
        """Call a method of every block that changes its state; return the reduced answer.

        Whoever calls sees to it that the log leads to the new state.
        """
        return self._pass(name, args, each, how, self.version + 1)

    def tell_and_log(self, name: str, *args: Any, each: list[Any] | None = None) -> None:
        """Call a method that changes the state between rounds, and put it down in the log."""
        self.tell(name, *args, each=each)
        if name.startswith("start"):
            self.log.clear()
        self.log.append((name, args, each))

    # ------------------------------------------------------------------------------- a pass

    def _pass(
        self, name: str, args: tuple[Any, ...], each: list[Any] | None, how: str, after: int
    ) -> Any:
        """Send a call to all blocks and reduce the answers, until none is missing."""
        call = Call(name, args, self.version, after, how)
        partial = self._send(call, each, how, range(len(self.source.data)))
        for _ in range(MOST_LOSSES):
            if not partial.missing:
                break
            again = self._send(call, each, how, partial.missing, replay=True)
            partial = slots.combine([partial._replace(missing=()), again], how)
        else:
            raise RuntimeError(f"Blocks were lost {MOST_LOSSES} times within one pass of the fit.")
        self.version = after
        return [value for _, value in partial.value] if how == "list" else partial.value

    def _send(
        self,
        call: Call,
        each: list[Any] | None,
        how: str,
        indices: Sequence[int],
        replay: bool = False,
    ) -> Partial:
        calls = [self._call_of(call, each, k, replay) for k in indices]
        partial = (
            self._streamed(calls, how, indices)
            if self.source.streamed
            else self._held(calls, how, indices)
        )
        self.traffic.passes += 1
        self.traffic.bytes += partial.nbytes + sum(one.nbytes for one in calls[:1]) * len(calls)
        return partial

    def _call_of(self, call: Call, each: list[Any] | None, k: int, replay: bool) -> Call:
        args = call.args if each is None else (*call.args, each[k])
        log = None
        if replay:
            log = [(name, (*a,) if e is None else (*a, e[k])) for name, a, e in self.log]
            log += self.tail
        return Call(call.name, args, call.version, call.next_version, call.how, log)

    def _held(self, calls: list[Call], how: str, indices: Sequence[int]) -> Partial:
        """Send calls to blocks in memory."""
        cluster = self.source.cluster
        if self._slots is None:
            task = delayed(self.task, traverse=False)
            self._slots = cluster.hold(
                [
                    delayed(Slot, pure=False)(data, task, index)
                    for index, data in enumerate(self.source.data)
                ]
            )
        partial: Partial = cluster.reduce_held(
            self._slots, indices, calls, slots.answer, partial_of(how)
        )
        return partial

    def _streamed(self, calls: list[Call], how: str, indices: Sequence[int]) -> Partial:
        """Send calls to blocks whose state is on disk; read the data of those that need it."""
        if not self._folder:
            self._folder = tempfile.mkdtemp(prefix="htsvm-")
        cluster, states = self.source.cluster, [(self._folder, k, self.task) for k in indices]
        reads = [
            call.log is not None or call.version == 0 or self._reads(call.name) for call in calls
        ]
        if not any(reads):
            held: Partial = cluster.reduce(
                states, calls, slots.answer_without_data, partial_of(how)
            )
            return held
        parts = [
            delayed(slots.answer_from_disk, pure=False)(
                delayed(state, traverse=False), self.source.data[k], call
            )
            for k, state, call in zip(indices, states, calls, strict=True)
        ]
        partial: Partial = cluster.compute(tree(parts, partial_of(how)))[0]
        return partial

    def _reads(self, name: str) -> bool:
        """Return whether a call needs the data and not only the copy of rows that a round has."""
        if name in slots.READ_COPY:
            return not self.copied
        return name not in WITHOUT_DATA

    # ------------------------------------------------------------------------------- rows

    def slices(self, rows: Array) -> list[slice]:
        """Return where the rows of each block are in the sorted `rows`."""
        return slots.slices(rows, self.source.offsets)

    def local(self, rows: Array) -> list[Array]:
        """Return the sorted `rows` by block, counted from its first row."""
        parts = zip(self.slices(rows), self.source.offsets[:-1], strict=True)
        return [rows[part] - offset for part, offset in parts]

    def cut(self, rows: Array, values: Array) -> list[tuple[Array, Array]]:
        """Return the sorted `rows` by block, counted from its first row, and their values."""
        parts = zip(self.local(rows), self.slices(rows), strict=True)
        return [(local, values[part]) for local, part in parts]

    def states_of(self, rng: np.random.Generator) -> list[Any]:
        """Return the state of a generator before each block draws numbers for its rows, and draw.

        A worker draws those of a block itself; they are those that a local fit would draw.
        """
        states = []
        for rows in np.diff(self.source.offsets):
            states.append(rng.bit_generator.state)
            rng.exponential(size=rows)
        return states

    @functools.cached_property
    def largest_penalty(self) -> float:
        """The largest penalty of a sample."""
        return float(self.ask("largest_penalty", how="max"))

    def take(self, rows: Array) -> tuple[Any, Array, Array]:
        """Return copies of some rows, their labels and penalties."""
        return stacked(self.ask("rows_at", how="list", each=self.local(rows)))


def partial_of(how: str) -> Any:
    """Return what reduces a list of answers in a given way."""
    return functools.partial(slots.combine, how=how)


def tree(parts: list[Any], combine: Callable[[list[Any]], Any]) -> Any:
    """Return the delayed reduction of delayed answers, a few at a time."""
    while True:
        parts = [delayed(combine, pure=False)(some) for some in groups(parts)]
        if len(parts) == 1:
            return parts[0]


def stacked(parts: list[tuple[Any, Array, Array]]) -> tuple[Any, Array, Array]:
    """Put rows, labels and penalties of several blocks together."""
    X = stack_rows([part[0] for part in parts])
    return X, np.concatenate([p[1] for p in parts]), np.concatenate([p[2] for p in parts])


def stack_rows(parts: list[Any]) -> Any:
    """Put the rows of several blocks together."""
    if hasattr(parts[0], "indptr"):
        from scipy import sparse

        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)
