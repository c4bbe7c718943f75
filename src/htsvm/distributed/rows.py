"""Problems whose rows are in the blocks of a Dask collection: sums over blocks, and copies of some.

All state is in the driver. A question is a pure function of a block (`blocks.py`) with the answers
of all blocks added up, or joined, in the order of the blocks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from dask import delayed

from htsvm._typing import Array
from htsvm.distributed import blocks as ask
from htsvm.distributed.blocks import InColumns, Majorised, Task, added, joined, nbytes, stacked
from htsvm.distributed.cluster import Cluster, driver_values, sample_values
from htsvm.distributed.descent import Multipliers, joint, solve
from htsvm.linalg import Extent, Operator, Quadratic, as_operator
from htsvm.linalg.scaled import Moments, merged
from htsvm.losses import Hinge
from htsvm.optimality import BinaryCertificate, certify_problem
from htsvm.optimality.binary import conclude, spread_positions
from htsvm.optimality.multiclass import MulticlassCertificate, conclude_multiclass, merge_multiclass
from htsvm.optimality.point import Point
from htsvm.optimality.samples import merge
from htsvm.optimality.second_order import CriticalSamples, Verdict, second_order_verdict
from htsvm.problems import MulticlassProblem, Problem

# Up to this share of `DRIVER_VALUES` rows that decide come with the residuals.
WITH_RESIDUALS = 0.08


@dataclass(eq=False)
class Source:
    """The data of a fit: a delayed `Block` for each chunk, and what is known of all of them."""

    cluster: Cluster
    # The blocks as they are read, and as questions are put to them: held in memory or streamed.
    raw: list[Any]
    data: list[Any]
    # The first row of each block, and the number of all rows.
    offsets: Array
    n_features: int
    # The number of stored values, and the sum of their squares.
    stored: int
    square_sum: float
    # The sums of the weights of the samples of each class, and the largest of them.
    mass: Array
    largest: Array

    def slices(self, rows: Array) -> list[slice]:
        """Return where the rows of each block are in the sorted `rows`."""
        return [slice(low, high) for low, high in pairwise(np.searchsorted(rows, self.offsets))]

    def cut(self, rows: Array, *vectors: Array) -> list[tuple[Array, ...]]:
        """Return the sorted `rows` by block, counted from its first row, and vectors over them."""
        return [
            (rows[part] - first, *(vector[part] for vector in vectors))
            for part, first in zip(self.slices(rows), self.offsets[:-1], strict=True)
        ]

    def ask(
        self, question: Callable[..., Any], *args: Any, each: Sequence[tuple[Any, ...]] = (),
        combine: Any = added,
    ) -> Any:  # fmt: skip
        """Return the answers of all blocks to a question, put together; `each` has more by block."""
        each = each or [()] * len(self.data)
        work = functools.partial(_answer, question)
        parts = [
            delayed(work, pure=False)(data, (*args, *own))
            for data, own in zip(self.data, each, strict=True)
        ]
        return self.cluster.reduce(parts, combine)


def _answer(question: Callable[..., Any], data: Any, args: tuple[Any, ...]) -> Any:
    return question(data, *args)


class BlockOperator(Extent):
    """The rows of all blocks: what can be known of them, and copies of a few."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source, self.shape = source, (int(source.offsets[-1]), source.n_features)
        # Rows that came with another question, and their numbers.
        self.at_hand: tuple[Array, Any] = (np.zeros(0, dtype=np.intp), None)

    @property
    def stored(self) -> int:
        """The number of stored values."""
        return self.source.stored

    @property
    def square_sum(self) -> float:
        """The sum of the squares of all entries."""
        return self.source.square_sum

    def take(self, rows: Array) -> Operator:
        """Return an operator on a copy of some rows that are at hand."""
        known, X = self.at_hand
        return as_operator(X[np.searchsorted(known, rows)])


