"""A descent with a convex loss: there is one minimum, and the shortest way leads to it."""

from __future__ import annotations

import math

import numpy as np

from htsvm.problems.binary import Problem
from htsvm.solvers.descent import LARGEST_PENALTY
from htsvm.solvers.newton.ridge import is_cheap, ridge_point
from htsvm.solvers.newton.run import Run

# At the start multipliers rise from zero to their bound over violations of this size.
FIRST_RAMP = 0.5
# After a round xi grows by the first factor if the round took no more than so many steps, else by
# the second. On six sets and three C that takes half of the rounds of doubling it where
# multipliers lag; always eight times takes more steps than it saves rounds at C = 16.
QUICK_GROWTH, EASY, GROWTH = 8.0, 5, 2.0
# With so few columns the last rounds go on to this share of the tolerance; at most so many.
FEW_FEATURES, EXACT_SHARE, MOST_EXTRA = 64, 0.001, 4
# They are left out where this tolerance is not asked for: the folds of a grid take a seventh less.
EXACT_FROM = 2e-3


def suits(problem: Problem) -> bool:
    """Return whether the loss is convex, and the rows are here and explicit."""
    here = problem.rows is None and not problem.operator.representers
    return here and math.isinf(problem.loss.cap)


class ConvexRun(Run):
    """One descent: from least squares, with a penalty that grows as fast as rounds can follow."""

    def _descend(self) -> bool:
        """Start from a sample of many rows, or from least squares, and solve."""
        if not self._start_from_sample():
            self._start_from_least_squares()
        return self._last_stage()

    def solve_convex(self) -> None:
        """Solve roughly."""
        self.rows.start_at_zero()
        self._start_from_least_squares()
        self._convex_stage()

    def _start_from_least_squares(self) -> None:
        """Start from the least squares fit, where that is cheap and margins are not hard."""
        problem = self.problem
        if self.stretch != 1.0 or not is_cheap(problem):
            return
        point = ridge_point(problem, problem.penalty)
        if np.all(np.isfinite(point)):
            self.rows.start_at(point[:-1], float(point[-1]), None)
            self.rows.guess_ramp(FIRST_RAMP)
            self.reach = math.inf

    def _last_stage(self, near: bool = False) -> bool:
        settled = super()._last_stage(near)
        exact = self.options.tol <= EXACT_FROM
        if settled and exact and 0 < self.problem.n_features <= FEW_FEATURES:
            self._go_on()
        return settled

    def _go_on(self) -> None:
        """Take a few more rounds, which lead to the solution itself.

        Few columns have few multipliers between their bounds: once these are known, a round with a
        large xi ends at the solution, for next to nothing.
        """
        tol = self.options.tol
        goal = EXACT_SHARE * tol
        for _ in range(MOST_EXTRA):
            if self.residual <= goal or self._out_of_rounds():
                break
            state, residual = self.rows.state(), self.residual
            lag = self._round(self.problem.loss, goal)
            if self.residual > tol:
                self.rows.return_to(*state)
                self.residual = residual
                break
            self._adapt_penalty(lag, math.inf, goal)

    def _adapt_penalty(self, lag: float, previous: float, goal: float) -> float:
        """Make xi larger after each round that was solved; return the lag."""
        if self._soft:
            return super()._adapt_penalty(lag, previous, goal)
        if self.last.finished and self.last.penalised:
            factor = QUICK_GROWTH if self.last.steps <= EASY else GROWTH
            self.xi = min(factor * self.xi, LARGEST_PENALTY * self.stretch)
        return lag
