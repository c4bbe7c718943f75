"""Blocks of rows, and all that workers compute: pure functions of a block and a task.

A task makes the problem on the rows of a block; functions return what adds up over blocks, or what
is put together in their order. Nothing is kept from one call to the next, so Dask can make again
whatever a lost worker held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from htsvm._typing import Array
from htsvm.linalg import Operator, as_operator, multiclass_kernels
from htsvm.linalg.scaled import Moments, moments
from htsvm.losses.rounded import Rounded
from htsvm.optimality import SampleStatus
from htsvm.optimality.multiclass import MulticlassPoint, MulticlassSummary
from htsvm.optimality.point import Point
from htsvm.optimality.samples import Samples, Summary, summarise
from htsvm.optimality.second_order import CriticalSamples
from htsvm.problems.build import Task as Stated

# A violation of at most this size counts as zero in a certificate.
ON_MARGIN = 1e-9


@dataclass(frozen=True, eq=False)
class Majorised:
    """The weighted hinge problem that touches the problem of the task `base` at (w, b)."""

    base: Stated
    w: Array
    b: Any

    def problem(self, operator: Operator, codes: Array, weights: Array | None) -> Any:
        """Return the problem on some rows."""
        return self.base.problem(operator, codes, weights).majorised(self.w, self.b)[0]


@dataclass(frozen=True, eq=False)
class InColumns:
    """The problem of the task `base` on the rows ``(x - mean) * scale``."""

    base: Stated | Majorised
    mean: Array
    scale: Array

    def problem(self, operator: Operator, codes: Array, weights: Array | None) -> Any:
        """Return the problem on some rows; only the driver knows the regulariser."""
        return self.base.problem(operator, codes, weights).in_columns(self.mean, self.scale)


# Problems that blocks can be made for.
Task = Stated | Majorised | InColumns


@dataclass(eq=False)
class Block:
    """Some validated rows, the codes of their classes, weights, the number of the first row."""

    X: Any
    codes: Array
    weights: Array | None
    first: int

    def problem(self, task: Task) -> Any:
        """Return the problem on these rows."""
        return task.problem(as_operator(self.X), self.codes, self.weights)

    def __sizeof__(self) -> int:
        return nbytes(self.X) + int(self.codes.nbytes)


# ------------------------------------------------------------------------------ answers of blocks


def added(answers: Sequence[Any]) -> Any:
    """Return the sum of answers; of tuples, the tuple of the sums."""
    if isinstance(answers[0], tuple):
        return tuple(added(column) for column in zip(*answers, strict=True))
    return sum(answers[1:], start=answers[0])


def joined(answers: Sequence[list[Any]]) -> list[Any]:
    """Return the entries of lists, in the order of the blocks."""
    return [entry for answer in answers for entry in answer]


def stacked(parts: Sequence[Any]) -> Any:
    """Put the rows of several blocks together."""
    if sp.issparse(parts[0]):
        return sp.vstack(parts, format="csr")
    return np.concatenate(parts)


def nbytes(value: Any) -> int:
    """Return roughly what a value takes on the wire."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if sp.issparse(value):
        value = (value.data, value.indices, value.indptr)
    elif hasattr(value, "__dict__"):
        value = tuple(vars(value).values())
    return sum(map(nbytes, value)) if isinstance(value, (tuple, list)) else 8


# ------------------------------------------------------------------------------- rows and columns


def sample_of(block: Block, task: Task, unit: float, seed: int) -> list[Any]:
    """Return copies of rows drawn by their penalties, with labels and penalties.

    A row comes with a chance of its penalty over the unit, and counts for at least that unit. The
    random numbers are those of the numbers of the rows, whatever the blocks.
    """
    problem = block.problem(task)
    bits = np.random.PCG64(seed).advance(block.first)
    chance = np.random.Generator(bits).random(len(block.codes))
    part = problem.take(np.flatnonzero(chance * unit < problem.penalty))
    return [(*copies(part), np.maximum(part.penalty, unit))]


