"""Descent for smooth bounded losses in two views: the solver of a `SmoothProblem`.

The problem is not convex: L-BFGS from several starts, the lowest point wins, and Newton's method
makes it exact. L-BFGS works in coordinates in which the quadratic parts, and the losses where they
begin, are curved alike in all directions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg
from scipy.optimize import minimize

from htsvm._typing import Array
from htsvm.linalg.operators import squared
from htsvm.linalg.positive import cholesky_factor, solve_positive
from htsvm_paper.solvers.smooth_problem import SmoothProblem
from htsvm_paper.solvers.coupled_system import CoupledSystem
from htsvm.solvers.history import Callback, History
from htsvm.solvers.line_search import backtracked

# Points with objectives this close, relatively, count as the same.
SAME = 1e-8
# Newton's method and the coordinates of L-BFGS need a matrix; neither above this side.
NEWTON_SIDE = 3000
# The eigenvalues of the Hessian are computed up to this side.
EIGENVALUE_SIDE = 500
# The most Newton steps, and where they aim: at rounding errors.
NEWTON_STEPS, NEWTON_GOAL = 50, 1e-13
# Pairs of vectors that L-BFGS keeps.
MEMORY = 20
# L-BFGS ends where a step gains less than this share of the objective: where Newton's method does
# the rest, and where it does not.
GAIN, LEAST_GAIN = 1e-12, 1e-14
# The share of the mean curvature that is added to it in all directions: intercepts may have none.
RIDGE = 1e-10


@dataclass
class SmoothResult:
    """What the solver returns.

    Attributes
    ----------
    coefs, intercepts : list of ndarrays, ndarray of shape (2,)
        The classifiers.
    objective, trivial_objective : float
        The objective, and that of the best constant classifiers.
    stationarity, balance : float
        The residuals of the gradient.
    curvature : float
        The smallest eigenvalue of the Hessian; NaN where it was not computed.
    n_iter : int
        Iterations of L-BFGS, of all starts, and of Newton's method.
    history : dict of lists
        One entry per start, and one for Newton's method.
    """

    coefs: list[Array]
    intercepts: Array
    objective: float
    trivial_objective: float
    stationarity: float
    balance: float
    curvature: float
    n_iter: int
    history: dict[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class SmoothDescent:
    """L-BFGS from several starts, then Newton's method.

    Parameters
    ----------
    tol : float, default=1e-6
        The residual of the gradient to reach.
    max_iter : int, default=1000
        The largest number of iterations from each start.
    n_restarts : int, default=3
        Random starts, beside w = 0 and the best constant classifiers.
    random_state : int, default=0
        Seed of the random starts.
    callback : callable, optional
        Called after each start with its row of the history.
    """

    tol: float = 1e-6
    max_iter: int = 1000
    n_restarts: int = 3
    random_state: int = 0
    callback: Callback | None = None

    def solve(self, problem: SmoothProblem) -> SmoothResult:
        """Return the lowest stationary point that was found."""
        history = History(self.callback)

        def record(name: str, z: Array, steps: int) -> float:
            objective = problem.value_and_gradient(z)[0]
            residual = max(problem.residuals(z))
            history.add(start=name, objective=objective, residual=residual, steps=steps)
            return objective

        constant = problem.constant()
        trivial = problem.value_and_gradient(constant)[0]
        best, lowest = constant, np.inf
        coordinates = _Coordinates(problem)
        for name, start in self._starts(problem, constant).items():
            z, steps = self._descend(problem, coordinates, start)
            objective = record(name, z, steps)
            if objective < lowest - SAME * abs(lowest) or not np.isfinite(lowest):
                best, lowest = z, objective
        best, steps, curvature = self._finish(problem, best)
        record("newton", best, steps)
        coefs, b = problem.parts(best)
        return SmoothResult(
            coefs, b, history["objective"][-1], trivial, *problem.residuals(best), curvature,
            sum(history["steps"]), history.columns,
        )  # fmt: skip

    def _starts(self, problem: SmoothProblem, constant: Array) -> dict[str, Array]:
        starts = {"zero": np.zeros(problem.size), "constant": constant}
        if not problem.fit_intercept:
            del starts["constant"]
        rng = np.random.default_rng(self.random_state)
        # Decision values of about one.
        weight = problem.penalties[0] / problem.penalties[0].sum()
        lengths = [np.sqrt(float(weight @ _squares(X))) or 1.0 for X in problem.views]
        for number in range(1, self.n_restarts + 1):
            z = np.zeros(problem.size)
            z[: sum(problem.widths)] = np.concatenate(
                [rng.normal(size=n) / s for n, s in zip(problem.widths, lengths, strict=True)]
            )
            starts[f"random {number}"] = z
        return starts

    def _descend(
        self, problem: SmoothProblem, coordinates: _Coordinates, start: Array
    ) -> tuple[Array, int]:
        """Run L-BFGS; the objective is scaled so that its first step is of a sensible length."""
        scale = 1.0 / (1.0 + float(problem.penalties.sum()))

        def scaled(point: Array) -> tuple[float, Array]:
            value, gradient = problem.value_and_gradient(coordinates.leave(point))
            return scale * value, scale * coordinates.gradient(gradient)

        goal = 0.1 * self.tol * scale / np.sqrt(problem.size)
        gain = LEAST_GAIN if coordinates.root is None else GAIN
        found = minimize(
            scaled, coordinates.enter(start), jac=True, method="L-BFGS-B",
            options={"maxiter": self.max_iter, "maxfun": 2 * self.max_iter, "gtol": goal,
                     "ftol": gain, "maxcor": MEMORY},
        )  # fmt: skip
        return coordinates.leave(found.x), int(found.nit)

    def _finish(self, problem: SmoothProblem, z: Array) -> tuple[Array, int, float]:
        """Take Newton steps until rounding stops them; return the smallest curvature too."""
        if problem.size > NEWTON_SIDE:
            return z, 0, float("nan")
        system = CoupledSystem(problem.views, problem.scales, problem.fit_intercept)
        steps = 0
        while steps < NEWTON_STEPS:
            _, gradient = problem.value_and_gradient(z)
            if np.linalg.norm(gradient) <= NEWTON_GOAL * (1.0 + float(problem.penalties.sum())):
                break
            direction = _newton_direction(problem.hessian(z, system), gradient)
            moved = backtracked(problem.value_and_gradient, z, direction)
            if moved is None:
                break
            z = moved
            steps += 1
        if problem.size > EIGENVALUE_SIDE:
            return z, steps, float("nan")
        least = scipy.linalg.eigvalsh(problem.hessian(z, system), subset_by_index=[0, 0])
        return z, steps, float(least[0])


class _Coordinates:
    """Coordinates u = R z with R' R the curvature of the objective where all losses begin.

    Samples far longer than the others count less: their losses are likely to be where they are
    flat, and in coordinates that are theirs L-BFGS ends in worse minima.

    Parameters
    ----------
    problem : SmoothProblem
        Whose variables z are.
    """

    def __init__(self, problem: SmoothProblem) -> None:
        self.root: Array | None = None
        if problem.size > NEWTON_SIDE:
            return
        bend = problem.loss.curvature(np.zeros_like(problem.penalties), problem.y)
        system = CoupledSystem(problem.views, problem.scales, problem.fit_intercept)
        own = problem.penalties * np.maximum(bend, 0.0) * _without_far_samples(problem)
        H = system.matrix(own, [(0, 1, 2.0 * problem.coupling)])
        places = np.arange(len(H))
        H[places, places] += RIDGE * float(np.trace(H)) / len(H)
        self.root = scipy.linalg.cholesky(H, overwrite_a=True)

    def enter(self, z: Array) -> Array:
        """Return the coordinates of variables."""
        return z if self.root is None else self.root @ z

    def leave(self, point: Array) -> Array:
        """Return the variables at coordinates."""
        return point if self.root is None else _solve_triangular(self.root, point, "N")

    def gradient(self, gradient: Array) -> Array:
        """Return a gradient in the coordinates."""
        return gradient if self.root is None else _solve_triangular(self.root, gradient, "T")


def _without_far_samples(problem: SmoothProblem) -> Array:
    """Return factors that leave no sample longer than the mean, the harmonic one, in each view."""
    squares = np.array([_squares(X) for X in problem.views]) + 1.0
    shares = problem.penalties / problem.penalties.sum(axis=1, keepdims=True)
    mean = 1.0 / np.sum(shares / squares, axis=1, keepdims=True)
    factors: Array = np.minimum(1.0, mean / squares)
    return factors


def _solve_triangular(R: Array, rhs: Array, trans: str) -> Array:
    solution: Array = scipy.linalg.solve_triangular(R, rhs, trans=trans, check_finite=False)
    return solution


def _newton_direction(H: Array, gradient: Array) -> Array:
    """Return the Newton direction, or one of descent where H is not positive definite."""
    size = float(np.abs(np.diagonal(H)).max())
    places = np.arange(len(H))
    for shift in (0.0, *(size * 10.0 ** np.arange(-8.0, 2.0))):
        shifted = H.copy()
        shifted[places, places] += shift
        if cholesky_factor(shifted) is not None:
            return -solve_positive(shifted, gradient)
    return -gradient / size


def _squares(X: Any) -> Array:
    """Return the squared lengths of the rows."""
    return np.asarray(squared(X).sum(axis=1)).ravel()
