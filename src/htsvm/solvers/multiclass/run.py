"""One descent of the multi-class solver from one start."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from htsvm._typing import Array
from htsvm.losses import Loss
from htsvm.problems.multiclass import MulticlassProblem, MulticlassStart
from htsvm.solvers.descent import CIRCLES, OBJECTIVE_SHARE, ROUGH, Descent
from htsvm.solvers.multiclass.rows import (
    UNINFORMATIVE,
    MulticlassRows,
    is_uninformative,
    least_squares_start,
)
from htsvm.solvers.result import SolverResult

# The largest violation that a slightly larger W may mend.
KEPT = 0.01
# Each inner problem is solved to the first share of what its stage asks for, and while the residual
# is large only to the second share of that; on large data less well.
INNER_SHARE, EARLY_SHARE = 0.3, 0.1
LARGE_SHARES = (0.8, 0.3)
# Newton steps between two multiplier updates: without truncation, with weights that change, and
# the same from so many values of X times classes on, where a step is dear and new weights are not.
CONVEX_STEPS, STEPS_PER_ROUND, FEW_STEPS, LARGE = 40, 12, 4, 20_000_000
# The penalty xi, in units of C, of the first round. At larger penalties fewer samples are
# undecided, but conjugate gradients need more steps.
FIRST_PENALTY = 8.0
# The first penalty times C times a typical squared row, over R, is at most this; below
# `FIRST_PENALTY` it grows by this factor.
STRONGEST, GROWTH = 40.0, 4.0
# The penalty that goes with the multipliers at the end of a search, and how many times as large as
# the first without them it may be.
WARM_PENALTY, WARM_TIMES = 8.0, 3.0
# Where the first is below this, C times a squared row is beyond 1000, and rounds with so soft a
# penalty may go round in circles (CIFAR-10N with C = 10): then it is this many times as large.
SOFTEST, STIFF_TIMES = 0.04, 25.0
# The first penalty for a hard margin, in units of the C at which that is found.
HARD_PENALTY = 1.5
# The budget of a descent: passes over the data, and Newton steps, the number of which on little
# data falls with that of the classes. Ordinary fits need a tenth of it.
MOST_PASSES, MOST_STEPS, STEPS_TIMES_CLASSES = 100_000.0, 1000, 2000
FEWEST_STEPS, LITTLE_DATA = 200, 100_000
# Sweeps are given up if so many rounds leave this share of what multipliers lag behind.
CRAWLING = (8, 0.8)
# Return to the lowest point seen if the end lies this share above it.
WORTH_RETURNING = 0.002


class MulticlassRun(Descent):
    """One descent from one start."""

    problem: MulticlassProblem
    first_penalty: ClassVar[float] = FIRST_PENALTY
    first_reach: ClassVar[float] = math.inf
    most_passes: ClassVar[float] = MOST_PASSES

    def __init__(
        self,
        problem: MulticlassProblem,
        options: Any,
        rng: np.random.Generator,
        rows: Any = None,
    ) -> None:
        super().__init__(
            problem, options, rng, rows or (problem.rows or MulticlassRows)(problem, rng)
        )
        self.lags: list[float] = []
        if problem.operator.stored <= LITTLE_DATA:
            self.most_steps = max(STEPS_TIMES_CLASSES // problem.n_classes, FEWEST_STEPS)
        else:
            self.most_steps = MOST_STEPS
        self.large = problem.operator.stored * problem.n_classes >= LARGE
        self.shares = LARGE_SHARES if self.large else (INNER_SHARE, EARLY_SHARE)
        self.first_xi = self._first_penalty()
        self.xi = self.first_xi

    def _first_penalty(self) -> float:
        """Return the penalty of the first round.

        Where C times a squared row is large, the multipliers of the solution are far below C, and
        at a penalty in units of C samples would cross their margins at every step.
        """
        nominal = FIRST_PENALTY * self.stretch
        R = float(self.problem.regularizer.diagonal().mean()) or 1.0
        strength = self.problem.C * self.rows.square_length / R
        return min(nominal, STRONGEST / strength) if strength > 0.0 else nominal

    def _adapt_penalty(self, lag: float, previous: float, goal: float) -> float:
        """Raise the penalty when multipliers lag, in larger steps while it is still small.

        On large data, where conjugate gradients need the more steps the larger it is, only when
        nothing else helps.
        """
        before = self.xi
        warm = self.large and before >= WARM_PENALTY
        if warm and (self._rounds - self.progress[2]) % CIRCLES != CIRCLES - 1:
            return lag
        lag = super()._adapt_penalty(lag, previous, goal)
        if self.xi > before:
            nominal = FIRST_PENALTY * self.stretch
            self.xi = max(self.xi, min(GROWTH * before, nominal))
        return lag

    def _point(self) -> tuple[Array, Array]:
        return self.rows.W, self.rows.b

    def _objective(self) -> float:
        return self._with_loss(self.rows.loss_total())

    def _with_loss(self, loss: float) -> float:
        return self.problem.energy(self.rows.W) + float(loss)

    def run(
        self,
        start: MulticlassStart | None,
        truncated: bool = True,
        searched: bool = False,
        careful: bool = False,
        share: float = 0.0,
    ) -> SolverResult:
        """Go down from a start; first without truncation if that is said to play no part.

        `searched` says that the start comes from a search with second moments, near a minimum.
        `careful` solves each majoriser to the end, which never leads upwards. `share` is that of C
        at which the convex problem was solved, roughly, to the same end.
        """
        if start is None:
            self.rows.start_at_zero()
            return self._result(self._with_sweeps(self._descend))
        W, b, B = start
        self._start_at(np.array(W, dtype=np.float64), np.array(b, dtype=np.float64))
        if is_uninformative(self.rows) and self._start_from_least_squares():
            return self._result(self._with_sweeps(self._last_stage))
        if not truncated and 0.0 < share < 1.0 and self.problem.rows is None:
            found = self._hard_margin(start, share)
            if found is not None:
                return found
            self._start_at(W, b)
        if not truncated:
            self.rows.weigh_convex()
            self.rows.set_multipliers(B)
            return self._result(
                self._with_sweeps(lambda: self._convex_rounds(ROUGH))
                and self._with_sweeps(lambda: self._truncate(gently=True))
            )
        if searched:
            times = WARM_TIMES if self.first_xi >= SOFTEST else STIFF_TIMES
            self.xi = max(self.xi, min(WARM_PENALTY, self.first_xi * times))
        self.rows.weigh(self.problem.loss)
        self.rows.set_multipliers(B)
        return self._result(self._with_sweeps(self._careful_stage if careful else self._last_stage))

    def run_from_random_weights(self) -> SolverResult:
        """Start from the convex solution of a problem with exponential random weights."""
        varied = self.rows.with_random_penalties()
        options = replace(self.options, callback=None)
        run = MulticlassRun(varied.problem, options, self.rng, varied)
        run.first_xi = run.xi = self.first_xi
        varied.start_at_zero()
        run._convex_stage(ROUGH)
        self.rows.adopt(varied)
        return self._result(self._truncate(gently=bool(self.rng.random() < 0.5)))

    def _hard_margin(self, start: MulticlassStart, share: float) -> SolverResult | None:
        """Return the solution of the convex problem with a share of C if it is that for C."""
        smaller = with_share_of_C(self.problem, share)
        run = MulticlassRun(smaller, self.options, self.rng)
        run.xi = HARD_PENALTY
        result = keeping_margins(run.run(start), run.rows.largest_violation())
        if result is None:
            return None
        self._start_at(result.coef, result.intercept)
        self.rows.weigh(self.problem.loss)
        self.rows.set_multipliers(result.multipliers)
        objective = self._objective()
        residual = max(result.residual, self._multiplier_residual())
        if residual > self.options.tol:
            return None
        return replace(result, objective=objective, residual=residual)

    def _multiplier_residual(self) -> float:
        """Return how far the multipliers are from where the loss itself wants them."""
        loss, energy = self.problem.loss, self.problem.energy(self.rows.W)
        left = self.rows.residual(loss.weak_convexity)
        return float(left.residual(self._unit(loss, self._objective(), energy)))

    def _start_at(self, W: Array, b: Array) -> None:
        """Go to (W, b), with the means over classes taken off: only differences count."""
        b = b - b.mean() if self.problem.fit_intercept else np.zeros_like(b)
        self.rows.start_at(W - W.mean(axis=0), b)

    def _jump_to(self, W: Array, b: Array) -> None:
        """Go to (W, b) without multipliers, and begin there as at any start."""
        self._start_at(W, b)
        self._watch()
        self.rows.weigh(self.problem.loss)
        self.rows.set_multipliers(None)
        self.reach, self.xi, self.residual = math.inf, self.first_xi, math.inf

    def _start_from_least_squares(self) -> bool:
        """Go to the least squares start; False if it promises nothing."""
        point = least_squares_start(self.rows)
        if point is not None:
            self._jump_to(*point)
        return point is not None

    # ------------------------------------------------------------------------------- stages

    def _descend(self) -> bool:
        """Solve the convex problem, then truncate; a convex loss has only the first part."""
        if math.isinf(self.problem.loss.cap):
            self.rows.weigh(self.problem.loss)
            return self._last_stage()
        if not self._convex_stage(ROUGH):
            return False
        self.convex_objective = self._objective()
        if is_uninformative(self.rows) and self._start_from_least_squares():
            return self._last_stage() and self._back_to_best()
        return self._truncate(gently=True) and self._back_to_best()

    def _convex_stage(self, goal: float) -> bool:
        """Minimise the convex majorant of the loss, roughly. False if rounds ran out."""
        self.rows.weigh_convex()
        return self._convex_rounds(goal)

    def _convex_rounds(self, goal: float) -> bool:
        previous = math.inf
        while not self._out_of_rounds():
            lag = self._round(None, goal)
            # Residuals are relative: far out they are small, though the point is bad. Where equal
            # scores are best, there is no need to come closer to them than this.
            if self.residual <= goal:
                here, at_zero = self.rows.majoriser()
                if here <= (1.0 + UNINFORMATIVE) * at_zero:
                    return True
            if self._crawls(lag):
                return False
            previous = self._adapt_penalty(lag, previous, max(goal, self.residual))
        return False

    def _truncate(self, gently: bool) -> bool:
        """Go from the convex solution to the loss itself, step by step if `gently`."""
        for stretched in self._stretched() if gently else ():
            if self._out_of_rounds():
                return False
            self.rows.weigh(stretched)
            self._round(stretched, ROUGH)
        self.rows.weigh(self.problem.loss)
        return self._last_stage()

    def _with_sweeps(self, stage: Callable[[], bool]) -> bool:
        """Run a stage by sweeps if rows have them; where these crawl or lead up, again without.

        Sweeps need few passes unless C times a squared row is large.
        """
        if not self.rows.sweeping:
            return stage()
        before, xi = self._objective(), self.xi
        (W, b), B, weights = self._point(), self.rows.multipliers(copy=True), self.rows.it.weights
        if stage() and self._objective() <= (1.0 + WORTH_RETURNING) * before:
            return True
        if self._rounds >= self.options.max_iter:
            return False
        self.rows.take_newton_steps()
        self._start_at(W, b)
        self.rows.it.weights = weights
        self.rows.set_multipliers(B)
        self._watch()
        self.reach, self.xi, self.residual = math.inf, xi, math.inf
        return stage()

    def _crawls(self, lag: float) -> bool:
        """Return whether sweeps are too slow: rounds leave most of what multipliers lag behind."""
        if not self.rows.sweeping:
            return False
        self.lags.append(lag)
        rounds, share = CRAWLING
        if len(self.lags) <= rounds + 1 or lag <= 2.0 * self.options.tol:
            return False
        # Lags with weights that stay and with new ones do not compare: of two rounds, the better.
        then = min(self.lags[-1 - rounds], self.lags[-2 - rounds])
        return min(self.lags[-2:]) > share * then

    def _last_stage(self) -> bool:
        """Weigh and solve with the loss itself until it is stationary."""
        tol = self.options.tol
        previous_lag, previous, stalled = math.inf, math.inf, 0
        while not self._out_of_rounds():
            lag = self._round(self.problem.loss, tol)
            objective = self.history["objective"][-1]
            gain = previous - objective
            if self.residual <= tol and gain <= OBJECTIVE_SHARE * tol * abs(objective):
                return True
            stalled = (
                stalled + 1
                if self.last.steps + self.last.sweeps == 0 and self.residual > tol
                else 0
            )
            if stalled > 10 or self._crawls(lag):
                return False
            previous_lag = self._adapt_penalty(lag, previous_lag, max(tol, self.residual))
            previous = objective
        return False

    def _back_to_best(self) -> bool:
        """Go back to the lowest point seen if the run did not end there, and settle near it."""
        if not self._lies_above_best(WORTH_RETURNING):
            return True
        self._jump_to(*self.best[1:])
        return self._careful_stage()

    def _careful_stage(self) -> bool:
        """Solve each majoriser to the end before weighing anew, which never leads upwards."""
        tol = self.options.tol
        while not self._out_of_rounds():
            previous = math.inf
            while not self._out_of_rounds():
                lag = self._round(None, 0.3 * tol)
                previous = self._adapt_penalty(lag, previous, max(tol, self.residual))
                if self.residual <= 0.3 * tol:
                    break
            self.rows.weigh(self.problem.loss)
            self.residual = max(self.residual, self._multiplier_residual())
            if self.residual <= tol:
                return True
        return False

    # --------------------------------------------------------------------------- one round

    def _round(self, loss: Loss | None, goal: float) -> float:
        """Run one round, weigh anew for `loss`, record.

        Returns how far the multipliers lag behind the levels with the weights of the round, apart
        from what new weights add: only that part gets smaller with a larger penalty.
        """
        least, early = self.shares
        asked = max(least * goal, early * min(self.residual, 1.0))
        if self._rounds and self.last.steps == 0 and self.last.finished:
            # A round without a step has only moved the multipliers.
            asked = min(asked, max(least * goal, early * self.last.stationarity))
        most = FEW_STEPS if self.large else STEPS_PER_ROUND
        most = CONVEX_STEPS if loss is None else most
        self.last = self.rows.run(self.xi, tol=asked, max_steps=most, reach=self.reach)
        self._adapt_reach(self.last.crossed)
        if self.rows.sweeping and loss is not None and self.rows.unsettled():
            # New weights would touch the loss at a point that is higher than the last one.
            loss = None
        closing = self.rows.close(loss, 0.0 if loss is None else loss.weak_convexity)
        objective = self._with_loss(closing.loss)
        unit = self._unit(loss, objective, objective - closing.loss)
        complementarity = closing.after.residual(unit)
        self.residual = max(self.last.stationarity, self.last.balance, complementarity)
        self._record(
            loss,
            complementarity=complementarity,
            objective=objective,
            cg_steps=self.last.cg_steps,
        )
        energy = objective - closing.loss
        if loss is None and energy > 0.0:
            # Where the loss is all but zero at the solution, the energy says what is much.
            unit = min(unit, 2.0 * energy)
        return float(closing.before.residual(unit))


def with_share_of_C(problem: MulticlassProblem, share: float) -> MulticlassProblem:
    """Return the convex problem with a share of C."""
    without = problem.loss.stretched(math.inf) or problem.loss
    return replace(problem, penalty=share * problem.penalty, C=share * problem.C, loss=without)


def keeping_margins(result: SolverResult, violation: float) -> SolverResult | None:
    """Return a result times the least number with which it keeps all margins; None if too large.

    Parameters
    ----------
    result : SolverResult
        The solution of a convex problem.
    violation : float
        The largest violation there.
    """
    if not (result.converged and violation < KEPT):
        return None
    larger = 1.0 / (1.0 - violation)
    return replace(
        result,
        coef=larger * result.coef,
        intercept=larger * result.intercept,
        multipliers=larger * result.multipliers,
    )
