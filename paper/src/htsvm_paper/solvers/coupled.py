r"""Hinge losses in several views, tied where the views disagree: the problem and its solver.

For classifiers :math:`f_v(x) = w_v^\top x_v + b_v` of V views

.. math::
    \min\ \tfrac12 \sum_v \theta_v \|w_v\|^2 + \sum_v \sum_i c_{vi} \max(0, 1 - y_i f_v(x_i))
    + \sum_{u<v} \sum_i d_i \max(0, |f_u(x_i) - f_v(x_i)| - \epsilon) .

With multipliers :math:`0 \le \alpha_{vi} \le c_{vi}` of the losses and :math:`|\beta_{uvi}| \le
d_i` of the disagreements, and :math:`g_v = y \alpha_v - \sum_{u>v} \beta_{vu} + \sum_{u<v}
\beta_{uv}`, its dual is

.. math::
    \max\ \sum_{vi} \alpha_{vi} - \epsilon \sum_{u<v} \sum_i |\beta_{uvi}|
    - \tfrac12 \sum_v \tfrac1{\theta_v} \|X_v^\top g_v\|^2
    \quad\text{subject to}\quad 1^\top g_v = 0 \text{ with intercepts.}

The augmented Lagrangian, minimised over its slacks, is a smooth, convex, piecewise quadratic
function of the classifiers, on which Newton's method ends after finitely many steps. Its slope in
each decision value comes from multipliers that are a step along the violation, clipped:

    alpha <- clip(alpha + xi s (1 - y f), 0, c),
    beta  <- clip(shrink(beta + xi t (f_u - f_v), xi t epsilon), -d, d).

Then these are kept and xi grows. The steps s and t follow the scale and the rows of each view.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from htsvm.extend import Array, Callback, History, Solver, SolverResult, register_certificate
from htsvm_paper.certificates import GapCertificate
from htsvm_paper.solvers.views import Shared, ViewsProblem, row_squares

# The first steps, in units of the scale of a view over the variance of its rows; the largest, as a
# share of the bound of a multiplier: below one, all terms are curved at the constant classifier.
FIRST_STEP, BOUND_SHARE = 10.0, 0.5
# The first xi of a warm start, times the square of the ratio of the scales. Below the second
# number, multipliers of the other scales are worse than none.
WARM_STEP, NEAR = 300.0, 150.0
# How fast xi grows, and how far: beyond, rounding errors of the violations are what is left.
GROWTH, LARGEST_STEP = 5.0, 1e9
# A round ends when the gradient, against its terms, is below the first number times the relative
# gap before it, but within these limits (in a warm start the lower one), or after so many steps.
GAP_SHARE, INNER_TOLERANCE, ROUGH, MOST_STEPS = 0.1, 1e-10, 1e-2, 50
# A line search ends when the slope has shrunk by this factor, or after so many trials.
SLOPE_REDUCTION, MOST_TRIALS = 0.05, 60


class Multipliers(NamedTuple):
    """The multipliers of losses and of disagreements, and the theta that they belong to."""

    alpha: Array
    beta: Array
    scales: Array


@dataclass(frozen=True, eq=False)
class CoupledProblem(ViewsProblem):
    """What to minimise; see `ViewsProblem`. Up to `tube` views may disagree for free."""

    tube: float

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of views that are coupled."""
        views = range(len(self.views))
        return list(combinations(views, 2)) if np.any(self.coupling > 0.0) else []

    def differences(self, values: Array) -> Array:
        """Return f_u - f_v for each pair of views."""
        return values[[u for u, _ in self.pairs]] - values[[v for _, v in self.pairs]]

    def pulls(self, alpha: Array, beta: Array) -> Array:
        """Return g, what each sample adds to the classifier of each view."""
        g: Array = self.y * alpha
        for (u, v), one in zip(self.pairs, beta, strict=True):
            g[u] -= one
            g[v] += one
        return g

    def support(self, multipliers: Multipliers) -> Array | None:
        """Return what each sample adds to the classifiers."""
        return self.pulls(multipliers.alpha, multipliers.beta)

    def objective(self, z: Array, values: Array | None = None) -> float:
        """Return the objective, of which the decision values may be given."""
        values = self.decisions(z) if values is None else values
        loss = float(np.sum(self.penalties * np.maximum(1.0 - self.y * values, 0.0)))
        beyond = np.maximum(np.abs(self.differences(values)) - self.tube, 0.0)
        return self.energy(z) + loss + float(np.sum(beyond @ self.coupling))

    def bound(self, alpha: Array, beta: Array) -> float:
        """Return the dual objective at multipliers made feasible: a lower bound of the minimum."""
        if self.fit_intercept:
            alpha, beta = self._balanced(alpha, beta)
        pull = self.pull(self.pulls(alpha, beta))
        energy = 0.5 * float(pull @ (pull / self.weights))
        return float(alpha.sum()) - self.tube * float(np.abs(beta).sum()) - energy

    def _balanced(self, alpha: Array, beta: Array) -> tuple[Array, Array]:
        """Move the multipliers of the losses, within their bounds, until every g_v sums to zero.

        Where the bounds leave no room, all multipliers are zero: feasible, but a bound of zero.
        """
        excess = self.pulls(alpha, beta).sum(axis=1)
        up = np.where(self.y > 0.0, self.penalties - alpha, alpha)
        down = np.where(self.y > 0.0, alpha, self.penalties - alpha)
        room = np.where(excess[:, None] > 0.0, down, up)
        total = room.sum(axis=1)
        if np.any(total < np.abs(excess)):
            return np.zeros_like(alpha), np.zeros_like(beta)
        share = np.divide(excess, total, out=np.zeros_like(excess), where=total > 0.0)
        return alpha - self.y * share[:, None] * room, beta


