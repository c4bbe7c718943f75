"""A multistart search for a low minimum of a truncated loss, and the solver that is built on it.

The objective ``w'Rw/2 + sum_i penalty_i loss(1 - y_i (x_i'w + b))`` has many local minima. Newton's
method on smooth stand-ins of the loss leads from a few starts to some of them, and the finish from
the lowest to a stationary point. The constant classifier, the convex solution and a warm start are
points like the others, so that nothing ends above them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from htsvm._seeds import search_generator
from htsvm._typing import Array
from htsvm.linalg.threads import single_threaded_blas
from htsvm.losses.rounded import Sigmoid, rounded
from htsvm.optimality.residuals import LEAST_GAIN
from htsvm.problems import AnyProblem
from htsvm.problems.binary import Problem, Start
from htsvm.problems.coordinates import in_coordinates
from htsvm.solvers import wide
from htsvm.solvers.api import Solver
from htsvm.solvers.finish import End, finish, unit_of
from htsvm.solvers.multiclass.search import solve as solve_several
from htsvm.solvers.pairs import solve_pairs
from htsvm.solvers.result import Callback, History, SolverResult
from htsvm.solvers.rows import MOST_STEPS, MOST_WORK, Budget, Descent
from htsvm.solvers.system import MULTIPLES, RidgeSystem

# The starts that are compared, by name.
NAMES = ("least_squares", "convex", "annealed", "pushed")
# How far kinks are rounded, in units of the loss: first without a cap, and else; twice that while
# the cap comes down. (Without the first, fits to other units of X often end elsewhere.)
FIRST_WIDTH, WIDTH = 0.5, 0.15
# Caps on the way from the convex solution to the loss itself, in caps.
CAPS = (4.0, 2.0, 1.4)
# Widths of sigmoids, in caps: the first, or this share of the mean violation where that is wider,
# and by halves down to the last. A push begins at twice the last.
WIDEST, SPREAD, LAST = 2.8, 0.07, 0.35
# Penalties of a push rise and fall so often in a standard deviation along a random direction.
WAVES = 8.0
# A stage ends where a step gains less than this share of the objective: stand-ins, the loss itself.
ROUGH, FINE, TOL = 1e-3, 1e-4, 1e-4
# Steps with stand-ins, and of conjugate gradients for least squares; of a push; of the loss itself.
STEPS, PUSH_STEPS, FINE_STEPS = 10, 4, 25
# Stored values that are searched with stand-ins, and with the loss itself.
WIDE_VALUES, VALUES = 300_000, 800_000
# Pushes: as many as this number of stored values allows, within the bounds.
PUSHED_VALUES, PUSHES = 10_000, (1, 6)
# A convex solution that no cap touches is the end below this share of the constant objective.
FAR_BELOW = 0.1
# The share of the tolerance to which the finish goes, and for what has to be below the constant.
SHARE, CLOSER = 0.3, 1e-3
# Penalties that outweigh the regulariser by more than the first are tried at the second.
HARD, SOFT = 1e12, 1e8

Point = tuple[float, Array]


@dataclass(frozen=True)
class Newton(Solver):
    """Multistart Newton steps on a rounded loss; the multipliers are shifts of its kink.

    The augmented Lagrangian of the problem, with the violations q eliminated by the prox of the
    loss, is a smooth function of w and b: Newton's method minimises it. It is the Lagrangian of
    Algorithm 1 of the paper, where w, b and q take turns.

    Parameters
    ----------
    tol : float, default=1e-3
        Stop when the largest residual is below this.
    max_iter : int, default=200
        The largest number of rounds of multipliers.
    n_restarts : int, default=0
        Further pushes: descents from the lowest point with other weights.
    random_state : int or numpy.random.Generator, default=0
        Drives the choice of sampled rows and the pushes.
    callback : callable, optional
        Called with each row of the history.
    starts : "auto" or tuple of str, default="auto"
        The starts that are compared where the loss is truncated, out of `NAMES`.
    compare_warm : bool, default=False
        Whether a warm start is compared with these starts too: it may lead into a poor minimum.
    """

    requires: ClassVar[tuple[str, ...]] = ("profile",)
    several_classes: ClassVar[bool] = True
    on_dask: ClassVar[bool] = True

    tol: float = 1e-3
    max_iter: int = 200
    n_restarts: int = 0
    random_state: int | np.random.Generator = 0
    callback: Callback | None = None
    starts: str | tuple[str, ...] = "auto"
    compare_warm: bool | str = False

    def solve(self, problem: AnyProblem, *, start: Any = None) -> SolverResult:
        """Return a stationary point of `problem`.

        Parameters
        ----------
        problem : Problem or MulticlassProblem
            What to minimise.
        start : (w, b, psi) or (W, b, B), optional
            A warm start. Without psi (None) the multipliers follow from the violations.
        """
        self.check_loss(problem.loss)
        if problem.solved_by is not None:
            elsewhere: SolverResult = problem.solved_by(self, start)
            return elsewhere
        result: SolverResult = in_coordinates(problem).solved(self._solve, start)
        return result

    def _solve(self, problem: Any, start: Any) -> SolverResult:
        """Return a stationary point of a problem in coordinates that suit a search."""
        if problem.n_scores > 1:
            with single_threaded_blas():
                return solve_several(problem, self, start)
        with single_threaded_blas(problem.operator):
            soft, is_solution = softened(problem, self, start)
            if soft is not None and is_solution:
                return soft
            plain = solve(problem, self, start)
            return plain if soft is None or plain.objective <= soft.objective else soft


def solve(problem: Problem, options: Newton, start: Start | None) -> SolverResult:
    """Return the lowest stationary point that is found.

    Parameters
    ----------
    problem : Problem
        What to minimise, in coordinates that suit a search.
    options : Newton
        Tolerance, rounds, seed, starts.
    start : (w, b, psi), optional
        A warm start.
    """
    run = Search(problem, options)
    # 1. Exact kernels: pairs of samples, from where the start is.
    if problem.operator.representers:
        return run.result("pairs", solve_pairs(problem, options, start, run.record))
    # 2. A warm start alone, where no others are asked for.
    if start is not None and not (options.compare_warm and run.names):
        return run.finished("warm", np.append(start[0], start[1]), start[2])
    # 3. Without a cap; a convex loss, or one whose cap no sample reaches, needs no search.
    least_squares = run.least_squares()
    convex = run.convex(least_squares)
    if convex is not None and run.is_not_truncated(convex):
        return run.finished("convex", convex, None)
    # 4. The starts, and pushes from the lowest of their ends.
    run.compare(least_squares, convex, start)
    # 5. Shifts of the kink until the residuals are small.
    return run.finished(*run.lowest(), None)


def first_point(problem: Problem, options: Newton) -> Start:
    """Return where the search ends, with a guess of the multipliers."""
    run = Search(problem, options)
    least_squares = run.least_squares()
    z = run.convex(least_squares)
    if z is None or not run.is_not_truncated(z):
        run.compare(least_squares, z, None)
        z = run.lowest()[1]
    w, b = z[:-1].copy(), float(z[-1])
    slope = rounded(problem.loss, WIDTH * run.unit).value_slope(problem.violations(w, b))[1]
    return w, b, -problem.penalty * np.maximum(slope, 0.0)


def softened(
    problem: Problem, options: Newton, start: Start | None
) -> tuple[SolverResult | None, bool]:
    """Return the solution for smaller penalties, where these outweigh the regulariser by far.

    Where a margin separates all samples its multipliers are far below such penalties, which
    rounding would hide, and the solution for a smaller C is that of the problem: the second says
    whether it is.
    """
    # The mean squared length of a row in the metric of R⁻¹; scaled columns have a spread of one.
    R, squares = problem.regularizer.diagonal(), problem.operator.row_length**2
    if problem.operator.columns:
        length = float(np.sum(1.0 / R[R > 0.0]))
    else:
        length = squares / (float(R.mean()) if len(R) else 1.0)
    strength = problem.trivial_objective * length
    if problem.operator.representers or not HARD < strength < math.inf:
        return None, False
    factor = 2.0 ** math.floor(math.log2(SOFT / strength))
    soft = replace(problem, penalty=factor * problem.penalty, C=factor * problem.C)
    result = solve(soft, replace(options, tol=0.1 * options.tol), start)
    w, b, psi = result.coef, result.intercept, result.multipliers
    z, q = stretched(problem, np.append(w, b))
    w, b = z[:-1].copy(), float(z[-1])
    bound = float(rounded(problem.loss, 1.0).top) * soft.penalty
    satisfied = float(q.max(initial=0.0, where=problem.penalty > 0.0)) < 0.5
    inside = not np.any(-psi > 0.5 * bound)
    hard = inside and satisfied and result.converged and not result.constant
    result = replace(
        result, coef=w, intercept=b, multipliers=psi if inside else psi / factor,
        objective=float(problem.objective_at(w, b)),
    )  # fmt: skip
    return result, hard


class Search:
    """The points of a search.

    Attributes
    ----------
    found : dict
        Objective and point by name of the start.
    """

    def __init__(self, problem: Problem, options: Any) -> None:
        self.problem, self.options = problem, options
        self.rng = search_generator(options.random_state)
        self.history = History(options.callback)
        self.passes = problem.operator.passes
        self.found: dict[str, Point] = {}
        self.names = NAMES if options.starts == "auto" else checked_names(options.starts)
        # The rows on which the loss itself is searched, and those for wide stand-ins.
        self.budget = Budget()
        self.all = Descent(problem, budget=self.budget)
        self.few = self._sampled(self.all, VALUES)
        self.wide = self._sampled(self.few, WIDE_VALUES)
        self.loss, self.unit = problem.loss, unit_of(problem)
        self.convex_objective, self.searched = math.nan, 0.0

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
        part = replace(part, penalty=factor * part.penalty, C=factor * part.C)
        return Descent(part, budget=self.budget)

    # ---- points

    def add(self, name: str, z: Array) -> None:
        """Note a point, if it is the lowest of its name; other constants than the best are not."""
        problem = self.few.problem
        z, q = stretched(problem, z)
        value = float(problem.objective(z[:-1], q))
        constant = float(np.ptp(problem.y * (1.0 - q))) <= LEAST_GAIN
        if value >= self.found.get(name, (math.inf,))[0] or (constant and name != "constant"):
            return
        self.found[name] = value, z
        self.record(start=name, width=WIDTH * self.unit, objective=value)

    def compare(self, least_squares: Array, convex: Array | None, start: Start | None) -> None:
        """Note where all starts lead, and the best constant classifier."""
        if "least_squares" in self.names:
            self.add("least_squares", self.settled(least_squares))
        if convex is not None:
            self.add("convex", self.settled(self.led(convex)))
        if "annealed" in self.names:
            self.add("annealed", self.settled(self.by_sigmoid(least_squares, LAST, STEPS)))
            if not wide.suits(self.problem):
                self.add("annealed", self.settled(self.annealed(least_squares)))
        if start is not None:
            self.add("warm", self.settled(np.append(start[0], start[1])))
        for _ in range(self.pushes()):
            self.add("pushed", self.settled(self.pushed()))
        self.add("constant", self.constant())

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

    @property
    def constant_pulls(self) -> bool:
        """Whether some samples pull at the best constant classifier, which is then not the end."""
        farthest = 1.0 + abs(float(self.problem.trivial()[1]))
        return float(self.loss.subdifferential(farthest)[1]) > 0.0

    def least_squares(self) -> Array:
        """Return the best multiple of a least squares fit, for the penalties and for C = 1."""
        problem = self.wide.problem
        best, lowest = self.constant(), math.inf
        for penalty in (problem.penalty, problem.penalty / problem.C):
            z = RidgeSystem(problem).solve(
                penalty, np.ones(problem.n_samples), with_intercept=problem.fit_intercept,
                tolerance=ROUGH, most_steps=STEPS,
            )  # fmt: skip
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
        z = self.wide.run(z, rounded(without, FIRST_WIDTH), gain=ROUGH, most=STEPS, tol=TOL)
        z = self.few.run(z, rounded(without, WIDTH), gain=ROUGH, most=STEPS, tol=TOL)
        z, q = stretched(self.problem, z)
        self.convex_objective = float(self.problem.objective(z[:-1], q))
        return z

    def is_not_truncated(self, z: Array) -> bool:
        """Return whether the loss is straight as far as any sample violates at the convex z."""
        if self.loss.cap == math.inf:
            return True
        q = self.problem.violations(z[:-1].copy(), float(z[-1]))
        largest = float(q[self.problem.penalty > 0.0].max(initial=0.0))
        below = self.convex_objective < FAR_BELOW * self.problem.trivial_objective
        return below and largest < self.loss.curved_interval[0]

    def led(self, z: Array, caps: tuple[float, ...] = CAPS) -> Array:
        """Return where caps that come down lead."""
        for cap in caps:
            stage = rounded(self.loss.stretched(cap) or self.loss, 2.0 * WIDTH * self.unit)
            z = self.few.run(z, stage, gain=ROUGH, most=STEPS, tol=TOL)
        return z

    def settled(self, z: Array) -> Array:
        """Return where the loss itself leads, its kink rounded."""
        stage = rounded(self.loss, WIDTH * self.unit)
        return self.few.run(z, stage, gain=FINE, most=FINE_STEPS, tol=TOL)

    def annealed(self, z: Array) -> Array:
        """Return where sigmoids lead that become narrower."""
        problem, cap = self.wide.problem, self.loss.cap
        q = problem.violations(z[:-1].copy(), float(z[-1]))
        mean = float(problem.penalty @ np.abs(q)) / (float(problem.penalty.sum()) or 1.0)
        width = max(WIDEST, SPREAD * mean / cap)
        while width > 0.99 * LAST:
            z = self.by_sigmoid(z, width, STEPS)
            width *= 0.5
        return z

    def by_sigmoid(self, z: Array, width: float, most: int, penalty: Array | None = None) -> Array:
        """Return where a sigmoid leads, of this width in caps."""
        cap = self.loss.cap
        stage = Sigmoid(cap, 0.5 * cap, width * cap)
        return self.wide.run(z, stage, gain=ROUGH, most=most, tol=TOL, penalty=penalty)

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
        share = problem.penalty / (float(problem.penalty.sum()) or 1.0)
        u -= share @ u
        u /= math.sqrt(float(share @ np.square(u))) or 1.0
        phase = self.rng.uniform(0.0, 2.0 * np.pi, 2)[(problem.y > 0).astype(np.intp)]
        penalty = problem.penalty * (1.0 + np.sin(WAVES * u + phase))
        z = self.lowest()[1] if self.found else self.constant()
        z = self.by_sigmoid(z, 2.0 * LAST, PUSH_STEPS, penalty)
        return self.by_sigmoid(z, LAST, PUSH_STEPS)

    # ---- the end

    def finished(self, name: str, z: Array, psi: Array | None) -> SolverResult:
        """Return the result of the finish from a point."""
        most, self.searched = self.options.max_iter, self.history.seconds
        if name == "constant" and not self.constant_pulls:
            psi = np.zeros(self.problem.n_samples)
            end = End(z, psi, 0.0, float(self.problem.trivial_objective))
        else:
            # Sweeps come near slowly; they stop at what was asked for.
            tol = self.options.tol * (1.0 if wide.suits(self.problem) else SHARE)
            if self.few is not self.all and psi is None:
                stage = rounded(self.loss, WIDTH * self.unit)
                z = self.all.run(z, stage, gain=FINE, most=FINE_STEPS, tol=TOL)
            # Copies of rows are given back.
            self.few = self.wide = self.all
            end = finish(self.all, z, psi, tol=tol, most=most, record=self.record)
            if self.constant_pulls and end.objective >= self.problem.trivial_objective:
                # Not below the constant, which is not the end.
                start, tol = self.constant(), CLOSER * tol
                end = finish(self.all, start, None, tol=tol, most=most, record=self.record)
        return self.result(name, end)

    def result(self, name: str, end: End) -> SolverResult:
        """Return the end of a fit, or the constant classifier where that is no higher."""
        constant, objective = False, float(self.problem.trivial_objective)
        w, b, psi, advice = end.z[:-1].copy(), float(end.z[-1]), end.psi, []
        level = 1.0 + LEAST_GAIN if self.constant_pulls else 1.0 - LEAST_GAIN
        if not end.objective < objective * level:
            constant, name = True, "constant"
            w, b = np.zeros_like(w), float(self.problem.trivial()[1])
            # Where samples pull at the constant, its multipliers are those of a point as low.
            near = end.objective <= objective * (1.0 + CLOSER * self.options.tol)
            psi = psi if self.constant_pulls and near else 0.0 * psi
        if self.budget.spent:
            advice.append(
                f"the budget of {MOST_STEPS} Newton steps and {MOST_WORK:g} passes was spent: "
                "scale the features, bring the weights closer to each other, or lower C"
            )
        total = self.history.seconds
        return SolverResult(
            coef=w,
            intercept=b,
            multipliers=psi,
            objective=objective if constant else end.objective,
            convex_objective=self.convex_objective,
            converged=end.residual <= self.options.tol,
            residual=end.residual,
            n_iter=len(self.history),
            passes=self.problem.operator.passes - self.passes,
            history=self.history.columns,
            seconds={"search": self.searched, "finish": total - self.searched, "total": total},
            constant=constant,
            advice=advice,
            start=name,
            starts={key: value for key, (value, _) in self.found.items()},
        )

    def record(self, **row: Any) -> None:
        """Write a row of the history."""
        passes = self.problem.operator.passes - self.passes
        columns = {"start": "", "residual": math.nan, "steps": self.all.steps}
        self.history.add(**{**columns, **row}, passes=passes)


def stretched(problem: Problem, z: Array) -> tuple[Array, Array]:
    """Return z and its violations, or the multiple at which nearly satisfied samples are, if lower.

    Where penalties are large a margin that lacks a little costs more than all else.
    """
    q = problem.violations(z[:-1].copy(), float(z[-1]))
    kept = (np.abs(q) < 0.5) & (problem.penalty > 0.0)
    margin = float((1.0 - q).min(initial=1.0, where=kept))
    longer, less = z / margin, 1.0 - (1.0 - q) / margin
    if problem.objective(longer[:-1], less) < problem.objective(z[:-1], q):
        return longer, less
    return z, q


def checked_names(names: Any) -> str | tuple[str, ...]:
    """Return the names of starts as solvers take them, or complain of those that do not exist."""
    if isinstance(names, str):
        unknown = [] if names == "auto" else [names]
    else:
        unknown = [name for name in names if name not in NAMES]
    if unknown or len(names) == 0:
        what = f"starts names {unknown!r}" if unknown else "starts is empty"
        known = ", ".join(map(repr, NAMES))
        raise ValueError(f"{what}; give 'auto' or a list of some of {known}.")
    return names if isinstance(names, str) else tuple(names)