def copies(part: Any) -> tuple[Any, Array]:
    """Return the rows and the labels of a problem."""
    return part.operator.block(slice(None)), part.labels if part.n_scores > 1 else part.y


def moments_of(block: Block, task: Task, largest: float) -> Moments:
    """Return the moments of the columns, weighted by penalties of which this is the largest."""
    problem = block.problem(task)
    return moments(problem.operator, problem.penalty, largest)


def count_classes(block: Block, count: int, rows: Array) -> Array:
    """Return how many of `rows` belong to each class."""
    return np.bincount(block.codes[rows], minlength=count)


# -------------------------------------------------------------------------------- losses at points


def losses_of(block: Block, task: Task, points: list[Array]) -> Array:
    """Return the total of the loss at each of some points (w, b), intercepts last."""
    p, totals = block.problem(task), []
    for z in points:
        w, b = np.ascontiguousarray(z[..., :-1]), z[..., -1]
        totals.append(p.loss.total(p.violations_at(w, b if b.ndim else float(b)), p.penalty))
    return np.array(totals)


def largest_change_of(block: Block, task: Task, dw: Array, db: float) -> float:
    """Return the largest change of a violation along a direction, in size."""
    problem, changes = block.problem(task), np.empty(len(block.codes))
    problem.operator.signed_dot(problem.y, dw, db, changes)
    return float(np.abs(changes).max(initial=0.0))


def majorised_of(block: Block, task: Task, w: Array, b: Any) -> Array:
    """Return the sums of the weights of the majoriser at a point by label, and the loss."""
    p = block.problem(task)
    convex, objective = p.majorised(w, b)
    sums = np.bincount(_codes(p), weights=convex.penalty, minlength=max(p.n_scores, 2))
    return np.append(sums, objective - p.energy(w))


def _codes(problem: Any) -> Array:
    """Return the class of each sample; of two, whether it has the label +1."""
    codes: Array = problem.labels if problem.n_scores > 1 else problem.y == 1
    return codes.astype(np.intp)


# --------------------------------------------------------------------- smooth stand-ins of the loss


class Stage(NamedTuple):
    """A loss whose kink is rounded, and for several classes the maximum over rivals as well."""

    loss: Rounded
    spread: float


def smooth(problem: Any, z: Array, stage: Stage, penalty: Array) -> tuple[float, Array]:
    """Return the total of the smooth loss at z, intercepts last, and its derivatives in the scores.

    One score for two classes, else a row of them.
    """
    w, b = np.ascontiguousarray(z[..., :-1]), z[..., -1]
    if problem.n_scores == 1:
        values, slopes = stage.loss.value_slope(problem.violations(w, float(b)))
        return float(penalty @ values), -problem.y * penalty * slopes
    scores, (top, knee, cap, width, _) = problem.operator.scores(w, b), stage.loss
    slopes, shape = np.empty_like(scores), np.array([top, knee, cap, width])
    value = multiclass_kernels.active.smooth_losses(
        scores, problem.labels, penalty, stage.spread, 0, shape, slopes
    )
    return float(value), slopes


def bends(problem: Any, z: Array, stage: Stage, reach: float) -> Array:
    """Return which rows are within `reach` of where the slope of the smooth loss may change."""
    w, b = np.ascontiguousarray(z[..., :-1]), z[..., -1]
    if problem.n_scores == 1:
        return stage.loss.bends(problem.violations(w, float(b)), reach)
    levels, rows = problem.levels(w, b), np.arange(len(problem.labels))
    levels -= levels[rows, problem.labels][:, None]
    levels[rows, problem.labels] = -np.inf
    q = levels.max(axis=1)
    levels[rows, levels.argmax(axis=1)] = -np.inf
    # Where several rivals are ahead, which of them pulls is undecided.
    tied = (q - levels.max(axis=1) < 2.0 * stage.spread + reach) & (q > -stage.loss.width)
    return stage.loss.bends(q, reach) | (tied & (q < stage.loss.cap))


