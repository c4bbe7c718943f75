"""A multistart search for a low minimum of a truncated loss of several classes.

Descents on smooth stand-ins of the loss lead from a few starts near some of the many local minima,
and the finish from the lowest to a stationary point. The constant classifier, the convex solution
and a warm start are points like the others, so that nothing ends above them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from htsvm._seeds import search_generator
from htsvm._typing import Array
from htsvm.problems.multiclass import MulticlassProblem, MulticlassStart
from htsvm.solvers.multiclass.finish import MulticlassEnd, finish
from htsvm.solvers.multiclass.smoothed import Smoothed, StandIn, rounded, sigmoid
from htsvm.solvers.multiclass.sweeps import strength
from htsvm.solvers.result import History, SolverResult

# The starts that are compared where none are named.
NAMES = ("convex", "annealed")
# A convex solution below this share of the best constant's objective is a good fit: truncation
# moves few samples, and leads lowest from the exact solution. (Clean digits with C = 30: by 12 %.)
GOOD_FIT = 0.2
# Caps on the way from the convex solution to the loss itself, in caps.
CAPS = (8.0, 4.0, 2.8, 2.0, 1.4)
# The width of the sigmoid, and those of a push, in caps.
SIGMOID, PUSHED = 0.5, (0.7, 0.35)
# Penalties of a push rise and fall so often in a standard deviation along a random direction.
WAVES = 8.0
# Steps without a cap, with each stretched one, with a sigmoid, with the loss itself; the share of
# the value that each is to gain with stand-ins, and with the loss.
CONVEX_STEPS, CAP_STEPS, SIGMOID_STEPS, STEPS = 24, 4, 9, 15
ROUGH, FINE = 1e-3, 1e-4
# At the end: how much sharper kinks are, the steps, and what each gains.
SHARPER, LAST_STEPS, FINEST = 2.0, 18, 1e-5
# The convex problem is solved for a C whose product with a squared row is at most this, then for
# larger ones, by the factor, while a multiplier is at its bound.
STRONGEST, GROWTH = 40.0, 8.0
# A warm start is uninformative within this share of the convex objective of equal scores.
UNINFORMATIVE = 0.01
# Stored values times classes that are searched; of more, rows drawn at random.
VALUES = 100_000_000
# The constant classifier is kept where nothing ends lower by this share.
LOWER = 1e-9


def solve(problem: MulticlassProblem, options: Any, start: MulticlassStart | None) -> SolverResult:
    """Return the lowest stationary point that is found.

    Parameters
    ----------
    problem : MulticlassProblem
        What to minimise, in coordinates that suit a search.
    options : Newton
        Tolerance, budget, seed, starts.
    start : (W, b, B), optional
        A warm start.
    """
    run = MulticlassSearch(problem, options)
    # 1. A warm start alone, where no others are asked for.
    if start is not None and not options.compare_warm and run.is_informative(start):
        return run.finished("warm", start)
    # 2. The best constant classifier, and the convex solution: for a good fit, it leads the way.
    run.add("constant", run.constant())
    convex = run.convex() if "convex" in run.names or run.is_convex else None
    if convex is not None and run.is_good():
        cold = run.finished("convex", run.start_at(convex, rounded(run.hinge)), convex=True)
        return run.lower_of(cold, start)
    # 3. The other starts; those found on some of the rows go on with all of them.
    if convex is not None:
        run.add("convex", run.settled(run.led(convex)))
    if "least_squares" in run.names:
        run.add("least_squares", run.settled(run.few.least_squares()))
    if "annealed" in run.names:
        run.add("annealed", run.settled(run.annealed(run.few.least_squares(), SIGMOID)))
    # 4. Pushes from the lowest point.
    for _ in range(options.n_restarts + ("pushed" in run.names)):
        run.add("pushed", run.settled(run.pushed()))
    # 5. The lowest point, with sharper kinks, and the finish; a warm start is one more.
    name, z = run.lowest()
    if start is not None and options.compare_warm == "search" and not run.is_below(z, start):
        return run.finished("warm", start)
    return run.lower_of(run.finished(name, run.sharpened(name, z)), start)


class MulticlassSearch:
    """The points of a search, as k x (n + 1) arrays, intercepts last.

    Attributes
    ----------
    found : dict
        Objective and point by name of the start.
    """

    def __init__(self, problem: MulticlassProblem, options: Any) -> None:
        self.problem, self.options, self.loss = problem, options, problem.loss
        self.rng = search_generator(options.random_state)
        self.history, self.passes = History(options.callback), problem.operator.passes
        self.found: dict[str, tuple[float, Array]] = {}
        self.names = NAMES if isinstance(options.starts, str) else tuple(options.starts)
        self.is_convex = math.isinf(problem.loss.cap)
        self.hinge = problem.loss.stretched(math.inf) or problem.loss
        self.convex_objective = math.nan
        # Of C, where the finish begins: a hard margin has its solution there.
        self.share = min(1.0, STRONGEST / (strength(problem) or 1.0))
        self.all = Smoothed(problem)
        self.few = self._sampled(VALUES)

    def _sampled(self, values: float) -> Smoothed:
        """Return the rows, or so many of them that values times classes are no more than this."""
        problem = self.problem
        m, stored = problem.n_samples, problem.operator.stored * problem.n_classes
        size = int(m * values / max(stored, 1))
        if m <= 1.5 * size:
            return self.all
        part = problem.take(np.sort(self.rng.choice(m, size=max(size, 1), replace=False)))
        return Smoothed(part.scaled(float(problem.penalty.sum() / (part.penalty.sum() or 1.0))))

    # ---- points

    def add(self, name: str, z: Array) -> None:
        """Note a point, if it is the lowest of its name."""
        value = self.objective(z)
        if value < self.found.get(name, (math.inf,))[0]:
            self.found[name] = value, z
            self._record(start=name, objective=value)

    def objective(self, z: Array) -> float:
        """Return the objective at a point, of all rows."""
        return float(self.problem.objective_at(*self.all.parts(z)))

    def lowest(self) -> tuple[str, Array]:
        """Return name and point of the lowest objective."""
        name = min(self.found, key=lambda one: self.found[one][0])
        return name, self.found[name][1]

    def constant(self) -> Array:
        """Return the best constant classifier."""
        z = np.zeros((self.problem.n_classes, self.problem.n_features + 1))
        z[:, -1] = self.problem.trivial()[1]
        return z

    def is_informative(self, start: MulticlassStart) -> bool:
        """Return whether a start tells classes apart, or they cannot be told by another one.

        Where no class is more likely than all others together, equal scores minimise the convex
        problem, and with a cap well above one are still a local minimum.
        """
        W, b, _ = start
        slopes = float(self.loss.profile_slope(0.0)) * self.problem.penalty
        q, equal = self.problem.violations_at(W, b), float(slopes.sum())
        convex = self.problem.energy(W) + float(slopes @ np.maximum(q, 0.0))
        return self.is_convex or abs(convex - equal) > UNINFORMATIVE * equal

    def convex(self) -> Array:
        """Return about the solution without a cap, for a smaller C if that makes no difference.

        Where no multiplier is at its bound, all larger C have the same solution; but the larger C,
        the less do stand-ins say of it.
        """
        z, stage, problem = 0.0 * self.constant(), rounded(self.hinge), self.few.problem
        share = self.share
        there, found = z, None
        while share < 1.0 and found is None:
            part = self.few.at(problem.scaled(share))
            there = part.minimise(there, stage, SIGMOID_STEPS, ROUGH)
            if part.largest_violation(there) <= stage.width:
                found, self.share = part.minimise(there, stage, CONVEX_STEPS, FINE), share
            share *= GROWTH
        z = self.few.minimise(z, stage, CONVEX_STEPS, FINE) if found is None else found
        self.convex_objective = self.objective(z)
        return z

    def is_good(self) -> bool:
        """Return whether the convex solution is all that is needed, or a good fit."""
        return self.is_convex or self.convex_objective < GOOD_FIT * self.problem.trivial_objective

    def led(self, z: Array) -> Array:
        """Return where caps that come down lead (a homotopy)."""
        largest = self.few.largest_violation(z)
        for cap in CAPS:
            loss = self.loss.stretched(cap)
            if loss is not None and loss.curved_interval[0] < largest:
                z = self.few.minimise(z, rounded(loss), CAP_STEPS, ROUGH)
        return z

    def annealed(self, z: Array, width: float) -> Array:
        """Return where a sigmoid leads (deterministic annealing)."""
        return self.few.minimise(z, sigmoid(self.loss, width), SIGMOID_STEPS, ROUGH)

    def settled(self, z: Array) -> Array:
        """Return where the loss itself leads, its kinks rounded."""
        return self.few.minimise(z, rounded(self.loss), STEPS, FINE)

    def pushed(self) -> Array:
        """Return where other penalties lead from the lowest point, waves along a direction."""
        problem, (first, last) = self.few.problem, PUSHED
        u = problem.operator.scores(self.rng.normal(size=(1, problem.n_features)), np.zeros(1))
        share = problem.penalty / (float(problem.penalty.sum()) or 1.0)
        u = u[:, 0] - share @ u[:, 0]
        u /= math.sqrt(float(share @ np.square(u))) or 1.0
        phase = self.rng.uniform(0.0, 2.0 * np.pi, problem.n_classes)[problem.labels]
        self.few.penalty = problem.penalty * (1.0 + np.sin(WAVES * u + phase))
        z = self.annealed(self.lowest()[1], first)
        self.few.penalty = problem.penalty
        return self.annealed(z, last)

    def sharpened(self, name: str, z: Array) -> MulticlassStart:
        """Return a start for the finish: where the loss leads on all rows, its kinks sharper."""
        if name == "constant":
            return self.start_at(z, rounded(self.loss))
        if self.few is not self.all:
            z = self.all.minimise(z, rounded(self.loss), STEPS, FINE)
        stage = rounded(self.loss, SHARPER)
        return self.start_at(self.all.minimise(z, stage, LAST_STEPS, FINEST), stage)

    def is_below(self, z: Array, start: MulticlassStart) -> bool:
        """Return whether z is clearly lower than a start."""
        return self.objective(z) < (1.0 - ROUGH) * self.problem.objective_at(*start[:2])

    def lower_of(self, cold: SolverResult, start: MulticlassStart | None) -> SolverResult:
        """Return a result, or what a warm start leads to if that is lower."""
        if start is None:
            return cold
        warm = self.finished("warm", start)
        return min(cold, warm, key=lambda one: one.objective)

    def start_at(self, z: Array, stage: StandIn) -> MulticlassStart:
        """Return a point with the multipliers of a stand-in."""
        return *self.all.parts(z), self.all.pulls(z, stage)

    # ---- the end

    def finished(self, name: str, start: MulticlassStart, convex: bool = False) -> SolverResult:
        """Return the result of the finish from a start."""
        problem, tol = self.problem, self.options.tol
        trivial, intercepts = problem.trivial()
        flat = float(self.loss.profile_slope(2.0 if np.any(intercepts) else 1.0)) == 0.0
        settled = name == "constant" and flat
        most, searched = 0 if settled else self.options.max_iter, self.history.seconds
        end_of = partial(finish, most=most, record=self._record, rng=self.rng)
        if convex and self.share < 1.0:
            # Continuation in C, which ends there if no sample is at a bound.
            soft = problem.scaled(self.share)
            end = end_of(soft, start, tol=max(tol, ROUGH), convex=True)
            if end.residual <= max(tol, ROUGH):
                if end.residual <= tol and self.is_hard_margin(soft, end):
                    return self.result(name, end, searched)
                start = end.W, end.b, end.pulls
        end = end_of(problem, start, tol=tol, convex=convex)
        if convex and end.objective > (1.0 + tol) * problem.objective_at(*start[:2]):
            # What leads up from a good point is compared with what is near it.
            near = end_of(problem, start, tol=tol)
            end = near if near.residual <= tol and near.objective < end.objective else end
        result = self.result(name, end, searched)
        if settled or (flat and not end.objective < trivial * (1.0 - LOWER)):
            result = replace(
                result, coef=0.0 * end.W, intercept=intercepts, multipliers=0.0 * end.pulls,
                objective=trivial, constant=True, converged=True, residual=0.0, start="constant",
            )  # fmt: skip
        return result

    def is_hard_margin(self, soft: MulticlassProblem, end: MulticlassEnd) -> bool:
        """Return whether the end for a smaller C is that for this C too; move it to the margin."""
        bounds = float(self.loss.profile_slope(0.0)) * soft.penalty
        own = np.abs(end.pulls[np.arange(len(bounds)), soft.labels])
        q = soft.violations_at(end.W, end.b)
        lacking = float(q.max(initial=0.0, where=soft.penalty > 0.0))
        if lacking > 0.5 or np.any(own > 0.5 * bounds):
            return False
        end.W, end.b = end.W / (1.0 - lacking), end.b / (1.0 - lacking)
        end.objective = float(self.problem.objective_at(end.W, end.b))
        return True

    def result(self, name: str, end: MulticlassEnd, searched: float) -> SolverResult:
        """Return the end of a fit with what is known of it."""
        total = self.history.seconds
        return SolverResult(
            coef=end.W,
            intercept=end.b,
            multipliers=end.pulls,
            objective=end.objective,
            convex_objective=self.convex_objective,
            converged=end.residual <= self.options.tol,
            residual=end.residual,
            n_iter=len(self.history),
            passes=self.problem.operator.passes - self.passes,
            history=self.history.columns,
            seconds={"search": searched, "finish": total - searched, "total": total},
            advice=end.advice(self.options.tol),
            start=name,
            starts={key: value for key, (value, _) in self.found.items()},
        )

    def _record(self, **row: Any) -> None:
        """Write a row of the history."""
        columns = {"start": "", "width": math.nan, "residual": math.nan, "steps": 0, "sweeps": 0}
        passes = self.problem.operator.passes - self.passes
        self.history.add(**{**columns, **row}, passes=passes)
