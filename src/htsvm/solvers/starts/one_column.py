"""The lowest point of a binary problem with one column, by sorting.

For a fixed weight the objective is a sum of functions of the intercept that are concave but for a
kink where a violation is zero, so the best intercept puts a sample on its margin: q_i = 0, that is
b = y_i - w x_i. Along each of these lines the objective is a quadratic function of w between the
points where a sample reaches its margin, the knee or the cap. Sorted, they give all pieces at once,
and the lowest point of each is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.losses import HybridTruncated, Loss, Ramp
from htsvm.problems.binary import Problem

# As many samples are looked at: lines times pieces.
MOST_SAMPLES = 150
# The lowest points of so many lines are evaluated anew, without what sums have lost.
FINALISTS = 8


def suits(problem: Any) -> bool:
    """Return whether the problem has one column, few samples and a loss of known pieces."""
    return (
        isinstance(problem, Problem)
        and problem.n_features == 1
        and problem.n_samples <= MOST_SAMPLES
        and _pieces(problem.loss) is not None
        and problem.linear is None
    )


def lowest_point(problem: Problem) -> Array:
    """Return the (w, b) with the lowest objective, as an array of two numbers."""
    x, y, penalty = _samples(problem)
    if problem.fit_intercept:
        offsets = 1.0 - y[None, :] * y[:, None]
        slopes = -y[None, :] * (x[None, :] - x[:, None])
    else:
        offsets, slopes = np.ones((1, len(x))), -(y * x)[None, :]
    own = float(problem.regularizer.diagonal()[0])
    values, weights = _along_lines(problem.loss, offsets, slopes, penalty, own)
    first = np.argsort(values)[:FINALISTS]
    starts = [
        (float(weights[i]), float(y[i] - weights[i] * x[i]) if problem.fit_intercept else 0.0)
        for i in first
    ]
    reached = [problem.objective_at(np.array([w]), b) for w, b in starts]
    return np.array(starts[int(np.argmin(reached))])


def _samples(problem: Problem) -> tuple[Array, Array, Array]:
    """Return the column, the labels and the penalties of the samples that count."""
    signed = np.empty(problem.n_samples)
    problem.operator.signed_dot(problem.y, np.ones(1), 0.0, signed)
    counts = problem.penalty > 0.0
    y = problem.y[counts].astype(np.float64)
    return signed[counts] * y, y, problem.penalty[counts]


@dataclass(frozen=True)
class _Pieces:
    """A loss as pieces ``a + b q + c q²``, with `bounds` between them."""

    bounds: tuple[float, ...]
    terms: tuple[tuple[float, float, float], ...]


def _pieces(loss: Loss) -> _Pieces | None:
    """Return the pieces of a loss from left to right; None where they are not known."""
    if math.isinf(loss.cap):
        return None
    if isinstance(loss, Ramp):
        top = loss.ceiling
        return _Pieces((0.0, top), ((0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (top, 0.0, 0.0)))
    if isinstance(loss, HybridTruncated):
        cap, knee = loss.cap, loss.knee
        bend = 1.0 / (1.0 - knee**2)
        curved = (cap * (1.0 - bend), 2.0 * bend, -bend / cap)
        straight = (0.0, loss.slope, 0.0)
        return _Pieces((0.0, knee * cap, cap), ((0.0, 0.0, 0.0), straight, curved, (cap, 0.0, 0.0)))
    return None


def _along_lines(
    loss: Loss, offsets: Array, slopes: Array, penalty: Array, own: float
) -> tuple[Array, Array]:
    """Return the lowest objective along each line, and its weight.

    The violations along line i are ``offsets[i] + w * slopes[i]``.
    """
    pieces = _pieces(loss)
    assert pieces is not None
    bounds, terms = np.array(pieces.bounds), np.array(pieces.terms)
    k = len(slopes)
    moves = slopes != 0.0
    safe = np.where(moves, slopes, 1.0)
    at = (bounds[None, None, :] - offsets[:, :, None]) / safe[:, :, None]
    at = np.where(moves[:, :, None], at, np.inf).reshape(k, -1)
    # What the coefficients of 1, w, w² change by when w passes a bound upwards.
    change = np.diff(terms, axis=0)[None, None, :, :]
    change = change * (np.sign(slopes) * penalty)[:, :, None, None]
    change = _in_weights(change, offsets[:, :, None], slopes[:, :, None])
    # Far to the left a sample is on the flat piece or on the safe one; one that stays, where it is.
    still = np.searchsorted(bounds, offsets, side="left")
    begin = np.where(moves, np.where(slopes > 0.0, 0, len(bounds)), still)
    base = _in_weights(terms[begin] * penalty[None, :, None], offsets, slopes).sum(axis=1)
    base[:, 2] += 0.5 * own
    order = np.argsort(at, axis=1)
    at = np.take_along_axis(at, order, axis=1)
    change = np.take_along_axis(change.reshape(k, -1, 3), order[:, :, None], axis=1)
    change[~np.isfinite(at)] = 0.0
    coefficients = np.concatenate([base[:, None, :], base[:, None, :] + change.cumsum(axis=1)], 1)
    return _lowest(at, coefficients)


def _in_weights(terms: Array, offsets: Array, slopes: Array) -> Array:
    """Return ``a + b q + c q²`` with ``q = offset + w slope`` as coefficients of 1, w, w²."""
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
