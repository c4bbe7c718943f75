"""Newton's method on the truncated loss itself: the quick way down once the rows have settled.

Majorisation forgets that the loss bends down between knee and cap, and then follows a valley in
many short steps. Here the kink at zero is rounded by a parabola over ``[-width, width]``, so that
the objective has a second derivative nearly everywhere,

    R + sum_round p_i top / (2 width) (x, 1)(x, 1)' - sum_fall p_i top / (cap - knee) (x, 1)(x, 1)',

and a Newton step sees all of it: as much of the negative part as leaves the matrix positive
definite. The slopes of the rounded loss are multipliers, exact up to `width`, from which the rounds
of `run.py` need a few more steps to the end.

Most rows are far from where the loss bends. Steps are taken on a copy of the others, and a pass
over all rows then says whether the objective has really come down; if not, they were too long.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.losses import Loss
from htsvm.problems.binary import Problem
from htsvm.solvers.newton.rounded import MOVED, RoundedSteps, Shape, shape_of, value_and_slope

# All steps in one call, and the pass over all rows; None where nothing was compiled.
compiled = kernels.optional("solvers.newton._valley")

# Newton systems up to this order are formed.
MOST_FEATURES = 512
# How far rows on the flat sides may be from the bends and still be looked at: at first, at least,
# at most; and as a multiple of how far the last run went.
FIRST_REACH, LEAST_REACH, MOST_REACH, REACH_SHARE = 2.0, 0.1, 2.0, 1.5
# With more than this share of the rows there is no copy, and a run may go this far.
COPIED_SHARE, FAR = 0.6, 100.0
# Of rows with so many columns: a copy of more saves no time there, since the systems are the work.
WIDE, WIDE_SHARE = 200, 0.1
# A step that made things worse is taken again with this share of the reach.
CUT = 0.25
# Passes over all rows at one width.
MOST_PASSES = 10

# How far the kink is rounded, in caps, one width after the other, and the share of the objective
# that a step must gain at each; the most steps.
WIDTHS, MOST_STEPS = ((0.15, 1e-4), (0.05, 1e-5), (0.015, 1e-6)), 30
# The same with the stretched losses that lead there.
LEADING_WIDTH, LEADING_GAIN, LEADING_STEPS = 0.3, 1e-2, 6


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


@dataclass
class Valley:
    """Descents on a problem, on the rows that matter.

    Attributes
    ----------
    problem : Problem
        What is minimised.
    reach : float
        How far rows may be from the bends of the loss and still be looked at.
    stride : float
        How far a run on such rows may go before all are looked at again, in units of `reach`.
    steps, rows : int
        Newton steps so far, and the rows of the last ones.
    residual : float
        The gradient residual where the last run of steps ended, on its rows.
    """

    problem: Problem
    reach: float = FIRST_REACH
    stride: float = 1.0
    steps: int = 0
    rows: int = 0
    residual: float = math.inf

    def lead(self, w: Array, b: float, losses: Iterable[Loss], tol: float) -> tuple[Array, float]:
        """Take a few steps from a point with each of some stretched losses."""
        width = LEADING_WIDTH * self.problem.loss.cap
        for loss in losses:
            w, b = self.descend(
                w, b, loss, width, tol=tol, gain=LEADING_GAIN, max_steps=LEADING_STEPS
            )
        return w, b

    def through(self, w: Array, b: float, tol: float) -> tuple[Array, float, float]:
        """Go down from a point with the loss itself; return the end, and the last width."""
        loss = self.problem.loss
        for share, gain in WIDTHS:
            w, b = self.descend(
                w, b, loss, share * loss.cap, tol=tol, gain=gain, max_steps=MOST_STEPS
            )
        return w, b, share * loss.cap

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
                reach=FAR if whole else self.stride * self.reach, max_steps=left,
            )  # fmt: skip
            left -= steps.steps
            self.residual = max(steps.stationarity, steps.balance)
            self.steps += steps.steps
            point, moved = (point[0], steps.b), steps.moved
            # The copy of these rows is given back before others are copied.
            del steps
            if status != MOVED or left <= 0:
                self.reach = float(np.clip(REACH_SHARE * moved, LEAST_REACH, MOST_REACH))
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
        share = COPIED_SHARE if problem.n_features < WIDE else WIDE_SHARE
        whole = len(rows) > share * problem.n_samples
        self.rows = problem.n_samples if whole else len(rows)
        if not whole:
            part, q = problem.take(rows), q[rows]
            part.operator.row_length = problem.operator.row_length
        if compiled is None or part.operator.compiled_rows is None:
            return RoundedSteps(part, q, *point), whole
        R = problem.regularizer
        steps = compiled.ValleySteps(
            part.operator.compiled_rows, part.y, part.penalty, q, *point,
            np.ascontiguousarray(R.diagonal()), R.values if R.is_matrix else None,
            row_length=problem.operator.row_length, fit_intercept=problem.fit_intercept,
        )  # fmt: skip
        return steps, whole
