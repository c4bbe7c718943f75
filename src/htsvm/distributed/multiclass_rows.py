"""The multi-class solver's rows and rounds, where the rows are in blocks on workers."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from htsvm._typing import Array
from htsvm.distributed.blocks import Blocks
from htsvm.distributed.on_blocks import RowsOnBlocks
from htsvm.losses import Loss
from htsvm.solvers.multiclass.least_squares import solve_least_squares
from htsvm.solvers.multiclass.round import (
    COPY_SHARE,
    SELECT_FROM,
    MulticlassReport,
    MulticlassSteps,
    MulticlassSums,
    MultiplierSums,
)
from htsvm.solvers.multiclass.rows import MulticlassClosing
from htsvm.solvers.multiclass.system import MulticlassSystem, moment_step

if TYPE_CHECKING:
    from htsvm.distributed.multiclass_problem import MulticlassBlockProblem, Pulls


class MulticlassBlockRows(RowsOnBlocks):
    """What `MulticlassRows` is, for rows on workers: here are W and b, there is what has m entries.

    Each round is put down in the log by where it ended, from which a block can repeat it.
    """

    problem: MulticlassBlockProblem

    def __init__(
        self,
        problem: MulticlassBlockProblem,
        rng: np.random.Generator,
        states: list[Any] | None = None,
    ) -> None:
        super().__init__(problem, rng, states)
        self._system: MulticlassSystem | None = None

    @functools.cached_property
    def total(self) -> float:
        """The sum of all penalties."""
        return float(self.blocks.ask("class_penalties").sum())

    @property
    def system(self) -> MulticlassSystem:
        """The Newton system."""
        if self._system is None:
            self._system = MulticlassSystem(self.problem, self.total, self._moments)
        return self._system

    def _moments(self) -> tuple[Array, float]:
        """Return the moments of the rows that a local fit would take."""
        counts = np.array(self.blocks.ask("rows_that_count", how="list"))
        step = moment_step(int(counts.sum()), self.problem.n_features)
        before = np.concatenate([[0], np.cumsum(counts)[:-1]])
        sums = self.blocks.ask("moments", step, each=[int(first) for first in -before % step])
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
        self.blocks.tell_and_log("start_at", W, b)
        self.problem.operator.count(self.problem.n_classes)

    def set_multipliers(self, pulls: Pulls | None) -> None:
        """Take the multipliers from pulls, or guess that they sit at the highest levels."""
        none: list[Any] = [None] * len(self.blocks.source.data)
        each = none if pulls is None else pulls.by_block(self.blocks)
        self.blocks.tell_and_log("set_pulls", each=each)

    def adopt(self, varied: MulticlassBlockRows) -> None:
        """Go where these rows with other penalties have gone."""
        self.W, self.b = varied.W, varied.b
        self.blocks.tell_and_log("restore_penalties")

    # -------------------------------------------------------------------------- what is there

    def loss_total(self) -> float:
        """Return the total of the loss."""
        return float(self.blocks.ask("loss_total"))

    def hinge_total(self) -> float:
        """Return the total of the hinge loss."""
        return float(self.blocks.ask("hinge_total"))

    def majoriser(self) -> tuple[float, float]:
        """Return the objective of the weighted convex problem here, and at W = 0, b = 0."""
        loss, at_zero = self.blocks.ask("majoriser")
        return self.problem.energy(self.W) + float(loss), float(at_zero)

    def multipliers(self) -> Pulls:
        """Return the pulls."""
        from htsvm.distributed.multiclass_problem import Pulls

        parts = self.blocks.ask("support", how="list")
        return Pulls(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def residual(self, curvature: float) -> MultiplierSums:
        """Return how far the multipliers are from the levels they belong to."""
        return MultiplierSums(*self.blocks.ask("residual", curvature).tolist())

    # -------------------------------------------------------------------------- what to do

    def weigh(self, loss: Loss) -> None:
        """Set the weights of the majoriser that touches `loss` at the current violations."""
        self.blocks.tell_and_log("weigh", loss)

    def weigh_convex(self) -> None:
        """Set the weights of the convex start, and give all of them to the own classes."""
        self.blocks.tell_and_log("weigh_convex")

    def run(self, xi: float, *, tol: float, max_steps: int, reach: float) -> MulticlassReport:
        """Minimise the function of a round approximately and take the multiplier step."""
        problem, blocks, m = self.problem, self.blocks, self.problem.n_samples
        chosen = reach if m >= SELECT_FROM else math.inf
        count, loss = blocks.ask("look", chosen)
        before = problem.energy(self.W) + float(loss)
        whole = bool(count / m > COPY_SHARE)
        steps = MulticlassBlockSteps(problem, self.W, self.b, xi, self.system, chosen, whole)
        report = MulticlassReport(rows=m if whole else int(count))
        steps.minimise(report, tol, max_steps)
        loss = blocks.tell("end_steps", steps.W, steps.b)
        problem.operator.count(0.0 if whole else problem.n_classes)
        blocks.tail[:] = [*blocks.tail[:1], ("place", (steps.W, steps.b)),
                          ("end_steps", (steps.W, steps.b))]  # fmt: skip
        up = problem.energy(steps.W) + float(loss) > before
        if up and not whole and math.isfinite(reach):
            # The rows that were left out say no: again, with all of them.
            blocks.tell("retreat", self.W, self.b)
            blocks.tail.clear()
            return self.run(xi, tol=tol, max_steps=max_steps, reach=math.inf)
        report.crossed = blocks.tell("accept") > 0
        self.W, self.b = steps.W, steps.b
        self._ended = (chosen, whole, xi)
        blocks.tail.append(("accept", ()))
        return report

    def least_squares(self) -> tuple[Array, Array]:
        """Return (W, b) of a least squares fit to the labels: a pass, or several for products."""
        blocks, (k, n) = self.blocks, self.W.shape
        blocks.copied = False
        sums = blocks.tell("enter_least_squares", self.system.direct)
        blocks.tail[:] = [("enter_least_squares", (False,))]
        rows = UndecidedBlocks(self.problem, sums[k * n + k :])
        self.problem.operator.count(k)
        pull, totals = sums[: k * n].reshape(k, n), sums[k * n : k * n + k]
        point = solve_least_squares(self.system, rows, pull, totals)
        blocks.tell("leave")
        blocks.tail.clear()
        return point

    def losses_at_scales(self, W: Array, b: Array) -> Array:
        """Return the total losses at multiples of (W, b): with a cap of one, and as they are."""
        self.problem.operator.count(len(W))
        losses: Array = self.blocks.ask("losses_at_scales", W, b)
        return losses

    def close(self, loss: Loss | None, curvature: float) -> MulticlassClosing:
        """Weigh the samples for `loss` (None: as they are) and look at the result."""
        sums = self.blocks.tell("close", loss, curvature)
        before, after = MultiplierSums(*sums[:3].tolist()), MultiplierSums(*sums[3:6].tolist())
        self.blocks.tail.clear()
        self.blocks.log.append(("repeat_round", (*self._ended, self.W, self.b, loss), None))
        return MulticlassClosing(before, after, float(sums[6]))


class UndecidedBlocks:
    """What `UndecidedRows` is, for the rows with which the blocks are occupied.

    Parameters
    ----------
    problem : MulticlassBlockProblem
        The problem.
    pair_sums : ndarray
        The blocks of the Hessian, if they are known.
    """

    def __init__(self, problem: Any, pair_sums: Array) -> None:
        self.problem, self.blocks, self.pair_sums = problem, problem.blocks, pair_sums

    def pairs(self) -> Array:
        """Return the blocks of the Hessian, which came with the gradient."""
        n = self.problem.n_features
        return self.pair_sums.reshape(-1, n + 1, n + 1)

    def product(self, V: Array) -> Array:
        """Return the Hessian times V: a pass."""
        self.problem.operator.count(2.0 * len(V))
        product: Array = self.blocks.ask("product", V)
        return product

    def strength(self) -> Array:
        """Return the sums of the weights with which rows count for each class."""
        strength: Array = self.blocks.ask("strength")
        return strength

    def diagonal(self) -> Array:
        """Return the diagonal of the Hessian."""
        diagonal: Array = self.blocks.ask("diagonal")
        return diagonal


@dataclass
class MulticlassBlockSteps(MulticlassSteps):
    """The steps of a round on rows in blocks."""

    system: MulticlassSystem
    reach: float
    whole: bool

    def __post_init__(self) -> None:
        self.blocks: Blocks = self.problem.blocks  # type: ignore[attr-defined]
        self.blocks.copied = not self.whole
        self.pending: float | None = None

    def _sums(self) -> MulticlassSums:
        k, n = self.W.shape
        direct = self.system.direct
        if self.pending is None:
            entry = (self.reach, self.whole, self.xi)
            sums = self.blocks.tell("enter_and_sum", *entry, direct)
            self.blocks.tail[:] = [("enter", entry)]
        else:
            sums = self.blocks.tell("move_and_sum", self.pending, direct)
            self.blocks.tail[1:] = [("place", (self.W, self.b))]
        self.problem.operator.count(k)
        pull, totals = sums[: k * n].reshape(k, n), sums[k * n : k * n + k]
        gross, support, active = sums[k * n + k : k * n + k + 3]
        self.undecided = UndecidedBlocks(self.problem, sums[k * n + k + 3 :])
        return MulticlassSums(pull, totals, float(gross), int(support), int(active))

    def _direction(
        self, gradient: tuple[Array, Array], accuracy: float
    ) -> tuple[Array, Array, int]:
        dW, db = self.system.direction(self.undecided, self.xi, gradient, accuracy)
        return dW, db, self.system.steps

    def _set_out(self, dW: Array, db: Array) -> float:
        fixed, self.first_term = self.blocks.tell("set_out", dW, db)
        self.blocks.tail.append(("set_out", (dW, db)))
        self.problem.operator.count(len(self.W))
        return float(fixed)

    def _trial(self, t: float) -> float:
        # A step of one is always the first to be tried, and was answered with the direction.
        return float(self.first_term if t == 1.0 else self.blocks.ask("trial", t))

    def _move(self, t: float) -> None:
        self.pending = t
