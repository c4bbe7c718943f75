"""The solver for the 0/1 loss: find which samples to satisfy, then the widest margin for them.

A stationary point of min w'Rw/2 + sum_i c_i [q_i > 0] is the hard-margin classifier of the samples
that it satisfies (q_i <= 0), since nearby the others do not matter. So there are two tasks. Which
samples to satisfy is found by a descent on losses that approach the 0/1 loss; the margin is then
made exact.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from htsvm._typing import Array
from htsvm.losses import Hinge, Ramp, ZeroOne
from htsvm.problems.binary import Problem, Start
from htsvm.solvers.api import Solver
from htsvm.solvers.newton.solver import Newton
from htsvm.solvers.restarts import constant, lowest
from htsvm.solvers.result import SolverResult, continued
from htsvm.solvers.starts import Convex, chosen
from htsvm.solvers.starts.descents import lower_of

# The ramps that lead from the hinge loss (no ceiling) to the 0/1 loss.
CEILINGS = (math.inf, 2.0, 1.0, 0.3, 0.1, 0.03, 0.01)
# Smaller steps lead to better points more often; on few samples they cost little.
FEW_SAMPLES = 2000
FINE_CEILINGS = (math.inf, 8.0, 4.0, 2.8, 2.0, 1.4, 1.0, 0.7, 0.5, 0.35, 0.2, 0.1, 0.03, 0.01)
# From so many samples on, and up to so many columns, only the search leads to ramps: on 42 fits to
# seven sets that takes 0.57 of the time, and ends 0.03 % higher in the mean (1 % at most).
MANY_SAMPLES, FEW_COLUMNS = 7500, 512
# How well a ramp is solved; the margin at the end is solved better.
ROUGH = 1e-3
# The margin is solved this much finer than the tolerance, so that scaling it costs nothing.
FINER = 1e-3
# The hard margin is a hinge loss with a penalty so much larger than the largest multiplier.
HARD, HARDER = 4.0, 10.0
# The margin is first sought among this many samples of each class, and this many per feature.
NEAREST, NEAREST_PER_FEATURE = 500, 5
# How often samples may be added or the penalty raised.
MOST_CORRECTIONS = 20
# This many of the points on the way are worked out to the end.
FINALISTS = 2
# The budget of all descents together, in Newton steps: ordinary fits take a thousand at most.
MOST_STEPS = 6_000
SPENT = (
    f"the budget of {MOST_STEPS} Newton steps was spent: scale the features, bring the weights "
    "closer to each other, or lower C"
)
# A hard margin may end above the point that it came from by this share.
SLIPPED = 1e-3


@dataclass(frozen=True)
class ZeroOneSolver(Solver):
    """Descent on ramps that close in on the 0/1 loss, or the ADMM, then an exact margin.

    Parameters
    ----------
    tol : float, default=1e-3
        The residual to reach.
    max_iter : int, default=1000
        The largest number of rounds or iterations before the margin is made exact.
    n_restarts : int, default=0
        Further runs from hinge solutions with random sample weights; the best objective wins.
    random_state : int or numpy.random.Generator, default=0
        Drives the choice of sampled rows and the restarts.
    admm : Solver, optional
        Find the samples by this ADMM on the prox of the 0/1 loss instead.
    callback : callable, optional
        Called after each round or iteration with its row of the history.
    starts : "auto" or tuple of str, default="auto"
        The starts that are compared for the ramp of height one; a second descent begins at what
        they lead to. There is none with ``("convex",)`` or a warm start.
    compare_warm : bool, default=False
        Whether a warm start is compared with what a cold one leads to.

    Notes
    -----
    The ramps min(h, c) / c lie below the 0/1 loss and become it for c -> 0. The hinge problem comes
    first, then ramps with a lower and lower ceiling c, from c = 1 on of height one, each from the
    solution before. All these points are compared by their 0/1 objective at the best multiple of
    (w, b), and the best of them made hard-margin classifiers of the samples they satisfy. The
    samples that hold the margin are then on it to rounding: (w, b) is scaled so that none of them
    is violated. So the objective is never above that of the hinge solution. On many samples the
    ramps are left out that lead from the hinge solution to the height one: a search does that.
    """

    tol: float = 1e-3
    max_iter: int = 1000
    n_restarts: int = 0
    random_state: int | np.random.Generator = 0
    admm: Solver | None = None
    callback: Callable[[dict[str, Any]], None] | None = None
    starts: str | tuple[str, ...] = "auto"
    compare_warm: bool | str = False

    def solve(self, problem: Problem, *, start: Start | None = None) -> SolverResult:
        """Return a stationary point of `problem`, whose loss must be `ZeroOne`.

        A warm `start` (w, b, psi) is one of the points compared.
        """
        if not isinstance(problem.loss, ZeroOne):
            raise TypeError(f"ZeroOneSolver solves problems with ZeroOne, not {problem.loss!r}.")
        rng = np.random.default_rng(self.random_state)
        first = _Run(self, problem, rng).run(None if self.compare_warm else start)
        if self.compare_warm and start is not None:
            first = lower_of(first, _Run(self, problem, rng).run(start), self.tol)
        best = lowest(
            first,
            lambda: _Run(self, problem, rng).run(None, restart=True),
            self.n_restarts,
        )
        trivial, b = problem.trivial()
        if best.objective < trivial * (1.0 - 1e-9):
            return best
        return replace(constant(best, b, trivial), converged=True, residual=0.0)

    def refit(self, problem: Problem, result: SolverResult) -> SolverResult:
        """Return the classifier with the widest margin for the samples that `result` satisfies.

        Parameters
        ----------
        problem : Problem
            What to minimise.
        result : SolverResult
            A point, for instance the solution of a problem with another regulariser.
        """
        run = _Run(self, problem, np.random.default_rng(self.random_state))
        return run.finished(run.rounded(result))


class _Candidate(NamedTuple):
    """A point, its 0/1 objective at its best scale, and the samples satisfied there."""

    objective: float
    result: SolverResult
    satisfied: Array


class _Run:
    """One descent."""

    def __init__(self, options: ZeroOneSolver, problem: Problem, rng: np.random.Generator) -> None:
        self.options, self.problem = options, problem
        seed = int(rng.integers(2**31 - 1)) if options.n_restarts else options.random_state
        self.rng = rng
        self.newton = Newton(
            tol=ROUGH, max_iter=options.max_iter, random_state=seed, callback=options.callback,
            starts=("convex",),
        )  # fmt: skip
        self.convex_objective = math.nan
        self.steps = 0
        self.began = time.perf_counter()
        self.passes_before = problem.operator.passes

    def run(self, start: Start | None, restart: bool = False) -> SolverResult:
        candidates: list[_Candidate] = []
        path: SolverResult | None = None
        for result in self._points(start, restart):
            candidates.append(self.rounded(result))
            path = result if path is None else continued(path, result)
        assert path is not None
        candidates.sort(key=lambda candidate: candidate.objective)
        finals = [
            replace(self.finished(candidate), start=candidate.result.start)
            for candidate in candidates[:FINALISTS]
        ]
        if min(final.objective for final in finals) > (1.0 + SLIPPED) * candidates[0].objective:
            # Rounding has kept the exact margin out of reach: better what led to it.
            finals.append(self._multiple(candidates[0]))
        best = min(finals, key=lambda final: final.objective)
        if self._spent:
            best = replace(best, advice=[SPENT])
        return replace(
            best,
            convex_objective=self.convex_objective,
            n_iter=path.n_iter,
            passes=self.problem.operator.passes - self.passes_before,
            history=path.history,
            seconds={"total": time.perf_counter() - self.began},
        )

    # ------------------------------------------------------------------- which samples to satisfy

    def _points(self, start: Start | None, restart: bool) -> Iterator[SolverResult]:
        """Yield the points that are compared."""
        if self.options.admm is None or restart:
            searches = start is None and chosen(self.options.starts) != (Convex(),)
            searches = searches and not restart
            yield from self._ramps(start, restart, searches and self._is_long)
            if searches and not self._spent:
                yield from self._from_search()
            return
        result = self.options.admm.solve(self.problem, start=start)
        self.convex_objective = result.convex_objective
        yield result

    @property
    def _is_long(self) -> bool:
        p = self.problem
        return p.n_samples >= MANY_SAMPLES and p.n_features <= FEW_COLUMNS

    def _ramps(self, start: Start | None, restart: bool, hinge: bool) -> Iterator[SolverResult]:
        """Yield the solutions for one ramp after the other, or that for the hinge loss alone."""
        left, cold = self.options.max_iter, start is None
        few = self.problem.n_samples < FEW_SAMPLES
        for ceiling in (math.inf,) if hinge else FINE_CEILINGS if few else CEILINGS:
            problem = self._ramp(ceiling)
            if math.isinf(ceiling) and restart:
                noise = self.rng.exponential(size=problem.n_samples)
                problem = replace(problem, penalty=problem.penalty * noise)
            result = self._descended(replace(self.newton, max_iter=left), problem, start)
            result.start = "convex" if cold else result.start
            if math.isinf(ceiling):
                q = self.problem.violations(result.coef, result.intercept)
                self.convex_objective = self.problem.objective(result.coef, q)
            yield result
            left -= result.n_iter
            if left <= 0 or self._spent:
                return
            start = (result.coef, result.intercept, result.multipliers)

    def _from_search(self) -> Iterator[SolverResult]:
        """Yield the points of a descent from the best of all starts for the ramp of height one."""
        searching = replace(self.newton, starts=self.options.starts)
        result = self._descended(searching, self._ramp(1.0), None)
        name = result.start
        yield result
        for ceiling in (c for c in CEILINGS if c < 1.0):
            if self._spent:
                return
            start = (result.coef, result.intercept, result.multipliers)
            result = self._descended(self.newton, self._ramp(ceiling), start)
            yield replace(result, start=name)

    def _descended(self, newton: Newton, problem: Problem, start: Start | None) -> SolverResult:
        """Return what a start leads to, and count the steps."""
        result = newton.solve(problem, start=start)
        self.steps += sum(result.history["newton_steps"])
        return result

    @property
    def _spent(self) -> bool:
        return self.steps > MOST_STEPS

    def _ramp(self, ceiling: float) -> Problem:
        """Return the problem with a ramp: of slope one, or if it is short of height one."""
        problem, steeper = self.problem, 1.0 / min(ceiling, 1.0)
        return replace(
            problem,
            loss=Ramp(ceiling),
            penalty=steeper * problem.penalty,
            C=steeper * problem.C,
        )

    def rounded(self, result: SolverResult) -> _Candidate:
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

    # ------------------------------------------------------------------------- the exact margin

    def finished(self, candidate: _Candidate) -> SolverResult:
        """Return the hard-margin classifier of the satisfied samples.

        It is that of the few nearest to the margin, as long as the others turn out satisfied; those
        that do not are added. A hinge loss whose penalty no multiplier reaches makes it hard.
        """
        problem, satisfied = self.problem, candidate.satisfied
        labels = problem.y[satisfied]
        # An intercept alone satisfies samples of one class; without one, weights have to.
        one_class = problem.fit_intercept and len(labels) > 0 and np.all(labels == labels[0])
        if len(labels) == 0 or one_class:
            return self._as_constant(candidate.result)
        result = candidate.result
        rows = self._nearest(result, satisfied)
        full = result.multipliers
        weight = problem.penalty / problem.C
        penalty = HARD * max(float((np.abs(full[rows]) / weight[rows]).max()), problem.C)
        newton = replace(self.newton, tol=FINER * self.options.tol, callback=None)
        for _ in range(MOST_CORRECTIONS):
            start = (result.coef, result.intercept, full[rows])
            result = self._descended(newton, self._hinge(rows, penalty, weight), start)
            full = np.zeros(problem.n_samples)
            full[rows] = result.multipliers
            q = problem.violations(result.coef, result.intercept)
            missing = satisfied & (q > max(float(q[rows].max()), 0.0))
            missing[rows] = False
            hard = bool(np.all(np.abs(result.multipliers) < 0.9 * penalty * weight[rows]))
            if (hard and not missing.any()) or self._spent:
                break
            rows = np.union1d(rows, np.flatnonzero(missing))
            penalty *= 1.0 if hard else HARDER
        done = replace(
            result, multipliers=full, passes=problem.operator.passes - self.passes_before
        )
        return self._scaled(done, q, satisfied)

    def _multiple(self, candidate: _Candidate) -> SolverResult:
        """Return the multiple of a point that satisfies its samples, as it is."""
        problem, result = self.problem, candidate.result
        u = 1.0 - problem.violations(result.coef, result.intercept)
        least = float(u[candidate.satisfied].min(initial=1.0))
        factor = 1.0 / least if least > 0.0 else 1.0
        coef, intercept = factor * result.coef, factor * result.intercept
        return replace(
            result,
            coef=coef,
            intercept=intercept,
            multipliers=factor * result.multipliers,
            objective=problem.objective_at(coef, intercept),
            start=result.start,
            converged=False,
            residual=1.0,
        )

    def _nearest(self, result: SolverResult, satisfied: Array) -> Array:
        """Return the satisfied samples of each class that are nearest to the margin."""
        problem = self.problem
        q = problem.violations(result.coef, result.intercept)
        size = max(NEAREST, NEAREST_PER_FEATURE * problem.n_features)
        chosen = [np.flatnonzero(satisfied & (result.multipliers != 0.0))]
        for label in (-1, 1):
            rows = np.flatnonzero(satisfied & (problem.y == label))
            if len(rows) > size:
                rows = rows[np.argpartition(-q[rows], size)[:size]]
            chosen.append(rows)
        return np.unique(np.concatenate(chosen))

    def _hinge(self, rows: Array, penalty: float, weight: Array) -> Problem:
        part = self.problem.take(rows)
        return replace(part, loss=Hinge(), penalty=penalty * weight[rows], C=penalty)

    def _scaled(self, result: SolverResult, q: Array, satisfied: Array) -> SolverResult:
        """Scale (w, b) and the multipliers so that no satisfied sample is violated."""
        worst = max(float(q[satisfied].max()), 0.0)
        factor = 1.0 / (1.0 - worst) if worst < 0.5 else 1.0
        coef = factor * result.coef
        return replace(
            result,
            coef=coef,
            intercept=factor * result.intercept,
            multipliers=factor * result.multipliers,
            objective=self.problem.objective(coef, 1.0 - factor * (1.0 - q)),
        )

    def _as_constant(self, result: SolverResult) -> SolverResult:
        """Return the constant classifier: the satisfied samples are all of one class."""
        objective, b = self.problem.trivial()
        return replace(
            result,
            coef=np.zeros(self.problem.n_features),
            intercept=b,
            multipliers=np.zeros(self.problem.n_samples),
            objective=objective,
            converged=True,
            residual=0.0,
        )