@register_certificate(CoupledProblem)
def certify_gap(
    problem: CoupledProblem, coef: Array, intercept: Array, multipliers: Multipliers, tol: float
) -> GapCertificate:
    """Return the objective of a point, and the gap to the dual objective of its multipliers."""
    objective = problem.objective(problem.joined(coef, intercept))
    gap = max(objective - problem.bound(multipliers.alpha, multipliers.beta), 0.0)
    return GapCertificate(objective=objective, duality_gap=gap, tol=tol)


@dataclass(frozen=True)
class CoupledNewton(Solver):
    """Newton's method on the augmented Lagrangian.

    Parameters
    ----------
    tol, max_iter : float, int
        The relative duality gap to reach, and the most Newton steps.
    callback : callable, optional
        Called after each round with its row of the history.
    """

    tol: float = 1e-6
    max_iter: int = 1000
    callback: Callback | None = None

    def solve(
        self, problem: CoupledProblem, *, start: tuple[Array, Array, Any] | None = None
    ) -> SolverResult:
        """Return the minimiser of `problem`, from the solution of a similar one if there is any."""
        result = _Rounds(self, problem, start).run()
        if start is not None and not result.converged:
            # The multipliers of a problem that is too different are worse than none.
            cold = _Rounds(self, problem, None).run()
            cold.n_iter += result.n_iter
            result = min(result, cold, key=lambda one: one.residual)
        return result