def gradient(problem: Any, slopes: Array) -> Array:
    """Return the gradient in (w, b), given the derivatives in the scores."""
    if problem.n_scores == 1:
        pull, total = problem.operator.signed_tdot(problem.y, problem.y * slopes)
        totals = np.array([total])
    else:
        pull, totals = problem.operator.pull(slopes), slopes.sum(axis=0)[:, None]
    return np.concatenate([pull, totals if problem.fit_intercept else 0.0 * totals], axis=-1)


def sums_of(
    block: Block, task: Task, z: Array, stage: Stage, reaches: Array, curvature: bool
) -> tuple[Any, ...]:
    """Return value, gradient, size of the slopes and curvature of a smooth loss at z = (w, b).

    And the stored values of the rows within each reach.
    """
    problem = block.problem(task)
    if curvature:
        sums = problem.sums(z, stage.loss, curvature=True)
    else:
        value, slopes = smooth(problem, z, stage, problem.penalty)
        sums = value, gradient(problem, slopes), float(np.abs(slopes).sum()), 0.0
    near = np.array([np.count_nonzero(bends(problem, z, stage, reach)) for reach in reaches])
    return *sums, near * (problem.operator.stored / max(len(block.codes), 1))


def near_of(block: Block, task: Task, z: Array, stage: Stage, reach: float) -> list[Any]:
    """Return copies of the rows near a bend, their numbers, and what the others add: a `Rest`."""
    problem = block.problem(task)
    near = bends(problem, z, stage, reach)
    value, slopes = smooth(problem, z, stage, np.where(near, 0.0, problem.penalty))
    linear, rows = gradient(problem, slopes), np.flatnonzero(near)
    part, rest = problem.take(rows), (value - np.vdot(linear, z), linear, np.abs(slopes).sum())
    return [(*copies(part), part.penalty, rows + block.first, rest)]


def judged_of(
    block: Block, task: Task, z: Array, stage: Stage, reach: float, end: Array
) -> list[Any]:
    """Return what became at the end of the rows that were not near a bend at z.

    The total of the loss over all rows before and after, by how much slopes have changed, the rows
    that pull, their multipliers and labels.
    """
    problem = block.problem(task)
    far = np.where(bends(problem, z, stage, reach), 0.0, problem.penalty)
    before, after = (smooth(problem, at, stage, far)[1] for at in (z, end))
    changed, losses = float(np.abs(after - before).sum()), losses_of(block, task, [z, end])
    rows = np.flatnonzero(after if after.ndim == 1 else after.any(axis=1))
    labels = copies(problem.take(rows))[1]
    values = -after[rows] if after.ndim > 1 else labels * after[rows]
    return [(losses, changed, rows + block.first, values, labels)]


# ----------------------------------------------------------------------------------- certificates


def point_of(block: Block, task: Task, w: Array, b: float, psi: tuple[Array, Array]) -> Point:
    """Return a point of a problem, given rows of the block with their multipliers."""
    p = block.problem(task)
    values = np.where(p.penalty > 0.0, _dense(psi, len(p.penalty)), 0.0)
    return Point(
        p.operator, p.y, w, b, values, p.penalty, p.C, p.loss, p.regularizer, p.fit_intercept
    )


def _dense(some: tuple[Array, Array], count: int) -> Array:
    """Return values of all rows, given those of some."""
    rows, values = some
    dense = np.zeros((count, *values.shape[1:]))
    dense[rows] = values
    return dense


