"""The default solver: majorise by a weighted hinge, solve that by Newton's method, repeat."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.linalg.threads import single_threaded_blas
from htsvm.losses import Loss, require
from htsvm.solvers.dual_sweeps import DualSweeps, prefers_sweeps
from htsvm.solvers.newton_round import Iterate, Rounds
from htsvm.solvers.problem import Problem, SolverResult, Start

# The loss is truncated step by step: first not at all, then at these multiples of its cap.
CAP_FACTORS = (8.0, 4.0, 2.8, 2.0, 1.4)
# How well the convex start and the stretched losses are solved; they only lead the way.
ROUGH = 0.03
# Each inner problem is solved to this share of what its stage asks for.
INNER_SHARE = 0.1
# The last stage also asks that a round lowers the objective by less than this share.
OBJECTIVE_SHARE = 0.3
# Newton steps between two multiplier updates.
STEPS_PER_ROUND = 10
# The penalty xi, in units of C, starts at one and doubles while the multipliers lag, up to this.
LARGEST_PENALTY = 1e3
# The convex start may use a sample of the rows: at least so many, and so many per feature.
SAMPLE_ROWS, SAMPLE_ROWS_PER_FEATURE, SAMPLE_SHARE, MOST_SAMPLE_ROWS = 2000, 50, 0.05, 10_000
# Below this many stored values a sample would save nothing.
SAMPLE_FROM = 100_000

# How far on the safe side of the margin samples are still looked at within a round; more when
# samples further off turn out violated.
REACH = 0.5
# The penalty of a warm start, whose multipliers are nearly right.
WARM_PENALTY = 8.0

# Return to the lowest point seen if the end lies this share above it; what the rough rounds on the
# way report is not exact to less.
WORTH_RETURNING = 0.005
# The note on a result that is a constant classifier.
CONSTANT = "constant"

Callback = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Newton:
    """Majorisation with a semismooth Newton method on the augmented Lagrangian.

    A loss ``g(max(s, 0))`` with concave g, less a linear part if it has a tilt, lies below the
    hinge loss with weights ``C g'(h_i)``, tilted alike, that touches it at the current violations
    h_i. Each round takes a few Newton steps on that weighted
    hinge problem, updates the multipliers, and weighs anew; samples beyond the cap get weight zero
    and leave. The truncation is not switched on at once: the convex problem (no cap) comes first,
    on a sample of the rows if there are many, then the loss stretched to 8, 4, ... times its
    cap, one round each, then the loss itself until it is stationary. That path leads to lower
    objectives than truncating at once, for the price of a few cheap rounds.

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
        Drives the choice of sampled rows and the restarts.
    callback : callable, optional
        Called after each round with its row of the history.
    """

    requires = ("profile",)

    tol: float = 1e-3
    max_iter: int = 200
    n_restarts: int = 0
    random_state: int | np.random.Generator = 0
    callback: Callback | None = None

    def solve(self, problem: Problem, *, start: Start | None = None) -> SolverResult:
        """Return a stationary point of `problem`.

        Parameters
        ----------
        problem : Problem
            What to minimise.
        start : (w, b, psi), optional
            A warm start; the convex start is then left out. Without psi (None) the multipliers
            are guessed from the violations.
        """
        require(problem.loss, self.requires, "solver 'newton'")
        problem = problem.tilted()
        rng = np.random.default_rng(self.random_state)
        with single_threaded_blas(problem.operator):
            best = _Run(problem, self, rng).go(start)
            for number in range(1, self.n_restarts + 1):
                rival = _Run(problem, self, rng).go(None, restart=True)
                if rival.objective < best.objective:
                    rival.convex_objective = best.convex_objective
                    rival.notes.append(f"restart {number} found the lowest objective")
                    best = rival
            return self._never_worse_than_constant(problem, best, rng)

    def _never_worse_than_constant(
        self, problem: Problem, result: SolverResult, rng: np.random.Generator
    ) -> SolverResult:
        """Return the best constant classifier, or what lies below it, if the descent ended above.

        With a cap of at most 2 the constant classifier is stationary: the samples of the smaller
        class are ignored. With a larger cap they still pull, and there is a way down from it.
        """
        trivial, b = problem.trivial()
        if result.objective < trivial * (1.0 - 1e-9):
            return result
        zero = np.zeros(problem.n_features)
        if float(problem.loss.profile_slope(2.0)) > 0.0:
            below = _Run(problem, self, rng).go((zero, b, None))
            below.convex_objective = result.convex_objective
            return below if below.objective < result.objective else result
        return replace(
            result,
            coef=zero,
            intercept=b,
            multipliers=np.zeros(problem.n_samples),
            objective=trivial,
            notes=[*result.notes, CONSTANT],
        )


class _Run:
    """One descent from one start."""

    def __init__(self, problem: Problem, options: Newton, rng: np.random.Generator) -> None:
        self.problem = problem
        self.options = options
        self.rng = rng
        self.rounds: Rounds | DualSweeps = (
            DualSweeps(problem, rng) if prefers_sweeps(problem) else Rounds(problem)
        )
        self.began = time.perf_counter()
        self.passes_before = problem.operator.passes
        self.history: dict[str, list[Any]] = {}
        self.convex_objective = math.nan
        self.residual = math.inf
        self.best: tuple[float, Array, float] = (math.inf, np.zeros(0), 0.0)
        self.reach = REACH
        self.xi = 1.0
        self.weighed = False
        self.band = 0.0

    def go(self, start: Start | None, restart: bool = False) -> SolverResult:
        m, n = self.problem.operator.shape
        if start is None:
            self.it = Iterate(np.zeros(n), 0.0, np.ones(m), np.zeros(m), np.empty(m))
            if restart:
                self._start_from_random_weights()
                converged = self._truncate(gently=bool(self.rng.random() < 0.5))
            else:
                self._start_from_sample()
                converged = self._descend()
        else:
            w, b, psi = start
            w = np.array(w, dtype=np.float64)
            tilt = self.problem.loss.tilt * self.problem.penalty
            alpha = np.zeros(m) if psi is None else np.maximum(tilt - psi, 0.0)
            self.it = Iterate(w, float(b), self.problem.violations(w, b), alpha, np.empty(m))
            if psi is None:
                self._guess_multipliers(2.0 * n / m)
            else:
                self.xi = WARM_PENALTY
            converged = self._last_stage()
        return self._result(converged)

    def _descend(self) -> bool:
        """Solve the convex problem, then truncate; a convex loss has only the first part."""
        if math.isinf(self.problem.loss.cap):
            return self._last_stage()
        if not self._convex_stage():
            return False
        self.convex_objective = self.problem.objective(self.it.w, self.it.q)
        return self._truncate(gently=True) and self._back_to_best()

    def _truncate(self, gently: bool) -> bool:
        """Go from the convex solution to the loss itself, step by step if `gently`."""
        for stretched in _stretched(self.problem, self.it.q) if gently else ():
            stretched.slopes(self.it.q, self.problem.penalty, self.it.weights)
            if self._out_of_rounds():
                return False
            self._round(stretched, ROUGH)
        return self._last_stage()

    # ------------------------------------------------------------------------------- starts

    def _start_from_sample(self) -> None:
        """Solve the convex problem on a sample of the rows first, where there are many."""
        problem, it = self.problem, self.it
        m, n = problem.operator.shape
        share = min(SAMPLE_SHARE * m, MOST_SAMPLE_ROWS)
        size = int(max(SAMPLE_ROWS, SAMPLE_ROWS_PER_FEATURE * n, share))
        if m < 4 * size or problem.operator.stored < SAMPLE_FROM:
            return
        rows = np.sort(self.rng.integers(m, size=size))
        labels = problem.y[rows]
        if np.all(labels == labels[0]):
            return
        part = problem.take(rows)
        part = replace(part, penalty=part.penalty * (m / size), C=part.C * (m / size))
        run = _Run(part, replace(self.options, callback=None), self.rng)
        small = run.go_convex()
        problem.operator.passes += (part.operator.passes + 1.0) * size / m
        it.w, it.b = small.w, small.b
        problem.violations(it.w, it.b, out=it.q)
        self.xi = run.xi
        self._guess_multipliers(max(run.last.active / size, 2.0 * n / m))
        self.reach = math.inf

    def go_convex(self) -> Iterate:
        """Solve only the convex start, roughly."""
        m, n = self.problem.operator.shape
        self.it = Iterate(np.zeros(n), 0.0, np.ones(m), np.zeros(m), np.empty(m))
        self._convex_stage()
        return self.it

    def _guess_multipliers(self, share: float) -> None:
        """Set alpha from q alone: a ramp as wide as the given share of all samples."""
        it, problem = self.it, self.problem
        some = it.q[:: max(len(it.q) // MOST_SAMPLE_ROWS, 1)]
        width = float(np.quantile(np.abs(some), min(share, 1.0))) + 1e-12
        top = float(problem.loss.profile_slope(0.0))
        np.clip(0.5 + (0.5 / width) * it.q, 0.0, 1.0, out=it.alpha)
        it.alpha *= problem.penalty
        it.alpha *= top

    def _start_from_random_weights(self) -> None:
        """Start from the convex solution of a problem with exponential random weights."""
        problem = self.problem
        noise = self.rng.exponential(size=problem.n_samples)
        varied = replace(problem, penalty=problem.penalty * noise, linear=None)
        run = _Run(varied, replace(self.options, callback=None), self.rng)
        self.it = run.go_convex()
        top = float(problem.loss.profile_slope(0.0))
        np.minimum(self.it.alpha, top * problem.penalty, out=self.it.alpha)

    # ------------------------------------------------------------------------------- stages

    def _convex_stage(self) -> bool:
        """Minimise the hinge majorant of the loss at zero, roughly. False if rounds ran out."""
        top = float(self.problem.loss.profile_slope(0.0))
        np.multiply(self.problem.penalty, top, out=self.it.weights)
        previous = math.inf
        while not self._out_of_rounds():
            lag = self._round(None, ROUGH)
            if self.residual <= ROUGH:
                return True
            previous = self._adapt_penalty(lag, previous, ROUGH)
        return False

    def _last_stage(self) -> bool:
        """Weigh and solve with the loss itself until it is stationary."""
        tol = self.options.tol
        loss = self.problem.loss
        loss.slopes(self.it.q, self.problem.penalty, self.it.weights)
        previous_lag, previous = math.inf, math.inf
        stalled = 0
        patience = ROUGH if math.isinf(loss.weak_convexity) else math.inf
        while not self._out_of_rounds():
            lag = self._round(loss, tol, patience)
            objective = self.history["objective"][-1]
            gain = previous - objective
            settled = self.weighed and self.residual <= tol
            if settled and gain <= OBJECTIVE_SHARE * tol * abs(objective):
                return True
            if self.weighed:
                patience = max(0.5 * patience, tol)
                self.band += tol
            stalled = stalled + 1 if self.last.steps == 0 and self.residual > tol else 0
            if stalled > 5:
                return False
            previous_lag = self._adapt_penalty(lag, previous_lag, tol)
            previous = objective
        return False

    def _back_to_best(self) -> bool:
        """Go back to the lowest point seen if the run did not end there, and settle near it."""
        objective, w, b = self.best
        if self.history["objective"][-1] <= (1.0 + WORTH_RETURNING) * objective:
            return True
        self.it.w, self.it.b = w, b
        self.problem.violations(w, b, out=self.it.q)
        self._guess_multipliers(2.0 * self.problem.n_features / self.problem.n_samples)
        self.reach, self.xi = math.inf, 1.0
        return self._last_stage()

    def _adapt_penalty(self, lag: float, previous: float, goal: float) -> float:
        """Double the penalty when the multipliers still move much; return the lag."""
        if self.last.finished and lag > 0.5 * previous and lag > 0.3 * goal:
            self.xi = min(2.0 * self.xi, LARGEST_PENALTY)
        return lag

    def _out_of_rounds(self) -> bool:
        return len(self.history.get("iteration", ())) >= self.options.max_iter

    # --------------------------------------------------------------------------- one round

    def _round(self, loss: Loss | None, goal: float, patience: float = math.inf) -> float:
        """Run one round, weigh anew for `loss`, record; return how much the multipliers moved.

        The weights stay as they are while the residual that they leave is above `patience`.
        """
        it = self.it
        self.last = self.rounds.run(
            it,
            self.xi,
            tol=INNER_SHARE * goal,
            max_steps=STEPS_PER_ROUND,
            reach=self.reach,
        )
        if math.isinf(self.reach):
            self.reach = REACH
        elif self.last.crossed:
            self.reach *= 2.0
        else:
            self.reach = max(0.5 * self.reach, REACH)
        self.weighed = loss is not None
        if math.isfinite(patience):
            complementarity, _ = self._complementarity(loss)
            self.weighed = max(self._gradient_residual(), complementarity) <= patience
        if loss is not None and self.weighed:
            self._weigh(loss)
        complementarity, unit = self._complementarity(loss)
        lag = self.last.multiplier_change / self.xi / unit
        self.residual = max(self._gradient_residual(), complementarity)
        self._record(loss, complementarity)
        return lag

    def _weigh(self, loss: Loss) -> None:
        """Set the weights to the slopes of the loss at the violations.

        Where the slope jumps, samples within a narrow band around the jump keep the weight they
        have: either is right to within the width of the band, and inexact rounds would move them
        in and out for ever.
        """
        it = self.it
        kept: Array | slice = slice(0, 0)
        if math.isinf(loss.weak_convexity) and self.band > 0.0:
            kept = np.flatnonzero(np.abs(it.q - loss.cap) <= self.band)
        before = it.weights[kept].copy()
        loss.slopes(it.q, self.problem.penalty, it.weights)
        it.weights[kept] = before

    def _gradient_residual(self) -> float:
        return max(self.last.stationarity, self.last.balance)

    def _complementarity(self, loss: Loss | None) -> tuple[float, float]:
        """Return the residual of the prox condition for the weights in force, and its unit."""
        it, problem = self.it, self.problem
        nu, doubled = 1.0, 1.0
        if loss is not None:
            nu = loss.unit_step
            # In the curved part of the loss the prox doubles an error of the multiplier.
            doubled = 2.0 if 0.0 < loss.weak_convexity < math.inf else 1.0
        gap, size = kernels.active.natural_residual(it.q, it.alpha, it.weights, problem.penalty, nu)
        unit = math.sqrt(problem.C) + math.sqrt(size)
        return doubled * math.sqrt(gap) / unit, unit

    def _record(self, loss: Loss | None, complementarity: float) -> None:
        problem, it, last = self.problem, self.it, self.last
        row = {
            "iteration": len(self.history.get("iteration", ())) + 1,
            "cap": math.inf if loss is None else loss.cap,
            "objective": problem.objective(it.w, it.q),
            "residual": self.residual,
            "stationarity": last.stationarity,
            "balance": last.balance,
            "complementarity": complementarity,
            "newton_steps": last.steps,
            "rows": last.rows,
            "active": last.active,
            "support": last.support,
            "penalty": self.xi,
            "passes": problem.operator.passes - self.passes_before,
            "seconds": time.perf_counter() - self.began,
        }
        for name, value in row.items():
            self.history.setdefault(name, []).append(value)
        if row["objective"] < self.best[0]:
            self.best = (row["objective"], it.w.copy(), it.b)
        if self.options.callback is not None:
            self.options.callback(row)

    def _result(self, converged: bool) -> SolverResult:
        it, problem = self.it, self.problem
        clock = self.rounds.clock
        total = time.perf_counter() - self.began
        parts = {
            "passes": clock.passes,
            "newton_systems": clock.systems,
            "line_searches": clock.searches,
        }
        return SolverResult(
            coef=it.w,
            intercept=it.b,
            multipliers=problem.loss.tilt * problem.penalty - it.alpha,
            objective=problem.objective(it.w, it.q),
            convex_objective=self.convex_objective,
            converged=converged,
            residual=self.residual,
            n_iter=len(self.history.get("iteration", ())),
            passes=problem.operator.passes - self.passes_before,
            history=self.history,
            seconds={**parts, "other": total - sum(parts.values()), "total": total},
        )


def _stretched(problem: Problem, q: Array) -> Iterator[Loss]:
    """Yield the loss with its cap stretched, leaving out stretches that no sample would feel."""
    largest = float(q.max(initial=0.0, where=problem.penalty > 0.0))
    for factor in CAP_FACTORS:
        stretched = problem.loss.stretched(factor)
        if stretched is not None and stretched.curved_interval[0] < largest:
            yield stretched
