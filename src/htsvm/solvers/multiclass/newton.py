"""Newton's method for a weighted problem of several classes whose maximum over rivals is rounded.

With levels ``u_ij = f_j - f_y + [j != y]`` the violation of sample i is ``h_i = max_a a'u_i`` over
the unit simplex, which includes the own class. In its place stands

``H_i = max_a a'u_i - width |a - shift_i|² / 2``,

which is smooth; the maximiser a, a projection, times the weight of the sample is its multiplier.
With the multipliers of a solution as shifts the minimiser is that solution, whatever the width: the
proximal augmented Lagrangian (Rockafellar, Mathematics of Operations Research 1, 1976). The Hessian
is ``R + sum_i weight_i / width P_A (x) (x_i, 1)(x_i, 1)'`` over the samples that are undecided
among a set A of classes: the method is a semismooth Newton method (Qi and Sun, 1993).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.optimality import residuals
from htsvm.problems.binary import Rest
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers.multiclass.system import NewtonSystem, Undecided
from htsvm.solvers.newton import MOST_TRIALS

# A line search ends where the slope is this share of the first. (With 0.3 fits to ten classes with
# 40 % wrong labels took up to eight times as long, and some were not certified.)
SLOPE_SHARE = 0.1


class RoundedMaximum(NamedTuple):
    """What is minimised: the width, the shifts, and the weights of the samples."""

    width: float
    shift: Array
    weights: Array


@dataclass
class Iterate:
    """A point and what is known of it.

    Attributes
    ----------
    W, b : ndarray
        The point.
    U : ndarray of shape (m, k)
        The levels there, up to a constant for each row.
    a : ndarray of shape (m, k)
        The maximisers; times the weights, they are the multipliers.
    stationarity, balance : float
        The residuals of the gradient.
    steps, sweeps : int
        Newton steps or sweeps of the last call.
    """

    W: Array
    b: Array
    U: Array
    a: Array
    stationarity: float = math.inf
    balance: float = math.inf
    steps: int = 0
    sweeps: int = 0

    @property
    def gradient(self) -> float:
        """The larger residual of the gradient."""
        return max(self.stationarity, self.balance)


class MulticlassSteps:
    """Minimises stages on the rows of a problem.

    Parameters
    ----------
    problem : MulticlassProblem
        The rows.
    system : NewtonSystem
        Solves for directions.
    rest : Rest, optional
        What other rows add.
    """

    def __init__(
        self, problem: MulticlassProblem, system: NewtonSystem, rest: Rest | None = None
    ) -> None:
        self.problem, self.system = problem, system
        m, k = problem.n_samples, problem.n_classes
        self.rest = rest or Rest(0.0, np.zeros((k, problem.n_features + 1)), 0.0)
        self.counts, self.h, self.along = np.empty(m, dtype=np.intc), np.empty(m), np.empty(m)
        # Where no sample pulls, W = 0 is the solution.
        self.least = residuals.pull_of(problem.trivial_objective, problem.regularizer)

    def minimise(self, at: Iterate, stage: RoundedMaximum, *, tol: float, most: int) -> None:
        """Take at most so many steps, until both residuals of the gradient are below `tol`."""
        at.steps, at.sweeps = 0, 0
        while True:
            self._maximise(at, at.U, 0.0, stage)
            gradient = self._gradient(at, stage)
            if at.gradient <= tol or at.steps >= most:
                return
            sigma = stage.weights / stage.width
            undecided = Undecided(self.problem, sigma, at.a, self.counts)
            direction = self.system.direction(undecided, float(sigma.sum()), gradient)
            if not self._step(at, *direction, stage):
                self._maximise(at, at.U, 0.0, stage)
                return
            at.steps += 1

    def _maximise(self, at: Iterate, D: Array, t: float, stage: RoundedMaximum) -> None:
        """Find the maximisers at the levels U + t D, the maxima, and their derivatives in t."""
        kernels.active.rounded_maximum(
            stage.shift, at.U, D, t, stage.width, self.problem.labels,
            at.a, self.counts, self.h, self.along,
        )  # fmt: skip

    def _gradient(self, at: Iterate, stage: RoundedMaximum) -> tuple[Array, Array]:
        """Return the gradient in W and b, and take its residuals."""
        problem, rest = self.problem, self.rest
        pulls = problem.own(stage.weights[:, None] * at.a)
        own, gross = problem.regularizer.dot(at.W), float(np.abs(pulls).sum()) + rest.gross
        pulled = problem.operator.pull(pulls) - rest.linear[:, :-1]
        gb = rest.linear[:, -1] - pulls.sum(axis=0)
        if not problem.fit_intercept:
            gb[:] = 0.0
        length = max(gross * problem.operator.row_length, self.least)
        at.stationarity = residuals.of_gradient(own, pulled, length)
        at.balance = residuals.balance(float(np.linalg.norm(gb)), gross)
        return own - pulled, gb

    def _step(self, at: Iterate, dW: Array, db: Array, stage: RoundedMaximum) -> bool:
        """Go where the slope along (dW, db) is small; False if that does not lead down."""
        D, smooth = self.problem.operator.scores(dW, db), self.problem.regularizer.dot(dW)
        linear, square = float(np.vdot(smooth, at.W)), float(np.vdot(smooth, dW))
        linear += float(np.vdot(self.rest.linear, np.column_stack([dW, db])))

        def slope(t: float) -> float:
            self._maximise(at, D, t, stage)
            return linear + t * square + float(stage.weights @ self.along)

        t = line_search(slope)
        if t == 0.0:
            return False
        at.W, at.b, at.U = at.W + t * dW, at.b + t * db, at.U + t * D
        return True


def line_search(slope: Callable[[float], float]) -> float:
    """Return a step at which a convex function is about lowest along a line, or 0.

    By false position on the slope within a bracket. Values are not asked for: where columns have
    scales far apart, what a step gains may be lost in their rounding.

    Parameters
    ----------
    slope : callable
        Returns the slope after a step.
    """
    first = slope(0.0)
    low, at_low, high, at_high, t = 0.0, first, math.inf, math.nan, 1.0
    for _ in range(MOST_TRIALS if first < 0.0 else 0):
        here = slope(t)
        if abs(here) <= -SLOPE_SHARE * first:
            return t
        # Halving the slope at the other end keeps false position from creeping up on one side.
        if here > 0.0:
            high, at_high, at_low = t, here, 0.5 * at_low
        else:
            low, at_low, at_high = t, here, 0.5 * at_high
        share = at_low / (at_low - at_high)
        t = 4.0 * t if high == math.inf else low + min(max(share, 0.1), 0.9) * (high - low)
    return low
