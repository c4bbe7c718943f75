"""Blocks of rows, and all that workers compute: pure functions of a block and a task.

A task makes the problem on the rows of a block; functions return what adds up over blocks, or lists
that are joined in their order. Nothing is kept from one call to the next, so Dask can make again
whatever a lost worker held. A point is an array (w, b), intercepts last; several classes are rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from htsvm._typing import Array
from htsvm.linalg import as_operator, kernels
from htsvm.linalg.scaled import Moments, moments
from htsvm.losses.rounded import Rounded
from htsvm.multiview.views import take_columns
from htsvm.optimality import SampleStatus
from htsvm.optimality.multiclass import MulticlassSamples
from htsvm.optimality.samples import Samples
from htsvm.problems.build import Task

# In widths of the rounded kink, over what the maximum over rivals is rounded: as in the search of
# several classes.
SPREAD = 4.0 / 3.0


class BlockTask(NamedTuple):
    """A stated problem, the columns of a view, and what their mean and scale are taken for."""

    stated: Task
    view: Array | None = None
    columns: tuple[Array, Array] | None = None


@dataclass(eq=False)
class Block:
    """Some validated rows, the codes of their classes, weights, the number of the first row."""

    X: Any
    codes: Array
    weights: Array | None
    first: int

    def problem(self, task: BlockTask) -> Any:
        """Return the problem on these rows; only the driver knows the regulariser."""
        X = self.X if task.view is None else take_columns(self.X, task.view)
        problem: Any = task.stated.problem(as_operator(X), self.codes, self.weights)
        return problem.in_columns(*task.columns) if task.columns else problem

    def __sizeof__(self) -> int:
        parts = (self.X.data, self.X.indices) if sp.issparse(self.X) else (self.X,)
        return int(sum(part.nbytes for part in (*parts, self.codes)))


def added(answers: Sequence[Any]) -> Any:
    """Return the sum of answers; of tuples, the tuple of the sums; of lists, all of them."""
    if isinstance(answers[0], tuple):
        return tuple(added(column) for column in zip(*answers, strict=True))
    return sum(answers[1:], start=answers[0])


def stacked(parts: Sequence[Any]) -> Any:
    """Put the rows of several blocks together."""
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


def joint(w: Array, b: Any) -> Array:
    """Return (w, b) as one array."""
    return np.concatenate([w, np.asarray(b, dtype=np.float64)[..., None]], axis=-1)


def parts_of(z: Array) -> tuple[Array, Any]:
    """Return w and b."""
    return np.ascontiguousarray(z[..., :-1]), z[:, -1].copy() if z.ndim > 1 else float(z[-1])


def _copies(part: Any) -> tuple[Any, Array]:
    return part.operator.block(slice(None)), part.labels if part.n_scores > 1 else part.y


def sample_of(block: Block, task: BlockTask, unit: float, seed: int) -> list[Any]:
    """Return copies of rows drawn by their penalties, with labels and penalties.

    A row comes with a chance of its penalty over the unit, and counts for at least that unit.
    """
    # The random numbers are those of the numbers of the rows, whatever the blocks.
    problem, bits = block.problem(task), np.random.PCG64(seed).advance(block.first)
    chance = np.random.Generator(bits).random(len(block.codes))
    part = problem.take(np.flatnonzero(chance * unit < problem.penalty))
    return [(*_copies(part), np.maximum(part.penalty, unit))]


def moments_of(block: Block, task: BlockTask, typical: float) -> Moments:
    """Return the moments of the columns, weighted by penalties of about this size."""
    problem = block.problem(task)
    return moments(problem.operator, problem.penalty, typical)


def losses_of(block: Block, task: BlockTask, points: Sequence[Array]) -> Array:
    """Return the total of the loss at each of some points."""
    p = block.problem(task)
    return np.array([p.loss.total(p.violations_at(*parts_of(z)), p.penalty) for z in points])


def _smooth(problem: Any, z: Array, stage: Rounded, penalty: Array) -> tuple[float, Array]:
    """Return the total of the smooth loss, and its derivatives in the score or in all scores."""
    if problem.n_scores == 1:
        values, slopes = stage.value_slope(problem.violations_at(*parts_of(z)))
        return float(penalty @ values), -problem.y * penalty * slopes
    scores = problem.operator.scores(*parts_of(z))
    slopes, shape = np.empty_like(scores), np.array(stage[:4])
    value = kernels.active.smooth_losses(
        scores, problem.labels, penalty, SPREAD * stage.width, 0, shape, slopes
    )
    return float(value), slopes


def _bends(problem: Any, z: Array, stage: Rounded, reach: float) -> Array:
    """Return which rows are within `reach` of where the slope of the smooth loss may change."""
    if problem.n_scores == 1:
        found: Array = stage.bends(problem.violations_at(*parts_of(z)), reach)
        return found
    levels, rows = problem.levels(*parts_of(z)), np.arange(len(problem.labels))
    levels -= levels[rows, problem.labels][:, None]
    levels[rows, problem.labels] = -np.inf
    q = levels.max(axis=1)
    levels[rows, levels.argmax(axis=1)] = -np.inf
    # Where several rivals are ahead, which of them pulls is undecided.
    tied = (q - levels.max(axis=1) < 2.0 * SPREAD * stage.width + reach) & (q > -stage.width)
    near: Array = stage.bends(q, reach) | (tied & (q < stage.cap))
    return near


def _gradient(problem: Any, slopes: Array) -> Array:
    """Return the gradient in (w, b), given the derivatives in the scores."""
    if problem.n_scores == 1:
        pull, total = problem.operator.signed_tdot(problem.y, problem.y * slopes)
        return np.append(pull, total if problem.fit_intercept else 0.0)
    totals = slopes.sum(axis=0) * problem.fit_intercept
    return np.column_stack([problem.operator.pull(slopes), totals])


def _curvature(problem: Any, z: Array, stage: Rounded) -> Array:
    """Return the positive part of the second derivatives in (w, b), their lower triangle."""
    up, _ = stage.curvature(problem.violations_at(*parts_of(z)))
    weights, out = problem.penalty * up, np.zeros((len(z), len(z)))
    rows = np.flatnonzero(weights)
    problem.operator.add_gram(rows, 1.0, out, weights[rows])
    return out


def sums_of(
    block: Block, task: BlockTask, z: Array, stage: Rounded, reaches: Array, curvature: bool
) -> tuple[Any, ...]:
    """Return value, gradient, size and curvature of a smooth loss, and the values in each reach."""
    problem = block.problem(task)
    value, slopes = _smooth(problem, z, stage, problem.penalty)
    bend = _curvature(problem, z, stage) if curvature else 0.0
    sums = value, _gradient(problem, slopes), float(np.abs(slopes).sum()), bend
    near = np.array([np.count_nonzero(_bends(problem, z, stage, reach)) for reach in reaches])
    return *sums, near * (problem.operator.stored / max(len(block.codes), 1))


def near_of(block: Block, task: BlockTask, z: Array, stage: Rounded, reach: float) -> list[Any]:
    """Return copies of the rows near a bend, their numbers, and what the others add: a `Rest`."""
    problem = block.problem(task)
    near = _bends(problem, z, stage, reach)
    value, slopes = _smooth(problem, z, stage, np.where(near, 0.0, problem.penalty))
    linear, rows = _gradient(problem, slopes), np.flatnonzero(near)
    part, rest = problem.take(rows), (value - np.vdot(linear, z), linear, np.abs(slopes).sum())
    return [(*_copies(part), part.penalty, rows + block.first, rest)]


def judged_of(
    block: Block, task: BlockTask, z: Array, stage: Rounded, reach: float, end: Array
) -> list[Any]:
    """Return what became at the end of the rows that were not near a bend at z.

    The loss of all rows before and after, by how much slopes have changed, who pulls, and how.
    """
    problem = block.problem(task)
    far = np.where(_bends(problem, z, stage, reach), 0.0, problem.penalty)
    before, after = (_smooth(problem, at, stage, far)[1] for at in (z, end))
    changed, losses = float(np.abs(after - before).sum()), losses_of(block, task, [z, end])
    rows = np.flatnonzero(after if after.ndim == 1 else after.any(axis=1))
    labels = (problem.labels if after.ndim > 1 else problem.y)[rows]
    values = -after[rows] if after.ndim > 1 else labels * after[rows]
    return [(losses, changed, rows + block.first, values, labels)]


def samples_at(block: Block, task: BlockTask, z: Array, some: tuple[Array, Array]) -> Any:
    """Return the samples at a point, given rows of the block with their multipliers or pulls."""
    problem, (rows, values), (w, b) = block.problem(task), some, parts_of(z)
    dense = np.zeros((len(problem.penalty), *values.shape[1:]))
    dense[rows] = values
    kind: Any = MulticlassSamples if problem.n_scores > 1 else Samples
    return kind(problem, w, b, dense)


def summary_of(block: Block, task: BlockTask, z: Array, some: Any, sampled: Array) -> list[Any]:
    """Return what a certificate needs of these rows, and copies of some of them."""
    samples = samples_at(block, task, z, some)
    summary, copied = samples.summarise(), samples.problem.operator.block(sampled)
    return [(replace(summary, support=summary.support + block.first), copied)]


def critical_of(block: Block, task: BlockTask, z: Array, some: Any) -> list[Any]:
    """Return the samples that decide the second order, with copies of their rows."""
    samples = samples_at(block, task, z, some)
    found = samples.critical()
    return [(samples.problem.operator.block(found.rows), found)]


def dual_sums_of(block: Block, task: BlockTask, z: Array, keep: Array, some: Any) -> Any:
    """Return the sums of `MulticlassSamples.dual_sums`."""
    return samples_at(block, task, z, some).dual_sums(keep)


def status_of(block: Block, points: Any) -> Array:
    """Return the status of the samples of a block, by view and by problem, as are the points."""
    table = [[samples_at(block, *one).status for one in of_view] for of_view in points]
    return np.moveaxis(np.array(table, dtype=np.int8), 2, 0)


def ignored_by_all(status: Array, block: Block, used: Array) -> Array:
    """Return which samples all views that count ignore, in the problem of their own class.

    `used` says which views count in which problem, an array of shape (n_problems, n_views).
    """
    own = block.codes if len(used) > 1 else np.zeros(len(block.codes), dtype=np.intp)
    ignored = status[np.arange(len(own)), :, own] == SampleStatus.IGNORED
    everyone: Array = np.all(ignored | ~used[own], axis=1)
    return everyone


def counts_of(block: Block, points: Any, used: Array, count: int, rows: Array) -> Array:
    """Return by class how many samples have a weight, are ignored of these, and are in `rows`."""
    codes = block.codes
    kept = np.ones(len(codes), dtype=bool) if block.weights is None else block.weights > 0.0
    lost = kept & ignored_by_all(status_of(block, points), block, used)
    some = codes[kept], codes[lost], codes[rows]
    return np.array([np.bincount(one, minlength=count) for one in some])
