"""The solver for the 0/1 loss: find which samples to satisfy, then the widest margin for them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from htsvm.extend import Array, Callback, Hinge, Newton, Problem, Ramp, Solver, SolverResult
from htsvm_paper.losses import ZeroOne

# The ramps that lead from the hinge loss (no ceiling) to the 0/1 loss.
CEILINGS = (math.inf, 2.0, 1.0, 0.3, 0.1, 0.03, 0.01)
# Smaller steps lead to better points more often; on few samples they cost little.
FEW_SAMPLES = 2000
FINE_CEILINGS = (math.inf, 8.0, 4.0, 2.8, 2.0, 1.4, 1.0, 0.7, 0.5, 0.35, 0.2, 0.1, 0.03, 0.01)
# From so many samples on, and up to so many columns, only the search leads to ramps: 0.57 of the
# time on 42 fits to seven sets, and 0.03 % higher in the mean (1 % at most).
MANY_SAMPLES, FEW_COLUMNS = 7500, 512
# How well a ramp is solved; and how much finer than the tolerance the margin, which is then scaled.
ROUGH, FINER = 1e-3, 1e-3
# The penalty that makes a margin hard, in multipliers; how often it is raised, and by what.
HARD, MOST_CORRECTIONS, HARDER = 4.0, 20, 10.0
# This many of the points on the way are worked out to the end.
FINALISTS = 2
# The budget of all descents in Newton steps: ordinary fits take a thousand at most.
MOST_STEPS = 6_000
SPENT = f"the budget of {MOST_STEPS} Newton steps was spent: scale features and weights, or lower C"
# A hard margin may end above the point that it came from by this share.
SLIPPED = 1e-3


@dataclass(frozen=True)
class ZeroOneSolver(Solver):
    """Descent on ramps that close in on the 0/1 loss, or the ADMM, then an exact margin.

    Parameters
    ----------
    tol, max_iter : float, int
        The residual to reach, and the most rounds or iterations before the margin is made exact.
    n_restarts, random_state : int, int or numpy.random.Generator
        Further runs from hinge solutions with random sample weights, of which the best objective
        wins; and what drives them, and the choice of sampled rows.
    admm : Solver, optional
        Find the samples by this ADMM on the prox of the 0/1 loss instead.
    callback : callable, optional
        Called after each round or iteration with its row of the history.
    starts : "auto" or tuple of str, default="auto"
        The starts of `Newton` for the ramp of height one, from which a second descent follows;
        ``("convex",)`` leaves it out.
    compare_warm : bool, default=False
        Whether a warm start is compared with what a cold one leads to. If not, the result is the
        widest margin for the samples that the start satisfies.

    Notes
    -----
    A stationary point of min w'Rw/2 + sum_i c_i [q_i > 0] is the hard-margin classifier of the
    samples that it satisfies (q_i <= 0), since nearby the others do not matter. The ramps
    min(h, c) / c lie below the 0/1 loss and become it for c -> 0. `Newton` solves the hinge problem
    first, then ramps with a lower and lower ceiling c, from c = 1 on of height one, each from the
    solution before. All these points are compared by their 0/1 objective at the best multiple of
    (w, b), and the best of them made hard-margin classifiers, scaled so that no sample that holds
    the margin is violated. So the objective is never above that of the hinge solution. On many
    samples a search takes the place of the ramps between the hinge loss and height one.
    """

    tol: float = 1e-3
    max_iter: int = 1000
    n_restarts: int = 0
    random_state: int | np.random.Generator = 0
    admm: Solver | None = None
    callback: Callback | None = None
    starts: str | tuple[str, ...] = "auto"
    compare_warm: bool = False

    def solve(self, problem: Problem, *, start: Any = None) -> SolverResult:
        """Return a stationary point; a warm start (w, b, psi) is one of the points compared."""
        if not isinstance(problem.loss, ZeroOne):
            raise TypeError(f"ZeroOneSolver solves problems with ZeroOne, not {problem.loss!r}.")
        run = _Search(self, problem)
        finals = []
        if start is not None:
            w, b, psi = start
            psi = np.zeros(problem.n_samples) if psi is None else psi
            given = SolverResult(w, b, psi, problem.objective_at(w, b), start="warm")
            finals = run.finals([given])
        if start is None or self.compare_warm:
            finals += run.finals(run.points())
            for number in range(1, self.n_restarts + 1):
                rivals = run.finals(run.ramps(run.ceilings, restart=True))
                finals += [replace(rival, start=f"restart {number}") for rival in rivals]
        return run.told(min(finals, key=lambda one: one.objective))


class _Candidate(NamedTuple):
    """A point, its 0/1 objective at its best scale, and the samples satisfied there."""

    objective: float
    result: SolverResult
    satisfied: Array


class _Search:
    """One call of `ZeroOneSolver.solve`."""

    def __init__(self, options: ZeroOneSolver, problem: Problem) -> None:
        self.options, self.problem = options, problem
        self.rng = np.random.default_rng(options.random_state)
        self.newton = Newton(
            tol=ROUGH, max_iter=options.max_iter, random_state=options.random_state,
            callback=options.callback, starts=("convex",),
        )  # fmt: skip
        self.ceilings = FINE_CEILINGS if problem.n_samples < FEW_SAMPLES else CEILINGS
        self.convex_objective = math.nan
        self.steps = 0
        self.history: dict[str, list[Any]] = {}
        self.began = time.perf_counter()
        self.passes_before = problem.operator.passes

    def told(self, best: SolverResult) -> SolverResult:
        """Return the best result, or the constant classifier, with what the whole run has taken."""
        trivial, _ = self.problem.trivial()
        if not best.objective < trivial * (1.0 - 1e-9):
            best = self._as_constant(best)
        return replace(
            best, convex_objective=self.convex_objective, history=self.history,
            n_iter=len(self.history.get("iteration", ())),
            passes=self.problem.operator.passes - self.passes_before,
            seconds={"total": time.perf_counter() - self.began},
            advice=[SPENT] if self._spent else [],
        )  # fmt: skip

    def points(self) -> Iterator[SolverResult]:
        """Yield the points that are compared."""
        if self.options.admm is not None:
            result = self._descended(self.options.admm, self.problem, None)
            self.convex_objective = result.convex_objective
            yield result
            return
        starts, p = self.options.starts, self.problem
        searches = starts == "auto" or tuple(starts) != ("convex",)
        many = p.n_samples >= MANY_SAMPLES and p.n_features <= FEW_COLUMNS
        yield from self.ramps((math.inf,) if searches and many else self.ceilings)
        if searches and not self._spent:
            # A descent from the best of all starts for the ramp of height one.
            found = self._descended(replace(self.newton, starts=starts), self._ramp(1.0), None)
            yield found
            for result in self.ramps([c for c in CEILINGS if c < 1.0], found):
                yield replace(result, start=found.start)

    def ramps(
        self, ceilings: Any, result: SolverResult | None = None, restart: bool = False
    ) -> Iterator[SolverResult]:
        """Yield the solutions for one ramp after the other, each from the one before."""
        left = self.options.max_iter
        for ceiling in ceilings:
            if left <= 0 or self._spent:
                return
            problem = self._ramp(ceiling)
            if restart and math.isinf(ceiling):
                noise = self.rng.exponential(size=problem.n_samples)
                problem = replace(problem, penalty=problem.penalty * noise)
            result = self._descended(replace(self.newton, max_iter=left), problem, result)
            result.start = "convex"
            if math.isinf(ceiling) and not restart:
                at = self.problem.objective_at(result.coef, result.intercept)
                self.convex_objective = at
            yield result
            left -= result.n_iter

    def _descended(
        self, solver: Solver, problem: Problem, before: SolverResult | None
    ) -> SolverResult:
        """Return what a start leads to; count the steps and keep the history."""
        start = before and (before.coef, before.intercept, before.multipliers)
        result = solver.solve(problem, start=start)
        self.steps += max(result.history.get("steps", []), default=0)
        rows, first = len(result.history["iteration"]), not self.history
        for name, values in (result.history if first else dict(self.history)).items():
            more = np.array(result.history.get(name, [math.nan] * rows))
            if not first and name in ("iteration", "passes", "seconds"):
                # These go on where the last descent ended.
                more = more + values[-1]
            self.history.setdefault(name, []).extend(more.tolist())
        return result

    @property
    def _spent(self) -> bool:
        return self.steps > MOST_STEPS

    def _ramp(self, ceiling: float) -> Problem:
        """Return the problem with a ramp: of slope one, or if it is short of height one."""
        problem, steeper = self.problem, 1.0 / min(ceiling, 1.0)
        penalty, C = steeper * problem.penalty, steeper * problem.C
        return replace(problem, loss=Ramp(ceiling), penalty=penalty, C=C)

    def _rounded(self, result: SolverResult) -> _Candidate:
        """Return the 0/1 objective at the best multiple of (w, b), and who is satisfied there.

        A sample with y f(x) = u > 0 is satisfied by multiples from 1 / u on, so the multiples 1 / u
        are compared, with the samples sorted by u. Multiples below 1/2 and above 2 are left out.
        """
        problem = self.problem
        u = 1.0 - problem.violations(result.coef, result.intercept)
        order = np.flatnonzero((u >= 0.5) & (u <= 2.0))
        if len(order) == 0:
            order = np.flatnonzero(u > 0.0)
        order = order[np.argsort(-u[order])]
        satisfied = (u > u[order].max(initial=0.0)) & (problem.penalty > 0.0)
        left = float(problem.penalty.sum()) - float(problem.penalty[satisfied].sum())
        if len(order) == 0:
            return _Candidate(left, result, satisfied)
        cost = left - np.cumsum(problem.penalty[order])
        values = problem.regularizer.energy(result.coef) / u[order] ** 2 + cost
        best = int(values.argmin())
        satisfied = (u >= u[order[best]]) & (problem.penalty > 0.0)
        return _Candidate(float(values[best]), result, satisfied)

    def finals(self, points: Iterable[SolverResult]) -> list[SolverResult]:
        """Return the hard-margin classifiers of the best of some points."""
        candidates = sorted(map(self._rounded, points), key=lambda one: one.objective)
        finals = [
            replace(self._finished(one), start=one.result.start) for one in candidates[:FINALISTS]
        ]
        best = candidates[0]
        if min(final.objective for final in finals) > (1.0 + SLIPPED) * best.objective:
            # Rounding has kept the exact margin out of reach: better the multiple that led to it.
            q = self.problem.violations(best.result.coef, best.result.intercept)
            least = float((1.0 - q[best.satisfied]).min(initial=1.0))
            point = replace(best.result, converged=False, residual=1.0)
            finals.append(self._times(1.0 / least if least > 0.0 else 1.0, point, q))
        return finals

    def _finished(self, candidate: _Candidate) -> SolverResult:
        """Return the hard-margin classifier of the satisfied samples.

        A hinge loss whose penalty no multiplier reaches makes it hard.
        """
        problem, result = self.problem, candidate.result
        rows = np.flatnonzero(candidate.satisfied)
        labels = problem.y[rows]
        # An intercept alone satisfies samples of one class; without one, weights have to.
        if len(rows) == 0 or (problem.fit_intercept and np.all(labels == labels[0])):
            return self._as_constant(result)
        weight = problem.penalty[rows] / problem.C
        psi = result.multipliers[rows]
        penalty = HARD * max(float((np.abs(psi) / weight).max()), problem.C)
        newton = replace(self.newton, tol=FINER * self.options.tol, callback=None)
        part = replace(problem.take(rows), loss=Hinge())
        result = replace(result, multipliers=psi)
        for _ in range(MOST_CORRECTIONS):
            hinge = replace(part, penalty=penalty * weight, C=penalty)
            result = self._descended(newton, hinge, result)
            if self._spent or np.all(np.abs(result.multipliers) < 0.9 * penalty * weight):
                break
            penalty *= HARDER
        psi = np.zeros(problem.n_samples)
        psi[rows] = result.multipliers
        q = problem.violations(result.coef, result.intercept)
        # Scaled so that no satisfied sample is violated.
        worst = max(float(q[rows].max()), 0.0)
        factor = 1.0 / (1.0 - worst) if worst < 0.5 else 1.0
        return self._times(factor, replace(result, multipliers=psi), q)

    def _times(self, factor: float, result: SolverResult, q: Array) -> SolverResult:
        """Return a multiple of a point with the violations q."""
        coef = factor * result.coef
        return replace(
            result, coef=coef, intercept=factor * result.intercept,
            multipliers=factor * result.multipliers,
            objective=self.problem.objective(coef, 1.0 - factor * (1.0 - q)),
        )  # fmt: skip

    def _as_constant(self, result: SolverResult) -> SolverResult:
        """Return the best constant classifier."""
        objective, b = self.problem.trivial()
        return replace(
            result, coef=np.zeros(self.problem.n_features), intercept=b, objective=objective,
            multipliers=np.zeros(self.problem.n_samples), converged=True, residual=0.0,
            start="constant",
        )  # fmt: skip
