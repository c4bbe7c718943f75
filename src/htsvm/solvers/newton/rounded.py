"""A truncated loss with a rounded kink, and Newton's method for it.

The reference of `_valley.pyx`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.positive import Cholesky, cholesky_factor
from htsvm.losses import Loss
from htsvm.optimality.residuals import balance, of_gradient
from htsvm.problems.binary import Problem

# How a run of steps ended.
FINISHED, SETTLED, MOVED, OUT_OF_STEPS, NO_DESCENT = range(5)
# Shares of the negative curvature that are tried until a system is positive definite.
SHARES = (1.0, 0.75, 0.4, 0.0)
# Trials of a line search; the share of the first slope that a step must gain, and to which the
# slope must fall.
MOST_TRIALS, DECREASE, CURVATURE = 12, 1e-4, 0.3

# (top, knee, cap, width) of a rounded loss.
Shape = tuple[float, float, float, float]


def shape_of(loss: Loss, width: float) -> Shape:
    """Return the shape of a loss whose kink is rounded over the given width, or what fits in."""
    line = loss.slope_line
    assert line is not None
    top, start, fall = line
    if fall == 0.0:
        return top, math.inf, math.inf, width
    knee = (start - top) / fall
    return top, knee, start / fall, min(width, 0.5 * knee)


def value_and_slope(shape: Shape, q: Array) -> tuple[Array, Array]:
    """Return the values and the derivatives of a rounded loss."""
    top, knee, cap, width = shape
    share = np.clip((0.5 / width) * (q + width), 0.0, 1.0)
    h = np.where(q > width, q, 0.5 * (q + width) * share)
    bend = top / (cap - knee) if cap < math.inf else 0.0
    bent = np.maximum(np.minimum(h, cap) - knee, 0.0)
    value: Array = top * np.minimum(h, knee) + (top - 0.5 * bend * bent) * bent
    slope: Array = np.where(h < cap, share * (top - bend * bent), 0.0)
    return value, slope


@dataclass
class RoundedSteps:
    """Newton's method for a rounded loss on some rows: the reference of `_valley.pyx`.

    Attributes
    ----------
    problem : Problem
        The rows.
    q : ndarray
        Their violations, which follow the point.
    w, b : ndarray, float
        The point.
    """

    problem: Problem
    q: Array
    w: Array
    b: float
    value: float = math.nan
    moved: float = 0.0
    stationarity: float = math.inf
    balance: float = math.inf
    steps: int = 0

    def run(
        self, shape: Shape, *, base: float, tol: float, gain: float, reach: float, max_steps: int
    ) -> int:
        """Take steps until the gradient residuals are below `tol`; return how it ended.

        Ends as well where a step lowers the value, which includes the constant `base`, by a share
        of less than `gain`; and where the violations may have changed by `reach`, which no step
        exceeds.
        """
        self.steps, self.moved, before = 0, 0.0, math.inf
        problem = self.problem
        while True:
            values, slope = value_and_slope(shape, self.q)
            self.value = base + problem.energy(self.w) + float(problem.penalty @ values)
            gradient = self._gradient(problem.penalty * slope)
            if max(self.stationarity, self.balance) <= tol:
                return FINISHED
            if before - self.value <= gain * abs(self.value):
                return SETTLED
            if self.moved > 0.9 * reach:
                return MOVED
            if self.steps >= max_steps:
                return OUT_OF_STEPS
            before = self.value
            direction = self._direction(shape, gradient)
            if direction is None or not float(gradient @ direction) < 0.0:
                return NO_DESCENT
            if not self._step(shape, base, direction, float(gradient @ direction), reach):
                return NO_DESCENT
            self.steps += 1

    def _gradient(self, multipliers: Array) -> Array:
        problem = self.problem
        pull, total = problem.operator.signed_tdot(problem.y, multipliers)
        own = problem.regularizer.dot(self.w)
        gross = float(multipliers.sum())
        self.stationarity = of_gradient(
            own, pull, gross * problem.operator.row_length, problem.regularizer
        )
        total = total if problem.fit_intercept else 0.0
        self.balance = balance(total, gross)
        return np.append(own - pull, -total)

    def _direction(self, shape: Shape, gradient: Array) -> Array | None:
        """Return the direction, with as much of the negative curvature as the system bears."""
        top, knee, cap, width = shape
        rounded = self._gram(np.abs(self.q) < width)
        falling = self._gram((self.q > knee) & (self.q < cap))
        fall = top / (cap - knee) if cap < math.inf else 0.0
        order = len(gradient) if self.problem.fit_intercept else len(gradient) - 1
        for share in SHARES:
            H = 0.5 * top / width * rounded - share * fall * falling
            self.problem.regularizer.add_to(H)
            if self.problem.fit_intercept:
                mass = H[-1, -1] or 1e10 * (abs(float(gradient[-1])) or 1.0)
                H[-1, -1] += 1e-10 * mass
            if cholesky_factor(H[:order, :order]) is not None:
                found = Cholesky(H[:order, :order]).solve(-gradient[:order])
                return np.append(found, np.zeros(len(gradient) - order))
        return None

    def _gram(self, inside: Array) -> Array:
        n = self.problem.n_features
        out = np.zeros((n + 1, n + 1))
        rows = np.flatnonzero(inside & (self.problem.penalty > 0.0))
        self.problem.operator.add_gram(rows, 1.0, out, self.problem.penalty[rows])
        return np.tril(out) + np.tril(out, -1).T

    def _step(
        self, shape: Shape, base: float, direction: Array, slope: float, reach: float
    ) -> bool:
        """Move along the direction to where the slope has fallen; False if nothing is gained."""
        problem = self.problem
        dw, db = np.ascontiguousarray(direction[:-1]), float(direction[-1])
        dq = np.empty_like(self.q)
        problem.operator.signed_dot(problem.y, dw, db, dq)
        np.negative(dq, out=dq)
        pace = 3.0 * math.sqrt(float(dq @ dq) / len(dq))
        farthest = (reach - self.moved) / max(pace, 1e-300)
        t, low, high, slope_low, slope_high = min(1.0, farthest), 0.0, math.inf, slope, 0.0
        best, lowest = 0.0, self.value
        for _ in range(MOST_TRIALS):
            values, slopes = value_and_slope(shape, self.q + t * dq)
            w = self.w + t * dw
            value = base + problem.energy(w) + float(problem.penalty @ values)
            along = float(dw @ problem.regularizer.dot(w)) + float((problem.penalty * slopes) @ dq)
            if value < lowest:
                lowest, best = value, t
            if value > self.value + DECREASE * t * slope or along > CURVATURE * abs(slope):
                high, slope_high = t, along
            elif along < CURVATURE * slope and t < farthest:
                low, slope_low = t, along
            else:
                best = t
                break
            if math.isinf(high):
                t = min(3.0 * t, farthest)
                continue
            t = 0.5 * (low + high)
            if slope_high > 0.0 > slope_low:
                margin = 0.1 * (high - low)
                t = low - slope_low * (high - low) / (slope_high - slope_low)
                t = min(max(t, low + margin), high - margin)
        self.w += best * dw
        self.b += best * db
        self.q += best * dq
        self.moved += best * pace
        return best > 0.0
