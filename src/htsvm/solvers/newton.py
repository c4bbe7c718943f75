"""Newton's method for the regulariser plus a smooth loss.

The reference of `_steps.pyx`, which does the same in one call; and what is used without a compiler,
and for rows of many columns, where systems are solved by conjugate gradients.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.positive import Cholesky, cholesky_factor
from htsvm.losses.rounded import Sigmoid, Stage
from htsvm.optimality.residuals import balance, of_gradient
from htsvm.problems.binary import Problem
from htsvm.solvers.system import FORMED, by_products, gram

# Shares of the negative curvature, and ridges as a share of the diagonal, that are tried in turn
# until a system is positive definite.
SHARES, RIDGES = (1.0, 0.75, 0.4), (0.0, 1e-10, 1e-6, 1e-2)
# Strong Wolfe conditions: a step gains the first share of what the slope promises, and the slope
# falls to the second (Nocedal and Wright, 2006, section 3.1).
MOST_TRIALS, DECREASE, CURVATURE = 30, 1e-4, 0.3
# Values that differ by less than this share are the same: then the slope alone decides.
LOST = 1e-13
# Conjugate gradients: by how much they reduce the residual, and their most steps.
CG_TOLERANCE, CG_STEPS = 0.1, 250


class NewtonSteps:
    """Newton's method for a smooth loss on some rows.

    Attributes
    ----------
    value : float
        The function at the end of the last run.
    stationarity, balance : float
        The residuals of its gradient, as in `htsvm.optimality.residuals`.
    steps : int
        The steps of the last run.
    moved : float
        About how far the violations went in it.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.weigh(problem.penalty)
        self.value, self.moved, self.steps, self.passes = math.nan, 0.0, 0, 0.0
        self.stationarity = self.balance = math.inf

    def weigh(self, penalty: Array) -> None:
        """Give the samples other penalties."""
        self.penalty = penalty

    def violations(self) -> Array:
        """Return the violations at the point where the last run ended."""
        return self.q

    def run(
        self,
        z: Array,
        stage: Stage,
        *,
        q: Array | None = None,
        shift: Array | None = None,
        base: float = 0.0,
        linear: Array | None = None,
        rest: float = 0.0,
        tol: float,
        gain: float,
        reach: float,
        most: int,
        bending: bool,
    ) -> bool:
        """Take steps from z, which is changed; return whether it ended for moving by `reach`.

        Parameters
        ----------
        z : ndarray of shape (n + 1,)
            The point (w, b).
        stage : Rounded or Sigmoid
            The smooth loss.
        q : ndarray, optional
            The violations at z, if they are known.
        shift : ndarray, optional
            Shifts of the kink.
        base, linear, rest : float, ndarray, float
            What other rows add to the value and to the gradient, and the sum of their slopes.
        tol, gain : float
            Ends when the gradient residuals are below `tol`, or where a step lowers the value by a
            share of less than `gain`.
        reach : float
            Ends when the violations may have changed by this, which no step exceeds.
        most : int
            The most steps.
        bending : bool
            Whether negative curvature counts.
        """
        self.stage, self.shift, self.base, self.rest = stage, shift, base, rest
        self.linear = np.zeros(len(z)) if linear is None else linear
        self.bending = bending and not isinstance(stage, Sigmoid)
        self.q = self.problem.violations(np.ascontiguousarray(z[:-1]), z[-1]) if q is None else q
        self.steps, self.moved, before = 0, 0.0, math.inf
        while True:
            gradient = self._differentiate(z)
            if max(self.stationarity, self.balance) <= tol:
                return False
            if before - self.value <= gain * abs(self.value):
                return False
            if self.moved > 0.9 * reach:
                return True
            if self.steps >= most:
                return False
            before = self.value
            direction = self._direction(gradient)
            if direction is None or not float(gradient @ direction) < 0.0:
                return False
            if not self._move(z, direction, float(gradient @ direction), reach):
                return False
            self.steps += 1

    def _differentiate(self, z: Array) -> Array:
        """Return the gradient; set value and residuals."""
        problem, w = self.problem, z[:-1]
        values, slopes = self.stage.value_slope(self.q, self.shift)
        slopes *= self.penalty
        pull, total = problem.operator.signed_tdot(problem.y, slopes)
        own, gross = problem.regularizer.dot(w), float(np.abs(slopes).sum()) + self.rest
        energy = 0.5 * float(own @ w)
        self.value = energy + self.base + float(self.linear @ z) + float(self.penalty @ values)
        pull = pull - self.linear[:-1]
        self.stationarity = of_gradient(
            own, pull, gross * problem.operator.row_length, problem.regularizer
        )
        total = total - float(self.linear[-1]) if problem.fit_intercept else 0.0
        self.balance = balance(total, gross)
        return np.append(own - pull, -total)

    def _direction(self, gradient: Array) -> Array | None:
        """Return the direction, with as much of the negative curvature as the system bears."""
        up, down = self.stage.curvature(self.q, self.shift)
        up, down = self.penalty * up, self.penalty * down
        if self.problem.n_features > FORMED:
            return self._conjugate_direction(gradient, up, down)
        order = len(gradient) if self.problem.fit_intercept else len(gradient) - 1
        rising = gram(self.problem, up)
        tries = [(0.0, ridge) for ridge in RIDGES]
        if self.bending and np.any(down):
            falling = gram(self.problem, down)
            tries = [(share, 0.0) for share in SHARES] + tries
        for share, ridge in tries:
            H = rising - share * falling if share else rising.copy()
            self.problem.regularizer.add_to(H)
            # Where neither R nor a sample curves, a share of the mean diagonal does.
            own = np.diagonal(H)[:-1]
            H[np.diag_indices(len(own))] += ridge * (own + float(own.mean() if len(own) else 0.0))
            if self.problem.fit_intercept:
                mass = H[-1, -1] or 1e10 * (abs(float(gradient[-1])) or 1.0)
                H[-1, -1] += 1e-10 * mass
            if cholesky_factor(H[:order, :order]) is not None:
                found = Cholesky(H[:order, :order]).solve(-gradient[:order])
                return np.append(found, np.zeros(len(gradient) - order))
        return None

    def _conjugate_direction(self, gradient: Array, up: Array, down: Array) -> Array:
        """Return the direction by conjugate gradients, which end at negative curvature."""
        weights = up - down if self.bending else up
        found, steps = by_products(
            self.problem, weights, -gradient, with_intercept=self.problem.fit_intercept,
            tolerance=CG_TOLERANCE, most_steps=CG_STEPS,
        )  # fmt: skip
        self.passes += 2.0 * steps * np.count_nonzero(weights) / len(self.q)
        return found

    def _move(self, z: Array, direction: Array, slope: float, reach: float) -> bool:
        """Move along the direction to where the slope has fallen; False if nothing is gained."""
        problem = self.problem
        dw, db = np.ascontiguousarray(direction[:-1]), float(direction[-1])
        dq = np.empty_like(self.q)
        problem.operator.signed_dot(problem.y, dw, db, dq)
        np.negative(dq, out=dq)
        mass = float(self.penalty.sum()) or 1.0
        pace = 3.0 * math.sqrt(float(self.penalty @ np.square(dq)) / mass)
        own = problem.regularizer.dot(dw)
        linear = float(own @ z[:-1]) + float(self.linear @ direction)
        square, start = float(own @ dw), self.value - float(self._loss(0.0, dq)[0])

        def at(t: float) -> tuple[float, float]:
            value, along = self._loss(t, dq)
            return start + value + t * linear + 0.5 * t * t * square, along + linear + t * square

        t = wolfe_step(at, self.value, slope, reach - self.moved, pace)
        z += t * direction
        self.q = self.q + t * dq
        self.moved += t * pace
        return t > 0.0

    def _loss(self, t: float, dq: Array) -> tuple[float, float]:
        """Return the loss after a step t, and its derivative along the direction."""
        values, slopes = self.stage.value_slope(self.q + t * dq, self.shift)
        return float(self.penalty @ values), float((self.penalty * slopes) @ dq)


