"""One block of rows of a multi-class problem, as a worker sees it; see `block.py`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.distributed.block import HeldRows
from htsvm.losses import Loss
from htsvm.optimality import SampleStatus
from htsvm.optimality.multiclass_summary import MulticlassPoint, MulticlassSummary
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers.multiclass.least_squares import every_row, losses_at_scales, target_sums
from htsvm.solvers.multiclass.round import MulticlassPart, go_to, multiplier_sums, relevant
from htsvm.solvers.multiclass.rows import MulticlassState
from htsvm.solvers.multiclass.system import UndecidedRows, row_moments

# Rows of a block and their pulls; None for a guess.
BlockPulls = tuple[Array, Array] | None


class _Part(MulticlassPart):
    """The rows of a block that a round looks at."""

    @property
    def copied(self) -> bool:
        """Whether these are copies of some rows of the block."""
        return not self.whole

    def attach(self, operator: Any) -> None:
        """Set the rows themselves."""
        self.problem = replace(self.problem, operator=operator)


class _EveryRow:
    """All rows of a block, for the normal equations of a least squares fit."""

    copied = False

    def __init__(self, problem: MulticlassProblem) -> None:
        self.problem = problem

    def attach(self, operator: Any) -> None:
        """Set the rows themselves."""
        self.problem = replace(self.problem, operator=operator)

    def undecided(self) -> UndecidedRows:
        """Return the rows that make up the normal equations."""
        return every_row(self.problem)


class MulticlassBlock(HeldRows, MulticlassState):
    """Some of the rows of a multi-class problem; their rounds are run from elsewhere.

    Parameters
    ----------
    problem : MulticlassProblem
        The problem on these rows.
    offset : int
        The position of the first of them among all.
    """

    problem: MulticlassProblem
    given: MulticlassProblem
    part: _Part | _EveryRow | None

    def __init__(self, problem: MulticlassProblem, offset: int) -> None:
        self.problem = self.given = problem
        self.offset = offset
        self.part = None
        self._undecided: UndecidedRows | None = None
        self.start_at_zero()

    def attach(self, operator: Any) -> None:
        """Set the rows themselves; None before the state goes to disk without them."""
        self._undecided = None
        super().attach(operator)

    # ----------------------------------------------------------------------------- starts

    def set_pulls(self, pulls: BlockPulls) -> None:
        """Take the multipliers from pulls, or guess them."""
        self.set_multipliers(None if pulls is None else self._dense(pulls))

    def restore_penalties(self) -> None:
        """Go back to the penalties as they were."""
        self.problem = self.given

    # ----------------------------------------------------------------------------- questions

    def majoriser(self) -> Array:
        """Return the loss of the weighted convex problem here, and at W = 0, b = 0."""
        return np.array([self.it.majorised_loss(), float(self.it.weights.sum())])

    def class_penalties(self) -> Array:
        """Return the sums of the penalties of each class."""
        p = self.problem
        return np.bincount(p.labels, weights=p.penalty, minlength=p.n_classes)

    def rows_that_count(self) -> int:
        """Return how many samples have a penalty."""
        return int(np.count_nonzero(self.problem.penalty))

    def moments(self, step: int, first: int) -> Array:
        """Return the moments of each `step`-th row that counts, and the sum of their penalties."""
        matrix, total = row_moments(self.problem, first, step)
        return np.append(matrix.ravel(), total)

    def support(self) -> tuple[Array, Array]:
        """Return the rows that pull, by their position among all, and their pulls."""
        B = self.problem.own(self.it.alpha.copy())
        rows = np.flatnonzero(np.any(B != 0.0, axis=1))
        return rows + self.offset, B[rows]

    def residual(self, curvature: float) -> Array:
        """Return the squared lengths of the natural residual and of the violations."""
        return np.array(multiplier_sums(self.it, self.problem, curvature))

    # ----------------------------------------------------------------------------- a round

    def look(self, reach: float) -> Array:
        """Return how many rows a round would look at, and the loss of the convex problem."""
        kept = relevant(self.it, self.problem.labels, reach)
        return np.array([np.count_nonzero(kept), self.it.majorised_loss()])

    def enter(self, reach: float, whole: bool, xi: float) -> None:
        """Begin a round, on a copy of the relevant rows or on all."""
        kept = relevant(self.it, self.problem.labels, reach)
        self.part, self._undecided = _Part(self.problem, self.it, kept, xi, whole), None

    def place(self, W: Array, b: Array) -> None:
        """Compute the levels of the round at a point."""
        part = self._part()
        part.U[:] = part.problem.levels(W, b)
        part.project(part.U, 0.0)

    def enter_and_sum(self, reach: float, whole: bool, xi: float, with_pairs: bool) -> Array:
        """Begin a round and return the sums of its first gradient."""
        self.enter(reach, whole, xi)
        return self._sums(with_pairs)

    def move_and_sum(self, t: float, with_pairs: bool) -> Array:
        """Move by `t` along the direction and return the sums of the gradient there."""
        self._part().move(t)
        self._undecided = None
        return self._sums(with_pairs)

    def _sums(self, with_pairs: bool) -> Array:
        sums = self._part().sums()
        scalars = [sums.gross, sums.support, sums.active]
        pairs = self._pairs(with_pairs)
        return np.concatenate([sums.pull.ravel(), sums.totals, scalars, pairs])

    def _pairs(self, wanted: bool) -> Array:
        return self._rows().pairs().ravel() if wanted else np.zeros(0)

    def product(self, V: Array) -> Array:
        """Return the part of the Hessian times V that comes from these rows."""
        return self._rows().product(V)

    def strength(self) -> Array:
        """Return the sums of the weights with which rows count for each class."""
        return self._rows().strength()

    def diagonal(self) -> Array:
        """Return the diagonal of the Hessian as far as it comes from these rows."""
        return self._rows().diagonal()

    def _rows(self) -> UndecidedRows:
        if self._undecided is None:
            assert self.part is not None, "a round was not begun"
            self._undecided = self.part.undecided()
        return self._undecided

    def set_out(self, dW: Array, db: Array) -> Array:
        """Choose a direction; return what the line search needs, and its term for a step of one."""
        part = self._part()
        fixed = part.set_out(dW, db)
        return np.array([fixed, part.project(part.D, 1.0)])

    def trial(self, t: float) -> float:
        """Return the term of the line search after a step `t`."""
        part = self._part()
        return part.project(part.D, t)

    def end_steps(self, W: Array, b: Array) -> float:
        """Go where the steps have led, with all rows; return the loss of the convex problem."""
        it = self.it
        if self._part().whole:
            it.W, it.b = W, b
            it.q = self.problem.violations(it.U)
        else:
            go_to(it, self.problem, W, b)
        return it.majorised_loss()

    def accept(self) -> int:
        """Take the multipliers of the round; return how many blocks have rows it was wrong of."""
        crossed = self._part().close(self.it, self.problem.labels)
        self.part = self._undecided = None
        return int(crossed)

    def retreat(self, W: Array, b: Array) -> None:
        """Give up the round and go back to where it began."""
        self.part = self._undecided = None
        go_to(self.it, self.problem, W, b)

    def close(self, loss: Loss | None, curvature: float) -> Array:
        """Weigh for `loss`; return the residuals before and after, and the total of the loss."""
        before = after = self.residual(curvature)
        if loss is not None:
            self.weigh(loss)
            after = self.residual(curvature)
        return np.concatenate([before, after, [self.loss_total()]])

    def repeat_round(
        self, reach: float, whole: bool, xi: float, W: Array, b: Array, loss: Loss | None
    ) -> None:
        """Do what a whole round did to the rows, given where it ended."""
        self.enter(reach, whole, xi)
        self.place(W, b)
        self.end_steps(W, b)
        self.accept()
        if loss is not None:
            self.weigh(loss)

    def _part(self) -> _Part:
        assert isinstance(self.part, _Part), "a round was not begun"
        return self.part

    # ----------------------------------------------------------------------------- least squares

    def enter_least_squares(self, with_pairs: bool) -> Array:
        """Begin a least squares fit; return the sums of its targets, and its matrix if wanted."""
        self.part, self._undecided = _EveryRow(self.problem), None
        pull, totals = target_sums(self.problem)
        return np.concatenate([pull.ravel(), totals, self._pairs(with_pairs)])

    def leave(self) -> None:
        """End a least squares fit."""
        self.part = self._undecided = None

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

    def summary(self, W: Array, b: Array, pulls: tuple[Array, Array]) -> MulticlassSummary:
        """Return what a certificate needs of these rows."""
        return self.point(W, b, pulls).summarise()[0]

    def dual_sums(self, W: Array, b: Array, keep: Array, pulls: tuple[Array, Array]) -> Array:
        """Return the sums of the dual objective, for multipliers lowered by `keep`."""
        pull, total = self.point(W, b, pulls).dual_sums(keep)
        return np.append(pull.ravel(), total)

    def status(self, W: Array, b: Array, pulls: tuple[Array, Array]) -> Array:
        """Return what became of each sample."""
        return self.point(W, b, pulls).status()

    def rows_at(self, rows: Array) -> tuple[Any, Array, Array]:
        """Return copies of some rows, their labels and penalties."""
        part = self.given.take(rows)
        return part.operator.X, part.labels, part.penalty  # type: ignore[attr-defined]

    def loss_at(self, W: Array, b: Array) -> float:
        """Return the total of the loss at a point."""
        p = self.given
        return p.loss.total(p.violations(p.levels(W, b)), p.penalty)

    def ignored(self, W: Array, b: Array, pulls: tuple[Array, Array]) -> Array:
        """Return the samples of positive penalty per class, and how many of them are ignored."""
        counts = self.given.penalty > 0.0
        lost = (self.status(W, b, pulls) == SampleStatus.IGNORED) & counts
        k = self.given.n_classes
        return np.array(
            [np.bincount(self.given.labels[some], minlength=k) for some in (counts, lost)]
        )

    def _dense(self, pulls: tuple[Array, Array]) -> Array:
        values = np.zeros((len(self.given.labels), self.given.n_classes))
        values[pulls[0]] = pulls[1]
        return values
