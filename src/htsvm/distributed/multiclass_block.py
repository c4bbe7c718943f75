"""Blocks of rows of a multi-class problem; see `block.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.distributed.block import Block
from htsvm.distributed.part import Direction, Entry, Place
from htsvm.distributed.protocol import Reads, joined, question
from htsvm.losses import Loss
from htsvm.optimality import SampleStatus
from htsvm.optimality.multiclass_summary import MulticlassPoint, MulticlassSummary
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers.multiclass.least_squares import every_row, losses_at_scales, target_sums
from htsvm.solvers.multiclass.round import MulticlassPart, go_to, multiplier_sums, relevant
from htsvm.solvers.multiclass.rows import MulticlassState, square_sums
from htsvm.solvers.multiclass.system import UndecidedRows, row_moments


class _Part(MulticlassPart):
    """The rows of a block that a round looks at, and where it has been."""

    def __init__(self, block: MulticlassBlock, entry: Entry) -> None:
        self.entry, self.copied = entry, not entry.whole
        kept = relevant(block.it, block.problem.labels, entry.reach)
        super().__init__(block.problem, block.it, kept, entry.xi, entry.whole)
        # A round begins where the state is.
        self.place, self.along, self.trial = entry.number, -1, (-1, 0.0)
        self._undecided: tuple[int, UndecidedRows] | None = None
        # The state of all rows where the round has led, and whether it was wrong of some.
        self.arrival: tuple[int, Any, bool] = (-1, None, False)

    def move_to(self, place: Place) -> None:
        """Have the levels and projections at a point, from the last trial if it was there."""
        if place.number == self.place:
            return
        number, t = self.trial
        if place.number == number:
            self.U = self.U + t * self.D
        else:
            self.U = self.problem.levels(place.w, place.b)
            self.project(self.U, 0.0)
        self.place = place.number

    def head_for(self, direction: Direction) -> None:
        """Have the changes of the levels along a direction."""
        if direction.number != self.along:
            self.fixed = self.set_out(direction.dw, direction.db)
            self.along = direction.number

    def undecided_at(self, place: Place) -> UndecidedRows:
        """Return the rows that make up the Hessian at a point."""
        self.move_to(place)
        if self._undecided is None or self._undecided[0] != place.number:
            self._undecided = place.number, self.undecided()
        return self._undecided[1]


class _EveryRow:
    """All rows of a block, for the normal equations of a least squares fit."""

    copied = False

    def __init__(self, problem: MulticlassProblem) -> None:
        self.entry, self.rows = None, every_row(problem)


class MulticlassBlock(Block, MulticlassState):
    """Some of the rows of a problem of several classes."""

    problem: MulticlassProblem
    given: MulticlassProblem
    part: _Part | _EveryRow | None

    # What rows in one process can be asked as well.
    start_at_zero = question(changes=True)(MulticlassState.start_at_zero)
    start_at = question(Reads.DATA, changes=True)(MulticlassState.start_at)
    weigh = question(changes=True)(MulticlassState.weigh)
    weigh_convex = question(changes=True)(MulticlassState.weigh_convex)
    largest_violation = question(reduce=max)(MulticlassState.largest_violation)

    # ----------------------------------------------------------------------------- starts

    @question(changes=True)
    def set_pulls(self, pulls: tuple[Array, Array] | None) -> None:
        """Take the multipliers from rows of the block and their pulls, or guess them."""
        self.set_multipliers(None if pulls is None else self._dense(pulls))

    @question(changes=True)
    def restore_penalties(self) -> None:
        """Restore the penalties."""
        self.problem = self.given

    # ----------------------------------------------------------------------------- questions

    @question()
    def loss_totals(self) -> Array:
        """Return the totals of the loss, of the hinge loss and of the majoriser, and its size."""
        it = self.it
        return np.array(
            [self.loss_total(), self.hinge_total(), it.majorised_loss(), float(it.weights.sum())]
        )

    @question()
    def class_penalties(self) -> Array:
        """Return the sums of the penalties of each class."""
        p = self.problem
        return np.bincount(p.labels, weights=p.penalty, minlength=p.n_classes)

    @question(Reads.DATA)
    def square_sums(self) -> Array:
        """Return the sums of the rows and of their squares, times penalties."""
        return square_sums(self.problem)

    @question(reduce=joined)
    def rows_that_count(self) -> int:
        """Return how many samples have a penalty."""
        return int(np.count_nonzero(self.problem.penalty))

    @question(Reads.DATA)
    def moments(self, step: int, first: int) -> Array:
        """Return the moments of every `step`-th row that counts, and the sum of their penalties."""
        matrix, total = row_moments(self.problem, first, step)
        return np.append(matrix.ravel(), total)

    @question(reduce=joined)
    def support(self) -> tuple[Array, Array]:
        """Return the rows that pull, by their position among all, and their pulls."""
        B = self.problem.own(self.it.alpha.copy())
        rows = np.flatnonzero(np.any(B != 0.0, axis=1))
        return rows + self.offset, B[rows]

    @question()
    def residual(self, curvature: float) -> Array:
        """Return the numbers of `MultiplierSums`."""
        return np.array(multiplier_sums(self.it, self.problem, curvature))

    # ----------------------------------------------------------------------------- a round

    def _entered(self, entry: Entry) -> _Part:
        part = self.part
        if not isinstance(part, _Part) or part.entry.number != entry.number:
            self.part = part = _Part(self, entry)
        return part

    @question(Reads.DATA)
    def enter(self, entry: Entry, place: Place, with_pairs: bool) -> Array:
        """Begin a round: how many rows it is about, the majoriser, and the sums of `gradient`."""
        part = self._entered(entry)
        seen = [np.count_nonzero(part.kept), self.it.majorised_loss()]
        return np.concatenate([seen, self.gradient(entry, place, with_pairs)])

    @question(Reads.ROUND)
    def gradient(self, entry: Entry, place: Place, with_pairs: bool) -> Array:
        """Return the sums that gradient and Hessian need at a point."""
        part = self._entered(entry)
        part.move_to(place)
        return self._sums(part, with_pairs)

    @question(Reads.ROUND)
    def step(
        self, entry: Entry, place: Place, direction: Direction, t: float, number: int,
        with_pairs: bool,
    ) -> Array:  # fmt: skip
        """Try a step `t`: return the two terms of the line search, and the sums of `gradient`.

        `number` is that of the place where the step leads, should it be taken.
        """
        part = self._entered(entry)
        part.move_to(place)
        part.head_for(direction)
        term = part.project(part.D, t)
        part.trial = number, t
        return np.concatenate([[part.fixed, term], self._sums(part, with_pairs)])

    def _sums(self, part: _Part, with_pairs: bool) -> Array:
        """Return the sums at the projections that the part has."""
        sums = part.sums()
        scalars = [sums.gross, sums.support, sums.active]
        pairs = part.undecided().pairs().ravel() if with_pairs else np.zeros(0)
        return np.concatenate([sums.pull.ravel(), sums.totals, scalars, pairs])

    @question(Reads.ROUND)
    def product(self, entry: Entry | None, place: Place | None, V: Array) -> Array:
        """Return the part of the Hessian times V that comes from these rows."""
        return self._undecided(entry, place).product(V)

    @question(Reads.ROUND)
    def strength(self, entry: Entry | None, place: Place | None) -> Array:
        """Return the sums of the weights with which rows count for each class."""
        return self._undecided(entry, place).strength()

    @question(Reads.ROUND)
    def diagonal(self, entry: Entry | None, place: Place | None) -> Array:
        """Return the diagonal of the Hessian as far as it comes from these rows."""
        return self._undecided(entry, place).diagonal()

    def _undecided(self, entry: Entry | None, place: Place | None) -> UndecidedRows:
        """Return the rows that make up the Hessian; of least squares where no round is named."""
        if entry is not None and place is not None:
            return self._entered(entry).undecided_at(place)
        if not isinstance(self.part, _EveryRow):
            self.part = _EveryRow(self.problem)
        return self.part.rows

    @question(Reads.DATA)
    def arrive(self, entry: Entry, place: Place) -> Array:
        """Return the majoriser where a round has led, with all rows, and whether it was wrong.

        It was wrong if rows are violated that were left out.
        """
        it, crossed = self._after(entry, place)
        return np.array([it.majorised_loss(), crossed])

    def _after(self, entry: Entry, place: Place) -> tuple[Any, bool]:
        part = self._entered(entry)
        part.move_to(place)
        if part.arrival[0] != place.number:
            it = self.fork().it
            go_to(it, self.problem, place.w, place.b)
            part.arrival = place.number, it, part.close(it, self.problem.labels)
        return part.arrival[1], part.arrival[2]

    @question(Reads.DATA, changes=True)
    def accept(self, entry: Entry, place: Place) -> None:
        """Take the point that a round has reached, with its multipliers."""
        self.it = self._after(entry, place)[0]
        self.it = self.fork().it

    @question(changes=True)
    def close(self, loss: Loss | None, curvature: float) -> Array:
        """Weigh for `loss`; return the residuals before and after, and the total of the loss."""
        before = after = self.residual(curvature)
        if loss is not None:
            self.weigh(loss)
            after = self.residual(curvature)
        return np.concatenate([before, after, [self.loss_total()]])

    # ----------------------------------------------------------------------------- least squares

    @question(Reads.DATA)
    def target_sums(self, with_pairs: bool) -> Array:
        """Return the sums of the targets of a least squares fit, and its matrix if wanted."""
        pull, totals = target_sums(self.problem)
        pairs = self._undecided(None, None).pairs().ravel() if with_pairs else np.zeros(0)
        return np.concatenate([pull.ravel(), totals, pairs])

    @question(Reads.DATA)
    def losses_at_scales(self, W: Array, b: Array) -> Array:
        """Return the total losses at multiples of a point."""
        return losses_at_scales(self.problem, W, b)

    # ----------------------------------------------------------------------------- any point

    def point(self, W: Array, b: Array, pulls: tuple[Array, Array]) -> MulticlassPoint:
        """Return a point of the problem, with rows of the block and their pulls."""
        p = self.given
        return MulticlassPoint(
            p.operator, p.labels, W, b, self._dense(pulls), p.penalty, p.C, p.loss
        )

    @question(Reads.DATA, reduce=joined)
    def summary(
        self, W: Array, b: Array, pulls: tuple[Array, Array]
    ) -> tuple[MulticlassSummary, Array]:
        """Return what a certificate needs of these rows, and how many of which class are ignored.

        Only samples of positive penalty are counted.
        """
        p, (summary, status) = self.given, self.point(W, b, pulls).summarise()
        counts = p.penalty > 0.0
        lost = (status == SampleStatus.IGNORED) & counts
        ignored = [np.bincount(p.labels[some], minlength=p.n_classes) for some in (counts, lost)]
        return summary, np.array(ignored)

    @question(Reads.DATA)
    def dual_sums(self, W: Array, b: Array, keep: Array, pulls: tuple[Array, Array]) -> Array:
        """Return the sums of the dual objective, for multipliers lowered by `keep`."""
        pull, total = self.point(W, b, pulls).dual_sums(keep)
        return np.append(pull.ravel(), total)

    def status(self, W: Array, b: Array, pulls: tuple[Array, Array]) -> Array:
        """Return what became of each sample."""
        return self.point(W, b, pulls).status()

    @question(Reads.DATA)
    def loss_at(self, W: Array, b: Array) -> float:
        """Return the total of the loss at a point."""
        p = self.given
        return p.loss.total(p.violations(p.levels(W, b)), p.penalty)
