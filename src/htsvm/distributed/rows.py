"""Problems whose rows are in the blocks of a Dask collection.

All state is in the driver. A question is a pure function of a block (`blocks.py`) with the answers
of all blocks added up in their order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from dask import array, delayed
from dask.sizeof import sizeof

from htsvm._typing import Array
from htsvm.distributed import blocks as ask
from htsvm.distributed.blocks import Block, BlockTask, added, joint, stacked
from htsvm.distributed.cluster import Cluster, driver_values, sample_values
from htsvm.distributed.descent import Multipliers, solve
from htsvm.linalg import Extent, Operator, Quadratic, as_operator
from htsvm.linalg.scaled import Moments, merged
from htsvm.optimality import PointCertificate, certify_problem
from htsvm.optimality.binary import conclude, spread_positions
from htsvm.optimality.multiclass import conclude_multiclass
from htsvm.optimality.second_order import CriticalSamples, Verdict, second_order_verdict
from htsvm.optimality.summary import merge
from htsvm.problems import MulticlassProblem, Problem
from htsvm.problems.build import class_factors, stated_problems, tasks_of


@dataclass(eq=False)
class Dataset:
    """The data of a fit: a delayed `Block` for each chunk, and what is known of all of them."""

    cluster: Cluster
    # The blocks as they are read, and as questions are put to them: held in memory or streamed.
    raw: list[Any]
    data: list[Any]
    # All rows, where they are few.
    here: Block | None
    # The first row of each block, and the number of all rows; the classes, and their weights.
    offsets: Array
    classes: Array
    mass: Array
    # The columns of each view, or None; their number, that of stored values, the sum of squares.
    views: Sequence[Array | None]
    extents: Array

    def cut(self, rows: Array, *vectors: Array) -> list[tuple[Array, ...]]:
        """Return the sorted `rows` by block, counted from its first row, and vectors over them."""
        edges = np.searchsorted(rows, self.offsets)
        return [
            (rows[low:high] - first, *(vector[low:high] for vector in vectors))
            for (low, high), first in zip(pairwise(edges), self.offsets[:-1], strict=True)
        ]

    def ask(
        self, question: Callable[..., Any], *args: Any, each: Sequence[Any] = (),
        combine: Any = added,
    ) -> Any:  # fmt: skip
        """Return the answers of all blocks, put together; `each` has further arguments by block."""
        each, work = each or [()] * len(self.data), delayed(question, pure=False)
        parts = [work(block, *args, *own) for block, own in zip(self.data, each, strict=True)]
        return self.cluster.reduce(parts, combine)

    def problems(
        self, class_weight: Any, *, multiclass: bool, view: int = 0, **options: Any
    ) -> list[Any]:
        """Return the problems of a view: one for two classes, else one per class or for all."""
        loss = options["loss"]
        if loss.tilt != 0.0 or math.isinf(loss.weak_convexity):
            raise ValueError(
                f"{loss!r} does not work on Dask collections: only losses that never fall and "
                "whose slope does not jump down do; use HybridTruncated or Hinge."
            )
        options["multiclass"] = multiclass
        if self.here is not None:
            rows = self.here.X, self.here.codes, self.here.weights
            return list(stated_problems(*rows, class_weight, self.classes, **options))
        factors = class_factors(class_weight, self.classes, self.mass)
        kind = MulticlassBlockProblem if multiclass else BlockProblem
        return [kind.of(self, task, view) for task in tasks_of(self.mass, factors, **options)]

    def statuses(self, problems: Any, results: Any, used: Array) -> tuple[Any, Any]:
        """Return what became of each sample, and which are ignored, as Dask arrays.

        The first is of shape (n_samples, n_views, n_problems). They are computed when asked for.
        Given are the problems and the results, by view, and which views count by problem.
        """
        points = self._points(problems, results)
        # Not by way of one Dask array: that would leave out empty blocks.
        both = [
            (delayed(ask.status_of, pure=True)(block, of_block), block)
            for block, of_block in zip(self.raw, points, strict=True)
        ]
        lost = [delayed(ask.ignored_by_all, pure=True)(*pair, used) for pair in both]
        status = self.as_rows([status for status, _ in both], used.shape[::-1], np.int8)
        return status, array.flatnonzero(self.as_rows(lost, (), np.bool_))

    def as_rows(self, blocks: Sequence[Any], shape: tuple[int, ...], dtype: Any) -> Any:
        """Return a Dask array of delayed blocks with an entry of that shape for each row."""
        parts = zip(blocks, np.diff(self.offsets).tolist(), strict=True)
        return array.concatenate(
            [array.from_delayed(block, (size, *shape), dtype=dtype) for block, size in parts]
        )

    def counts(self, problems: Any, results: Any, used: Array, rows: Array) -> tuple[Array, Array]:
        """Return the share of each class that is ignored, and its samples among sorted `rows`."""
        both = zip(self._points(problems, results), self.cut(rows), strict=True)
        each = [(points, used, len(self.classes), *some) for points, some in both]
        total, lost, found = self.ask(ask.counts_of, each=each)
        return lost / np.maximum(total, 1), found

    def _points(self, problems: Any, results: Any) -> list[Any]:
        """Return for each block, by view and problem, what `samples_at` takes."""

        def of_blocks(problem: Any, result: Any) -> list[Any]:
            z, found = joint(result.coef, result.intercept), result.multipliers
            return [(problem.task, z, some) for some in self.cut(found.rows, found.values)]

        by_view = [
            list(zip(*map(of_blocks, *of_view), strict=True))
            for of_view in zip(problems, results, strict=True)
        ]
        return [delayed(points, traverse=False) for points in zip(*by_view, strict=True)]


class BlockOperator(Extent):
    """The rows of all blocks: what can be known of them, and copies of a few."""

    stored, square_sum = 0, 0.0
    # Rows that came with another question, and their numbers.
    at_hand: Any = None

    def __init__(self, rows: int, extent: Array) -> None:
        super().__init__()
        self.shape, self.extent = (rows, int(extent[0])), extent
        self.stored, self.square_sum = int(extent[1]), float(extent[2])

    def take(self, rows: Array) -> Operator:
        """Return an operator on a copy of some rows that are at hand."""
        known, X = self.at_hand
        return as_operator(X[np.searchsorted(known, rows)])


@dataclass(frozen=True, eq=False)
class _Remote:
    """What problems have in common whose rows are on workers.

    The sums of the penalties by label or class; questions so far, and the bytes to the blocks and
    back, which are columns of a history; the kind of problem in this process.
    """

    source: Any = None
    task: Any = None
    class_penalty: Any = None
    told: Any = None

    local: ClassVar[Any] = Problem
    solved_by = solve

    @classmethod
    def of(cls, source: Dataset, stated: Any, view: int) -> Self:
        """Return the problem of a task on the columns of a view."""
        # The sums of penalties are those of one sample for each class, of all its weight.
        k, extent = len(source.mass), source.extents[view]
        one_each = stated.problem(as_operator(np.zeros((k, 1))), np.arange(k), source.mass)
        several = one_each.n_scores > 1
        codes = one_each.labels if several else (one_each.y == 1).astype(np.intp)
        none: Any = {"labels": np.zeros(0), "n_classes": k} if several else {"y": np.zeros(0)}
        # The fields are those of the dataclass that a subclass is; this mixin has few of them.
        fields_of_all: Any = {
            "operator": BlockOperator(int(source.offsets[-1]), extent), "penalty": np.zeros(0),
            "loss": stated.loss, "C": stated.C, "fit_intercept": stated.fit_intercept,
            "regularizer": Quadratic(None, int(extent[0])),
        }  # fmt: skip
        return cls(
            source=source, task=BlockTask(stated, source.views[view]),
            told={"network_passes": 0, "network_bytes": 0.0},
            class_penalty=np.bincount(codes, weights=one_each.penalty, minlength=2),
            **none, **fields_of_all,
        )  # fmt: skip

    def ask(self, question: Callable[..., Any], *args: Any, **how: Any) -> Any:
        """Return the answers of all blocks to a question about this problem, put together."""
        answer = self.source.ask(question, self.task, *args, **how)
        self.told["network_passes"] += 1
        sent = len(self.source.data) * sizeof(args) + sizeof(how.get("each"))
        self.told["network_bytes"] += float(sent + sizeof(answer))
        return answer

    def traffic(self) -> dict[str, float]:
        """Return the questions so far, and the bytes to the blocks and back."""
        return dict(self.told)

    def on_rows(self: Any, X: Any, labels: Array, penalty: Array) -> Any:
        """Return the problem on rows in this process."""
        known = {f.name: getattr(self, f.name) for f in fields(self.local)}
        operator = self.operator.adopted(as_operator(X))
        operator.columns = self.operator.columns
        name = "labels" if self.n_scores > 1 else "y"
        return self.local(**(known | {"operator": operator, name: labels, "penalty": penalty}))

    def sample(self: Any, seed: Any) -> Any:
        """Return the problem on rows drawn by their penalties, whatever the blocks."""
        total = float(self.class_penalty.sum())
        unit = total * self.operator.stored / (self.operator.shape[0] * sample_values())
        number = int(np.random.default_rng(seed).integers(1 << 32))
        X, labels, penalties = zip(*self.ask(ask.sample_of, unit, number), strict=True)
        penalty = np.concatenate(penalties)
        factor = total / (float(penalty.sum()) or 1.0)
        return self.on_rows(stacked(X), np.concatenate(labels), factor * penalty)

    def trivial(self: Any) -> tuple[float, Any]:
        """Return the objective and the intercept of the best constant classifier."""
        several = self.n_scores > 1
        labels = np.arange(len(self.class_penalty)) if several else np.array([-1, 1], np.int8)
        best: Any = self.on_rows(np.zeros((len(labels), 1)), labels, self.class_penalty).trivial()
        return best[0], best[1]

    def objectives_at(self: Any, points: Sequence[tuple[Array, Any]]) -> list[float]:
        """Return the objectives at some points, in one round trip."""
        self.operator.count(float(self.n_scores * len(points)))
        losses = self.ask(ask.losses_of, [joint(w, b) for w, b in points])
        return [float(self.energy(w) + loss) for (w, _), loss in zip(points, losses, strict=True)]

    def moments(self: Any) -> Moments:
        """Return the moments of the columns, weighted by penalties."""
        self.operator.count(1.0)
        typical = float(self.class_penalty.sum()) / self.operator.shape[0]
        found: Moments = self.ask(ask.moments_of, typical, combine=merged)
        return found

    def in_columns(self: Any, mean: Array, scale: Array) -> Any:
        """Return the problem on the rows ``(x - mean) * scale``; its regulariser stays."""
        operator = BlockOperator(self.n_samples, self.operator.extent)
        operator.work, operator.columns = self.operator.work, (mean, scale)
        return replace(self, operator=operator, task=self.task._replace(columns=(mean, scale)))

    def scaled(self: Any, C: float) -> Any:
        """Return the problem with all penalties times `C`."""
        task = self.task._replace(stated=replace(self.task.stated, C=C * self.C))
        told = dict.fromkeys(self.told, 0)
        return replace(
            self, task=task, C=C * self.C, class_penalty=C * self.class_penalty, told=told
        )

    def summarised(self: Any, z: Array, found: Multipliers) -> tuple[list[Any], Any]:
        """Return the summaries of all blocks, and multipliers by block."""
        some = [(psi,) for psi in self.source.cut(found.rows, found.values)]
        # A few rows that the certificate will look at come along.
        few = found.rows[spread_positions(len(found.rows))]
        sampled = np.unique(np.append(few, spread_positions(self.n_samples)))
        each = [(*own, rows) for own, (rows,) in zip(some, self.source.cut(sampled), strict=True)]
        summaries, X = zip(*self.ask(ask.summary_of, z, each=each), strict=True)
        self.operator.at_hand = sampled, stacked(X)
        self.operator.count((2.0 if z.ndim == 1 else 4.0) * self.n_scores)
        return list(summaries), some


@dataclass(frozen=True, eq=False)
class BlockProblem(_Remote, Problem):  # type: ignore[misc]
    """A problem with its rows, labels and penalties on workers; `y` and `penalty` are empty."""

    def multipliers_from(self, rows: Array, coefficients: Array) -> Multipliers:
        """Return multipliers from the coefficients of rows in the classifier."""
        values = coefficients[0]
        return Multipliers(rows, -np.abs(values), np.sign(values).astype(np.int8))

    def objectives_along(
        self, w: Array, b: float, dw: Array, db: float, moves: Array
    ) -> tuple[Array, Array]:
        """Return steps along (dw, db), by about how far violations move, and the objectives."""
        pace = self.operator.row_length * float(np.linalg.norm(dw)) + abs(db)
        steps = moves / (pace or 1.0)
        return steps, np.array(self.objectives_at([(w + t * dw, b + t * db) for t in steps]))

    def certify(self, w: Array, b: float, psi: Multipliers, tol: float) -> PointCertificate:
        """Certify the point (w, b, psi): one question, and another for the second order."""
        summaries, some = self.summarised(joint(w, b), psi)
        summary = merge(summaries)

        def verdict() -> Verdict:
            # Only those that are safe or ignored cannot be critical, and not all of those.
            rows, stored = float(summary.counts[1:4].sum()), self.operator.stored
            if self.loss.weak_convexity == 0.0:
                return Verdict("yes", note="the problem is convex")
            if rows * stored > driver_values() * self.n_samples:
                note = f"second order needs more than {driver_values():.0e} values of X"
                return Verdict("undecided", note=note)
            X, samples = zip(*self.ask(ask.critical_of, joint(w, b), each=some), strict=True)
            names = [f.name for f in fields(CriticalSamples)]
            table = {name: np.concatenate([getattr(s, name) for s in samples]) for name in names}
            table["rows"] = np.arange(len(table["rows"]))
            critical, free = CriticalSamples(**table), self.fit_intercept
            operator = as_operator(stacked(X))
            return second_order_verdict(operator, critical, self.regularizer, fit_intercept=free)

        return conclude(self, w, b, summary, verdict, tol)


@dataclass(frozen=True, eq=False)
class MulticlassBlockProblem(_Remote, MulticlassProblem):  # type: ignore[misc]
    """A multi-class problem on workers; `labels` and `penalty` are empty."""

    local: ClassVar[Any] = MulticlassProblem

    def multipliers_from(self, rows: Array, coefficients: Array) -> Multipliers:
        """Return pulls from the coefficients of rows in the classifiers."""
        return Multipliers(rows, coefficients.T)

    def certify(self, W: Array, b: Array, B: Multipliers, tol: float) -> PointCertificate:
        """Certify the point (W, b, B): two questions."""
        summaries, some = self.summarised(joint(W, b), B)
        return conclude_multiclass(
            self, W, merge(summaries),
            lambda keep: self.ask(ask.dual_sums_of, joint(W, b), keep, each=some), tol,
        )  # fmt: skip


certify_problem.register(BlockProblem, BlockProblem.certify)
certify_problem.register(MulticlassBlockProblem, MulticlassBlockProblem.certify)
