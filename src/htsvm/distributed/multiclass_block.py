"""Blocks of rows of a multi-class problem; see `block.py`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.distributed.block import Block, Entry, shallow
from htsvm.distributed.protocol import Reads, joined, question
from htsvm.losses import Loss
from htsvm.optimality.multiclass import MulticlassPoint, MulticlassSummary
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers.multiclass.round import (
    COPY_SHARE,
    MulticlassPart,
    go_to,
    multiplier_sums,
    relevant,
)
from htsvm.solvers.multiclass.rows import MulticlassState, every_row, losses_at_scales, target_sums
from htsvm.solvers.multiclass.sweeps import square_sum
from htsvm.solvers.multiclass.system import UndecidedRows, row_moments


class MulticlassBlockPart(MulticlassPart):
    """The rows of a block that a round looks at, with their levels where it is."""

    def __init__(self, block: MulticlassBlock, entry: Entry) -> None:
        kept = relevant(block.it, block.problem.labels, entry.reach)
        count = int(np.count_nonzero(kept))
        self.seen = [count, block.it.majorised_loss()]
        self.chosen: UndecidedRows | None = None
        super().__init__(block.problem, block.it, kept, entry.xi, count > COPY_SHARE * len(kept))

    def __getstate__(self) -> dict[str, Any]:
        left_out = {"chosen": None} | ({"problem": None} if self.whole else {})
        return vars(self) | left_out

    def project(self, D: Array, t: float) -> float:
        """Project at the levels U + t D, into new arrays; return ``sum(projected * D)``."""
        self.projected, self.counts = np.empty_like(self.U), np.empty_like(self.counts)
        self.chosen = None
        return super().project(D, t)

    def set_out(self, dW: Array, db: Array) -> float:
        """Choose a direction."""
        self.fixed = super().set_out(dW, db)
        return self.fixed

    def advance(self, t: float) -> None:
        """Take a step `t` along the direction."""
        self.U = self.U + t * self.D
        self.project(self.U, 0.0)

    def attempt(self, t: float) -> tuple[Any, MulticlassBlockPart]:
        """Return the two terms of the line search after a step `t`, and the part there."""
        after = shallow(self)
        return [self.fixed, after.project(self.D, t)], after

    def flat_sums(self, with_pairs: bool) -> Array:
        """Return the sums that gradient and Hessian need."""
        sums = self.sums()
        scalars = [sums.gross, sums.support, sums.active]
        pairs = self.hessian.pairs().ravel() if with_pairs else np.zeros(0)
        return np.concatenate([sums.pull.ravel(), sums.totals, scalars, pairs])

    @property
    def hessian(self) -> UndecidedRows:
        """The rows that make up the Hessian."""
        if self.chosen is None:
            self.chosen = self.undecided()
        return self.chosen


class EveryRow:
    """All rows of a block, for the normal equations of a least squares fit."""

    def __init__(self, problem: MulticlassProblem) -> None:
        self.problem: MulticlassProblem | None = problem
        self.chosen: UndecidedRows | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"problem": None, "chosen": None}

    @property
    def hessian(self) -> UndecidedRows:
        """The rows that make up the Hessian."""
        if self.chosen is None:
            assert self.problem is not None
            self.chosen = every_row(self.problem)
        return self.chosen


class MulticlassBlock(Block, MulticlassState):
    """Some of the rows of a problem of several classes."""

    problem: MulticlassProblem
    given: MulticlassProblem
    part_kind = MulticlassBlockPart
    # The state before the last round.
    before: Any = None

    # What rows in one process can be asked as well.
    start_at_zero = question(changes=True)(MulticlassState.start_at_zero)
    start_at = question(Reads.DATA, changes=True)(MulticlassState.start_at)
    weigh = question(changes=True)(MulticlassState.weigh)
    largest_violation = question(reduce=max)(MulticlassState.largest_violation)

    # ----------------------------------------------------------------------------- starts

    @question(changes=True)
    def weigh_convex(self) -> None:
        """Set the weights of the convex start, and give all of them to the own classes."""
        self.own_arrays()
        super().weigh_convex()

    @question(changes=True)
    def set_pulls(self, pulls: tuple[Array, Array] | None) -> None:
        """Take the multipliers from rows of the block and their pulls, or guess them."""
        self.own_arrays()
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

    @question(Reads.DATA)
    def square_sum(self) -> float:
        """Return the sum of the squares of the rows, times penalties."""
        return square_sum(self.problem)

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

    @question(Reads.ROUND)
    def strength(self) -> Array:
        """Return the sums of the weights with which rows count for each class."""
        strength: Array = self.part.hessian.strength()
        return strength

    @question(Reads.DATA, changes=True)
    def arrive(self, W: Array, b: Array) -> Array:
        """Go where the round has led, with all rows and the new multipliers.

        Returns the majoriser there, and whether it was wrong: rows are violated that were left out.
        """
        part, self.before, self.part = self.part, self.it, None
        self.it = replace(self.it, alpha=self.it.alpha.copy())
        go_to(self.it, self.problem, W, b)
        crossed = part.close(self.it, self.problem.labels)
        return np.array([self.it.majorised_loss(), crossed])

    @question(changes=True)
    def go_back(self) -> None:
        """Go back to where the block was before it last arrived."""
        self.it = self.before

    @question(changes=True)
    def close(self, loss: Loss | None, curvature: float) -> Array:
        """Weigh for `loss`; return the residuals before and after, and the total of the loss."""
        self.before = None
        before = after = self.residual(curvature)
        if loss is not None:
            self.weigh(loss)
            after = self.residual(curvature)
        return np.concatenate([before, after, [self.loss_total()]])

    # ----------------------------------------------------------------------------- least squares

    @question(Reads.DATA, changes=True)
    def target_sums(self, with_pairs: bool) -> Array:
        """Begin a least squares fit: return the sums of the targets, and its matrix if wanted."""
        self.part = EveryRow(self.problem)
        pull, totals = target_sums(self.problem)
        pairs = self.part.hessian.pairs().ravel() if with_pairs else np.zeros(0)
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
        """Return what a certificate needs of these rows, and the counts of `_ignored`."""
        summary, status = self.point(W, b, pulls).summarise()
        return summary, self._ignored(status)

    @question(Reads.DATA)
    def dual_sums(self, W: Array, b: Array, keep: Array, pulls: tuple[Array, Array]) -> Array:
        """Return the sums of the dual objective, for multipliers lowered by `keep`."""
        pull, total = self.point(W, b, pulls).dual_sums(keep)
        return np.append(pull.ravel(), total)

    def status(self, W: Array, b: Array, pulls: tuple[Array, Array]) -> Array:
        """Return what became of each sample."""
        return self.point(W, b, pulls).status()
