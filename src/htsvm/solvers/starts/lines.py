"""The lowest point of a binary problem along lines, by sorting.

For fixed weights the objective is a sum of functions of the intercept that are concave but for a
kink where a violation is zero, so the best intercept puts a sample on its margin: q_i = 0, that is
b = y_i - x_i'w. Along each of these lines, w = p + t d, the objective is a quadratic function of t
between the points where a sample reaches its margin, the knee or the cap. Sorted, they give all
pieces at once, and the lowest point of each is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.operators import dense, double
from htsvm.losses import HybridTruncated, Loss, Ramp
from htsvm.problems.binary import Problem

# Lines are tried with so many samples on the margin in turn: all, or some between the extremes.
MOST_KINKS = 150
# The lowest points of so many lines are evaluated anew, without what sums have lost; so many of
# them may have the same direction.
FINALISTS, PER_DIRECTION = 16, 8
# Lines times pieces that are looked at together, and so bound the memory.
TOGETHER = 100_000


def suits(problem: Any) -> bool:
    """Return whether it is a problem of two classes, in this process, of a loss of known pieces."""
    return (
        isinstance(problem, Problem)
        and problem.rows is None
        and problem.n_features > 0
        and pieces_of(problem.loss) is not None
        and problem.linear is None
    )


class Lines:
    """Lines through the points of a problem of little data.

    Samples that are copies of each other count as one, and their order plays no part.

    Parameters
    ----------
    problem : Problem
        A problem that `suits`.

    Attributes
    ----------
    X, y, penalty : ndarray
        The samples that count, without copies.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        counts = problem.penalty > 0.0
        X = dense(double(problem.operator.block(slice(None))))[counts]
        table = np.column_stack([problem.y[counts], X])
        table, groups = np.unique(table, axis=0, return_inverse=True)
        self.y, self.X = table[:, 0], np.ascontiguousarray(table[:, 1:])
        self.penalty: Array = np.bincount(groups.ravel(), weights=problem.penalty[counts])

    @property
    def work(self) -> int:
        """The work that one direction takes: lines times pieces."""
        m = len(self.y)
        return 3 * m * (min(m, MOST_KINKS) + 1)

    def lowest(self, points: Array, directions: Array) -> tuple[Array, Array]:
        """Return the lowest points on lines, with any intercept, and the objectives there.

        Parameters
        ----------
        points, directions : ndarray of shape (k, n + 1)
            Weights and intercepts of a point on each line and of its direction. Beside the line
            itself, all others with the same weights are looked at.

        Returns
        -------
        found : ndarray of shape (f, n + 1)
            The lowest points of the best lines, from the lowest on.
        values : ndarray of shape (f,)
            The objectives there.
        """
        step = max(1, TOGETHER // max(self.work, 1))
        parts = [
            self._lowest(points[i : i + step], directions[i : i + step])
            for i in range(0, len(points), step)
        ]
        found = np.concatenate([part[0] for part in parts])
        guessed = np.concatenate([part[1] for part in parts])
        found = found[np.argsort(guessed, kind="stable")[:FINALISTS]]
        p = self.problem
        values = np.array([p.objective_at(np.ascontiguousarray(z[:-1]), z[-1]) for z in found])
        values[np.isnan(values)] = np.inf
        order = np.argsort(values, kind="stable")
        return found[order], values[order]

    def _lowest(self, points: Array, directions: Array) -> tuple[Array, Array]:
        """Return the lowest points with each direction, and their objectives up to rounding."""
        y, k = self.y, len(points)
        at, by = points[:, :-1] @ self.X.T, directions[:, :-1] @ self.X.T
        own = (y * (at + points[:, -1:]), y * (by + directions[:, -1:]))
        offsets, slopes = [(1.0 - own[0])[:, None]], [-own[1][:, None]]
        kinks = self._kinks(by) if self.problem.fit_intercept else np.zeros((k, 0), dtype=np.intp)
        shift = y[kinks] - np.take_along_axis(at, kinks, axis=1)
        turn = -np.take_along_axis(by, kinks, axis=1)
        offsets.append(1.0 - y * (at[:, None, :] + shift[:, :, None]))
        slopes.append(-y * (by[:, None, :] + turn[:, :, None]))
        lines = 1 + kinks.shape[1]
        R = self.problem.regularizer
        energy = np.array(
            [
                (R.energy(p), float(p @ R.dot(d)), R.energy(d))
                for p, d in zip(points[:, :-1], directions[:, :-1], strict=True)
            ]
        )
        shape = (k * lines, len(y))
        values, steps = along_lines(
            self.problem.loss,
            np.concatenate(offsets, axis=1).reshape(shape),
            np.concatenate(slopes, axis=1).reshape(shape),
            self.penalty,
            np.repeat(energy, lines, axis=0),
        )
        values, steps = values.reshape(k, lines), steps.reshape(k, lines)
        best = np.argsort(values, axis=1, kind="stable")[:, :PER_DIRECTION]
        rows = np.repeat(np.arange(k), best.shape[1])
        best = best.ravel()
        t = steps[rows, best]
        found = points[rows] + t[:, None] * directions[rows]
        kinked = best > 0
        first, line = rows[kinked], best[kinked] - 1
        found[kinked, -1] = shift[first, line] + t[kinked] * turn[first, line]
        return found, values[rows, best]

    def _kinks(self, by: Array) -> Array:
        """Return for each direction the samples that are put on the margin in turn."""
        m = len(self.y)
        if m <= MOST_KINKS:
            return np.broadcast_to(np.arange(m), (len(by), m))
        ranks = np.linspace(0, m - 1, MOST_KINKS).astype(np.intp)
        kinks: Array = np.argsort(by, axis=1, kind="stable")[:, ranks]
        return kinks


@dataclass(frozen=True)
class Pieces:
    """A loss as pieces ``a + b q + c q²``, with `bounds` between them."""

    bounds: tuple[float, ...]
    terms: tuple[tuple[float, float, float], ...]


def pieces_of(loss: Loss) -> Pieces | None:
    """Return the pieces of a loss from left to right; None where they are not known."""
    if math.isinf(loss.cap):
        return None
    if isinstance(loss, Ramp):
        top = loss.ceiling
        return Pieces((0.0, top), ((0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (top, 0.0, 0.0)))
    if isinstance(loss, HybridTruncated):
        cap, knee = loss.cap, loss.knee
        bend = 1.0 / (1.0 - knee**2)
        curved = (cap * (1.0 - bend), 2.0 * bend, -bend / cap)
        straight = (0.0, loss.slope, 0.0)
        return Pieces((0.0, knee * cap, cap), ((0.0, 0.0, 0.0), straight, curved, (cap, 0.0, 0.0)))
    return None


def along_lines(
    loss: Loss, offsets: Array, slopes: Array, penalty: Array, energy: Array
) -> tuple[Array, Array]:
    """Return the lowest objective along each line, and how far along it that is.

    Parameters
    ----------
    loss : Loss
        A loss of known pieces.
    offsets, slopes : ndarray of shape (k, m)
        The violations along line i are ``offsets[i] + t * slopes[i]``.
    penalty : ndarray of shape (m,)
        The penalties of the samples.
    energy : ndarray of shape (k, 3)
        The regulariser along each line, as coefficients of 1, t and t².
    """
    pieces = pieces_of(loss)
    assert pieces is not None
    bounds, terms = np.array(pieces.bounds), np.array(pieces.terms)
    k = len(slopes)
    moves = slopes != 0.0
    safe = np.where(moves, slopes, 1.0)
    at = (bounds[None, None, :] - offsets[:, :, None]) / safe[:, :, None]
    at = np.where(moves[:, :, None], at, np.inf).reshape(k, -1)
    # What the coefficients of 1, t, t² change by when t passes a bound upwards.
    change = np.diff(terms, axis=0)[None, None, :, :]
    change = change * (np.sign(slopes) * penalty)[:, :, None, None]
    change = _in_steps(change, offsets[:, :, None], slopes[:, :, None])
    # Far to the left a sample is on the flat piece or on the safe one; one that stays, where it is.
    still = np.searchsorted(bounds, offsets, side="left")
    begin = np.where(moves, np.where(slopes > 0.0, 0, len(bounds)), still)
    base = _in_steps(terms[begin] * penalty[None, :, None], offsets, slopes).sum(axis=1)
    base += energy
    order = np.argsort(at, axis=1)
    at = np.take_along_axis(at, order, axis=1)
    change = np.take_along_axis(change.reshape(k, -1, 3), order[:, :, None], axis=1)
    change[~np.isfinite(at)] = 0.0
    coefficients = np.concatenate([base[:, None, :], base[:, None, :] + change.cumsum(axis=1)], 1)
    return _lowest(at, coefficients)


def _in_steps(terms: Array, offsets: Array, slopes: Array) -> Array:
    """Return ``a + b q + c q²`` with ``q = offset + t slope`` as coefficients of 1, t, t²."""
    a, b, c = terms[..., 0], terms[..., 1], terms[..., 2]
    return np.stack(
        [a + b * offsets + c * offsets**2, (b + 2.0 * c * offsets) * slopes, c * slopes**2],
        axis=-1,
    )


def _lowest(at: Array, coefficients: Array) -> tuple[Array, Array]:
    """Return the lowest value of each row of pieces that end at `at`, and where it is."""
    k = len(at)
    left = np.concatenate([np.full((k, 1), -np.inf), at], axis=1)
    right = np.concatenate([at, np.full((k, 1), np.inf)], axis=1)
    constant, linear, square = (coefficients[:, :, i] for i in range(3))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        inner = np.clip(np.where(square > 0.0, -linear / (2.0 * square), left), left, right)
        best_values, best_weights = np.full(k, np.inf), np.zeros(k)
        for w in (inner, left, right):
            values = constant + w * (linear + w * square)
            values[~np.isfinite(w) | ~np.isfinite(values)] = np.inf
            where = values.argmin(axis=1)
            lowest = values[np.arange(k), where]
            better = lowest < best_values
            best_values = np.where(better, lowest, best_values)
            best_weights = np.where(better, w[np.arange(k), where], best_weights)
    return best_values, best_weights
