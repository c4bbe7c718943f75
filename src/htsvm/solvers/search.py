"""A multistart search for a low minimum of a truncated loss, and the solver that is built on it.

The objective ``w'Rw/2 + sum_i penalty_i loss(1 - y_i (x_i'w + b))`` has many local minima. Newton's
method on smooth stand-ins of the loss leads from a few starts to some of them, and the finish from
the lowest to a stationary point. The constant classifier, the convex solution and a warm start are
points like the others, so that nothing ends above them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.positive import conjugate_gradients, solve_positive
from htsvm.losses.rounded import Sigmoid, rounded
from htsvm.problems.binary import Problem, Start
from htsvm.optimality.residuals import LEAST_GAIN
from htsvm.solvers import wide
from htsvm.solvers.finish import End, finish, unit_of
from htsvm.solvers.result import History, SolverResult
from htsvm.solvers.rows import Descent
from htsvm.solvers.smooth_newton import FORMED

# The starts that are compared, by name.
NAMES = ("least_squares", "convex", "annealed", "pushed")
# How far kinks are rounded, in units of the loss: with the loss itself, without a cap and as the
# cap comes down.
WIDTH, CONVEX_WIDTHS, LEADING_WIDTH = 0.15, (0.5, 0.15), 0.3
# Caps on the way from the convex solution to the loss itself, in caps.
CAPS = (4.0, 2.0, 1.4)
# Widths of sigmoids, in caps: two ways down from least squares, and the way of a push. Where the
# violations are spread more widely, the first is that share of their median, and narrows by the
# factor.
ANNEALED, PUSHED, SPREAD, NARROWER = ((0.35,), (2.8, 1.4, 0.7, 0.35)), (0.7, 0.35), 0.3, 0.25
# Penalties of a push rise and fall so often in a standard deviation along a random direction.
WAVES = 8.0
# A stage ends where a step gains less than this share of the objective: stand-ins, the loss itself.
ROUGH, FINE, TOL = 1e-3, 1e-4, 1e-4
# Steps with stand-ins, with those of a push, with the loss itself.
STEPS, PUSH_STEPS, FINE_STEPS = 10, 4, 25
# Multiples of a least squares direction that are looked at.
MULTIPLES = np.exp(np.linspace(-4.0, 6.0, 15))
# Stored values that are searched with stand-ins, and with the loss itself.
WIDE_VALUES, VALUES = 300_000, 3_000_000
# Pushes: as many as this number of stored values allows, within the bounds.
PUSHED_VALUES, PUSHES = 100_000, (1, 6)
# Sets the random numbers of the search apart from others with the same seed: "starts" in ASCII.
STREAM = int.from_bytes(b"starts", "big")

Point = tuple[float, Array]


def own_generator(seed: Any) -> np.random.Generator:
    """Return a generator for a seed that no other use of the same seed shares.

    People who flip labels or draw rows with ``default_rng(0)`` must not meet the same rows here.
    """
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng([STREAM, int(seed)])


def solve(problem: Problem, options: Any, start: Start | None) -> SolverResult:
    """Return the lowest stationary point that is found.

    Parameters
    ----------
    problem : Problem
        What to minimise, in coordinates that suit a search.
    options : Newton
        Tolerance, budget, seed, starts.
    start : (w, b, psi), optional
        A warm start.
    """
    run = Search(problem, options)
    # 1. A warm start alone, where no others are asked for.
    if start is not None and not (options.compare_warm and run.names):
        return run.finished("warm", np.append(start[0], start[1]), start[2])
    # 2. Least squares.
    least_squares = run.least_squares()
    # 3. Without a cap; a convex loss, or one whose cap no sample reaches, needs no search.
    convex = run.convex(least_squares)
    if convex is not None and run.is_not_truncated(convex):
        return run.finished("convex", convex, None)
    # 4. The other starts.
    if "least_squares" in run.names and not wide.suits(problem):
        run.add("least_squares", run.settled(least_squares))
    if convex is not None:
        run.add("convex", run.settled(run.led(convex)))
    for widths in ANNEALED[: 1 if wide.suits(problem) else None] if "annealed" in run.names else ():
        run.add("annealed", run.settled(run.annealed(least_squares, widths, STEPS)))
    if start is not None:
        run.add("warm", run.settled(run.led(np.append(start[0], start[1]), caps=())))
    # 5. Pushes from the lowest point.
    for _ in range(run.pushes()):
        run.add("pushed", run.settled(run.pushed()))
    # 6. The best constant classifier, and the finish.
    run.add("constant", run.constant())
    name, z = run.lowest()
    return run.finished(name, z, None)


class Search:
    """The points of a search.

    Attributes
    ----------
    found : dict
        Objective and point by name of the start.
    """

    def __init__(self, problem: Problem, options: Any) -> None:
        self.problem, self.options = problem, options
        self.rng = own_generator(options.random_state)
        self.history = History(options.callback)
        self.passes = problem.operator.passes
        self.found: dict[str, Point] = {}
        self.names = _checked(options.starts)
        # The rows on which the loss itself is searched, and those for wide stand-ins.
        self.all = Descent(problem)
        self.few = self._sampled(self.all, VALUES)
        self.wide = self._sampled(self.few, WIDE_VALUES)
        self.loss, self.unit = problem.loss, unit_of(problem)
        self.convex_objective = math.nan

    def _sampled(self, descent: Descent, values: float) -> Descent:
        """Return descents on so many stored values, by rows drawn at random."""
        problem = descent.problem
        m = problem.n_samples
        size = int(m * values / (problem.operator.stored + m))
        if m <= 1.5 * size:
            return descent
        rows = np.sort(self.rng.choice(m, max(size, 1), replace=False))
        part = problem.take(rows)
        factor = float(problem.penalty.sum()) / (float(part.penalty.sum()) or 1.0)
        return Descent(replace(part, penalty=factor * part.penalty, C=factor * part.C))

    # ---- points

    def add(self, name: str, z: Array) -> None:
        """Note a point, if it is the lowest of its name; other constants than the best are not."""
        value = float(self.few.problem.objective_at(z[:-1].copy(), float(z[-1])))
        constant = self.few.problem.energy(z[:-1]) <= LEAST_GAIN * value
        if value >= self.found.get(name, (math.inf,))[0] or (constant and name != "constant"):
            return
        self.found[name] = value, z
        self._record(start=name, width=WIDTH * self.unit, objective=value)

    def lowest(self) -> tuple[str, Array]:
        """Return name and point of the lowest objective; the constant one, if that is as low."""
        name = min(self.found, key=lambda one: self.found[one][0])
        if "constant" in self.found:
            level = (1.0 - LEAST_GAIN) * self.found["constant"][0]
            name = name if self.found[name][0] < level else "constant"
        return name, self.found[name][1]

    def constant(self) -> Array:
        """Return the best constant classifier."""
        return np.append(np.zeros(self.problem.n_features), self.problem.trivial()[1])

    def least_squares(self) -> Array:
        """Return the best multiple of a least squares fit, for the penalties and for C = 1."""
        problem = self.wide.problem
        best, lowest = self.constant(), math.inf
        for penalty in (problem.penalty, problem.penalty / problem.C):
            z = ridge_point(problem, penalty)
            if not np.all(np.isfinite(z)):
                continue
            q = problem.violations(z[:-1].copy(), float(z[-1]))
            values = problem.loss.totals(q, problem.penalty, MULTIPLES)
            values = values + MULTIPLES**2 * problem.energy(z[:-1])
            if values.min() < lowest:
                best, lowest = MULTIPLES[values.argmin()] * z, float(values.min())
        return best

    def convex(self, z: Array) -> Array | None:
        """Return about the solution without a cap."""
        if "convex" not in self.names and self.loss.cap < math.inf:
            return None
        without = self.loss.stretched(math.inf) if self.loss.cap < math.inf else None
        without = without or self.loss
        first, last = (rounded(without, width) for width in CONVEX_WIDTHS)
        z = self.wide.run(z, first, gain=ROUGH, most=STEPS, tol=TOL)
        z = self.few.run(z, last, gain=ROUGH, most=STEPS, tol=TOL)
        self.convex_objective = float(self.problem.objective_at(z[:-1].copy(), float(z[-1])))
        return z

    def is_not_truncated(self, z: Array) -> bool:
        """Return whether the loss is straight as far as any sample violates at the convex z."""
        if self.loss.cap == math.inf:
            return True
        q = self.problem.violations(z[:-1].copy(), float(z[-1]))
        largest = float(q[self.problem.penalty > 0.0].max(initial=0.0))
        below = self.convex_objective < 0.5 * self.problem.trivial_objective
        return below and largest < self.loss.curved_interval[0]

    def led(self, z: Array, caps: tuple[float, ...] = CAPS) -> Array:
        """Return where caps that come down lead."""
        for cap in caps:
            stage = rounded(self.loss.stretched(cap) or self.loss, LEADING_WIDTH * self.unit)
            z = self.few.run(z, stage, gain=ROUGH, most=STEPS, tol=TOL)
        return z

    def settled(self, z: Array) -> Array:
        """Return where the loss itself leads, its kink rounded."""
        stage = rounded(self.loss, WIDTH * self.unit)
        return self.few.run(z, stage, gain=FINE, most=FINE_STEPS, tol=TOL)

    def annealed(
        self, z: Array, widths: tuple[float, ...], most: int, penalty: Array | None = None
    ) -> Array:
        """Return where sigmoids lead that become narrower; `penalty` is for the first alone."""
        problem, cap = self.wide.problem, self.loss.cap
        q = problem.violations(z[:-1].copy(), float(z[-1]))
        factor = max(1.0, SPREAD * float(np.median(np.abs(q))) / cap)
        spread = []
        while factor > 1.0:
            spread.append(factor * widths[-1])
            factor *= NARROWER
        widths = (*(width for width in spread if width > widths[0]), *widths)
        for number, width in enumerate(widths):
            stage, own = Sigmoid(cap, 0.5 * cap, width * cap), penalty if number == 0 else None
            z = self.wide.run(z, stage, gain=ROUGH, most=most, tol=TOL, penalty=own)
        return z

    def pushes(self) -> int:
        """Return how many pushes there is time for."""
        if "pushed" not in self.names or wide.suits(self.problem):
            return 0
        problem = self.few.problem
        number = PUSHED_VALUES / (problem.operator.stored + problem.n_samples)
        return int(np.clip(number, *PUSHES)) + int(self.options.n_restarts)

    def pushed(self) -> Array:
        """Return where other penalties lead from the lowest point, waves along a direction."""
        problem = self.wide.problem
        u = np.empty(problem.n_samples)
        ones = np.ones(len(u), dtype=np.int8)
        problem.operator.signed_dot(ones, self.rng.normal(size=problem.n_features), 0.0, u)
        u = (u - u.mean()) / (float(u.std()) or 1.0)
        phase = self.rng.uniform(0.0, 2.0 * np.pi, 2)[(problem.y > 0).astype(np.intp)]
        penalty = problem.penalty * (1.0 + np.sin(WAVES * u + phase))
        z = self.lowest()[1] if self.found else self.constant()
        return self.annealed(z, PUSHED, PUSH_STEPS, penalty)

    # ---- the end

    def finished(self, name: str, z: Array, psi: Array | None) -> SolverResult:
        """Return the result of the finish from a point."""
        most, loss = self.options.max_iter, self.problem.loss
        if name == "constant" and float(loss.subdifferential(1.0 + abs(z[-1]))[1]) == 0.0:
            # No sample pulls.
            psi = np.zeros(self.problem.n_samples)
            end = End(z, psi, 0.0, float(self.problem.trivial_objective))
        else:
            end = finish(self.all, z, psi, tol=self.options.tol, most=most, record=self._record)
        constant, objective = False, float(self.problem.trivial_objective)
        residual, w, b, psi = end.residual, end.z[:-1].copy(), float(end.z[-1]), end.psi
        if not end.objective < objective * (1.0 - LEAST_GAIN):
            constant, name = True, "constant"
            w, b, psi = np.zeros_like(w), float(self.problem.trivial()[1]), 0.0 * psi
        return SolverResult(
            coef=w,
            intercept=b,
            multipliers=psi,
            objective=objective if constant else end.objective,
            convex_objective=self.convex_objective,
            converged=residual <= self.options.tol,
            residual=residual,
            n_iter=len(self.history),
            passes=self.problem.operator.passes - self.passes,
            history=self.history.columns,
            constant=constant,
            start=name,
            starts={key: value for key, (value, _) in self.found.items()},
        )

    def _record(self, **row: Any) -> None:
        """Write a row of the history."""
        passes = self.problem.operator.passes - self.passes
        columns = {"start": "", "residual": math.nan, "steps": self.all.steps}
        self.history.add(**{**columns, **row}, passes=passes)


def _checked(names: Any) -> tuple[str, ...]:
    """Return the names of the starts that are compared."""
    return NAMES if isinstance(names, str) else tuple(names)


def ridge_point(problem: Problem, penalty: Array) -> Array:
    """Return the least squares fit to the labels with these penalties, intercept last."""
    operator, side = problem.operator, problem.n_features + 1
    pull, total = operator.signed_tdot(problem.y, penalty)
    rhs = np.append(pull, total if problem.fit_intercept else 0.0)
    if problem.n_features > FORMED:
        return _ridge_by_products(problem, penalty, rhs)
    gram = np.zeros((side, side))
    operator.add_gram(np.flatnonzero(penalty), 1.0, gram, penalty[penalty > 0.0])
    problem.regularizer.add_to(gram)
    if not problem.fit_intercept:
        return np.append(solve_positive(gram[:-1, :-1], rhs[:-1]), 0.0)
    return solve_positive(gram, rhs)


def _ridge_by_products(problem: Problem, penalty: Array, rhs: Array) -> Array:
    """Return the same by conjugate gradients."""
    operator, n = problem.operator, problem.n_features
    ones, inner = np.ones(len(penalty), dtype=np.int8), np.empty(len(penalty))
    diagonal = operator.squared_pull(penalty[:, None])[0] + problem.regularizer.diagonal()
    diagonal = np.append(diagonal, float(penalty.sum()))

    def apply(v: Array) -> Array:
        operator.signed_dot(ones, np.ascontiguousarray(v[:n]), float(v[n]), inner)
        image, total = operator.signed_tdot(ones, inner * penalty)
        image += problem.regularizer.dot(v[:n])
        return np.append(image, total if problem.fit_intercept else 0.0)

    found, _ = conjugate_gradients(
        apply, rhs, lambda v: v / diagonal, tolerance=ROUGH, most_steps=30
    )
    return found