def wolfe_step(at: Any, value: float, slope: float, reach: float, pace: float) -> float:
    """Return a step that gains enough and where the slope has fallen; zero if none gains.

    Parameters
    ----------
    at : callable
        Value and derivative after a step t.
    value, slope : float
        The value and the (negative) derivative at t = 0.
    reach, pace : float
        No step is longer than the first over the second.
    """
    farthest = reach / max(pace, 1e-300)
    t, low, high, slope_low, slope_high = min(1.0, farthest), 0.0, math.inf, slope, 0.0
    best, lowest = 0.0, value
    for _ in range(MOST_TRIALS):
        reached, along = at(t)
        if reached < lowest:
            lowest, best = reached, t
        above = reached > value + DECREASE * t * slope + LOST * abs(value)
        if above or along > CURVATURE * abs(slope):
            high, slope_high = t, along
        elif along < CURVATURE * slope and t < farthest:
            low, slope_low = t, along
        else:
            return t
        if math.isinf(high):
            t = min(3.0 * t, farthest)
            continue
        t = 0.5 * (low + high)
        if slope_high > 0.0 > slope_low:
            margin = 0.1 * (high - low)
            t = low - slope_low * (high - low) / (slope_high - slope_low)
            # What is too high is not a little too far: the bracket is halved at least.
            t = min(max(t, low + margin), 0.5 * (low + high) if above else high - margin)
    return best
