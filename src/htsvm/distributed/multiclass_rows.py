"""The multi-class solver's rows and rounds, where the rows are in blocks on workers."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from htsvm._typing import Array
from htsvm.distributed.block import Block, Entry
from htsvm.distributed.blocks import Multipliers
from htsvm.distributed.multiclass_block import MulticlassBlock
from htsvm.distributed.rows import BlockRows, RemoteHessian, RemoteSteps
from htsvm.losses import Loss
from htsvm.solvers.multiclass.round import (
    COPY_SHARE,
    SELECT_FROM,
    MulticlassReport,
    MulticlassSteps,
    MulticlassSums,
    MultiplierSums,
)
from htsvm.solvers.multiclass.rows import MulticlassClosing, solve_least_squares
from htsvm.solvers.multiclass.system import MulticlassSystem, moment_step

if TYPE_CHECKING:
    from htsvm.distributed.problem import MulticlassBlockProblem


class MulticlassBlockRows(BlockRows):
    """What `MulticlassRows` is, for rows on workers: here are W and b, there what has m rows."""

    problem: MulticlassBlockProblem
    kind = MulticlassBlock
    # Coordinate descent would ask the workers for each row.
    sweeping = False

    @functools.cached_property
    def total(self) -> float:
        """The sum of all penalties."""
        return float(self.problem.class_penalty.sum())

    @functools.cached_property
    def square_length(self) -> float:
        """The mean square of the rows."""
        return float(self.blocks.ask(MulticlassBlock.square_sum)) / (self.total or 1.0)

    @functools.cached_property
    def system(self) -> MulticlassSystem:
        """The Newton system."""
        return MulticlassSystem(self.problem, self.total, self._moments)

    def _moments(self) -> tuple[Array, float]:
        """Return the moments of the rows that a local fit would take."""
        counts = np.array(self.blocks.ask(MulticlassBlock.rows_that_count))
        step = moment_step(int(counts.sum()), self.problem.n_features)
        before = np.concatenate([[0], np.cumsum(counts)[:-1]])
        each = [int(first) for first in -before % step]
        sums = self.blocks.ask(MulticlassBlock.moments, step, each=each)
        n = self.problem.n_features + 1
        return sums[:-1].reshape(n, n), float(sums[-1])

    # -------------------------------------------------------------------------- where to be

    def start_at_zero(self) -> None:
        """Start from W = 0, b = 0 and no multipliers."""
        k = self.problem.n_classes
        self.W, self.b = np.zeros((k, self.problem.n_features)), np.zeros(k)
        self._start_blocks()

    def start_at(self, W: Array, b: Array) -> None:
        """Start from (W, b), without multipliers."""
        self.W, self.b = W, b
        self.blocks.start(MulticlassBlock.start_at, W, b)
        self.problem.operator.count(self.problem.n_classes)

    def set_multipliers(self, pulls: Multipliers | None) -> None:
        """Take the multipliers from pulls, or guess that they sit at the highest levels."""
        self.blocks.tell(MulticlassBlock.set_pulls, each=self._by_block(pulls))

    def adopt(self, varied: MulticlassBlockRows) -> None:
        """Take over the point that these rows with other penalties have reached."""
        self.W, self.b = varied.W, varied.b
        self.blocks.tell(MulticlassBlock.restore_penalties)

    # -------------------------------------------------------------------------- what is there

    def largest_violation(self) -> float:
        """Return the largest violation of a sample that counts, at least zero."""
        return float(self.blocks.ask(MulticlassBlock.largest_violation))

    def loss_total(self) -> float:
        """Return the total of the loss."""
        return float(self.blocks.ask(MulticlassBlock.loss_totals)[0])

    def hinge_total(self) -> float:
        """Return the total of the hinge loss."""
        return float(self.blocks.ask(MulticlassBlock.loss_totals)[1])

    def majoriser(self) -> tuple[float, float]:
        """Return the objective of the weighted convex problem here, and at W = 0, b = 0."""
        loss, at_zero = self.blocks.ask(MulticlassBlock.loss_totals)[2:]
        return self.problem.energy(self.W) + float(loss), float(at_zero)

    def residual(self, curvature: float) -> MultiplierSums:
        """Return how far the multipliers are from the levels they belong to."""
        return MultiplierSums(*self.blocks.ask(MulticlassBlock.residual, curvature).tolist())

    # -------------------------------------------------------------------------- what to do

    def weigh(self, loss: Loss) -> None:
        """Set the weights of the majoriser that touches `loss` at the current violations."""
        self.blocks.tell(MulticlassBlock.weigh, loss)

    def weigh_convex(self) -> None:
        """Set the weights of the convex start, and give all of them to the own classes."""
        self.blocks.tell(MulticlassBlock.weigh_convex)

    def run(self, xi: float, *, tol: float, max_steps: int, reach: float) -> MulticlassReport:
        """Minimise the function of a round approximately and take the multiplier step."""
        problem, m = self.problem, self.problem.n_samples
        entry = Entry(reach if m >= SELECT_FROM else math.inf, True, xi)
        steps = MulticlassBlockSteps(problem, self.W, self.b, xi, self.system, entry)
        count, loss = steps.enter()
        whole = count > COPY_SHARE * m
        report = MulticlassReport(rows=m if whole else count)
        steps.minimise(report, tol, max_steps)
        after, crossed = self.blocks.ask(MulticlassBlock.arrive, steps.W, steps.b)
        problem.operator.count(0.0 if whole else problem.n_classes)
        up = problem.energy(steps.W) + float(after) > problem.energy(self.W) + loss
        if up and not whole and math.isfinite(reach):
            # With the rows that were left out it went up: again, with all of them.
            self.blocks.tell(MulticlassBlock.go_back)
            return self.run(xi, tol=tol, max_steps=max_steps, reach=math.inf)
        report.crossed = bool(crossed > 0)
        self.W, self.b = steps.W, steps.b
        return report

    def least_squares(self) -> tuple[Array, Array]:
        """Return (W, b) of a least squares fit to the labels: a pass, or several for products."""
        k, n = self.W.shape
        sums = self.blocks.ask(MulticlassBlock.target_sums, self.system.direct)
        rows = UndecidedBlocks(self.problem, pair_sums=sums[k * n + k :])
        self.problem.operator.count(k)
        pull, totals = sums[: k * n].reshape(k, n), sums[k * n : k * n + k]
        return solve_least_squares(self.system, rows, pull, totals)

    def losses_at_scales(self, W: Array, b: Array) -> Array:
        """Return the total losses at multiples of (W, b): with a cap of one, and as they are."""
        self.problem.operator.count(len(W))
        losses: Array = self.blocks.ask(MulticlassBlock.losses_at_scales, W, b)
        return losses

    def close(self, loss: Loss | None, curvature: float) -> MulticlassClosing:
        """Weigh the samples for `loss` (None: as they are) and look at the result."""
        sums = self.blocks.ask(MulticlassBlock.close, loss, curvature)
        before, after = MultiplierSums(*sums[:3].tolist()), MultiplierSums(*sums[3:6].tolist())
        return MulticlassClosing(before, after, float(sums[6]))


@dataclass
class UndecidedBlocks(RemoteHessian):
    """What `UndecidedRows` is, for rows in blocks: those of the round under way.

    `pair_sums` are the blocks of the Hessian, if they are known.
    """

    pair_sums: Array = field(default_factory=lambda: np.zeros(0))

    def pairs(self) -> Array:
        """Return the blocks of the Hessian, which came with the gradient."""
        n = self.problem.n_features
        return self.pair_sums.reshape(-1, n + 1, n + 1)

    def product(self, V: Array) -> Array:
        """Return the Hessian times V: a pass."""
        self.problem.operator.count(2.0 * len(V))
        return super().product(V)

    def strength(self) -> Array:
        """Return the sums of the weights with which rows count for each class."""
        strength: Array = self.problem.blocks.ask(MulticlassBlock.strength)
        return strength


@dataclass
class MulticlassBlockSteps(RemoteSteps, MulticlassSteps):
    """The steps of a round on rows in blocks."""

    system: MulticlassSystem
    entry: Entry

    def __post_init__(self) -> None:
        self.with_matrix = self.system.direct

    def enter(self) -> tuple[int, float]:
        """Begin the round; return how many rows it is about, and the majoriser there."""
        count, majoriser = self._enter(2)
        return int(count), majoriser

    def _sums(self) -> MulticlassSums:
        k, n = self.W.shape
        sums = self._sums_here()
        self.problem.operator.count(k)
        pull, totals = sums[: k * n].reshape(k, n), sums[k * n : k * n + k]
        gross, support, active = sums[k * n + k : k * n + k + 3]
        self.undecided = UndecidedBlocks(self.problem, pair_sums=sums[k * n + k + 3 :])
        return MulticlassSums(pull, totals, float(gross), int(support), int(active))

    def _direction(
        self, gradient: tuple[Array, Array], accuracy: float
    ) -> tuple[Array, Array, int]:
        dW, db = self.system.direction(self.undecided, self.xi, gradient, accuracy)
        return dW, db, self.system.steps

    def _set_out(self, dW: Array, db: Array) -> float:
        self.blocks.tell(Block.set_out, dW, db)
        self.problem.operator.count(len(self.W))
        # A step of one is always the first to be tried.
        fixed, self.first = self._try(1.0)
        return fixed

    def _trial(self, t: float) -> float:
        return self.first if t == 1.0 else self._try(t)[1]
