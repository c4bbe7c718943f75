"""The default solver's rows and rounds, where the rows are in blocks on workers."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from htsvm._typing import Array
from htsvm.distributed.block import SCALARS
from htsvm.distributed.blocks import Blocks, stacked
from htsvm.distributed.on_blocks import RowsOnBlocks
from htsvm.linalg import as_operator
from htsvm.linalg.row_system import (
    LARGEST_MATRIX,
    RowSystem,
    conjugate_direction,
    solve_primal,
)
from htsvm.losses import Loss
from htsvm.solvers.newton.inner import Steps
from htsvm.solvers.newton.round import SUBSET_FROM, SUBSET_SHARE
from htsvm.solvers.newton.rows import QUANTILE_ROWS, ramp_width
from htsvm.solvers.newton.state import Clock, Closing, RoundReport, Updates

if TYPE_CHECKING:
    from htsvm.distributed.problem import BlockProblem, Multipliers
    from htsvm.solvers import Problem


# Where there is no matrix, the rows that make up the Hessian are gathered up to so many values.
MOST_GATHERED = 50_000_000


class BlockRows(RowsOnBlocks):
    """What `LocalRows` is, for rows on workers: here are w and b, there is all that has m entries.

    Each round is put down in the log by where it ended, from which a block can repeat it.
    """

    problem: BlockProblem

    def __init__(
        self, problem: BlockProblem, rng: np.random.Generator, states: list[Any] | None = None
    ) -> None:
        super().__init__(problem, rng, states)
        self.clock = Clock()
        self._updates = Updates()

    # -------------------------------------------------------------------------- where to be

    def start_at_zero(self) -> None:
        """Start from w = 0, b = 0 and no multipliers."""
        self.w, self.b = np.zeros(self.problem.n_features), 0.0
        self._start_blocks()

    def start_at(self, w: Array, b: float, psi: Multipliers | None) -> None:
        """Start from a point, with its multipliers if there are any."""
        self.w, self.b = np.array(w, dtype=np.float64), float(b)
        none: list[Any] = [None] * len(self.blocks.source.data)
        each = none if psi is None else psi.by_block(self.blocks)
        self.blocks.tell_and_log("start_at_multipliers", self.w, self.b, each=each)
        self.problem.operator.count(1.0)

    def move(self, w: Array, b: float) -> None:
        """Go to a point; the multipliers stay as they are."""
        self.w, self.b = w, b
        self.blocks.tell_and_log("move", w, b)
        self.problem.operator.count(1.0)

    def guess_multipliers(self, share: float) -> None:
        """Set the multipliers from q alone: a ramp as wide as the given share of all samples."""
        stride = max(self.problem.n_samples // QUANTILE_ROWS, 1)
        some = np.concatenate(self.blocks.ask("sampled_violations", stride, how="list"))
        self.blocks.tell_and_log("set_ramp", ramp_width(some, share))

    def take(self, rows: Array) -> Problem:
        """Return the problem on a copy of some rows, in this process."""
        return self.problem.take(rows)

    # ------------------------------------------------------------------- with other penalties

    def adopt(self, varied: BlockRows) -> None:
        """Go where these rows with other penalties have gone, within the bounds of the loss."""
        self.w, self.b = varied.w, varied.b
        self.blocks.tell_and_log("restore_penalties")

    # -------------------------------------------------------------------------- what is there

    def objective(self) -> float:
        """Return the objective."""
        return self.problem.regularizer.energy(self.w) + float(self.blocks.ask("loss_total"))

    def multipliers(self) -> Multipliers:
        """Return psi."""
        from htsvm.distributed.problem import Multipliers

        parts = self.blocks.ask("support", how="list")
        return Multipliers(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    # -------------------------------------------------------------------------- what to do

    def weigh(self, loss: Loss | None) -> None:
        """Set the weights of the hinge majoriser of `loss`; None stands for its convex start."""
        self.blocks.tell_and_log("weigh", loss)

    def run(self, xi: float, *, tol: float, max_steps: int, reach: float) -> RoundReport:
        """Minimise the inner function approximately; the multiplier step is taken by `close`."""
        m = self.problem.n_samples
        count = int(self.blocks.ask("count_relevant", reach))
        subset = m >= SUBSET_FROM and count <= SUBSET_SHARE * m
        inner = BlockSteps(self.problem, self.w, self.b, self.clock, reach, subset, count)
        report = inner.minimise(xi, tol, max_steps)
        self.w, self.b = inner.w, inner.b
        self._ended = (reach, subset, xi)
        if subset:
            report.stale = True
        else:
            report.violated = -1
            report.stale = self._updates.lost_digits(report.steps)
        return report

    def close(self, stage: Loss | None, nu: float, refresh: bool) -> Closing:
        """Take the multiplier step, weigh the samples for `stage` and look at the result."""
        where = (self.w.copy(), self.b)
        sums = self.blocks.tell("end_round", *where, stage, nu, refresh)
        self.problem.operator.count(refresh)
        self.blocks.tail.clear()
        self.blocks.log.append(("repeat_round", (*self._ended, *where, stage, nu), None))
        return Closing(int(sums[0]), *(float(value) for value in sums[1:]))


@dataclass
class BlockSteps(Steps):
    """Newton's method for the inner function, with its sums from the blocks."""

    reach: float
    subset: bool
    count: int

    def minimise(self, xi: float, tol: float, max_steps: int) -> RoundReport:
        """Take Newton steps until both gradient residuals are below `tol`."""
        self.w = self.w.copy()
        self.blocks: Blocks = self.problem.blocks  # type: ignore[attr-defined]
        self.blocks.copied = self.subset
        self.share = (self.count if self.subset else self.problem.n_samples) / max(
            self.problem.n_samples, 1
        )
        self.begun, self.pending = False, 0.0
        self.with_gram = self.problem.n_features < LARGEST_MATRIX
        report = RoundReport(rows=self.count)
        self._minimise(xi, tol, max_steps, report)
        return report

    def _sums(self, xi: float, report: RoundReport) -> tuple[Array, float, float]:
        began = time.perf_counter()
        n = self.problem.n_features
        if self.begun:
            sums = self.blocks.tell("differentiate", xi, self.pending, self.with_gram)
        else:
            sums = self.blocks.tell(
                "enter_and_differentiate", self.reach, self.subset, xi, self.with_gram
            )
            self.begun = True
        self._note_where(xi)
        total, size, interior, support, support_penalty, change, violated = sums[n : n + SCALARS]
        report.active, report.support = int(interior), int(support)
        report.support_penalty = float(support_penalty)
        report.multiplier_change = math.sqrt(change)
        report.violated = int(violated)
        self.gram = sums[n + SCALARS :].reshape(n + 1, n + 1) if self.with_gram else None
        self.problem.operator.count((support + interior) / max(self.problem.n_samples, 1))
        self.clock.passes += time.perf_counter() - began
        return sums[:n], float(total), float(size)

    def _note_where(self, xi: float) -> None:
        """Put down how a block that has lost its state gets to where the others are."""
        self.blocks.tail[:] = [
            ("enter", (self.reach, self.subset)),
            ("place", (self.w.copy(), self.b)),
            ("differentiate", (xi, 0.0, False)),
        ]

    def _direction(
        self, xi: float, grad_w: Array, grad_b: float, count: int
    ) -> tuple[Array, float]:
        problem = self.problem
        if self.gram is not None:
            return solve_primal(
                self.gram, problem.regularizer, xi, grad_w, grad_b, problem.fit_intercept
            )
        stored = problem.operator.stored / max(problem.n_samples, 1)
        if count * stored > MOST_GATHERED:
            return self._conjugate_direction(xi, grad_w, grad_b)
        X, _, penalty = stacked(self.blocks.ask("active_rows", how="list"))
        system = RowSystem(as_operator(X), penalty, problem.regularizer, problem.fit_intercept)
        return system.solve(None, xi, grad_w, grad_b)

    def _conjugate_direction(self, xi: float, grad_w: Array, grad_b: float) -> tuple[Array, float]:
        """Return the Newton direction with all products by the workers: a pass for each."""
        rows = _RemoteRows(self.blocks, xi)
        problem = self.problem
        direction = conjugate_direction(
            rows, problem.regularizer, grad_w, grad_b, problem.fit_intercept
        )
        self.problem.operator.count(2.0 * rows.products * self.share)
        return direction

    def _set_out(self, xi: float, dw: Array, db: float) -> None:
        self.first_terms = self.blocks.tell("set_out", xi, dw, db)
        self.blocks.tail.append(("set_out", (xi, dw, db)))
        self.problem.operator.count(self.share)

    def _line_terms(self, xi: float, t: float) -> tuple[float, float]:
        # A step of one is always the first to be tried, and was answered with the direction.
        terms = self.first_terms if t == 1.0 else self.blocks.ask("line_terms", xi, t)
        return float(terms[0]), float(terms[1])

    def _move(self, t: float) -> None:
        self.pending = t


class _RemoteRows:
    """What `ActiveRows` is, for active rows on workers."""

    def __init__(self, blocks: Blocks, xi: float) -> None:
        self.blocks, self.xi, self.products = blocks, xi, 0

    def product(self, v: Array) -> Array:
        """Return the matrix times v."""
        self.products += 1
        product: Array = self.blocks.ask("active_product", self.xi, v)
        return product

    def diagonal(self) -> Array:
        """Return the diagonal of the matrix."""
        diagonal: Array = self.blocks.ask("active_diagonal", self.xi)
        return diagonal
