"""Many logistic fits on the same rows at once: one product with the data serves all of them.

A member is a loss, a penalty and a regulariser. Points are arrays (n_columns, n_members, n_scores),
the intercept in the last row, so that the scores of all members are one product of matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.logistic.rows import Rows
from htsvm.losses.cross_entropy import TruncatedEntropy

# Pairs of steps and changes of the gradient, and the most entries of one of these arrays.
MEMORY, MOST_ENTRIES = 8, 1 << 22
# A step must gain this share of what the slope promises; what is too long is cut to a quarter.
DECREASE, CUT, MOST_CUTS = 1e-4, 0.25, 6
# A member is done when two steps have gained less than this share, about what float32 can tell.
GAIN = 2e-6
# The exponentials of scores up to this, and their inverses, are far inside single precision.
SAFE = 50.0
# The likelihood of a label is at least this.
LEAST = 1e-12
# By no more than its inverse is the penalty of a corrected loss raised.
LEAST_INFORMATION = 0.2


@dataclass(frozen=True, eq=False)
class Members:
    """Fits of one batch.

    Attributes
    ----------
    losses : list of TruncatedEntropy or None
        The loss of each; None is that of labels seen through a flip matrix. Equal ones should
        follow each other.
    penalty : ndarray of shape (n_members,)
        The factors of the losses.
    ridge : ndarray of shape (n_columns, n_members)
        The regulariser is half the sum of ridge times squares; zero for intercepts.
    flips : ndarray of shape (n_members, n_classes, n_classes), optional
        The probability of a label (columns) given the true class (rows).
    """

    losses: Sequence[TruncatedEntropy | None]
    penalty: Array
    ridge: Array
    flips: Array | None = None

    @cached_property
    def terms(self) -> list[tuple[slice, TruncatedEntropy | None]]:
        """Which members have which loss."""
        ends = [k for k in range(1, len(self.losses)) if self.losses[k] != self.losses[k - 1]]
        edges = [0, *ends, len(self.losses)]
        return [(slice(a, b), self.losses[a]) for a, b in pairwise(edges)]

    def some(self, which: Array) -> Members:
        """Return some of the members, given by their numbers, in order."""
        flips = None if self.flips is None else self.flips[which]
        losses = [self.losses[k] for k in which]
        return Members(losses, self.penalty[which], self.ridge[:, which], flips)

    def effective(self) -> Array:
        """Return penalties that a flip matrix makes up for: noise makes a loss flatter."""
        if self.flips is None:
            return self.penalty
        classes = self.flips.shape[1]
        trace = np.trace(self.flips, axis1=1, axis2=2)
        information: Array = np.maximum((trace - 1.0) / (classes - 1), LEAST_INFORMATION)
        return np.asarray(self.penalty / information)


class Objective:
    """Values and gradients of the members on some rows."""

    def __init__(self, rows: Rows, members: Members) -> None:
        self.rows, self.members = rows, members
        self.kind = rows.X.dtype
        self.penalty = members.effective()
        classes = rows.classes
        # An upper bound of the diagonal of the Hessian of the cross-entropy near W = 0.
        curved = rows.mass * (classes - 1) / classes**2 * members.penalty
        diagonal = members.ridge + curved * rows.squares()[:, None]
        self.preconditioner = (1.0 / np.maximum(diagonal, 1e-30)).astype(self.kind)[:, :, None]

    def at(self, points: Array) -> tuple[Array, Array]:
        """Return values (n_members,) and gradients of points."""
        rows, members = self.rows, self.members
        count = len(self.penalty)
        losses, gradient = np.zeros(count), np.zeros_like(points)
        flat = points.reshape(len(points), -1)
        share = binary if rows.scores == 1 else several
        for X, codes, weights in rows.blocks(count):
            scores = np.asarray(X @ flat).reshape(len(codes), count, -1)
            losses += share(scores, codes, weights, members)
            gradient += np.asarray(X.T @ scores.reshape(len(codes), -1)).reshape(points.shape)
        own = members.ridge.astype(self.kind)[:, :, None] * points
        gradient *= self.penalty.astype(self.kind)[None, :, None]
        gradient += own
        return self.penalty * losses + 0.5 * dots(own, points), gradient


def binary(scores: Array, codes: Array, weights: Array | None, members: Members) -> Array:
    """Return the total losses of a block; scores (n, n_members, 1) become derivatives."""
    margin = scores[:, :, 0]
    sign = np.where(codes == 1, 1.0, -1.0).astype(scores.dtype)[:, None]
    margin *= sign
    decay = np.exp(-np.abs(margin))
    # One less the likelihood of the label, and minus its logarithm.
    miss = np.where(margin > 0.0, decay, 1.0) / (1.0 + decay)
    entropy = np.log(1.0 + decay) - np.minimum(margin, 0.0)
    pull = sign if weights is None else sign * weights[:, None]
    losses = np.empty(margin.shape[1])
    for part, loss in members.terms:
        slope: Any
        if loss is not None:
            value, slope = loss.value_slope(entropy[:, part])
        else:
            flips = _flips(members, part, scores.dtype)
            own = np.where(codes[:, None] == 1, flips[:, 1, 1], flips[:, 0, 0])
            other = np.where(codes[:, None] == 1, flips[:, 0, 1], flips[:, 1, 0])
            found = np.maximum(own + (other - own) * miss[:, part], LEAST)
            value, slope = -np.log(found), (own - other) * (1.0 - miss[:, part]) / found
        losses[part] = _totals(value, weights)
        margin[:, part] = -miss[:, part] if slope is None else -miss[:, part] * slope
    margin *= pull
    return losses


def several(scores: Array, codes: Array, weights: Array | None, members: Members) -> Array:
    """Return the total losses of a block; scores (n, n_members, K) become derivatives."""
    if max(float(scores.max(initial=0.0)), -float(scores.min(initial=0.0))) > SAFE:
        scores -= scores.max(axis=2, keepdims=True)
    each = np.arange(len(codes))
    own = scores[each, :, codes]
    np.exp(scores, out=scores)
    # A product is several times as quick as a sum of so few numbers.
    total = scores @ np.ones(scores.shape[2], dtype=scores.dtype)
    entropy = np.log(total) - own
    scores /= total[:, :, None]
    losses = np.empty(scores.shape[1])
    for part, loss in members.terms:
        some = scores[:, part]
        if loss is not None:
            value, slope = loss.value_slope(entropy[:, part])
            some[each, :, codes] -= 1.0
            if slope is not None:
                some *= slope[:, :, None]
        else:
            joint = some * np.moveaxis(_flips(members, part, scores.dtype), 2, 0)[codes]
            found = np.maximum(joint.sum(axis=2), LEAST)
            value = -np.log(found)
            some -= joint / found[:, :, None]
        losses[part] = _totals(value, weights)
    if weights is not None:
        scores *= weights[:, None, None]
    return losses


def _flips(members: Members, part: slice, kind: Any) -> Array:
    flips = members.flips
    if flips is None:
        raise ValueError("members with a corrected loss need flip matrices.")
    return flips[part].astype(kind)


def _totals(values: Array, weights: Array | None) -> Array:
    if weights is not None:
        values = values * weights[:, None]
    return np.asarray(values.sum(axis=0, dtype=np.float64))


def dots(a: Array, b: Array) -> Array:
    """Return the inner products of points, one per member."""
    return np.asarray(np.einsum("pmk,pmk->m", a, b, dtype=np.float64))


def minimise(rows: Rows, members: Members, points: Array, steps: int) -> Array:
    """Return where so many steps of limited-memory BFGS lead, as many members at a time as fit.

    The recursion is that of `htsvm.solvers.lbfgs`, for all members side by side; steps of one are
    tried first, and cut where that gains nothing.
    """
    together = max(MOST_ENTRIES // max(points.shape[0] * points.shape[2], 1), 1)
    if together >= points.shape[1]:
        return _descend(Objective(rows, members), points, steps)
    out = points.copy()
    for first in range(0, points.shape[1], together):
        some = np.arange(first, min(first + together, points.shape[1]))
        out[:, some] = _descend(Objective(rows, members.some(some)), points[:, some], steps)
    return out


def _descend(objective: Objective, start: Array, steps: int) -> Array:
    """Go down from a start; members that gain nothing any more are left where they are."""
    points = start.astype(objective.kind)
    out = points.copy()
    value, gradient = objective.at(points)
    pairs: list[tuple[Array, Array, Array]] = []
    idle, active = np.zeros(len(value), dtype=int), np.arange(len(value))
    for _ in range(steps):
        direction, slope = _direction(objective, gradient, pairs)
        new, reached, pull = _step(objective, points, direction, value, slope, gradient)
        step, change = new - points, pull - gradient
        curvature = dots(step, change)
        sound = curvature > 1e-12 * dots(change, change) + 1e-30
        inverse = np.where(sound, 1.0 / np.where(sound, curvature, 1.0), 0.0)
        pairs = [*pairs, (step, change, inverse)][-MEMORY:]
        idle = np.where(value - reached <= GAIN * np.abs(value), idle + 1, 0)
        points, value, gradient = new, reached, pull
        if np.all(idle >= 2):
            break
        if np.mean(idle >= 2) > 0.25:
            out[:, active] = points
            keep = np.flatnonzero(idle < 2)
            active, idle = active[keep], idle[keep]
            points, value, gradient = points[:, keep], value[keep], gradient[:, keep]
            pairs = [(s[:, keep], c[:, keep], i[keep]) for s, c, i in pairs]
            objective = _narrowed(objective, keep)
    out[:, active] = points
    return out


def _narrowed(objective: Objective, keep: Array) -> Objective:
    """Return an objective of fewer members, without another pass over the rows."""
    other = object.__new__(Objective)
    other.rows, other.kind = objective.rows, objective.kind
    other.members = objective.members.some(keep)
    other.penalty = objective.penalty[keep]
    other.preconditioner = objective.preconditioner[:, keep]
    return other


def _direction(
    objective: Objective, gradient: Array, pairs: list[tuple[Array, Array, Array]]
) -> tuple[Array, Array]:
    """Return the directions of the two-loop recursion, and the slopes along them."""
    first = objective.preconditioner
    direction, shares = gradient.copy(), []
    for step, change, inverse in reversed(pairs):
        shares.append(inverse * dots(step, direction))
        direction -= _column(shares[-1], gradient) * change
    if pairs:
        _, change, inverse = pairs[-1]
        length = inverse * dots(change, first * change)
        direction *= _column(np.where(length > 0.0, 1.0 / np.maximum(length, 1e-30), 1.0), gradient)
    direction *= first
    for (step, change, inverse), share in zip(pairs, reversed(shares), strict=True):
        direction += _column(share - inverse * dots(change, direction), gradient) * step
    direction *= -1.0
    slope = dots(gradient, direction)
    rising = np.flatnonzero(~(slope < 0.0))
    if len(rising):
        direction[:, rising] = -(first[:, rising] * gradient[:, rising])
        slope = dots(gradient, direction)
    return direction, slope


def _step(
    objective: Objective,
    points: Array,
    direction: Array,
    value: Array,
    slope: Array,
    gradient: Array,
) -> tuple[Array, Array, Array]:
    """Return points, values and gradients after a step; a member that gains nothing stays."""
    new = points + direction
    reached, pull = objective.at(new)
    length = 1.0
    late = np.flatnonzero(~(reached <= value + DECREASE * slope))
    for _ in range(MOST_CUTS):
        if not len(late):
            break
        length *= CUT
        part = points[:, late] + objective.kind.type(length) * direction[:, late]
        reached[late], pull[:, late] = _narrowed(objective, late).at(part)
        new[:, late] = part
        late = late[~(reached[late] <= value[late] + DECREASE * length * slope[late])]
    new[:, late], reached[late], pull[:, late] = points[:, late], value[late], gradient[:, late]
    return new, reached, pull


def _column(values: Array, like: Array) -> Array:
    return values.astype(like.dtype)[None, :, None]


def started(rows: Rows, count: int, intercept: bool) -> Array:
    """Return points of zero weights whose intercepts say how frequent the classes are."""
    columns = rows.X.shape[1]
    points = np.zeros((columns, count, rows.scores), dtype=rows.X.dtype)
    mass = np.bincount(rows.codes, weights=rows.weights, minlength=rows.classes) + 1.0
    levels = np.log(mass / mass.sum())
    if intercept:
        points[-1] = levels[1] - levels[0] if rows.scores == 1 else levels
    return points
