"""What a binary and a multi-class descent have in common: rounds, their record, the result."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from htsvm._typing import Array
from htsvm.losses import Loss
from htsvm.optimality.residuals import informative_part
from htsvm.solvers.result import History, SolverResult

# The loss is truncated step by step: first not at all, then at these multiples of its cap.
CAP_FACTORS = (8.0, 4.0, 2.8, 2.0, 1.4)
# How well the convex start and the stretched losses are solved; they only lead the way.
ROUGH = 0.03
# The last stage also asks that a round lowers the objective by less than this share of tol.
OBJECTIVE_SHARE = 0.3
# The penalty xi, in units of C, doubles while the multipliers lag, up to this.
LARGEST_PENALTY = 1e3
# Where hard margins have made it small, it may grow by this factor at a time.
QUICKLY = 16.0
# Penalties may outweigh the regulariser by this factor before xi is made smaller.
LARGEST_STRENGTH = 1e10
# How far on the safe side of the margin samples are still looked at within a round; more when
# samples further off turn out violated.
REACH = 0.5
# Give up after this many rounds that lowered neither the residual by this share, nor the objective
# by this share of tol.
MOST_STALLED, PROGRESS = 60, 0.1
# Objectives that differ by less than this share are the same.
ROUNDED = 1e-9
# The penalty also doubles after this many rounds without progress.
CIRCLES = 8


class Descent(ABC):
    """One descent from one start, in rounds on weighted convex problems.

    Parameters
    ----------
    problem : Problem or MulticlassProblem
        What is minimised.
    options : Newton or MulticlassNewton
        Tolerance, rounds, callback.
    rng : Generator
        Drives all that is random.
    rows : object
        The state of the rows, and all that is asked of them.
    """

    # The penalty xi and the reach of the first round.
    first_penalty: ClassVar[float]
    first_reach: ClassVar[float]

    # The budget: Newton steps, and passes over the data. Ordinary fits need a tenth of it.
    most_steps: int = 3_000
    most_passes: ClassVar[float] = 100_000.0

    # What the last round, a call of `rows.run`, says of itself.
    last: Any

    def __init__(self, problem: Any, options: Any, rng: np.random.Generator, rows: Any) -> None:
        self.problem = problem
        self.options = options
        self.rng = rng
        self.rows = rows
        self.passes_before = problem.operator.passes
        self.history = History(options.callback)
        self._watch()
        self.convex_objective = math.nan
        self.residual = math.inf
        self.steps_taken = 0
        self.best: tuple[float, Array, Any] = (math.inf, np.zeros(0), 0.0)
        self.trivial = problem.trivial_objective
        # The multipliers live on the scale of the penalties, the violations on that of one, and
        # the Hessian is the sum of R and of the rows times penalty and xi. Where the penalties are
        # so small that R has it all, a larger xi brings the two together.
        strength = self.trivial * problem.operator.row_length**2
        own = problem.regularizer.diagonal()
        strength /= (float(own.mean()) if len(own) else 0.0) or 1.0
        self.stretch = max(1.0, 1.0 / strength) if strength > 0.0 else 1.0
        # Where they are so large that the sum of rows has it all, the margin is a hard one, the
        # multipliers are far below the penalties, and rounding would hide them: a smaller xi.
        if strength > LARGEST_STRENGTH:
            self.stretch = LARGEST_STRENGTH / strength
        self.xi, self.reach = self.first_penalty * self.stretch, self.first_reach
        # What the reach comes back to.
        self.least_reach = REACH

    @abstractmethod
    def _point(self) -> tuple[Array, Any]:
        """Return weights and intercept, which later rounds will not change."""

    @abstractmethod
    def _objective(self) -> float:
        """Return the objective, from the violations of all rows."""

    @property
    def _rounds(self) -> int:
        return len(self.history)

    @property
    def _passes(self) -> float:
        return float(self.problem.operator.passes - self.passes_before)

    def _unit(self, loss: Loss | None, objective: float, energy: float) -> float:
        """Return the unit of the objective in a round for `loss`; those on the way are rough."""
        if loss is not self.problem.loss:
            return objective
        return informative_part(objective, self.trivial, energy)

    def _out_of_rounds(self) -> bool:
        return bool(self._rounds >= self.options.max_iter) or self._stalled or self._spent

    def _stretched(self, factors: tuple[float, ...] = CAP_FACTORS) -> Iterator[Loss]:
        """Yield the loss with its cap stretched, as far as any sample would feel it."""
        largest = self.rows.largest_violation()
        for factor in factors:
            stretched = self.problem.loss.stretched(factor)
            if stretched is not None and stretched.curved_interval[0] < largest:
                yield stretched

    def _lies_above_best(self, share: float) -> bool:
        """Whether the last round ended above the convex start, or this share above the lowest."""
        last = self.history["objective"][-1]
        above = last > (1.0 + ROUNDED) * self.convex_objective
        return bool(last > (1.0 + share) * self.best[0] or above)

    def _adapt_penalty(self, lag: float, previous: float, goal: float) -> float:
        """Double the penalty when the multipliers still move much; return the lag."""
        able = self.last.finished and self.last.penalised
        lags = lag > 0.5 * previous and lag > 0.3 * goal
        # Inexact rounds may go round in circles: solve them better.
        circles = (self._rounds - self.progress[2]) % CIRCLES == CIRCLES - 1
        if able and (lags or circles):
            # A round without a step has only moved the multipliers: too slowly, at so small a xi.
            factor = QUICKLY if self._soft and self.last.steps == 0 else 2.0
            self.xi = min(factor * self.xi, LARGEST_PENALTY * max(self.stretch, 1.0))
        return lag

    @property
    def _soft(self) -> bool:
        """Whether xi is still smaller than it would be without hard margins."""
        return self.xi < 1.0

    def _adapt_reach(self, missed: bool) -> None:
        """Look further next time if rows that were left out turned out violated."""
        if math.isinf(self.reach):
            self.reach = self.least_reach
        elif missed:
            self.reach *= 2.0
        else:
            self.reach = max(0.5 * self.reach, REACH)

    def _record(
        self, loss: Loss | None, *, complementarity: float, objective: float, **more: Any
    ) -> None:
        """Write a row of the history, keep the lowest point, tell the callback."""
        last = self.last
        self.steps_taken += last.steps
        if objective < self.best[0]:
            self.best = (objective, *self._point())
        self._note_progress(objective)
        self.history.add(
            cap=math.inf if loss is None else loss.cap,
            objective=objective,
            residual=self.residual,
            stationarity=last.stationarity,
            balance=last.balance,
            complementarity=complementarity,
            newton_steps=last.steps,
            sweeps=last.sweeps,
            **more,
            rows=last.rows,
            active=last.active,
            support=last.support,
            penalty=self.xi,
            passes=self._passes,
            **self.rows.traffic(),
        )

    def _watch(self) -> None:
        """Begin to look out for progress."""
        self.progress = (math.inf, math.inf, self._rounds)

    def _note_progress(self, objective: float) -> None:
        """Remember the last round that brought the residual or the objective down."""
        residual, lowest, _ = self.progress
        gain = PROGRESS * self.options.tol * abs(lowest) if math.isfinite(lowest) else 0.0
        if self.residual < (1.0 - PROGRESS) * residual or objective < lowest - gain:
            self.progress = min(residual, self.residual), min(lowest, objective), self._rounds

    @property
    def _stalled(self) -> bool:
        return self._rounds - self.progress[2] > MOST_STALLED

    @property
    def _spent(self) -> bool:
        return self.steps_taken > self.most_steps or self._passes > self.most_passes

    def _final_objective(self, coef: Array, intercept: Any) -> float:
        """Return the objective at the end, not from violations that steps have carried along."""
        if self.problem.rows is not None:
            return self._objective()
        return float(self.problem.objective_at(coef, intercept))

    def _result(self, converged: bool) -> SolverResult:
        """Return where the run ended."""
        coef, intercept = self._point()
        advice = []
        if self._stalled and not converged:
            advice.append(
                f"the last {MOST_STALLED} rounds brought no progress: scale the features, bring "
                "the weights closer to each other, or lower C"
            )
        elif self._spent and not converged:
            advice.append(
                f"the budget of {self.most_steps} Newton steps and {self.most_passes:g} passes was "
                "spent: scale the features, bring the weights closer to each other, or lower C"
            )
        return SolverResult(
            coef=coef,
            intercept=intercept,
            multipliers=self.rows.multipliers(),
            objective=self._final_objective(coef, intercept),
            convex_objective=self.convex_objective,
            converged=converged,
            residual=self.residual,
            n_iter=self._rounds,
            passes=self._passes,
            history=self.history.columns,
            advice=advice,
        )