def summary_of(
    block: Block, task: Task, w: Array, b: float, most: float,
    psi: tuple[Array, Array], sampled: Array,
) -> list[tuple[Summary, Array, Any, Any]]:  # fmt: skip
    """Return what a certificate needs of these rows, and the counts of `_ignored`.

    Also the samples that decide the second order, with copies of their rows, unless these are more
    than the share `most` of all; and copies of some rows.
    """
    point = point_of(block, task, w, b, psi)
    summary, samples, status = summarise(point, None, ON_MARGIN)
    found = _critical(point, samples)
    critical = found if len(found[1].rows) <= most * len(block.codes) else None
    summary = replace(summary, support=summary.support + block.first)
    counts = _ignored(block.problem(task), status)
    return [(summary, counts, critical, point.operator.block(sampled))]


def critical_of(block: Block, task: Task, w: Array, b: float, psi: Any) -> list[Any]:
    """Return the samples that decide the second order, with copies of their rows."""
    point = point_of(block, task, w, b, psi)
    return [_critical(point, summarise(point, None, ON_MARGIN)[1])]


def _critical(point: Point, samples: Samples) -> tuple[Any, CriticalSamples]:
    found = samples.critical()
    return point.operator.block(found.rows), found


def _ignored(problem: Any, status: Array) -> Array:
    """Return how many samples of positive penalty each class has, and how many are ignored."""
    counts, codes = problem.penalty > 0.0, _codes(problem)
    lost, least = counts & (status == SampleStatus.IGNORED), max(problem.n_scores, 2)
    return np.array([np.bincount(codes[some], minlength=least) for some in (counts, lost)])


def class_point_of(block: Block, task: Task, W: Array, b: Array, B: Any) -> MulticlassPoint:
    """Return a point of a problem of several classes, given rows with their pulls."""
    p = block.problem(task)
    pulls = _dense(B, len(p.penalty))
    return MulticlassPoint(p.operator, p.labels, W, b, pulls, p.penalty, p.C, p.loss)


def class_summary_of(
    block: Block, task: Task, W: Array, b: Array, B: Any
) -> list[tuple[MulticlassSummary, Array]]:
    """Return what a certificate needs of these rows, and the counts of `_ignored`."""
    summary, status = class_point_of(block, task, W, b, B).summarise()
    return [(summary, _ignored(block.problem(task), status))]


def dual_sums_of(block: Block, task: Task, W: Array, b: Array, keep: Array, B: Any) -> Any:
    """Return the sums of `MulticlassPoint.dual_sums`."""
    return class_point_of(block, task, W, b, B).dual_sums(keep)


# --------------------------------------------------------------------- what became of the samples


def status_of(views: list[Block], points: Any) -> Array:
    """Return the status of the samples of a block, by view and by problem.

    The points are tasks with w, b and the multipliers of some rows, by view and problem.
    """
    status = []
    for block, of_view in zip(views, points, strict=True):
        columns = []
        for task, w, b, psi in of_view:
            if np.ndim(b):
                columns.append(class_point_of(block, task, w, b, psi).status())
            else:
                columns.append(summarise(point_of(block, task, w, b, psi), None, ON_MARGIN)[2])
        status.append(np.column_stack(columns))
    return np.stack(status, 1)


def ignored_by_all(status: Array, block: Block, used: Array) -> Array:
    """Return which samples all views that count ignore, in the problem of their own class.

    `used` says which views count in which problem, an array of shape (n_problems, n_views).
    """
    own = block.codes if len(used) > 1 else np.zeros(len(block.codes), dtype=np.intp)
    ignored = status[np.arange(len(own)), :, own] == SampleStatus.IGNORED
    everyone: Array = np.all(ignored | ~used[own], axis=1)
    return everyone


def ignored_counts(views: list[Block], used: Array, count: int, points: Any) -> Array:
    """Return the number of samples of positive weight per class, and how many are ignored."""
    block = views[0]
    kept = slice(None) if block.weights is None else block.weights > 0.0
    lost = ignored_by_all(status_of(views, points), block, used)[kept]
    codes = block.codes[kept]
    return np.array([np.bincount(some, minlength=count) for some in (codes, codes[lost])])
