"""The steps of a round that is run here, on rows in blocks on workers."""

from __future__ import annotations

from typing import Any

from htsvm._typing import Array
from htsvm.distributed.blocks import Blocks
from htsvm.distributed.part import Direction, Entry, Place


class RemoteSteps:
    """The steps of a round, taken here with sums from the blocks.

    A step that is tried brings the sums of the gradient where it leads, should it be taken.
    """

    problem: Any
    entry: Entry
    # The blocks that are asked, and whether they add the matrix of the Hessian to their sums.
    kind: type[Any]
    with_matrix: bool

    def _begin(self, w: Array, b: Any) -> None:
        """Begin at the point where the blocks are, under the round's own number."""
        self.blocks: Blocks = self.problem.blocks
        self.blocks.copied = not self.entry.whole
        self.place = Place(self.entry.number, w, b)

    def _enter(self, count: int) -> list[float]:
        """Return the numbers that come before the sums when a round begins."""
        found = self.blocks.ask(self.kind.enter, self.entry, self.place, self.with_matrix)
        # A step that was tried, the number of the place where it leads, and the sums there.
        self.tried: tuple[float, int, Array] = (0.0, self.place.number, found[count:])
        return [float(value) for value in found[:count]]

    def _sums_here(self) -> Array:
        """Return the sums where the round is, if need be by a pass."""
        if self.tried[1] == self.place.number:
            return self.tried[2]
        sums: Array = self.blocks.ask(self.kind.gradient, self.entry, self.place, self.with_matrix)
        return sums

    def _head_for(self, dw: Array, db: Any) -> None:
        self.direction = Direction(next(self.blocks.numbers), dw, db)

    def _try(self, t: float) -> tuple[float, float]:
        """Try a step; return the two terms of the line search."""
        number = next(self.blocks.numbers)
        found = self.blocks.ask(
            self.kind.step, self.entry, self.place, self.direction, t, number, self.with_matrix
        )
        self.tried = (t, number, found[2:])
        return float(found[0]), float(found[1])

    def _arrive(self, t: float, w: Array, b: Any) -> None:
        """Be where the step `t` has led."""
        number = self.tried[1] if self.tried[0] == t else next(self.blocks.numbers)
        self.place = Place(number, w, b)
