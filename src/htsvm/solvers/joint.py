"""The multi-class solver: majorise by a weighted Crammer-Singer problem, solve that, repeat."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.threads import single_threaded_blas
from htsvm.losses import Loss, require
from htsvm.solvers.joint_least_squares import SAYS_NOTHING, least_squares_start, says_nothing
from htsvm.solvers.joint_problem import JointProblem, JointStart
from htsvm.solvers.joint_rows import JointClosing, JointRows
from htsvm.solvers.newton import CAP_FACTORS, CONSTANT
from htsvm.solvers.problem import SolverResult

# How well the convex start and the stretched losses are solved; they only lead the way.
ROUGH = 0.03
# Each inner problem is solved to this share of what its stage asks for.
INNER_SHARE = 0.3
# While the residual is large, a round is solved only to this share of it.
EARLY_SHARE = 0.1
# The last stage also asks that a round lowers the objective by less than this share of tol.
OBJECTIVE_SHARE = 0.3
# Newton steps between two multiplier updates.
STEPS_PER_ROUND = 10
# The penalty xi, in units of C, starts here and doubles while the multipliers lag, up to this. At
# larger penalties fewer samples are undecided, but conjugate gradients need more steps.
FIRST_PENALTY, LARGEST_PENALTY = 8.0, 1e3
# How far on the safe side of the margin samples are still looked at within a round.
REACH = 0.5
# Return to the lowest point seen if the end lies this share above it.
WORTH_RETURNING = 0.002


@dataclass(frozen=True)
class JointNewton:
    """Majorisation with a semismooth Newton method for the multi-class problem.

    The loss ``g(h_i)`` with concave g lies below ``g(h) + g'(h) (h_i - h)``. Minimising that bound
    is the convex problem of Crammer and Singer with a weight ``C g'(h_i)`` per sample. Each round
    takes a few Newton steps on it, or on large data a few sweeps of coordinate descent in its dual,
    before it updates multipliers and weights. As in the binary solver the truncation comes step by
    step: the convex problem first, then the loss stretched to 8, 4, ... times its cap, then the
    loss itself. Where the convex problem finds nothing better than equal scores for all classes,
    a least squares fit takes its place.

    Parameters
    ----------
    tol : float, default=1e-3
        Stop when the largest residual is below this, and a round lowers the objective by a share
        of less than ``0.3 * tol``.
    max_iter : int, default=200
        The largest number of rounds.
    n_restarts : int, default=0
        Further runs from convex starts with random sample weights; the best objective wins.
    random_state : int or numpy.random.Generator, default=0
        Drives the order of sweeps and the restarts.
    callback : callable, optional
        Called after each round with its row of the history.
    """

    requires = ("profile",)

    tol: float = 1e-3
    max_iter: int = 200
    n_restarts: int = 0
    random_state: int | np.random.Generator = 0
    callback: Callable[[dict[str, Any]], None] | None = None

    def solve(self, problem: JointProblem, *, start: JointStart | None = None) -> SolverResult:
        """Return a stationary point of `problem`.

        The multipliers of the result are the pulls B, of shape (n_samples, n_classes), with
        ``R W' = X' B`` at a stationary point.

        Parameters
        ----------
        problem : JointProblem
            What to minimise.
        start : (W, b, B), optional
            A warm start; the convex start is then left out. B may be None.
        """
        require(problem.loss, self.requires, "the multi-class solver")
        rng = np.random.default_rng(self.random_state)
        # Products with a column per class are too thin for a second thread to gain much.
        with single_threaded_blas(problem.operator, always=True):
            best = _Run(problem, self, rng).go(start)
            for number in range(1, self.n_restarts + 1):
                rival = _Run(problem, self, rng).go_from_random_weights()
                if rival.objective < best.objective:
                    rival.convex_objective = best.convex_objective
                    rival.notes.append(f"restart {number} found the lowest objective")
                    best = rival
            return self._never_worse_than_constant(problem, best, rng)

    def _never_worse_than_constant(
        self, problem: JointProblem, result: SolverResult, rng: np.random.Generator
    ) -> SolverResult:
        """Return the best constant classifier, or what lies below it, if the run ended above."""
        trivial, b = problem.trivial()
        if result.objective < trivial * (1.0 - 1e-9):
            return result
        zero = np.zeros((problem.n_classes, problem.n_features))
        violation = 2.0 if np.any(b) else 1.0
        if float(problem.loss.profile_slope(violation)) > 0.0:
            below = _Run(problem, self, rng).go((zero, b, result.multipliers))
            below.convex_objective = result.convex_objective
            return below if below.objective < result.objective else result
        return replace(
            result,
            coef=zero,
            intercept=b,
            multipliers=0.0 * result.multipliers,
            objective=trivial,
            notes=[*result.notes, CONSTANT],
        )


class _Run:
    """One descent from one start."""

    def __init__(
        self,
        problem: JointProblem,
        options: JointNewton,
        rng: np.random.Generator,
        rows: Any = None,
    ) -> None:
        self.problem = problem
        self.options = options
        self.rng = rng
        self.rows = rows or (problem.rows or JointRows)(problem, rng)
        self.began = time.perf_counter()
        self.passes_before = problem.operator.passes
        self.history: dict[str, list[Any]] = {}
        self.convex_objective = math.nan
        self.residual = math.inf
        self.best: tuple[float, Array, Array] = (math.inf, np.zeros(0), np.zeros(0))
        self.reach = math.inf
        self.xi = FIRST_PENALTY

    def go(self, start: JointStart | None) -> SolverResult:
        if start is None:
            self.rows.start_at_zero()
            return self._result(self._descend())
        W, b, B = start
        self._start_at(np.array(W, dtype=np.float64), np.array(b, dtype=np.float64))
        if says_nothing(self.rows) and self._go_to_least_squares():
            return self._result(self._last_stage())
        self.rows.weigh(self.problem.loss)
        self.rows.set_multipliers(B)
        return self._result(self._last_stage())

    def go_from_random_weights(self) -> SolverResult:
        """Start from the convex solution of a problem with exponential random weights."""
        varied = self.rows.with_random_penalties()
        options = replace(self.options, callback=None)
        run = _Run(varied.problem, options, self.rng, varied)
        varied.start_at_zero()
        run._convex_stage(ROUGH)
        self.rows.adopt(varied)
        return self._result(self._truncate(gently=bool(self.rng.random() < 0.5)))

    def _start_at(self, W: Array, b: Array) -> None:
        """Go to (W, b), with the means over classes taken off: only differences count."""
        b = b - b.mean() if self.problem.fit_intercept else np.zeros_like(b)
        self.rows.start_at(W - W.mean(axis=0), b)

    def _jump_to(self, W: Array, b: Array) -> None:
        """Go to (W, b) without multipliers, and begin there as at any start."""
        self._start_at(W, b)
        self.rows.weigh(self.problem.loss)
        self.rows.set_multipliers(None)
        self.reach, self.xi, self.residual = math.inf, FIRST_PENALTY, math.inf

    def _go_to_least_squares(self) -> bool:
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
        self.convex_objective = self._objective(self.rows.loss_total())
        if says_nothing(self.rows) and self._go_to_least_squares():
            return self._last_stage() and self._back_to_best()
        return self._truncate(gently=True) and self._back_to_best()

    def _convex_stage(self, goal: float) -> bool:
        """Minimise the convex majorant of the loss, roughly. False if rounds ran out."""
        self.rows.weigh_convex()
        previous = math.inf
        while not self._out_of_rounds():
            lag = self._round(None, goal)
            # Residuals are relative: far out they are small, though the point is bad. Where equal
            # scores are best, there is no need to come closer to them than this.
            if self.residual <= goal:
                here, at_zero = self.rows.majoriser()
                if here <= (1.0 + SAYS_NOTHING) * at_zero:
                    return True
            previous = self._adapt_penalty(lag, previous, goal)
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

    def _stretched(self) -> Iterator[Loss]:
        """Yield the loss with its cap stretched, as far as any sample would feel it."""
        largest = self.rows.largest_violation()
        for factor in CAP_FACTORS:
            stretched = self.problem.loss.stretched(factor)
            if stretched is not None and stretched.curved_interval[0] < largest:
                yield stretched

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
            stalled = stalled + 1 if self.last.steps == 0 and self.residual > tol else 0
            if stalled > 10:
                return False
            previous_lag = self._adapt_penalty(lag, previous_lag, tol)
            previous = objective
        return False

    def _back_to_best(self) -> bool:
        """Go back to the lowest point seen if the run did not end there, and settle near it."""
        objective, W, b = self.best
        last = self.history["objective"][-1]
        if last <= (1.0 + WORTH_RETURNING) * objective and not last > self.convex_objective:
            return True
        self._jump_to(W, b)
        return self._careful_stage()

    def _careful_stage(self) -> bool:
        """Solve each majoriser to the end before weighing anew, which never leads upwards."""
        tol = self.options.tol
        while not self._out_of_rounds():
            previous = math.inf
            while not self._out_of_rounds():
                previous = self._adapt_penalty(self._round(None, 0.3 * tol), previous, tol)
                if self.residual <= 0.3 * tol:
                    break
            self.rows.weigh(self.problem.loss)
            left = self.rows.residual(self.problem.loss.weak_convexity)
            self.residual = max(self.residual, left)
            if self.residual <= tol:
                return True
        return False

    def _adapt_penalty(self, lag: float, previous: float, goal: float) -> float:
        """Double the penalty when the multipliers lag behind; return the lag."""
        if self.last.finished and lag > 0.5 * previous and lag > 0.3 * max(goal, self.residual):
            self.xi = min(2.0 * self.xi, LARGEST_PENALTY)
        return lag

    def _out_of_rounds(self) -> bool:
        return len(self.history.get("iteration", ())) >= self.options.max_iter

    # --------------------------------------------------------------------------- one round

    def _round(self, loss: Loss | None, goal: float) -> float:
        """Run one round, weigh anew for `loss`, record.

        Returns how far the multipliers lag behind the levels with the weights of the round, apart
        from what new weights add: only that part gets smaller with a larger penalty.
        """
        asked = max(INNER_SHARE * goal, EARLY_SHARE * min(self.residual, 1.0))
        self.last = self.rows.run(self.xi, tol=asked, max_steps=STEPS_PER_ROUND, reach=self.reach)
        self._adapt_reach()
        closing = self.rows.close(loss, 0.0 if loss is None else loss.weak_convexity)
        self.residual = max(self.last.stationarity, self.last.balance, closing.complementarity)
        self._record(loss, closing)
        return float(closing.lag)

    def _objective(self, loss: float) -> float:
        return self.problem.energy(self.rows.W) + float(loss)

    def _adapt_reach(self) -> None:
        if math.isinf(self.reach):
            self.reach = REACH
        elif self.last.crossed:
            self.reach *= 2.0
        else:
            self.reach = max(0.5 * self.reach, REACH)

    def _record(self, loss: Loss | None, closing: JointClosing) -> None:
        last = self.last
        row = {
            "iteration": len(self.history.get("iteration", ())) + 1,
            "cap": math.inf if loss is None else loss.cap,
            "objective": self._objective(closing.loss),
            "residual": self.residual,
            "stationarity": last.stationarity,
            "balance": last.balance,
            "complementarity": closing.complementarity,
            "newton_steps": last.steps,
            "cg_steps": last.cg_steps,
            "rows": last.rows,
            "active": last.active,
            "support": last.support,
            "penalty": self.xi,
            "passes": self.problem.operator.passes - self.passes_before,
            **self.rows.traffic(),
            "seconds": time.perf_counter() - self.began,
        }
        for name, value in row.items():
            self.history.setdefault(name, []).append(value)
        if row["objective"] < self.best[0]:
            self.best = (row["objective"], self.rows.W, self.rows.b)
        if self.options.callback is not None:
            self.options.callback(row)

    def _result(self, converged: bool) -> SolverResult:
        rows = self.rows
        objective = self._objective(rows.loss_total())
        return SolverResult(
            coef=rows.W,
            intercept=rows.b,
            multipliers=rows.multipliers(),
            objective=objective,
            convex_objective=self.convex_objective,
            converged=converged,
            residual=self.residual,
            n_iter=len(self.history.get("iteration", ())),
            passes=self.problem.operator.passes - self.passes_before,
            history=self.history,
            seconds={"total": time.perf_counter() - self.began},
        )
