"""Many logistic fits on the same rows at once: one product with the data serves all of them.

Points are arrays (n_columns, n_members, n_scores), the intercept in the last row, so that the
scores of all members are one product of matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from htsvm._typing import Array
from htsvm.losses.cross_entropy import Entropy, pulled

# Pairs of steps and changes of the gradient, and the most entries of one of these arrays.
MEMORY, MOST_ENTRIES = 8, 1 << 22
# Values looked at together, 4 MB in single precision.
BLOCK_VALUES = 1 << 20
# A step must gain this share of what the slope promises; what is too long is cut to a quarter.
DECREASE, CUT, MOST_CUTS = 1e-4, 0.25, 6
# A member is done when two steps have gained less than this share, about what float32 can tell.
GAIN = 2e-6

# Steps, changes of the gradient along them, and one over their products.
Pairs = list[tuple[Array, Array, Array]]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows inside their columns, the codes of their labels, and their weights, if they differ."""

    X: Any
    codes: Array
    weights: Array | None
    classes: int

    @property
    def scores(self) -> int:
        """The scores of a row: one for two classes."""
        return 1 if self.classes == 2 else self.classes

    def blocks(self, members: int) -> Iterator[tuple[Any, Array, Array | None]]:
        """Return the rows in blocks whose scores, of so many members, fit into a cache."""
        step, count = max(BLOCK_VALUES // (members * self.classes), 64), len(self.codes)
        for first in range(0, count, step):
            part = slice(first, min(first + step, count))
            X = self.X if step >= count else self.X[part]
            yield X, self.codes[part], None if self.weights is None else self.weights[part]

    def squares(self) -> Array:
        """Return the weighted sum of the squares of each column."""
        X, weights = self.X, self.weights
        mass = np.ones(len(self.codes), dtype=X.dtype) if weights is None else weights
        total = mass @ X.multiply(X) if sp.issparse(X) else np.einsum("i,ij,ij->j", mass, X, X)
        return np.asarray(total, dtype=np.float64)

    def started(self, count: int, intercept: bool) -> Array:
        """Return points of zero weights whose intercepts say how frequent the classes are."""
        points = np.zeros((self.X.shape[1], count, self.scores), dtype=self.X.dtype)
        if intercept:
            points[-1] = levels(self.codes, self.weights, self.classes, 1.0)
        return points


def levels(codes: Array, weights: Array | None, classes: int, more: float) -> Array:
    """Return the scores of a constant model, from the frequencies of the classes and so much more.

    They are one number for two classes.
    """
    mass = np.bincount(codes, weights=weights, minlength=classes) + more
    found = np.log(np.maximum(mass / mass.sum(), 1e-12))
    return np.asarray(found[1:] - found[:1] if classes == 2 else found)


class Batch:
    """Fits on some rows, side by side: their values and gradients.

    Parameters
    ----------
    rows : Rows
        The data.
    loss : TruncatedEntropy or CorrectedEntropy
        One for all members, or with a cap or a flip matrix for each.
    penalty : ndarray of shape (n_members,)
        The factors of the losses.
    ridge : ndarray of shape (n_columns, n_members)
        The regulariser is half the sum of ridge times squares; zero for intercepts, and inf for
        columns that are left as they start.
    """

    def __init__(self, rows: Rows, loss: Entropy, penalty: Array, ridge: Array) -> None:
        self.rows, self.loss, self.kind = rows, loss, rows.X.dtype
        self.ridge = np.where(np.isinf(ridge), 0.0, ridge).astype(self.kind)[:, :, None]
        self.penalty = penalty / loss.information
        # An upper bound of the diagonal of the Hessian of the cross-entropy near W = 0.
        curved = (rows.classes - 1) / rows.classes**2 * penalty
        diagonal = ridge + curved * rows.squares()[:, None]
        self.first = (1.0 / np.maximum(diagonal, 1e-30)).astype(self.kind)[:, :, None]

    def some(self, which: Array) -> Self:
        """Return some of the members, given by their numbers."""
        other = copy(self)
        other.loss, other.penalty = self.loss.some(which), self.penalty[which]
        other.ridge, other.first = self.ridge[:, which], self.first[:, which]
        return other

    def at(self, points: Array) -> tuple[Array, Array]:
        """Return values (n_members,) and gradients of points."""
        count, gradient = len(self.penalty), np.zeros_like(points)
        losses, flat = np.zeros(count), points.reshape(len(points), -1)
        for X, codes, weights in self.rows.blocks(count):
            scores = np.asarray(X @ flat).reshape(len(codes), count, -1)
            losses += pulled(scores, codes, weights, self.loss)
            gradient += np.asarray(X.T @ scores.reshape(len(codes), -1)).reshape(points.shape)
        own = self.ridge * points
        gradient *= _column(self.penalty, gradient)
        gradient += own
        return self.penalty * losses + 0.5 * dots(own, points), gradient

    def minimised(self, points: Array, steps: int) -> Array:
        """Return where so many steps of limited-memory BFGS lead, as many members as fit at a time.

        The recursion is that of `htsvm.solvers.lbfgs`, for all members side by side; steps of one
        are tried first, and cut where that gains nothing.
        """
        together = max(MOST_ENTRIES // max(points.shape[0] * points.shape[2], 1), 1)
        everyone = np.arange(points.shape[1])
        parts = [everyone[k : k + together] for k in range(0, len(everyone), together)]
        if len(parts) <= 1:
            return _descend(self, points, steps)
        ends = [_descend(self.some(part), points[:, part], steps) for part in parts]
        return np.concatenate(ends, axis=1)


def dots(a: Array, b: Array) -> Array:
    """Return the inner products of points, one per member."""
    return np.asarray(np.einsum("pmk,pmk->m", a, b, dtype=np.float64))


def _column(values: Array, like: Array) -> Array:
    return values.astype(like.dtype)[None, :, None]


def _descend(batch: Batch, start: Array, steps: int) -> Array:
    """Go down from a start; members that gain nothing any more are left where they are."""
    points = start.astype(batch.kind)
    out = points.copy()
    value, gradient = batch.at(points)
    pairs: Pairs = []
    idle, active = np.zeros(len(value), dtype=int), np.arange(len(value))
    for _ in range(steps):
        direction, slope = _direction(batch, gradient, pairs)
        new, reached, pull = _step(batch, points, direction, value, slope, gradient)
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
            active, idle, batch = active[keep], idle[keep], batch.some(keep)
            points, value, gradient = points[:, keep], value[keep], gradient[:, keep]
            pairs = [(s[:, keep], c[:, keep], i[keep]) for s, c, i in pairs]
    out[:, active] = points
    return out


def _direction(batch: Batch, gradient: Array, pairs: Pairs) -> tuple[Array, Array]:
    """Return the directions of the two-loop recursion, and the slopes along them."""
    first, direction, shares = batch.first, gradient.copy(), []
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
    batch: Batch, points: Array, direction: Array, value: Array, slope: Array, gradient: Array
) -> tuple[Array, Array, Array]:
    """Return points, values and gradients after a step; a member that gains nothing stays."""
    new = points + direction
    reached, pull = batch.at(new)
    length = 1.0
    late = np.flatnonzero(~(reached <= value + DECREASE * slope))
    for _ in range(MOST_CUTS):
        if not len(late):
            break
        length *= CUT
        part = points[:, late] + batch.kind.type(length) * direction[:, late]
        reached[late], pull[:, late] = batch.some(late).at(part)
        new[:, late] = part
        late = late[~(reached[late] <= value[late] + DECREASE * length * slope[late])]
    new[:, late], reached[late], pull[:, late] = points[:, late], value[late], gradient[:, late]
    return new, reached, pull
