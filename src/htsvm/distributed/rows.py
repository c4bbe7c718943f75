"""The default solver's rows and rounds, where the rows are in blocks on workers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from htsvm._typing import Array
from htsvm.distributed.binary_block import SCALARS, BinaryBlock
from htsvm.distributed.block import Block, Entry
from htsvm.distributed.blocks import Blocks, Multipliers, stacked
from htsvm.linalg import as_operator
from htsvm.linalg.row_system import LARGEST_MATRIX, RowSystem, conjugate_direction, solve_primal
from htsvm.losses import Loss
from htsvm.solvers.descent import REACH
from htsvm.solvers.newton.inner import Steps
from htsvm.solvers.newton.rows import QUANTILE_ROWS, SUBSET_FROM, SUBSET_SHARE, Rounds, ramp_width
from htsvm.solvers.newton.state import Closing, Iterate, RoundReport, Updates, violated

if TYPE_CHECKING:
    from htsvm.distributed.problem import BlockProblem
    from htsvm.solvers import Problem


# Where there is no matrix, the rows that make up the Hessian are gathered up to this many values.
MOST_GATHERED = 50_000_000
# Up to this many values (32 MB) the rows of a round are gathered and the round is run here: that
# takes as long as the passes that it saves.
ROUND_GATHERED = 4_000_000


class BlockRows:
    """The rows of a problem on workers.

    Their penalties are multiplied by random numbers where `states` says how blocks draw them.
    """

    # The blocks that these rows are in.
    kind: type[Any]
    # Their answers to `support`, where these came along with another question.
    _support: list[Any] | None = None

    def __init__(
        self, problem: Any, rng: np.random.Generator, states: list[Any] | None = None
    ) -> None:
        self.problem, self.rng, self._states = problem, rng, states
        self.blocks: Blocks = problem.blocks

    def traffic(self) -> dict[str, float]:
        """Return the passes over the network so far, and the bytes they moved."""
        return dict(self.blocks.traffic)

    def with_random_penalties(self) -> Self:
        """Multiply the penalties by the exponential random numbers that a local fit would draw."""
        return type(self)(self.problem, self.rng, self.blocks.states_of(self.rng))

    def _start_blocks(self) -> None:
        """Let all blocks start at zero, without multipliers."""
        self.blocks.start(self.kind.start_at_zero)
        if self._states is not None:
            self.blocks.tell(self.kind.vary_penalties, each=self._states)

    def multipliers(self) -> Multipliers:
        """Return the multipliers of all rows."""
        parts = self._support or self.blocks.ask(self.kind.support)
        return Multipliers(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _by_block(self, multipliers: Any) -> list[Any]:
        """Return multipliers by block; what is not by row is the same for each."""
        if multipliers is None or isinstance(multipliers, float):
            return [multipliers] * len(self.blocks.source.data)
        by_block: list[Any] = multipliers.by_block(self.blocks)
        return by_block


class RemoteSteps:
    """The steps of a round, taken here with sums from the blocks.

    A trial brings the sums where it leads; directions and steps travel with the next question.
    """

    problem: Any
    entry: Entry
    # Whether the blocks add the matrix of the Hessian to their sums.
    with_matrix: bool
    dear_trials: ClassVar[bool] = True

    @property
    def blocks(self) -> Blocks:
        """The blocks."""
        blocks: Blocks = self.problem.blocks
        return blocks

    def _enter(self, count: int) -> list[float]:
        """Begin the round; return the numbers that come before the sums."""
        self.blocks.copied = not self.entry.whole
        found = self.blocks.ask(Block.enter, self.entry, self.with_matrix)
        # The step that was tried last, and the sums where it leads.
        self.tried: tuple[float, Array] = (0.0, found[count:])
        return [float(value) for value in found[:count]]

    def _sums_here(self) -> Array:
        """Return the sums where the round is, if need be by a pass."""
        if self.tried[0] != 0.0:
            self.tried = (0.0, self.blocks.ask(Block.gradient, self.with_matrix))
        return self.tried[1]

    def _try(self, t: float) -> tuple[float, float]:
        """Try a step; return the two terms of the line search."""
        found = self.blocks.ask(Block.attempt, t, self.with_matrix)
        self.tried = (t, found[2:])
        return float(found[0]), float(found[1])

    def _move(self, t: float) -> None:
        """Take a step; if it was the last that was tried, the sums there are known."""
        self.blocks.tell(Block.advance, t)
        self.tried = (0.0 if self.tried[0] == t else math.nan, self.tried[1])


class BinaryRows(BlockRows):
    """What `LocalRows` is, for rows on workers: w and b are here, what has m entries is there."""

    problem: BlockProblem
    kind = BinaryBlock

    def __init__(
        self, problem: BlockProblem, rng: np.random.Generator, states: list[Any] | None = None
    ) -> None:
        super().__init__(problem, rng, states)
        self._updates = Updates()

    # -------------------------------------------------------------------------- where to be

    def _move_to(self, w: Array, b: float) -> None:
        self.w, self.b = w, b
        # What is learnt on the way: loss and largest violation here, rows of the next round.
        self._loss: float | None = None
        self._largest: float | None = None
        self._relevant: float = math.inf
        self._next: list[tuple[int, Any]] = []
        # The loss that the samples are weighed for already, in advance.
        self._weighed: Loss | None = None
        self._support = None

    def start_at_zero(self) -> None:
        """Start from w = 0, b = 0 and no multipliers."""
        self._move_to(np.zeros(self.problem.n_features), 0.0)
        self._start_blocks()

    def start_at(self, w: Array, b: float, psi: Multipliers | float | None) -> None:
        """Start from a point, with multipliers or the width of a rounded kink that gives them."""
        self._move_to(np.array(w, dtype=np.float64), float(b))
        # A round looks at these rows at least: a first guess of how many it will be.
        self._relevant = len(psi.rows) if isinstance(psi, Multipliers) else psi or math.inf
        self.blocks.start(BinaryBlock.start_at_point, self.w, self.b, each=self._by_block(psi))
        self.problem.operator.count(1.0)

    def move(self, w: Array, b: float) -> None:
        """Move to a point; the multipliers stay as they are."""
        self._move_to(w, b)
        self.blocks.tell(BinaryBlock.move, w, b)
        self.problem.operator.count(1.0)

    def guess_multipliers(self, share: float) -> None:
        """Set the multipliers from q alone: a ramp as wide as the given share of all samples."""
        stride = max(self.problem.n_samples // QUANTILE_ROWS, 1)
        parts = self.blocks.ask(BinaryBlock.sampled_violations, stride)
        some = np.concatenate([part for part, _ in parts])
        self._largest, self._support = max(largest for _, largest in parts), None
        self.blocks.tell(BinaryBlock.set_ramp, ramp_width(some, share))
        explained = self.problem.share_of_pull(self.w, self.blocks.ask(BinaryBlock.pull))
        if explained != 1.0:
            self.blocks.tell(BinaryBlock.scale_multipliers, explained)

    def take(self, rows: Array) -> Problem:
        """Return the problem on a copy of some rows, in this process."""
        part: Problem = self.problem.take(rows)
        return part

    def adopt(self, varied: BinaryRows) -> None:
        """Take over the point that these rows with other penalties have reached, within bounds."""
        self._move_to(varied.w, varied.b)
        self.blocks.tell(BinaryBlock.restore_penalties)

    # -------------------------------------------------------------------------- what is there

    def objective(self) -> float:
        """Return the objective."""
        if self._loss is None:
            self._loss = float(self.blocks.ask(BinaryBlock.loss_total))
        return self.problem.regularizer.energy(self.w) + self._loss

    def largest_violation(self) -> float:
        """Return the largest violation of a sample that counts, at least zero."""
        if self._largest is None:
            self._largest = float(self.blocks.ask(BinaryBlock.largest_violation))
        return self._largest

    # -------------------------------------------------------------------------- what to do

    def weigh(self, loss: Loss | None) -> None:
        """Set the weights of the hinge majoriser of `loss`; None stands for its convex start."""
        if loss is None or loss != self._weighed:
            self.blocks.tell(BinaryBlock.weigh, loss)

    def run(self, xi: float, *, tol: float, max_steps: int, reach: float) -> RoundReport:
        """Minimise the inner function approximately; the multiplier step is taken by `close`.

        The rows that it looks at are counted in the pass that begins the round, which depends on
        that number: guess it, and begin again where the guess was wrong.
        """
        guess = self._where(self._relevant if math.isfinite(reach) else math.inf)
        while True:
            entry = Entry(reach, guess == "all", xi)
            if guess == "here":
                gathered = self._gathered(reach)
                if gathered is not None:
                    return self._run_here(gathered, entry, tol, max_steps)
                # Too many, or most of them in one block.
                guess = "all" if self._where(self._relevant) == "all" else "some"
            else:
                steps = BlockSteps(self.problem, self.w, self.b, entry)
                self._relevant = steps.enter()
                guess = self._where(self._relevant)
                if (guess == "all") == entry.whole:
                    return self._run_there(steps, tol, max_steps)

    def _where(self, count: float) -> str:
        """Return where `count` rows are worked on: "here", or there on "some" or "all" rows."""
        m = self.problem.n_samples
        if m < SUBSET_FROM or count > SUBSET_SHARE * m:
            return "all"
        return "here" if count <= self._most_gathered() else "some"

    def _most_gathered(self) -> float:
        """Return how many rows may be gathered for a round."""
        return ROUND_GATHERED / max(self.problem.operator.stored / self.problem.n_samples, 1.0)

    def _run_there(self, steps: BlockSteps, tol: float, max_steps: int) -> RoundReport:
        """Run a round with sums from the workers."""
        report = steps.minimise(tol, max_steps)
        self._end(steps.w, steps.b, steps.entry)
        if steps.entry.whole:
            report.violated = -1
            report.stale = self._updates.lost_digits(report.steps)
        else:
            report.stale = True
        return report

    def _gathered(self, reach: float) -> list[Any] | None:
        """Return rows, labels, penalties and state of the rows of a round; None if too many."""
        parts = self._next
        if not parts or reach != REACH or self.blocks.has_pending:
            parts = self.blocks.ask(BinaryBlock.relevant_rows, reach, self._share())
        self._relevant = sum(rows for rows, _ in parts)
        if self._where(self._relevant) != "here" or any(found is None for _, found in parts):
            return None
        return stacked([found for _, found in parts])

    def _share(self) -> float:
        """Return which share of a block is gathered at most."""
        return min(2.0 * self._most_gathered() / self.problem.n_samples, 1.0)

    def _run_here(
        self, gathered: list[Any], entry: Entry, tol: float, max_steps: int
    ) -> RoundReport:
        """Run a round in this process, as a local fit does."""
        problem = self.problem
        X, y, penalty, *state = gathered
        part = problem.on_rows(X, y, penalty)
        part.operator.row_length = problem.operator.row_length
        it = Iterate(self.w, self.b, *state)
        report = Rounds(part).run(it, entry.xi, tol=tol, max_steps=max_steps, reach=math.inf)
        report.rows, report.stale = len(y), True
        report.violated = violated(it.q, it.weights)
        self._end(it.w, it.b, entry)
        return report

    def _end(self, w: Array, b: float, entry: Entry) -> None:
        """Note where a round has ended."""
        self._move_to(w.copy(), float(b))
        self._ended = entry, (self.w, self.b)

    def close(
        self, stage: Loss | None, nu: float, refresh: bool, following: Loss | None = None
    ) -> Closing:
        """Take the multiplier step, weigh the samples for `stage` and look at the result.

        Then they are weighed for `following`, the loss of the next round where that is another one.
        The rows of that round come along, once the loss is the last one or known beforehand.
        """
        following = following or stage
        settled = following is not None and (following != stage or stage == self.problem.loss)
        parts = self.blocks.ask(
            BinaryBlock.end_round, *self._ended, stage, nu, refresh,
            None if following == stage else following, REACH,
            self._share() if settled and self.problem.n_samples >= SUBSET_FROM else -1.0,
        )  # fmt: skip
        self.problem.operator.count(refresh)
        all_sums, found, support = zip(*parts, strict=True)
        sums = sum(all_sums)
        closing = Closing(int(sums[0]), *(float(value) for value in sums[1:]))
        self._loss, self._weighed = closing.loss, following
        self._relevant = sum(rows for rows, _ in found)
        self._next = list(found) if settled else []
        self._support = None if None in support else list(support)
        return closing


@dataclass
class BlockSteps(RemoteSteps, Steps):
    """Newton's method for the inner function, with its sums from the blocks."""

    entry: Entry

    def __post_init__(self) -> None:
        self.w = self.w.copy()
        self.with_matrix = self.problem.n_features < LARGEST_MATRIX

    def enter(self) -> int:
        """Begin the round; return how many rows it is about."""
        self.rows = int(self._enter(1)[0])
        self.share = 1.0 if self.entry.whole else self.rows / max(self.problem.n_samples, 1)
        return self.rows

    def minimise(self, tol: float, max_steps: int) -> RoundReport:
        """Take Newton steps until both gradient residuals are below `tol`."""
        report = RoundReport(rows=self.rows)
        self._minimise(self.entry.xi, tol, max_steps, report)
        return report

    def _sums(self, xi: float, report: RoundReport) -> tuple[Array, float, float]:
        n = self.problem.n_features
        sums = self._sums_here()
        total, size, interior, support, count = sums[n : n + SCALARS]
        report.active, report.support = int(interior), int(support)
        report.violated = int(count)
        self.gram = sums[n + SCALARS :].reshape(n + 1, n + 1) if self.with_matrix else None
        self.problem.operator.count((support + interior) / max(self.problem.n_samples, 1))
        return sums[:n], float(total), float(size)

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
            return self._conjugate_direction(grad_w, grad_b)
        X, _, penalty = stacked(self.blocks.ask(BinaryBlock.active_rows))
        system = RowSystem(as_operator(X), penalty, problem.regularizer, problem.fit_intercept)
        return system.solve(None, xi, grad_w, grad_b)

    def _conjugate_direction(self, grad_w: Array, grad_b: float) -> tuple[Array, float]:
        """Return the Newton direction with all products by the workers: a pass for each."""
        rows, problem = RemoteHessian(self.problem), self.problem
        direction = conjugate_direction(
            rows, problem.regularizer, grad_w, grad_b, problem.fit_intercept
        )
        problem.operator.count(2.0 * rows.products * self.share)
        return direction

    def _set_out(self, xi: float, dw: Array, db: float) -> None:
        self.blocks.tell(Block.set_out, dw, db)
        self.problem.operator.count(self.share)

    def _line_terms(self, xi: float, t: float) -> tuple[float, float]:
        return self._try(t)


@dataclass
class RemoteHessian:
    """What rows on workers add to the Hessian of the round under way."""

    problem: Any
    products: int = 0

    def product(self, V: Array) -> Array:
        """Return the matrix times V: a pass."""
        self.products += 1
        product: Array = self.problem.blocks.ask(Block.product, V)
        return product

    def diagonal(self) -> Array:
        """Return the diagonal of the matrix."""
        diagonal: Array = self.problem.blocks.ask(Block.diagonal)
        return diagonal