class RemoteProblem:
    """What problems have in common whose rows are on the workers."""

    source: Source
    task: Any
    # The sums of the penalties by label or class.
    penalties: Array
    # Questions so far, and the bytes to the blocks and back: columns of a history.
    told: dict[str, float]
    # The samples of each label or class and those ignored of them, by the last certificate.
    ignored_counts: list[Array]
    # The kind of problem in this process, and the name of its labels.
    local: Any
    labels_name: str

    @classmethod
    def of(cls, source: Source, task: Any) -> Self:
        """Return the problem of a task."""
        own: dict[str, Any] = {cls.labels_name: np.zeros(0, dtype=np.intp)}
        if cls.local is MulticlassProblem:
            own["n_classes"] = len(task.factors)
        # The fields are those of the dataclass that a subclass is; this mixin has none of them.
        return cls(
            operator=BlockOperator(source), penalty=np.zeros(0), loss=task.loss, C=task.C,
            regularizer=Quadratic(None, source.n_features), fit_intercept=task.fit_intercept,
            source=source, task=task, penalties=_of_one_each(task, source.mass),
            told={"network_passes": 0, "network_bytes": 0.0}, ignored_counts=[], **own,
        )  # type: ignore[call-arg]  # fmt: skip

    def ask(self: Any, question: Callable[..., Any], *args: Any, **how: Any) -> Any:
        """Return the answers of all blocks to a question about this problem, put together."""
        answer = self.source.ask(question, self.task, *args, **how)
        self.told["network_passes"] += 1
        sent = nbytes(args) * len(self.source.data) + nbytes(how.get("each", ()))
        self.told["network_bytes"] += float(sent + nbytes(answer))
        return answer

    def traffic(self) -> dict[str, float]:
        """Return the questions so far, and the bytes to the blocks and back."""
        return dict(self.told)

    def on_rows(self: Any, X: Any, labels: Array, penalty: Array) -> Any:
        """Return the problem on rows in this process."""
        known = {f.name: getattr(self, f.name) for f in fields(self.local)}
        operator = self.operator.adopted(as_operator(X))
        operator.columns = self.operator.columns
        taken = {"operator": operator, self.labels_name: labels, "penalty": penalty}
        return self.local(**(known | taken))

    def sample(self: Any, seed: Any) -> Any:
        """Return the problem on rows drawn by their penalties, whatever the blocks."""
        total = float(self.penalties.sum())
        unit = total * self.operator.stored / (self.operator.shape[0] * sample_values())
        number = int(np.random.default_rng(seed).integers(1 << 32))
        parts = self.ask(ask.sample_of, unit, number, combine=joined)
        X, labels, penalty = zip(*parts, strict=True)
        penalty = np.concatenate(penalty)
        penalty *= total / (float(penalty.sum()) or 1.0)
        return self.on_rows(stacked(X), np.concatenate(labels), penalty)

    def trivial(self: Any) -> tuple[float, Any]:
        """Return the objective and the intercept of the best constant classifier."""
        labels = np.array([-1, 1], np.int8)
        if self.n_scores > 1:
            labels = np.arange(len(self.penalties))
        stand_in = self.on_rows(np.zeros((len(labels), 1)), labels, self.penalties)
        best: tuple[float, Any] = stand_in.trivial()
        return best

    def objectives_at(self: Any, points: Sequence[tuple[Array, Any]]) -> list[float]:
        """Return the objectives at some points, in one round trip."""
        self.operator.count(float(self.n_scores * len(points)))
        losses = self.ask(ask.losses_of, [joint(w, b) for w, b in points])
        return [float(self.energy(w) + loss) for (w, _), loss in zip(points, losses, strict=True)]

    def objective_at(self, w: Array, b: Any) -> float:
        """Return the objective at (w, b)."""
        return self.objectives_at([(w, b)])[0]

    def majorised(self: Any, w: Array, b: Any) -> tuple[Any, float]:
        """Return the weighted hinge problem that touches this one at (w, b), and the objective."""
        self.operator.count(float(self.n_scores))
        *penalties, loss = self.ask(ask.majorised_of, w, b)
        convex = replace(
            self, operator=BlockOperator(self.source), loss=Hinge(),
            task=Majorised(self.task, w, b), penalties=np.array(penalties),
        )  # fmt: skip
        return convex, self.energy(w) + float(loss)

    def moments(self: Any) -> Moments:
        """Return the moments of the columns, weighted by penalties."""
        self.operator.count(1.0)
        stated = self.task.base if isinstance(self.task, Majorised) else self.task
        largest = float(_of_one_each(stated, self.source.largest).max(initial=0.0))
        found: Moments = self.ask(ask.moments_of, largest, combine=merged)
        return found

    def in_columns(self: Any, mean: Array, scale: Array) -> Any:
        """Return the problem on the rows ``(x - mean) * scale``; its regulariser stays."""
        operator = BlockOperator(self.source)
        operator.work, operator.columns = self.operator.work, (mean, scale)
        return replace(self, operator=operator, task=InColumns(self.task, mean, scale))

    def scaled(self: Any, C: float) -> Self:
        """Return the problem with all penalties times `C`."""
        problem: Self = self.of(self.source, replace(self.task, C=C * self.task.C))
        return problem


def _of_one_each(task: Task, weights: Array) -> Array:
    """Return the sums of penalties by label for one sample of each class, of these weights."""
    one_each = as_operator(np.zeros((len(weights), 1)))
    stated: Any = task.problem(one_each, np.arange(len(weights)), weights)
    codes = stated.labels if stated.n_scores > 1 else (stated.y == 1).astype(np.intp)
    return np.bincount(codes, weights=stated.penalty, minlength=2)


