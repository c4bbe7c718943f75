"""Descents on a smooth loss that copy the rows near its bends: a working set.

Most rows are far from where the slope of the loss changes. Their part of the objective is linear,
one constant and one vector. Newton steps are taken on a copy of the others, and a pass over all
rows then says whether the objective has really come down; if not, the steps were too long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.losses.rounded import Sigmoid, Stage
from htsvm.problems.binary import Problem, Rest
from htsvm.solvers import wide
from htsvm.solvers.lbfgs import minimise
from htsvm.solvers.newton import LOST, NewtonSteps
from htsvm.solvers.system import FORMED

# All steps in one call, and the pass over all rows; None where nothing was compiled.
compiled = kernels.optional("solvers._steps")

# How far rows may be from the bends and still be copied: at first and at most, and at least.
MOST_REACH, LEAST_REACH = 2.0, 0.1
# Up to so many stored values, and with more than this share of the rows, nothing is copied.
COPIED, COPIED_SHARE = 30_000, 0.6
# ... of rows with so many columns, whose systems are the work, while copies take memory.
WIDE, WIDE_SHARE = 200, 0.1
# A step that made things worse is taken again with this share of the reach.
CUT = 0.25
# Passes over all rows in one descent.
MOST_PASSES = 10
# The budget of a solve in steps and in passes; ordinary fits need a tenth of it.
MOST_STEPS, MOST_WORK = 3000, 100_000.0


@dataclass
class Budget:
    """What all descents of a solve may spend together."""

    steps: int = MOST_STEPS
    passes: float = MOST_WORK

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self.steps <= 0 or self.passes <= 0.0


class Descent:
    """Newton descents on one problem.

    Attributes
    ----------
    problem : Problem
        What is minimised.
    rest : Rest
        What rows elsewhere add to it.
    budget : Budget
        What is left of steps and passes; nothing moves where it is spent.
    residual : float
        The gradient residual where the last descent ended.
    steps : int
        Newton steps so far.
    """

    def __init__(
        self, problem: Problem, rest: Rest | None = None, budget: Budget | None = None
    ) -> None:
        self.problem, self.budget = problem, budget or Budget()
        self.rest = rest or Rest(0.0, np.zeros(problem.n_features + 1), 0.0)
        self.residual, self.steps, self.reach = math.inf, 0, MOST_REACH
        self._whole: Any = None

    def run(
        self,
        z: Array,
        stage: Stage,
        *,
        gain: float,
        most: int,
        tol: float,
        shift: Array | None = None,
        penalty: Array | None = None,
        bending: bool = False,
    ) -> Array:
        """Return where Newton steps on a smooth loss lead from z.

        Parameters
        ----------
        z : ndarray of shape (n + 1,)
            The point (w, b).
        stage : Rounded or Sigmoid
            The smooth loss.
        gain, tol : float
            Ends when a step lowers the value by a share of less than `gain`, or when the gradient
            residuals are below `tol`.
        most : int
            The most steps.
        shift : ndarray, optional
            Shifts of the kink.
        penalty : ndarray, optional
            Other penalties than those of the problem, for this descent alone.
        bending : bool
            Whether negative curvature counts.
        """
        z, most = np.array(z, dtype=np.float64), min(most, self.budget.steps)
        if self.budget.spent:
            return z
        if wide.suits(self.problem) and gain > 0.0 and not bending:
            own = self.problem.penalty if penalty is None else penalty
            z, _, steps = minimise(wide.SmoothLoss(self.problem, own, stage), z, most, gain)
            self.steps += steps
            self.budget.steps -= steps
            return z
        options = {"gain": gain, "tol": tol, "bending": bending}
        small = self.problem.operator.stored <= COPIED
        if small or isinstance(stage, Sigmoid) or penalty is not None:
            self._on_all(z, stage, penalty, shift=shift, reach=math.inf, most=most, **options)
            return z
        end, lowest, settled = z.copy(), math.inf, False
        for _ in range(MOST_PASSES):
            q, near, value, slopes, gross = self._survey(z, stage, shift)
            if not value <= lowest + LOST * abs(value):
                # Rows that were left out have come back: steps were too long.
                z, settled = end.copy(), False
                self.reach *= CUT
                q, near, value, slopes, gross = self._survey(z, stage, shift)
            if settled or most <= 0:
                break
            end, lowest = z.copy(), value
            rows = np.flatnonzero(near)
            share = COPIED_SHARE if self.problem.n_features < WIDE else WIDE_SHARE
            some = 0 < len(rows) <= share * self.problem.n_samples
            if self.reach < LEAST_REACH or not some:
                steps, _ = self._on_all(
                    z, stage, None, q=q, shift=shift, reach=math.inf, most=most, **options
                )
                break
            rest = self._rest(z, value, slopes, gross, stage, shift, rows, q)
            steps, moved = self._on_some(
                z, stage, rows, q, shift, rest, reach=self.reach, most=most, **options
            )
            most -= steps.steps
            settled = not moved
            # The copy of these rows is given back before others are copied.
            del steps
            self.reach = min(2.0 * self.reach, MOST_REACH)
        self.reach = float(np.clip(self.reach, LEAST_REACH, MOST_REACH))
        return z

    def _on_all(self, z: Array, stage: Stage, penalty: Array | None, **options: Any) -> Any:
        """Take steps on all rows."""
        if self._whole is None:
            self._whole = _steps_on(self.problem)
        if penalty is not None:
            self._whole.weigh(penalty)
        base, linear, gross = self.rest
        moved = self._whole.run(z, stage, base=base, linear=linear, rest=gross, **options)
        if penalty is not None:
            self._whole.weigh(self.problem.penalty)
        return self._note(self._whole, self.problem.n_samples), moved

    def _on_some(
        self,
        z: Array,
        stage: Stage,
        rows: Array,
        q: Array,
        shift: Array | None,
        rest: dict[str, Any],
        **options: Any,
    ) -> Any:
        """Take steps on a copy of some rows."""
        part = self.problem.take(rows)
        part.operator.row_length = self.problem.operator.row_length
        steps = _steps_on(part)
        own = None if shift is None else shift[rows]
        moved = steps.run(z, stage, q=q[rows], shift=own, **rest, **options)
        return self._note(steps, len(rows)), moved

    def _note(self, steps: Any, rows: int) -> Any:
        self.residual = max(steps.stationarity, steps.balance)
        passes = steps.passes * rows / max(self.problem.n_samples, 1)
        self.steps += steps.steps
        self.budget.steps -= steps.steps
        self.budget.passes -= passes
        self.problem.operator.count(passes)
        return steps

    def _survey(self, z: Array, stage: Stage, shift: Array | None) -> Any:
        """Return violations, which rows matter, the value, the slopes of the others, their sum."""
        problem = self.problem
        w, b = np.ascontiguousarray(z[:-1]), float(z[-1])
        if compiled is not None and problem.operator.compiled_rows is not None:
            q, slopes = np.empty(problem.n_samples), np.empty(problem.n_samples)
            near = np.empty(len(q), dtype=np.uint8)
            problem.operator.count(1.0)
            shift = np.zeros(len(q)) if shift is None else shift
            total, gross, _ = compiled.survey(
                problem.operator.compiled_rows, problem.y, w, b, problem.penalty, stage,
                self.reach, shift, q, slopes, near,
            )  # fmt: skip
            return q, near, self._outside(z) + total, slopes, gross
        q = problem.violations(w, b)
        values, slopes = stage.value_slope(q, shift)
        near = stage.bends(q, self.reach)
        slopes = np.where(near, 0.0, problem.penalty * slopes)
        total = float(problem.penalty @ values)
        return q, near, self._outside(z) + total, slopes, float(np.abs(slopes).sum())

    def _outside(self, z: Array) -> float:
        """Return what the regulariser and rows elsewhere add to the objective."""
        return self.problem.energy(z[:-1]) + self.rest.base + float(self.rest.linear @ z)

    def objective(self, z: Array, q: Array) -> float:
        """Return the objective with the loss itself at z, given its violations."""
        return self._outside(z) + self.problem.loss.total(q, self.problem.penalty)

    def _rest(
        self,
        z: Array,
        value: float,
        slopes: Array,
        gross: float,
        stage: Stage,
        shift: Array | None,
        rows: Array,
        q: Array,
    ) -> dict[str, Any]:
        """Return what the rows that are not copied add: a constant and a linear function of z."""
        problem = self.problem
        values, _ = stage.value_slope(q[rows], None if shift is None else shift[rows])
        base = value - problem.energy(z[:-1]) - float(problem.penalty[rows] @ values)
        linear = self.rest.linear
        if gross > 0.0:
            pull, total = problem.operator.signed_tdot(problem.y, slopes)
            linear = linear - np.append(pull, total if problem.fit_intercept else 0.0)
        base -= float(linear @ z)
        return {"base": base, "linear": linear, "rest": gross + self.rest.gross}


def _steps_on(problem: Problem) -> Any:
    """Return what takes Newton steps on a problem."""
    operator, R = problem.operator, problem.regularizer
    if compiled is None or operator.compiled_rows is None or problem.n_features > FORMED:
        return NewtonSteps(problem)
    return compiled.Steps(
        operator.compiled_rows, problem.y, problem.penalty, np.ascontiguousarray(R.diagonal()),
        R.values if R.is_matrix else None, row_length=operator.row_length,
        fit_intercept=problem.fit_intercept,
    )  # fmt: skip