class _Rounds:
    """One call of `CoupledNewton.solve`."""

    def __init__(self, options: CoupledNewton, problem: CoupledProblem, start: Any) -> None:
        self.options, self.problem = options, problem
        self.own_steps, self.shared_steps = _first_steps(problem)
        self.first_step = 1.0
        if start is not None:
            ratios = problem.scales / start[2].scales
            self.first_step = WARM_STEP * float(np.minimum(ratios, 1.0 / ratios).min()) ** 2
            if self.first_step < NEAR:
                self.first_step, start = 1.0, None
        self.cold = start is None
        if start is None:
            self.z = np.zeros(problem.size)
            self.alpha = np.zeros(problem.penalties.shape)
            self.beta = np.zeros((len(problem.pairs), len(problem.y)))
        else:
            self.z = problem.joined(*start[:2])
            self.alpha, self.beta, _ = start[2]
        self.values = problem.decisions(self.z)
        self.steps = 0
        self.history = History(options.callback)

    def run(self) -> SolverResult:
        xi, enough, best = self.first_step, False, None
        goal = rough = ROUGH if self.cold else INNER_TOLERANCE
        while True:
            self._minimise(xi, goal)
            self.alpha, self.beta = self._multipliers(self.values, xi)
            result = self._result(xi)
            if best is None or result.residual < best.residual:
                best = result
            # Close to the solution a round gains many digits: one more costs little.
            if enough or self.steps >= self.options.max_iter or xi >= LARGEST_STEP:
                return best
            enough = result.converged
            goal = min(max(GAP_SHARE * result.residual, INNER_TOLERANCE), rough)
            xi *= GROWTH
            self.values = self.problem.decisions(self.z)

    def _multipliers(self, values: Array, xi: float) -> tuple[Array, Array]:
        p = self.problem
        alpha = np.clip(self.alpha + xi * self.own_steps * (1.0 - p.y * values), 0.0, p.penalties)
        if not len(self.beta):
            return alpha, self.beta
        z = self.beta + xi * self.shared_steps * p.differences(values)
        shrunk = np.sign(z) * np.maximum(np.abs(z) - xi * p.tube * self.shared_steps, 0.0)
        return alpha, np.clip(shrunk, -p.coupling, p.coupling)

    def _minimise(self, xi: float, goal: float) -> None:
        """Take Newton steps until the gradient is this small against its terms."""
        p = self.problem
        for _ in range(min(MOST_STEPS, self.options.max_iter - self.steps)):
            alpha, beta = self._multipliers(self.values, xi)
            g = p.pulls(alpha, beta)
            gradient, own = p.gradient(self.z, -g), p.weights * self.z[: len(p.weights)]
            pull = own - gradient[: len(own)]
            unit = float(np.sqrt(own @ own + pull @ pull)) + float(np.abs(g).sum())
            if float(np.linalg.norm(gradient)) <= goal * unit:
                return
            direction = p.direction(*self._curvatures(alpha, beta, xi), gradient)
            falling = float(gradient @ direction)
            if not falling < 0.0:
                return
            moved = p.decisions(direction)
            t = self._line_search(xi, direction, moved, falling)
            if t == 0.0:
                return
            self.z = self.z + t * direction
            self.values = self.values + t * moved
            self.steps += 1

    def _curvatures(self, alpha: Array, beta: Array, xi: float) -> tuple[Array, Shared]:
        p = self.problem
        own = np.where((alpha > 0.0) & (alpha < p.penalties), xi * self.own_steps, 0.0)
        inside = np.abs(beta) < p.coupling
        if p.tube > 0.0:
            inside &= beta != 0.0
        shared = np.where(inside, xi * self.shared_steps, 0.0)
        return own, [(u, v, one) for (u, v), one in zip(p.pairs, shared, strict=True)]

    def _line_search(self, xi: float, direction: Array, moved: Array, falling: float) -> float:
        """Find a step where the derivative along the direction has all but vanished."""
        p = self.problem
        dw = direction[: len(p.weights)] * p.weights
        linear, square = float(dw @ self.z[: len(dw)]), float(dw @ direction[: len(dw)])

        def slope(t: float) -> float:
            g = p.pulls(*self._multipliers(self.values + t * moved, xi))
            return linear + t * square - float(np.sum(g * moved))

        return _root(slope, falling)

    def _result(self, xi: float) -> SolverResult:
        """Return the present point, and record it."""
        p = self.problem
        multipliers: Any = Multipliers(self.alpha, self.beta, p.scales)
        coef, intercept = self.z[: len(p.weights)].copy(), p.parts(self.z)[1].copy()
        objective = p.objective(self.z, self.values)
        gap = max(objective - p.bound(self.alpha, self.beta), 0.0) / max(abs(objective), 1e-300)
        self.history.add(objective=objective, residual=gap, step=xi, newton_steps=self.steps)
        return SolverResult(
            coef, intercept, multipliers, objective, converged=gap <= self.options.tol,
            residual=gap, n_iter=self.steps, history=self.history.columns,
        )  # fmt: skip


def _root(slope: Callable[[float], float], at_zero: float) -> float:
    """Return a step where a non-decreasing slope has all but vanished, by false position."""
    low, high, at_low, at_high, t = 0.0, np.inf, at_zero, np.nan, 1.0
    for _ in range(MOST_TRIALS):
        found = slope(t)
        if abs(found) <= SLOPE_REDUCTION * abs(at_zero):
            break
        # Halving the other end's slope keeps false position from creeping up on one side.
        if found < 0.0:
            at_high *= 0.5 if low > 0.0 else 1.0
            low, at_low = t, found
        else:
            at_low *= 1.0 if np.isinf(high) else 0.5
            high, at_high = t, found
        t = 10.0 * t if np.isinf(high) else low - at_low * (high - low) / (at_high - at_low)
        if not low < t < high:
            return low if low > 0.0 else 0.5 * min(high, 1.0)
    return t


def _first_steps(problem: CoupledProblem) -> tuple[Array, Array]:
    """Return the steps of the multipliers for xi = 1; weights are worth as much as copies."""
    squares = np.array([row_squares(X).mean() for X in problem.views])
    if problem.fit_intercept:
        # The variance of the rows, unless that is rounding.
        spread = squares - [float(np.square(X.mean(axis=0)).sum()) for X in problem.views]
        squares = np.where(spread > 1e-10 * squares, spread, squares)
    curvatures = FIRST_STEP * problem.scales / np.maximum(squares, 1e-300)
    largest = problem.penalties.max(axis=1)
    steps = np.minimum(curvatures, BOUND_SHARE * largest)
    own = (steps / largest)[:, None] * problem.penalties
    bound = float(problem.coupling.max(initial=0.0))
    shared = [
        min(curvatures[u], curvatures[v], BOUND_SHARE * bound) / bound * problem.coupling
        for u, v in problem.pairs
    ]
    return own, np.array(shared).reshape(len(shared), len(problem.y))
