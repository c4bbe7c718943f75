"""Newton's method for hinge losses in coupled views.

The augmented Lagrangian of a `CoupledProblem`, minimised over its slacks, is a smooth convex
function of the classifiers. Its slope in each decision value comes from multipliers that are a
step along the violation, clipped to their bounds:

    alpha <- clip(alpha + xi s (1 - y f), 0, c),
    beta  <- clip(shrink(beta + xi t (f_u - f_v), xi t epsilon), -d, d),

and it is piecewise quadratic, so that Newton's method with a line search ends after finitely many
steps. Then the multipliers are kept and xi grows. It is the method that `Newton` uses for a single
view, with two kinds of terms. The steps s and t (`_first_steps`) follow the scale and the size of
the rows of each view: with one step for all views, a view of small scale takes hundreds of Newton
steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from htsvm._typing import Array
from htsvm_paper.solvers.coupled_problem import CoupledProblem
from htsvm_paper.solvers.coupled_system import CoupledSystem
from htsvm.solvers.history import Callback, History
from htsvm.solvers.line_search import slope_root

# The first steps, in units of the curvature that a view has of itself, its scale over the variance
# of its rows; and the largest of them, as a share of the bound of a multiplier: with less than one,
# all terms are curved at the constant classifier.
FIRST_STEP, BOUND_SHARE = 10.0, 0.5
# The first xi of a warm start, times the square of the ratio of the scales. Below the second
# number, multipliers of the other scales are worse than none.
WARM_STEP, NEAR = 300.0, 150.0
# How fast xi grows, and how far: beyond, rounding errors of the violations are what is left.
GROWTH, LARGEST_STEP = 5.0, 1e9
# A round ends when the gradient, against its terms, is below the first number times the relative
# gap before it, but within these limits; those of a warm start end at the lower one.
GAP_SHARE, INNER_TOLERANCE, ROUGH = 0.1, 1e-10, 1e-2
# The most Newton steps in a round.
MOST_STEPS = 50
# A line search ends when the slope has shrunk by this factor, or after so many trials.
SLOPE_REDUCTION, MOST_TRIALS = 0.05, 60


@dataclass
class CoupledResult:
    """What the solver returns.

    Attributes
    ----------
    coefs, intercepts : list of ndarrays, ndarray of shape (n_views,)
        The classifiers.
    alpha, beta : ndarrays of shape (n_views, n_samples), (n_pairs, n_samples)
        The multipliers.
    scales : ndarray of shape (n_views,)
        The theta that they belong to.
    objective, bound : float
        The objective, and a lower bound of its minimum.
    converged : bool
        Whether they are as close as was asked for.
    n_iter : int
        Newton steps.
    history : dict of lists
        One entry per round in each column.
    """

    coefs: list[Array]
    intercepts: Array
    alpha: Array
    beta: Array
    scales: Array
    objective: float
    bound: float
    converged: bool
    n_iter: int
    history: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def relative_gap(self) -> float:
        """The duality gap as a share of the objective."""
        return max(self.objective - self.bound, 0.0) / max(abs(self.objective), 1e-300)


@dataclass(frozen=True)
class CoupledNewton:
    """Newton's method on the augmented Lagrangian.

    Parameters
    ----------
    tol : float, default=1e-6
        The relative duality gap to reach.
    max_iter : int, default=1000
        The largest number of Newton steps.
    callback : callable, optional
        Called after each round with its row of the history.
    """

    tol: float = 1e-6
    max_iter: int = 1000
    callback: Callback | None = None

    def solve(
        self, problem: CoupledProblem, *, start: CoupledResult | None = None
    ) -> CoupledResult:
        """Return the minimiser of `problem`.

        Parameters
        ----------
        problem : CoupledProblem
            What to minimise.
        start : CoupledResult, optional
            The solution of a similar problem.
        """
        result = _Run(self, problem, start).run()
        if start is not None and not result.converged:
            # The multipliers of a problem that is too different are worse than none.
            cold = _Run(self, problem, None).run()
            cold.n_iter += result.n_iter
            result = min(result, cold, key=lambda one: one.relative_gap)
        return result


class _Run:
    """One call of `CoupledNewton.solve`."""

    def __init__(
        self, options: CoupledNewton, problem: CoupledProblem, start: CoupledResult | None
    ) -> None:
        self.options, self.problem = options, problem
        V, m = len(problem.views), len(problem.y)
        self.own_steps, self.shared_steps = _first_steps(problem)
        self.first_step = 1.0
        if start is not None:
            ratios = problem.scales / start.scales
            nearness = float(np.minimum(ratios, 1.0 / ratios).min())
            self.first_step = WARM_STEP * nearness**2
            if self.first_step < NEAR:
                self.first_step, start = 1.0, None
        self.cold = start is None
        self.system = CoupledSystem(
            problem.views, problem.scales, problem.fit_intercept, problem.kernels
        )
        if start is None:
            self.coefs = [np.zeros(X.shape[1]) for X in problem.views]
            self.intercepts = np.zeros(V)
            self.alpha, self.beta = np.zeros((V, m)), np.zeros((len(problem.pairs), m))
        else:
            self.coefs, self.intercepts = [w.copy() for w in start.coefs], start.intercepts.copy()
            self.alpha, self.beta = start.alpha, start.beta
        self.values = problem.decisions(self.coefs, self.intercepts)
        self.steps = 0
        self.history = History(options.callback)

    def run(self) -> CoupledResult:
        problem, tol = self.problem, self.options.tol
        xi, enough, best = self.first_step, False, None
        goal = rough = ROUGH if self.cold else INNER_TOLERANCE
        while True:
            self._minimise(xi, goal)
            self.alpha, self.beta = self._multipliers(self.values, xi)
            result = self._result()
            if best is None or result.relative_gap < best.relative_gap:
                best = result
            self._record(result, xi)
            # Close to the solution a round gains many digits: one more costs little.
            if enough or self.steps >= self.options.max_iter or xi >= LARGEST_STEP:
                break
            enough = result.relative_gap <= tol
            goal = min(max(GAP_SHARE * result.relative_gap, INNER_TOLERANCE), rough)
            xi *= GROWTH
            self.values = problem.decisions(self.coefs, self.intercepts)
        return best

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
            sums = p.sums(g)
            own = [s * w for s, w in zip(p.scales, self.coefs, strict=True)]
            gradients = [a - b for a, b in zip(own, sums, strict=True)]
            slope = -g.sum(axis=1) if p.fit_intercept else np.zeros(len(own))
            size = math.sqrt(sum(float(a @ a) for a in gradients) + float(slope @ slope))
            mass = float(np.abs(g).sum())
            unit = math.sqrt(
                sum(float(a @ a) + float(b @ b) for a, b in zip(own, sums, strict=True))
            )
            if size <= goal * (unit + mass):
                return
            curved, shared = self._curvatures(alpha, beta, xi)
            dw, db = self.system.solve(curved, shared, gradients, slope)
            falling = sum(float(a @ b) for a, b in zip(gradients, dw, strict=True))
            falling += float(slope @ db)
            if not falling < 0.0:
                return
            moved = p.decisions(dw, db)
            t = self._line_search(xi, dw, moved, falling)
            if t == 0.0:
                return
            self.coefs = [w + t * d for w, d in zip(self.coefs, dw, strict=True)]
            self.intercepts = self.intercepts + t * db
            self.values = self.values + t * moved
            self.steps += 1

    def _curvatures(
        self, alpha: Array, beta: Array, xi: float
    ) -> tuple[Array, list[tuple[int, int, Array]]]:
        p = self.problem
        own = np.where((alpha > 0.0) & (alpha < p.penalties), xi * self.own_steps, 0.0)
        inside = (beta != 0.0) & (np.abs(beta) < p.coupling)
        if p.tube == 0.0:
            inside = np.abs(beta) < p.coupling
        shared = [
            (u, v, np.where(one, xi * steps, 0.0))
            for (u, v), one, steps in zip(p.pairs, inside, self.shared_steps, strict=True)
        ]
        return own, shared

    def _line_search(self, xi: float, dw: list[Array], moved: Array, falling: float) -> float:
        """Find a step where the derivative along the direction has all but vanished."""
        p = self.problem
        pairs = list(zip(p.scales, self.coefs, dw, strict=True))
        linear = sum(s * float(w @ d) for s, w, d in pairs)
        square = sum(s * float(d @ d) for s, _, d in pairs)

        def slopes(t: float) -> tuple[float, float]:
            g = p.pulls(*self._multipliers(self.values + t * moved, xi))
            return float(linear + t * square - np.sum(g * moved)), 0.0

        return slope_root(slopes, falling, reduction=SLOPE_REDUCTION, most_trials=MOST_TRIALS)

    # ------------------------------------------------------------------------------ reporting

    def _result(self) -> CoupledResult:
        p = self.problem
        objective = p.objective(self.coefs, self.values)
        bound = p.bound(self.alpha, self.beta)
        result = CoupledResult(
            [w.copy() for w in self.coefs], self.intercepts.copy(), self.alpha, self.beta,
            p.scales, objective, bound, False, self.steps, self.history.columns,
        )  # fmt: skip
        result.converged = result.relative_gap <= self.options.tol
        return result

    def _record(self, result: CoupledResult, xi: float) -> None:
        self.history.add(
            objective=result.objective, residual=result.relative_gap, step=xi,
            newton_steps=self.steps,
        )  # fmt: skip


def _first_steps(problem: CoupledProblem) -> tuple[Array, Array]:
    """Return the steps of the multipliers of losses and of disagreements for xi = 1.

    Within a view they follow the penalties of the samples, so that a weight is worth as much as
    copies of a sample.
    """
    variances = np.array([_variance(X, problem.fit_intercept) for X in problem.views])
    curvatures = FIRST_STEP * problem.scales / variances
    largest = problem.penalties.max(axis=1)
    steps = np.minimum(curvatures, BOUND_SHARE * largest)
    own = (steps / largest)[:, None] * problem.penalties
    bound = float(problem.coupling.max(initial=0.0))
    shared = [
        min(curvatures[u], curvatures[v], BOUND_SHARE * bound) / bound * problem.coupling
        for u, v in problem.pairs
    ]
    return own, np.array(shared).reshape(len(shared), len(problem.y))


def _variance(X: Any, centred: bool) -> float:
    """Return the mean square of the rows, about their mean if there is an intercept."""
    square = float((X.multiply(X) if sp.issparse(X) else np.square(X)).sum()) / X.shape[0]
    mean = np.asarray(X.mean(axis=0)).ravel()
    rest = square - float(mean @ mean) if centred else square
    return float(rest if rest > 1e-10 * square else max(square, 1e-300))
