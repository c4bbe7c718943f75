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

# So many samples are put on the margin in turn, unless told otherwise.
MOST_KINKS = 150
# As many samples are looked at; more, if they are copies of so few.
MOST_SAMPLES, MOST_COPIES = MOST_KINKS, 3000
# The lowest points of so many lines are evaluated anew, without what sums have lost; so many of
# them may have the same direction.
FINALISTS, PER_DIRECTION = 16, 8
# Lines times pieces that are looked at together, and so bound the memory.
TOGETHER = 20_000


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
    most_kinks : int
        Lines are tried with so many samples on the margin in turn: all, or some between the
        extremes.

    Attributes
    ----------
    X, y, penalty : ndarray
        The samples that count, without copies.
    """

    def __init__(self, problem: Problem, most_kinks: int = MOST_KINKS) -> None:
        self.problem, self.most_kinks = problem, most_kinks
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
        return 3 * m * (min(m, self.most_kinks) + 1)

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
        if m <= self.most_kinks:
            return np.broadcast_to(np.arange(m), (len(by), m))
        ranks = np.linspace(0, m - 1, self.most_kinks).astype(np.intp)
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
    moves = slopes != 0.0
    inverse = 1.0 / np.where(moves, slopes, np.inf)
    at = np.concatenate(
        [np.where(moves, (bound - offsets) * inverse, np.inf) for bound in bounds], axis=1
    )
    # What the coefficients of 1, t, t² change by when t passes a bound upwards.
    signed = np.copysign(penalty, slopes) * moves
    jumps = [_in_steps(change, offsets, slopes, signed) for change in np.diff(terms, axis=0)]
    # Far to the left a sample is on the flat piece or on the safe one; one that stays, where it is.
    still = np.searchsorted(bounds, offsets, side="left")
    begin = terms[np.where(moves, np.where(slopes > 0.0, 0, len(bounds)), still)]
    first = _in_steps(np.moveaxis(begin, -1, 0), offsets, slopes, penalty)
    order = np.argsort(at, axis=1)
    order += (np.arange(len(at)) * at.shape[1])[:, None]
    coefficients = []
    for i in range(3):
        column = np.empty((len(at), at.shape[1] + 1))
        column[:, 0] = first[i].sum(axis=1) + energy[:, i]
        column[:, 1:] = np.concatenate([jump[i] for jump in jumps], axis=1).ravel()[order]
        coefficients.append(np.cumsum(column, axis=1, out=column))
    return _lowest(at.ravel()[order], coefficients)


def _in_steps(term: Array, offsets: Array, slopes: Array, factor: Array) -> list[Array]:
    """Return ``a + b q + c q²`` with ``q = offset + t slope``, as coefficients of 1, t, t²."""
    a, b, c = term
    steep = factor * slopes
    return [
        factor * (a + offsets * (b + c * offsets)),
        steep * (b + 2.0 * c * offsets),
        steep * c * slopes,
    ]


def _lowest(at: Array, coefficients: list[Array]) -> tuple[Array, Array]:
    """Return the lowest value of each row of pieces that end at `at`, and where it is."""
    k = len(at)
    rows = np.arange(k)
    constant, linear, square = coefficients
    edge = np.full((k, 1), np.inf)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # A lowest point within a piece, and all points between two pieces.
        inner = np.where(square > 0.0, -0.5 * linear / square, np.nan)
        outside = (inner < np.concatenate([-edge, at], 1)) | (inner > np.concatenate([at, edge], 1))
        inner[outside] = np.nan
        best_values, best_steps = np.full(k, np.inf), np.zeros(k)
        for t, piece in ((inner, slice(None)), (at, slice(-1))):
            values = constant[:, piece] + t * (linear[:, piece] + t * square[:, piece])
            values[~np.isfinite(values)] = np.inf
            where = values.argmin(axis=1)
            lowest = values[rows, where]
            better = lowest < best_values
            best_values = np.where(better, lowest, best_values)
            best_steps = np.where(better, t[rows, where], best_steps)
    return best_values, best_steps


def is_one_column(problem: Any) -> bool:
    """Return whether the problem has one column, few samples and a loss of known pieces."""
    return (
        suits(problem)
        and problem.n_features == 1
        and problem.n_samples <= MOST_COPIES
        and _distinct(problem) <= MOST_SAMPLES
    )


def lowest_point(problem: Problem) -> Array:
    """Return the (w, b) with the lowest objective, as an array of two numbers."""
    found, _ = Lines(problem).lowest(np.zeros((1, 2)), np.array([[1.0, 0.0]]))
    lowest: Array = found[0]
    return lowest


def _distinct(problem: Problem) -> int:
    """Return the number of samples that count and are no copies of others."""
    signed = np.empty(problem.n_samples)
    problem.operator.signed_dot(problem.y, np.ones(1), 0.0, signed)
    counts = problem.penalty > 0.0
    return sum(len(np.unique(signed[counts & (problem.y == side)])) for side in (-1, 1))
