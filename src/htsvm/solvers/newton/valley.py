"""Newton's method on the truncated loss itself: the quick way down once the rows have settled.

Majorisation forgets that the loss bends down between knee and cap, and then follows a valley in
many short steps. Here the kink at zero is rounded by a parabola over ``[-width, width]``, so that
the objective has a second derivative nearly everywhere,

    R + sum_round p_i top / (2 width) (x, 1)(x, 1)' - sum_fall p_i top / (cap - knee) (x, 1)(x, 1)',

and a Newton step sees all of it: as much of the negative part as leaves the matrix positive
definite. The slopes of the rounded loss are multipliers, exact up to `width`, from which the rounds
of `solver.py` need a few more steps to the end.

Most rows are far from where the loss bends. Steps are taken on a copy of the others, and a pass
over all rows then says whether the objective has really come down; if not, they were too long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.linalg.positive import Cholesky, cholesky_factor
from htsvm.losses import Loss
from htsvm.optimality.residuals import balance, of_gradient
from htsvm.problems.binary import Problem

# All steps in one call, and the pass over all rows; None where nothing was compiled.
compiled = kernels.optional("solvers.newton._valley")
# How a run of steps ended.
FINISHED, SETTLED, MOVED, OUT_OF_STEPS, NO_DESCENT = range(5)

# Newton systems up to this order are formed.
MOST_FEATURES = 512
# Shares of the negative curvature that are tried until a system is positive definite.
SHARES = (1.0, 0.75, 0.4, 0.0)
# Trials of a line search; the share of the first slope that a step must gain, and to which the
# slope must fall.
MOST_TRIALS, DECREASE, CURVATURE = 12, 1e-4, 0.3
# How far rows on the flat sides may be from the bends and still be looked at: at first, at least,
# at most; and as a multiple of how far the last run went.
FIRST_REACH, LEAST_REACH, MOST_REACH, REACH_SHARE = 2.0, 0.1, 2.0, 1.5
# With more than this share of the rows there is no copy, and a run may go this far.
COPIED_SHARE, FAR = 0.6, 100.0
# A step that made things worse is taken again with this share of the reach.
CUT = 0.25
# Passes over all rows at one width.
MOST_PASSES = 10

# (top, knee, cap, width) of a rounded loss.
Shape = tuple[float, float, float, float]


def suits(problem: Problem) -> bool:
    """Return whether the loss bends but does not jump, and the systems are small."""
    line = problem.loss.slope_line
    return (
        problem.rows is None
        and not problem.operator.representers
        and problem.linear is None
        and line is not None
        and line[2] > 0.0
        and 0 < problem.n_features <= MOST_FEATURES
        and problem.n_samples > 0
    )


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
class Steps:
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
        self.stationarity = of_gradient(own, pull, gross * problem.operator.row_length)
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


@dataclass
class Valley:
    """Descents on a problem, on the rows that matter.

    Attributes
    ----------
    problem : Problem
        What is minimised.
    reach : float
        How far rows may be from the bends of the loss and still be looked at.
    steps, rows : int
        Newton steps so far, and the rows of the last ones.
    """

    problem: Problem
    reach: float = FIRST_REACH
    steps: int = 0
    rows: int = 0

    def descend(
        self,
        w: Array,
        b: float,
        loss: Loss,
        width: float,
        *,
        tol: float,
        gain: float,
        max_steps: int,
    ) -> tuple[Array, float]:
        """Go down from a point with a loss whose kink is rounded; return where that ends.

        What the last run of steps gained on the rows that matter is not checked on the others.

        Parameters
        ----------
        w, b : ndarray, float
            Where to start.
        loss : Loss
            The loss of the problem, perhaps stretched.
        width : float
            How far its kink is rounded.
        tol, gain : float
            Ends when the gradient residuals are below `tol`, or when a step lowers the value by a
            share of less than `gain`.
        max_steps : int
            The largest number of steps.
        """
        shape = shape_of(loss, width)
        point, left = (np.array(w, dtype=np.float64), float(b)), max_steps
        end, lowest = point, math.inf
        for _ in range(MOST_PASSES):
            q, inside, value, beyond = self._survey(*point, shape)
            if not value < lowest:
                # Rows that were left out have come back: steps were too long.
                point = end
                if self.reach <= LEAST_REACH:
                    break
                self.reach = max(CUT * self.reach, LEAST_REACH)
                q, inside, value, beyond = self._survey(*point, shape)
            end, lowest = (point[0].copy(), point[1]), value
            if not np.any(inside):
                break
            steps, whole = self._steps(point, q, inside)
            status = steps.run(
                shape, base=0.0 if whole else beyond, tol=tol, gain=gain,
                reach=FAR if whole else self.reach, max_steps=left,
            )  # fmt: skip
            left -= steps.steps
            self.steps += steps.steps
            point = (point[0], steps.b)
            if status != MOVED or left <= 0:
                self.reach = float(np.clip(REACH_SHARE * steps.moved, LEAST_REACH, MOST_REACH))
                break
            self.reach = min(2.0 * self.reach, MOST_REACH)
        return point

    def multipliers(self, w: Array, b: float, loss: Loss, width: float) -> Array:
        """Return psi: minus the slopes of the rounded loss, times the penalties."""
        shape, q = shape_of(loss, width), self.problem.violations(w, b)
        if compiled is not None:
            alpha: Array = compiled.slopes(q, self.problem.penalty, shape)
        else:
            alpha = self.problem.penalty * value_and_slope(shape, q)[1]
        return np.negative(alpha, out=alpha)

    def _survey(self, w: Array, b: float, shape: Shape) -> tuple[Array, Array, float, float]:
        """Return all violations, which of them matter, the objective, and what flat rows cost."""
        problem = self.problem
        top, knee, cap, width = shape
        ceiling = 0.5 * top * (knee + cap) if cap < math.inf else 0.0
        if compiled is not None and problem.operator.compiled_rows is not None:
            q = np.empty(problem.n_samples)
            inside = np.empty(len(q), dtype=np.uint8)
            problem.operator.count(1.0)
            total, beyond, _ = compiled.survey(
                problem.operator.compiled_rows, problem.y, w, b, problem.penalty, shape,
                self.reach, q, inside,
            )  # fmt: skip
            return q, inside.view(np.bool_), problem.energy(w) + total, ceiling * beyond
        q = problem.violations(w, b)
        values, _ = value_and_slope(shape, q)
        total = problem.energy(w) + float(problem.penalty @ values)
        beyond = float(problem.penalty[q >= cap + self.reach].sum())
        return q, (q > -width - self.reach) & (q < cap + self.reach), total, ceiling * beyond

    def _steps(self, point: tuple[Array, float], q: Array, inside: Array) -> tuple[Any, bool]:
        """Return what takes steps on the rows that matter, and whether these are all."""
        problem, part = self.problem, self.problem
        rows = np.flatnonzero(inside)
        whole = len(rows) > COPIED_SHARE * problem.n_samples
        self.rows = problem.n_samples if whole else len(rows)
        if not whole:
            part, q = problem.take(rows), q[rows]
            part.operator.row_length = problem.operator.row_length
        if compiled is None or part.operator.compiled_rows is None:
            return Steps(part, q, *point), whole
        R = problem.regularizer
        steps = compiled.ValleySteps(
            part.operator.compiled_rows, part.y, part.penalty, q, *point,
            np.ascontiguousarray(R.diagonal()), R.values if R.is_matrix else None,
            row_length=problem.operator.row_length, fit_intercept=problem.fit_intercept,
        )  # fmt: skip
        return steps, whole
