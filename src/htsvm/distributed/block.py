"""Blocks of rows, as a worker sees them: what they keep per row, and what they can be asked.

A block has a state between rounds (`it`), and during a round a `part` (`part.py`), which only saves
work: all that it holds follows from the state and the arguments of a question.
"""

from __future__ import annotations

from dataclasses import astuple, replace
from typing import Any, Self

import numpy as np

from htsvm._typing import Array
from htsvm.distributed.data import Data
from htsvm.distributed.part import Direction, Entry, Part, Place
from htsvm.distributed.protocol import Reads, joined, question
from htsvm.linalg import Operator, as_operator, kernels
from htsvm.losses import Loss
from htsvm.optimality import SampleStatus
from htsvm.optimality.point import Point
from htsvm.optimality.second_order import CriticalSamples
from htsvm.optimality.summary import Summary, summarise
from htsvm.solvers import Problem
from htsvm.solvers.newton.rows import LocalRows, set_ramp
from htsvm.solvers.newton.state import close_round

# A violation of at most this size counts as zero in a certificate.
ON_MARGIN = 1e-9


class Block:
    """Some of the rows of a problem; their rounds are run from elsewhere.

    Parameters
    ----------
    problem : Problem or MulticlassProblem
        The problem on these rows.
    offset : int
        The position of the first of them among all.
    """

    it: Any
    part: Any
    start_at_zero: Any

    def __init__(self, problem: Any, offset: int) -> None:
        self.problem = self.given = problem
        self.offset = offset
        self.part = None
        self.rounds: Any = None
        self.start_at_zero()

    def fork(self) -> Self:
        """Return a block whose state can be changed without changing this one."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        arrays = {k: v.copy() for k, v in vars(self.it).items() if isinstance(v, np.ndarray)}
        other.it = replace(self.it, **arrays)
        return other

    def attach(self, data: Data) -> None:
        """Give a block that has travelled its rows back."""
        if self.given.operator is None:
            operator = as_operator(data.X)
            self.problem = replace(self.problem, operator=operator)
            self.given = replace(self.given, operator=operator)

    def __getstate__(self) -> dict[str, Any]:
        bare = {name: replace(getattr(self, name), operator=None) for name in ("problem", "given")}
        return vars(self) | bare | {"part": None}

    def __sizeof__(self) -> int:
        return int(sum(v.nbytes for v in vars(self.it).values() if isinstance(v, np.ndarray)))

    @question(changes=True)
    def vary_penalties(self, state: dict[str, Any]) -> None:
        """Multiply the penalties by random numbers, drawn from a generator in the given state."""
        bits = getattr(np.random, state["bit_generator"])()
        bits.state = state
        noise = np.random.Generator(bits).exponential(size=len(self.given.penalty))
        self.problem = replace(self.given, penalty=self.given.penalty * noise)

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

    def _dense(self, some: tuple[Array, Array]) -> Array:
        """Return values of all rows, given those of some."""
        rows, values = some
        dense = np.zeros((len(self.given.penalty), *values.shape[1:]))
        dense[rows] = values
        return dense


class BinaryBlock(Block, LocalRows):
    """Some of the rows of a problem of two classes."""

    problem: Problem
    given: Problem
    part: Part | None

    # What rows in one process can be asked as well.
    start_at_zero = question(changes=True)(LocalRows.start_at_zero)
    move = question(Reads.DATA, changes=True)(LocalRows.move)
    weigh = question(changes=True)(LocalRows.weigh)
    largest_violation = question(reduce=max)(LocalRows.largest_violation)

    # ----------------------------------------------------------------------------- starts

    @question(Reads.DATA, changes=True)
    def start_at_point(self, w: Array, b: float, psi: tuple[Array, Array] | None) -> None:
        """Start from a point; `psi` holds rows of the block and their multipliers."""
        self.start_at(w, b, None if psi is None else self._dense(psi))

    @question(changes=True)
    def set_ramp(self, width: float) -> None:
        """Guess the multipliers from the violations."""
        set_ramp(self.it.q, self.it.alpha, self.problem, width)

    @question(changes=True)
    def restore_penalties(self) -> None:
        """Restore the penalties, and clip the multipliers to the bounds that they set."""
        self.problem = self.given
        self.adopt(self)

    # ----------------------------------------------------------------------------- questions

    @question(reduce=joined)
    def sampled_violations(self, stride: int) -> tuple[Array, float]:
        """Return violations of every `stride`-th of all rows, and the largest of all."""
        return self.it.q[-self.offset % stride :: stride].copy(), self.largest_violation()

    @question()
    def loss_total(self) -> float:
        """Return the total of the loss."""
        return self.problem.loss.total(self.it.q, self.problem.penalty)

    @question()
    def penalties(self) -> Array:
        """Return the sums of the penalties of the labels -1 and +1."""
        given = self.given
        return np.bincount((given.y == 1).astype(np.intp), weights=given.penalty, minlength=2)

    @question(reduce=joined)
    def support(self) -> tuple[Array, Array, Array]:
        """Return the rows with a multiplier, by their position among all, with psi and y."""
        rows = np.flatnonzero(self.it.alpha)
        return rows + self.offset, -self.it.alpha[rows], self.problem.y[rows]

    # ----------------------------------------------------------------------------- a round

    def relevant(self, reach: float) -> Array:
        """Return the rows that a round of that reach looks at."""
        it = self.it
        rows: Array = kernels.active.relevant_rows(it.q, it.alpha, it.weights, reach)
        return rows

    def _entered(self, entry: Entry) -> Part:
        if self.part is None or self.part.entry.number != entry.number:
            self.part = Part(self, entry)
        return self.part

    @question(Reads.DATA, reduce=joined)
    def relevant_rows(self, reach: float, most: float) -> tuple[int, Any]:
        """Return how many rows a round would look at; if at most that share, also their copies."""
        rows = self.relevant(reach)
        if len(rows) > most * self.problem.n_samples:
            return len(rows), None
        it, part = self.it, self.problem.take(rows)
        return len(rows), (*self._copies(part), it.q[rows], it.alpha[rows], it.weights[rows])

    @question(Reads.DATA)
    def enter(self, entry: Entry, place: Place, with_gram: bool) -> Array:
        """Begin a round; return the number of relevant rows, and the sums of `gradient`."""
        count = len(self.relevant(entry.reach))
        return np.concatenate([[count], self.gradient(entry, place, with_gram)])

    @question(Reads.ROUND)
    def gradient(self, entry: Entry, place: Place, with_gram: bool) -> Array:
        """Return the sums that gradient and Hessian need at a point."""
        part = self._entered(entry)
        part.move_to(place)
        return part.sums(part.q, with_gram)

    @question(Reads.ROUND)
    def step(
        self, entry: Entry, place: Place, direction: Direction, t: float, number: int,
        with_gram: bool,
    ) -> Array:  # fmt: skip
        """Try a step `t`: return the two terms of the line search, and the sums of `gradient`.

        `number` is that of the place where the step leads, should it be taken.
        """
        part = self._entered(entry)
        part.move_to(place)
        part.set_out(direction)
        terms = kernels.active.line_terms(
            part.q, part.alpha, part.c, part.problem.penalty, part.delta, entry.xi, t
        )
        part.tried, part.trial = part.q - t * part.delta, number
        return np.concatenate([terms, part.sums(part.tried, with_gram)])

    @question(Reads.ROUND, reduce=joined)
    def active_rows(self, entry: Entry, place: Place) -> tuple[Any, Array, Array]:
        """Return copies of the rows whose multiplier is inside its bounds, y and penalties."""
        return self._copies(self._entered(entry).active_rows(place))

    @question(Reads.ROUND)
    def active_product(self, entry: Entry, place: Place, v: Array) -> Array:
        """Return the part of the Hessian times v that comes from these rows."""
        return self._entered(entry).hessian(place).product(v)

    @question(Reads.ROUND)
    def active_diagonal(self, entry: Entry, place: Place) -> Array:
        """Return the diagonal of the Hessian as far as it comes from these rows."""
        return self._entered(entry).hessian(place).diagonal()

    @question(Reads.DATA, changes=True, reduce=joined)
    def end_round(
        self, entry: Entry, place: Place, stage: Loss | None, nu: float, refresh: bool,
        next_reach: float, most: float,
    ) -> tuple[Array, tuple[int, Any]]:  # fmt: skip
        """Take the multiplier step and weigh for `stage`.

        Returns the numbers of `Closing`, and for the next round what `relevant_rows` returns.
        """
        it, problem, part = self.it, self.problem, self.part
        rows = slice(None) if entry.whole else self.relevant(entry.reach)
        if not refresh and part is not None and part.entry.number == entry.number:
            part.move_to(place)
            it.q = part.q.copy()
        else:
            problem.violations(place.w, place.b, out=it.q)
        q, alpha = it.q[rows], np.zeros(len(it.q))
        s, active = np.empty(len(q)), np.empty(len(q), dtype=np.uint8)
        kernels.active.clip_step(
            q, it.alpha[rows], it.weights[rows], problem.penalty[rows], entry.xi, s, active
        )
        alpha[rows] = s
        it.w, it.b, it.alpha = place.w, place.b, alpha
        closing = close_round(problem, it, stage, nu, refresh=False)
        return np.array(astuple(closing)), self.relevant_rows(next_reach, most)

    # ----------------------------------------------------------------------------- any point

    @question(Reads.DATA, reduce=joined)
    def summary(
        self, w: Array, b: float, most: float, psi: tuple[Array, Array]
    ) -> tuple[Summary, Array, tuple[Any, CriticalSamples] | None]:
        """Return what a certificate needs of these rows, and how many of which label are ignored.

        Also the samples that decide the second order, with copies of their rows, unless these are
        more than the share `most` of all.
        """
        summary, samples, status = summarise(self.point(w, b, psi), None, ON_MARGIN)
        found = samples.critical()
        few = len(found.rows) <= most * self.given.n_samples
        summary = replace(summary, support=summary.support + self.offset)
        return summary, self._ignored(status), self._with_rows(found) if few else None

    @question(Reads.DATA, reduce=joined)
    def critical(self, w: Array, b: float, psi: tuple[Array, Array]) -> tuple[Any, CriticalSamples]:
        """Return the samples that decide the second order, with copies of their rows."""
        return self._with_rows(summarise(self.point(w, b, psi), None, ON_MARGIN)[1].critical())

    def _with_rows(self, found: CriticalSamples) -> tuple[Any, CriticalSamples]:
        return self.given.operator.block(found.rows), found

    def _ignored(self, status: Array) -> Array:
        """Return how many samples of positive penalty each label has, and how many are ignored."""
        counts = self.given.penalty > 0.0
        side = (self.given.y == 1).astype(np.intp)
        lost = counts & (status == SampleStatus.IGNORED)
        return np.array([np.bincount(side[some], minlength=2) for some in (counts, lost)])

    def status(self, w: Array, b: float, psi: tuple[Array, Array]) -> Array:
        """Return what became of each sample."""
        return summarise(self.point(w, b, psi), None, ON_MARGIN)[2]

    @question(Reads.DATA)
    def loss_at(self, w: Array, b: float) -> float:
        """Return the total of the loss at a point."""
        return self.given.loss.total(self.given.violations(w, b), self.given.penalty)

    @question(Reads.DATA, reduce=max)
    def largest_change(self, dw: Array, db: float) -> float:
        """Return the largest change of a violation along a direction, in size."""
        return float(np.abs(self._changes(dw, db)).max(initial=0.0))

    @question(Reads.DATA)
    def losses_along(self, w: Array, b: float, dw: Array, db: float, steps: Array) -> Array:
        """Return the total of the loss after each of `steps`."""
        q, delta = self.given.violations(w, b), self._changes(dw, db)
        total = self.given.loss.total
        return np.array([total(q - t * delta, self.given.penalty) for t in steps])

    def _changes(self, dw: Array, db: float) -> Array:
        operator: Operator = self.given.operator
        return operator.signed_dot(self.given.y, dw, db, np.empty(self.given.n_samples))

    def point(self, w: Array, b: float, psi: tuple[Array, Array]) -> Point:
        """Return a point of the problem, with rows of the block and their multipliers."""
        p = self.given
        values = np.where(p.penalty > 0.0, self._dense(psi), 0.0)
        return Point(
            p.operator, p.y, w, b, values, p.penalty, p.C, p.loss, p.regularizer, p.fit_intercept
        )
