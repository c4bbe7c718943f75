"""Blocks of rows, as a worker sees them: what they keep per row, and what they can be asked.

The state of a block are its vectors over rows (`it`) and, during a round, the rows that the round
looks at with what is known of them (`part`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from htsvm._typing import Array
from htsvm.distributed.protocol import Data, Reads, joined, question
from htsvm.linalg import as_operator
from htsvm.linalg.scaled import Moments, in_columns, merged, moments
from htsvm.optimality import SampleStatus

Copied = TypeVar("Copied")


class Entry(NamedTuple):
    """Which rows a round looks at: those within `reach`, as a copy, or all; and its penalty xi."""

    reach: float
    whole: bool
    xi: float


def shallow(value: Copied) -> Copied:
    """Return a copy with the same attributes; `copy.copy` would leave out what does not travel."""
    other = object.__new__(type(value))
    vars(other).update(vars(value))
    return other


class Block:
    """The problem on some rows, the first of which is number `offset`; the driver runs rounds."""

    it: Any
    start_at_zero: Any
    # What makes the part of a round, from block and `Entry`: see `BinaryPart`.
    part_kind: Any

    def __init__(self, problem: Any, offset: int) -> None:
        self.problem = self.given = problem
        self.offset, self.columns = offset, problem.operator.columns
        self.part: Any = None
        self.start_at_zero()

    def fork(self) -> Self:
        """Return a block whose state can be changed without changing this one."""
        other = shallow(self)
        other.it, other.part = shallow(self.it), None if self.part is None else shallow(self.part)
        return other

    def own_arrays(self) -> None:
        """Copy the vectors over rows, for a change in place."""
        arrays = {k: v.copy() for k, v in vars(self.it).items() if isinstance(v, np.ndarray)}
        self.it = replace(self.it, **arrays)

    def attach(self, data: Data) -> None:
        """Give a block that has travelled its rows back."""
        if self.given.operator is None:
            operator = as_operator(data.X)
            if self.columns is not None:
                operator = in_columns(operator, *self.columns)
            self.problem = replace(self.problem, operator=operator)
            self.given = replace(self.given, operator=operator)
        if self.part is not None and self.part.problem is None:
            self.part.problem = self.problem

    def __getstate__(self) -> dict[str, Any]:
        bare = {name: replace(getattr(self, name), operator=None) for name in ("problem", "given")}
        return vars(self) | bare

    def __sizeof__(self) -> int:
        return int(sum(v.nbytes for v in vars(self.it).values() if isinstance(v, np.ndarray)))

    def _dense(self, some: tuple[Array, Array]) -> Array:
        """Return values of all rows, given those of some."""
        rows, values = some
        dense = np.zeros((len(self.given.penalty), *values.shape[1:]))
        dense[rows] = values
        return dense

    # ----------------------------------------------------------------------------- any time

    @question(changes=True)
    def vary_penalties(self, state: dict[str, Any]) -> None:
        """Multiply the penalties by random numbers, drawn from a generator in the given state."""
        bits = getattr(np.random, state["bit_generator"])()
        bits.state = state
        noise = np.random.Generator(bits).exponential(size=len(self.given.penalty))
        self.problem = replace(self.given, penalty=self.given.penalty * noise)

    @question(Reads.DATA, reduce=merged)
    def column_moments(self, largest: float) -> Moments:
        """Return the moments of the columns, weighted by penalties of which this is the largest."""
        return moments(self.given.operator, self.given.penalty, largest)

    @question(Reads.DATA, reduce=joined)
    def rows_at(self, rows: Array) -> tuple[Any, Array, Array]:
        """Return copies of some rows, their labels and penalties."""
        return self._copies(self.problem.take(rows))

    def _copies(self, some: Any) -> tuple[Any, Array, Array]:
        labels = some.y if hasattr(some, "y") else some.labels
        return some.operator.block(slice(None)), labels, some.penalty

    @question(reduce=max)
    def largest_penalty(self) -> float:
        """Return the largest penalty."""
        return float(self.problem.penalty.max(initial=0.0))

    @question(Reads.DATA)
    def losses_at(self, points: list[tuple[Array, Any]]) -> Array:
        """Return the total of the loss at each of some points."""
        p = self.given
        return np.array([p.loss.total(p.violations_at(*point), p.penalty) for point in points])

    @question(Reads.DATA)
    def majorised_at(self, w: Array, b: Any) -> Array:
        """Return the loss at a point, and the sums of the weights of its majoriser by label."""
        p = self.given
        convex, objective = p.majorised(w, b)
        sums = np.bincount(self._codes(), weights=convex.penalty, minlength=max(p.n_scores, 2))
        return np.append(sums, objective - p.energy(w))

    def _codes(self) -> Array:
        """Return the class of each sample; of two, whether it has the label +1."""
        codes: Array = self.given.labels if self.given.n_scores > 1 else self.given.y == 1
        return codes.astype(np.intp)

    def _ignored(self, status: Array) -> Array:
        """Return how many samples of positive penalty each class has, and how many are ignored."""
        counts, codes = self.given.penalty > 0.0, self._codes()
        lost = counts & (status == SampleStatus.IGNORED)
        least = max(self.given.n_scores, 2)
        return np.array([np.bincount(codes[some], minlength=least) for some in (counts, lost)])

    # ----------------------------------------------------------------------------- a round

    @question(Reads.DATA, changes=True)
    def enter(self, entry: Entry, with_matrix: bool) -> Array:
        """Begin a round; return what the part says of itself, and the sums of `gradient`."""
        self.part = self.part_kind(self, entry)
        return np.append(self.part.seen, self.part.flat_sums(with_matrix))

    @question(Reads.ROUND)
    def gradient(self, with_matrix: bool) -> Array:
        """Return the sums that gradient and Hessian need."""
        sums: Array = self.part.flat_sums(with_matrix)
        return sums

    @question(Reads.ROUND, changes=True)
    def set_out(self, dw: Array, db: Any) -> None:
        """Choose a direction."""
        self.part.set_out(dw, db)

    @question(changes=True)
    def advance(self, t: float) -> None:
        """Take a step `t` along the direction."""
        self.part.advance(t)

    @question(Reads.ROUND)
    def attempt(self, t: float, with_matrix: bool) -> Array:
        """Return the two terms of the line search after a step `t`, and the sums there."""
        terms, after = self.part.attempt(t)
        return np.append(terms, after.flat_sums(with_matrix))

    @question(Reads.ROUND)
    def product(self, v: Array) -> Array:
        """Return the part of the Hessian times v that comes from these rows."""
        product: Array = self.part.hessian.product(v)
        return product

    @question(Reads.ROUND)
    def diagonal(self) -> Array:
        """Return the diagonal of the Hessian as far as it comes from these rows."""
        diagonal: Array = self.part.hessian.diagonal()
        return diagonal
