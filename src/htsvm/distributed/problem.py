"""Problems whose rows are in the blocks of a Dask collection."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from htsvm._typing import Array
from htsvm.distributed.binary_block import BinaryBlock
from htsvm.distributed.block import Block
from htsvm.distributed.blocks import Blocks, Multipliers, stack_rows
from htsvm.distributed.multiclass_block import MulticlassBlock
from htsvm.distributed.multiclass_rows import MulticlassBlockRows
from htsvm.distributed.protocol import ColumnsTask
from htsvm.distributed.rows import BinaryRows
from htsvm.linalg import Extent, Operator, Quadratic, as_operator
from htsvm.linalg.scaled import Moments
from htsvm.losses import Hinge
from htsvm.optimality import BinaryCertificate, certify_problem
from htsvm.optimality.binary import conclude, spread_positions
from htsvm.optimality.multiclass import MulticlassCertificate, conclude_multiclass, merge_multiclass
from htsvm.optimality.point import Point
from htsvm.optimality.samples import merge
from htsvm.optimality.second_order import CriticalSamples, Verdict, second_order_verdict
from htsvm.problems import MulticlassProblem, Problem

# The rows that decide the second order are gathered up to this many values: with the residuals,
# and by a pass of their own.
FIRST_CRITICAL, MOST_CRITICAL = 4_000_000, 50_000_000


class BlockOperator(Extent):
    """The rows of all blocks: what can be known of them, and copies of a few."""

    def __init__(self, blocks: Blocks) -> None:
        super().__init__()
        self.blocks, self.shape = blocks, blocks.source.shape
        # Rows that came with another question, and their numbers.
        self.at_hand: tuple[Array, Any] = (np.zeros(0, dtype=np.intp), None)

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
        known, X = self.at_hand
        if np.isin(rows, known).all():
            return as_operator(X[np.searchsorted(known, rows)])
        return as_operator(self.blocks.take(rows)[0])


class RemoteProblem:
    """What problems have in common whose rows are on the workers."""

    blocks: Any
    # The kind of problem in this process, and the name of its labels.
    local: Any
    labels_name: str

    @classmethod
    def of(cls, blocks: Blocks) -> Self:
        """Return the problem of some blocks; complain of losses that cannot be weighed."""
        task: Any = blocks.task
        loss = task.loss
        if loss.tilt != 0.0 or math.isinf(loss.weak_convexity):
            raise ValueError(
                f"{loss!r} does not work on Dask collections: only losses that never fall and "
                "whose slope does not jump down do; use HybridTruncated or Hinge."
            )
        own: dict[str, Any] = {cls.labels_name: np.zeros(0, dtype=np.intp)}
        if cls.local is MulticlassProblem:
            own["n_classes"] = len(task.factors)
        # The fields are those of the dataclass that a subclass is; this mixin has none of them.
        return cls(
            operator=BlockOperator(blocks), penalty=np.zeros(0), loss=loss, C=task.C,
            regularizer=Quadratic(None, blocks.source.shape[1]),
            fit_intercept=task.fit_intercept, blocks=blocks, **own,
        )  # type: ignore[call-arg]  # fmt: skip

    def take(self, rows: Array) -> Any:
        """Return the problem on a copy of some rows, in this process."""
        return self.on_rows(*self.blocks.take(rows))

    def on_rows(self: Any, X: Any, labels: Array, penalty: Array) -> Any:
        """Return the problem on rows in this process."""
        known = {f.name: getattr(self, f.name) for f in fields(self.local)}
        operator = self.operator.adopted(as_operator(X))
        taken = {"operator": operator, self.labels_name: labels, "penalty": penalty}
        return self.local(**(known | taken))

    def trivial(self: Any) -> tuple[float, Any]:
        """Return the objective and the intercept of the best constant classifier."""
        penalties = self.blocks.penalties
        labels = np.arange(len(penalties)) if self.n_scores > 1 else np.array([-1, 1], np.int8)
        stand_in = self.on_rows(np.zeros((len(labels), 1)), labels, penalties)
        best: tuple[float, Any] = stand_in.trivial()
        return best

    @functools.cached_property
    def largest_penalty(self) -> float:
        """The largest penalty of a sample."""
        return float(self.blocks.ask(Block.largest_penalty))

    def objectives_at(self: Any, points: Sequence[tuple[Array, Any]]) -> list[float]:
        """Return the objectives at some points, which takes a pass for each, in one round trip."""
        self.operator.count(float(self.n_scores * len(points)))
        losses = self.blocks.ask(Block.losses_at, list(points))
        return [float(self.energy(w) + loss) for (w, _), loss in zip(points, losses, strict=True)]

    def objective_at(self, w: Array, b: Any) -> float:
        """Return the objective at (w, b), which takes a pass."""
        return self.objectives_at([(w, b)])[0]

    def majorised(self: Any, w: Array, b: Any) -> tuple[Any, float]:
        """Return the weighted hinge problem that touches this one at (w, b), and the objective."""
        self.operator.count(float(self.n_scores))
        blocks, loss = self.blocks.majorised(w, b)
        convex = replace(self, operator=BlockOperator(blocks), loss=Hinge(), blocks=blocks)
        return convex, self.energy(w) + loss

    def moments(self: Any) -> Moments:
        """Return the moments of the columns, weighted by penalties."""
        self.operator.count(1.0)
        found: Moments = self.blocks.ask(Block.column_moments, self.largest_penalty)
        return found

    def in_columns(self: Any, mean: Array, scale: Array) -> Any:
        """Return the problem on the rows ``(x - mean) * scale``; its regulariser stays."""
        task = ColumnsTask(self.blocks.task, mean, scale)
        blocks = Blocks(self.blocks.source, task, self.blocks.penalties, self.blocks.traffic)
        operator = BlockOperator(blocks)
        operator.work, operator.columns = self.operator.work, (mean, scale)
        return replace(self, operator=operator, blocks=blocks)

    def traffic(self) -> dict[str, float]:
        """Return the passes over the network so far, and the bytes they moved."""
        return dict(self.blocks.traffic)

    @property
    def ignored_counts(self) -> Array:
        """The samples of each label or class, and those ignored of them, when last certified."""
        counts: Array = self.blocks.ignored
        return counts

    def scaled(self, C: float) -> Self:
        """Return the problem with all penalties times `C`."""
        return self.of(self.blocks.with_penalty(C))

    def release(self) -> None:
        """Release what is on the workers."""
        self.blocks.close()


@dataclass(frozen=True, eq=False)
class BlockProblem(RemoteProblem, Problem):
    """A problem with its rows, labels and penalties on workers; `y` and `penalty` are empty."""

    blocks: Any = None

    rows = BinaryRows
    local, labels_name = Problem, "y"

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

    def objectives_along(
        self, w: Array, b: float, dw: Array, db: float, moves: Array
    ) -> tuple[Array, Array]:
        """Return steps along (dw, db), and the objective after each of them."""
        steps = moves / (self.blocks.ask(BinaryBlock.largest_change, dw, db) or 1.0)
        return steps, np.array(self.objectives_at([(w + t * dw, b + t * db) for t in steps]))

    # --------------------------------------------------------------------------- certificate

    def certify(self, w: Array, b: float, psi: Any, tol: float) -> BinaryCertificate:
        """Certify the point (w, b, psi) in one pass."""
        each = psi.by_block(self.blocks)
        most = -1.0 if self.loss.weak_convexity == 0.0 else FIRST_CRITICAL / self.operator.stored
        # A few rows that the certificate will look at come along.
        few = (psi.rows[spread_positions(len(psi.rows))], spread_positions(self.n_samples))
        sampled = np.unique(np.concatenate(few))
        both = list(zip(each, self.blocks.cut(sampled), strict=True))
        parts = self.blocks.ask(BinaryBlock.summary, w, b, most, each=both)
        summaries, ignored, critical, X = zip(*parts, strict=True)
        operator: Any = self.operator
        self.blocks.ignored, operator.at_hand = sum(ignored), (sampled, stack_rows(X))
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


@dataclass(frozen=True, eq=False)
class MulticlassBlockProblem(RemoteProblem, MulticlassProblem):
    """A multi-class problem on workers; `labels` and `penalty` are empty."""

    blocks: Any = None

    rows = MulticlassBlockRows
    local, labels_name = MulticlassProblem, "labels"

    def multipliers_of(self, part: MulticlassProblem, values: Array) -> Multipliers:
        """Return the pulls of `part`, a copy of all rows, as this problem keeps them."""
        return Multipliers(np.arange(part.n_samples), values)

    def multipliers_from(self, rows: Array, coefficients: Array) -> Multipliers:
        """Return pulls from the coefficients of rows in the classifiers."""
        return Multipliers(rows, coefficients.T)

    @functools.cached_property
    def class_penalty(self) -> Array:
        """The sum of the penalties of each class."""
        penalties: Array = self.blocks.penalties
        return penalties

    def certify(self, W: Array, b: Array, B: Multipliers, tol: float) -> MulticlassCertificate:
        """Certify the point (W, b, B): two passes."""
        each = B.by_block(self.blocks)
        parts = self.blocks.ask(MulticlassBlock.summary, W, b, each=each)
        summary = merge_multiclass([found for found, _ in parts])
        self.blocks.ignored = sum(ignored for _, ignored in parts)
        self.operator.count(4.0 * self.n_classes)

        def dual_sums(keep: Array) -> tuple[Array, float]:
            sums = self.blocks.ask(MulticlassBlock.dual_sums, W, b, keep, each=each)
            return sums[:-1].reshape(W.shape), float(sums[-1])

        return conclude_multiclass(
            W, summary, dual_sums, loss=self.loss, regularizer=self.regularizer,
            fit_intercept=self.fit_intercept, tol=tol, row_length=self.operator.row_length,
        )  # fmt: skip


certify_problem.register(BlockProblem, BlockProblem.certify)
certify_problem.register(MulticlassBlockProblem, MulticlassBlockProblem.certify)