@dataclass(frozen=True, eq=False)
class BlockProblem(RemoteProblem, Problem):
    """A problem with its rows, labels and penalties on workers; `y` and `penalty` are empty."""

    source: Any = None
    task: Any = None
    penalties: Any = None
    told: Any = None
    ignored_counts: Any = None

    local, labels_name = Problem, "y"
    solved_by = solve

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
        steps = moves / (self.ask(ask.largest_change_of, dw, db, combine=max) or 1.0)
        return steps, np.array(self.objectives_at([(w + t * dw, b + t * db) for t in steps]))

    # --------------------------------------------------------------------------- certificate

    def certify(self, w: Array, b: float, psi: Multipliers, tol: float) -> BinaryCertificate:
        """Certify the point (w, b, psi) in one pass."""
        m, most = self.operator.shape[0], driver_values()
        each = [(psi_of,) for psi_of in self.source.cut(psi.rows, psi.values)]
        convex = self.loss.weak_convexity == 0.0
        share = -1.0 if convex else WITH_RESIDUALS * most / self.operator.stored
        # A few rows that the certificate will look at come along.
        few = (psi.rows[spread_positions(len(psi.rows))], spread_positions(m))
        sampled = np.unique(np.concatenate(few))
        both = [(*own, rows) for own, (rows,) in zip(each, self.source.cut(sampled), strict=True)]
        parts = self.ask(ask.summary_of, w, b, share, each=both, combine=joined)
        summaries, ignored, critical, X = zip(*parts, strict=True)
        operator: Any = self.operator
        self.ignored_counts[:], operator.at_hand = sum(ignored), (sampled, stacked(X))
        summary = merge(summaries)
        summary = replace(summary, support=np.sort(summary.support))
        self.operator.count(2.0)
        point = Point(
            self.operator, self.y, w, b, self.penalty, self.penalty, self.C, self.loss,
            self.regularizer, self.fit_intercept,
        )  # fmt: skip
        # Only those that are safe or ignored cannot be critical, and not all of those.
        if not convex and any(part is None for part in critical):
            critical = ()
            if int(summary.counts[1:4].sum()) * self.operator.stored / m <= most:
                critical = self.ask(ask.critical_of, w, b, each=each, combine=joined)
        return conclude(point, summary, lambda: self._verdict(critical, most), tol=tol)

    def _verdict(self, parts: Sequence[Any], most: float) -> Verdict:
        """Return the verdict from critical samples of all blocks; none if there are too many."""
        if self.loss.weak_convexity == 0.0:
            return Verdict("yes", note="the problem is convex")
        if not parts:
            return Verdict("undecided", note=f"second order needs more than {most:.0e} values of X")
        samples = [found for _, found in parts]
        table = {
            f.name: np.concatenate([getattr(found, f.name) for found in samples])
            for f in fields(CriticalSamples)
        }
        table["rows"] = np.arange(len(table["rows"]))
        return second_order_verdict(
            as_operator(stacked([X for X, _ in parts])), CriticalSamples(**table),
            self.regularizer, fit_intercept=self.fit_intercept,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class MulticlassBlockProblem(RemoteProblem, MulticlassProblem):
    """A multi-class problem on workers; `labels` and `penalty` are empty."""

    source: Any = None
    task: Any = None
    penalties: Any = None
    told: Any = None
    ignored_counts: Any = None

    local, labels_name = MulticlassProblem, "labels"
    solved_by = solve

    def multipliers_from(self, rows: Array, coefficients: Array) -> Multipliers:
        """Return pulls from the coefficients of rows in the classifiers."""
        return Multipliers(rows, coefficients.T)

    @functools.cached_property
    def class_penalty(self) -> Array:
        """The sum of the penalties of each class."""
        penalties: Array = self.penalties
        return penalties

    def certify(self, W: Array, b: Array, B: Multipliers, tol: float) -> MulticlassCertificate:
        """Certify the point (W, b, B): two passes."""
        each = [(pulls,) for pulls in self.source.cut(B.rows, B.values)]
        parts = self.ask(ask.class_summary_of, W, b, each=each, combine=joined)
        summary = merge_multiclass([found for found, _ in parts])
        self.ignored_counts[:] = sum(ignored for _, ignored in parts)
        self.operator.count(4.0 * self.n_classes)

        def dual_sums(keep: Array) -> tuple[Array, float]:
            pulls, value = self.ask(ask.dual_sums_of, W, b, keep, each=each)
            return pulls, float(value)

        return conclude_multiclass(
            W, summary, dual_sums, loss=self.loss, regularizer=self.regularizer,
            fit_intercept=self.fit_intercept, tol=tol, row_length=self.operator.row_length,
        )  # fmt: skip


certify_problem.register(BlockProblem, BlockProblem.certify)
certify_problem.register(MulticlassBlockProblem, MulticlassBlockProblem.certify)
