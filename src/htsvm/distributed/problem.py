"""A binary problem whose rows are in the blocks of a Dask collection."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.distributed.block import BinaryBlock, Block
from htsvm.distributed.blocks import Blocks, Multipliers, stack_rows
from htsvm.distributed.rows import BinaryRows
from htsvm.linalg import Extent, Operator, Quadratic, as_operator
from htsvm.losses import Hinge
from htsvm.optimality import BinaryCertificate, certify_problem
from htsvm.optimality.binary import conclude
from htsvm.optimality.point import Point
from htsvm.optimality.second_order import CriticalSamples, Verdict, second_order_verdict
from htsvm.optimality.summary import merge
from htsvm.solvers import Problem

# The rows that decide the second order are gathered up to this many values: with the residuals,
# and by a pass of their own.
FIRST_CRITICAL, MOST_CRITICAL = 4_000_000, 50_000_000


class BlockOperator(Extent):
    """The rows of all blocks: what can be known of them, and copies of a few."""

    def __init__(self, blocks: Blocks) -> None:
        super().__init__()
        self.blocks = blocks
        self.shape = blocks.source.shape

    @property
    def stored(self) -> int:
        """The number of stored values."""
        return self.blocks.source.stored

    @property
    def square_sum(self) -> float:
        """The sum of the squares of all entries."""
        return self.blocks.source.square_sum

    def take(self, rows: Array) -> Operator:
        """Return an operator on a copy of some rows, in this process."""
        return as_operator(self.blocks.take(rows)[0])


def known_of(blocks: Blocks) -> dict[str, Any]:
    """Return what problems on blocks have in common; complain of losses that cannot be weighed."""
    task: Any = blocks.task
    loss = task.loss
    if loss.tilt != 0.0 or math.isinf(loss.weak_convexity):
        raise ValueError(
            f"{loss!r} does not work on Dask collections: only losses that never fall and "
            "whose slope does not jump down do; use HybridTruncated or Hinge."
        )
    return {
        "operator": BlockOperator(blocks), "penalty": np.zeros(0), "loss": loss, "C": task.C,
        "regularizer": Quadratic(None, blocks.source.shape[1]),
        "fit_intercept": task.fit_intercept, "blocks": blocks,
    }  # fmt: skip


class OnBlocks:
    """What problems have in common whose rows are on the workers."""

    blocks: Any

    def objective_at(self: Any, w: Array, b: Any) -> float:
        """Return the objective at (w, b), which takes a pass."""
        self.operator.count(float(len(np.atleast_2d(w))))
        return float(self.energy(w) + self.blocks.ask(self.rows.kind.loss_at, w, b))

    def majorised(self: Any, w: Array, b: Any) -> tuple[Any, float]:
        """Return the weighted hinge problem that touches this one at (w, b), and the objective."""
        objective = self.objective_at(w, b)
        blocks = self.blocks.majorised(w, b)
        convex = replace(self, operator=BlockOperator(blocks), loss=Hinge(), blocks=blocks)
        return convex, objective

    def traffic(self) -> dict[str, float]:
        """Return the passes over the network so far, and the bytes they moved."""
        columns: dict[str, float] = self.blocks.traffic.columns()
        return columns

    @property
    def ignored_counts(self) -> Array:
        """The samples of each label or class, and those ignored of them, when last certified."""
        counts: Array = self.blocks.ignored
        return counts

    def scaled(self: Any, C: float) -> Any:
        """Return the problem with all penalties times `C`."""
        return type(self).of(self.blocks.with_penalty(C))

    def release(self) -> None:
        """Release what is on the workers."""
        self.blocks.close()


@dataclass(frozen=True, eq=False)
class BlockProblem(OnBlocks, Problem):
    """A problem whose rows, labels and penalties are on the workers; `y` and `penalty` are empty.

    Attributes
    ----------
    blocks : Blocks
        They are there.
    """

    blocks: Any = None

    rows = BinaryRows

    @classmethod
    def of(cls, blocks: Blocks) -> BlockProblem:
        """Return the problem of some blocks."""
        return cls(y=np.zeros(0, dtype=np.int8), **known_of(blocks))

    def take(self, rows: Array) -> Problem:
        """Return the problem on a copy of some rows, in this process."""
        return self.on_rows(*self.blocks.take(rows))

    def on_rows(self, X: Any, y: Array, penalty: Array) -> Problem:
        """Return the problem on rows in this process."""
        known = {f.name: getattr(self, f.name) for f in fields(Problem)}
        operator = self.operator.adopted(as_operator(X))
        return Problem(**(known | {"operator": operator, "y": y, "penalty": penalty}))

    @functools.cached_property
    def largest_penalty(self) -> float:
        """The largest penalty of a sample."""
        return float(self.blocks.ask(Block.largest_penalty))

    def multipliers_of(self, part: Problem, values: Array) -> Multipliers:
        """Return the multipliers of `part`, a copy of all rows, as this problem keeps them."""
        rows = np.flatnonzero(values)
        return Multipliers(rows, values[rows], part.y[rows])

    def multipliers_from(self, rows: Array, coefficients: Array) -> Multipliers:
        """Return multipliers from the coefficients of rows in the classifier."""
        values = coefficients[0]
        return Multipliers(rows, -np.abs(values), np.sign(values).astype(np.int8))

    def violations(self, w: Array, b: float, out: Array | None = None) -> Array:
        """Not available: vectors over all rows stay on the workers."""
        raise NotImplementedError("per-row results of a block problem stay on the workers")

    def trivial(self) -> tuple[float, float]:
        """Return the objective and the intercept of the best constant classifier, w = 0."""
        sides = self.blocks.ask(BinaryBlock.penalties)
        return self.on_rows(np.zeros((2, 1)), np.array([-1, 1], dtype=np.int8), sides).trivial()

    def objectives_along(
        self, w: Array, b: float, dw: Array, db: float, moves: Array
    ) -> tuple[Array, Array]:
        """Return steps along (dw, db), and the objective after each of them."""
        steps = moves / (self.blocks.ask(BinaryBlock.largest_change, dw, db) or 1.0)
        losses = self.blocks.ask(BinaryBlock.losses_along, w, b, dw, db, steps)
        self.operator.count(3.0)
        energies = [self.regularizer.energy(w + t * dw) for t in steps]
        return steps, np.array(energies) + losses

    # --------------------------------------------------------------------------- certificate

    def certify(self, w: Array, b: float, psi: Any, tol: float) -> BinaryCertificate:
        """Certify the point (w, b, psi) in one pass."""
        each = psi.by_block(self.blocks)
        most = -1.0 if self.loss.weak_convexity == 0.0 else FIRST_CRITICAL / self.operator.stored
        parts = self.blocks.ask(BinaryBlock.summary, w, b, most, each=each)
        summaries, ignored, critical = zip(*parts, strict=True)
        self.blocks.ignored = sum(ignored)
        summary = merge(summaries)
        summary = replace(summary, support=np.sort(summary.support))
        self.operator.count(2.0)
        point = Point(
            self.operator, self.y, w, b, self.penalty, self.penalty, self.C, self.loss,
            self.regularizer, self.fit_intercept,
        )  # fmt: skip
        # Only those that are safe or ignored cannot be critical, and not all of those.
        if any(part is None for part in critical) and most > 0.0:
            critical = ()
            if int(summary.counts[1:4].sum()) * self.n_features <= MOST_CRITICAL:
                critical = self.blocks.ask(BinaryBlock.critical, w, b, each=each)
        return conclude(point, summary, lambda: self._verdict(critical), tol=tol)

    def _verdict(self, parts: Sequence[Any]) -> Verdict:
        """Return the verdict from critical samples of all blocks; none if there are too many."""
        if self.loss.weak_convexity == 0.0:
            return Verdict("yes", note="the problem is convex")
        if not parts:
            return Verdict(
                "undecided", note=f"second order needs more than {MOST_CRITICAL:.0e} values of X"
            )
        samples = [found for _, found in parts]
        joined = {
            f.name: np.concatenate([getattr(found, f.name) for found in samples])
            for f in fields(CriticalSamples)
        }
        joined["rows"] = np.arange(len(joined["rows"]))
        return second_order_verdict(
            as_operator(stack_rows([X for X, _ in parts])),
            CriticalSamples(**joined),
            self.regularizer,
            fit_intercept=self.fit_intercept,
        )


certify_problem.register(BlockProblem, BlockProblem.certify)
