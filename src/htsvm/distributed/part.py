"""The rows of a block that a round looks at, with what was computed for them on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.linalg.positive import Gram
from htsvm.linalg.row_system import ActiveRows
from htsvm.solvers import Problem
from htsvm.solvers.newton.state import violated

if TYPE_CHECKING:
    from htsvm.distributed.block import BinaryBlock

# Numbers between pull and Gram matrix in the sums of a gradient.
SCALARS = 5


class Entry(NamedTuple):
    """Which rows a round looks at: those within `reach`, as a copy, or all; and its penalty xi."""

    number: int
    reach: float
    whole: bool
    xi: float


class Place(NamedTuple):
    """A point (w, b) where a round has been, by number."""

    number: int
    w: Array
    b: Any


class Direction(NamedTuple):
    """A direction in which a round sets out, by number."""

    number: int
    dw: Array
    db: Any


class Part:
    """The rows of a block that a round of a binary problem looks at, and where it has been."""

    def __init__(self, block: BinaryBlock, entry: Entry) -> None:
        it, problem = block.it, block.problem
        self.entry, self.copied = entry, not entry.whole
        rows: Any = slice(None) if entry.whole else block.relevant(entry.reach)
        self.problem: Problem = problem if entry.whole else problem.take(rows)
        self.q, self.alpha, self.c = it.q[rows], it.alpha[rows], it.weights[rows]
        # A round begins where the state is; see `BlockSteps`.
        self.place, self.trial, self.along = entry.number, -1, -1
        m = len(self.q)
        self.s, self.active = np.zeros(m), np.zeros(m, dtype=np.uint8)
        self.delta = self.tried = np.empty(0)
        self.gram: Gram | None = None
        self.chosen: tuple[int, ActiveRows] | None = None

    def move_to(self, place: Place) -> None:
        """Have the violations at a point, from the last trial if it was there."""
        if place.number == self.place:
            return
        if place.number == self.trial:
            self.q = self.tried
        else:
            self.q = self.problem.violations(place.w, place.b)
        self.place = place.number

    def set_out(self, direction: Direction) -> None:
        """Have the changes of the violations along a direction."""
        if direction.number != self.along:
            self.delta = np.empty(len(self.q))
            y = self.problem.y
            self.problem.operator.signed_dot(y, direction.dw, direction.db, self.delta)
            self.along = direction.number

    def sums(self, q: Array, with_gram: bool) -> Array:
        """Return the sums that gradient and Hessian need where the violations are `q`."""
        problem = self.problem
        interior, support = self.clip(q)
        share = support / max(len(q), 1)
        pull, total = problem.operator.signed_tdot(problem.y, self.s, share)
        scalars = [total, float(self.s.sum()), interior, support, violated(q, self.c)]
        gram = self._gram().ravel() if with_gram else np.zeros(0)
        return np.concatenate([pull, scalars, gram])

    def clip(self, q: Array) -> tuple[int, int]:
        """Set the multipliers where the violations are `q`; return how many are where."""
        found: tuple[int, int] = kernels.active.clip_step(
            q, self.alpha, self.c, self.problem.penalty, self.entry.xi, self.s, self.active
        )
        return found

    def _gram(self) -> Array:
        if self.gram is None:
            self.gram = Gram(self.problem.operator, self.problem.penalty)
        return self.gram.at(np.flatnonzero(self.active))

    def active_rows(self, place: Place) -> Problem:
        """Return the problem on the rows whose multiplier is inside its bounds."""
        self.move_to(place)
        self.clip(self.q)
        return self.problem.take(np.flatnonzero(self.active))

    def hessian(self, place: Place) -> ActiveRows:
        """Return what these rows add to the Hessian, by its products."""
        if self.chosen is None or self.chosen[0] != place.number:
            some = self.active_rows(place)
            self.chosen = place.number, ActiveRows(some.operator, self.entry.xi * some.penalty)
        return self.chosen[1]
