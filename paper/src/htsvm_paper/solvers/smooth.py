r"""Smooth bounded losses in two views, tied by the square of their difference: problem and solver.

.. math::
    \min\ \tfrac12 \sum_v \theta_v \|w_v\|^2
    + \sum_v \sum_i c_{vi} L(\max(0, 1 - y_i f_v(x_i)), y_i)
    + \sum_i d_i (f_A(x_i) - f_B(x_i))^2 .

L has slope zero at zero and never falls, so slacks xi >= 1 - y f, xi >= 0 are best at
max(0, 1 - y f) and the objective has a continuous gradient. It is not convex: L-BFGS from several
starts, the lowest point wins, and Newton's method makes it exact. L-BFGS works in coordinates in
which the quadratic parts, and the losses where they begin, are curved alike in all directions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg import solve_triangular
from scipy.optimize import minimize, minimize_scalar

from htsvm.extend import Array, Callback, History, Solver, SolverResult, register_certificate
from htsvm_paper.certificates import GradientCertificate
from htsvm_paper.losses import SmoothLoss
from htsvm_paper.solvers.views import ViewsProblem, factorised, row_squares

# Points with objectives this close, relatively, count as the same.
SAME = 1e-8
# The largest side of the matrix that Newton's method and the coordinates of L-BFGS need, and of
# that whose eigenvalues are computed.
NEWTON_SIDE, EIGENVALUE_SIDE = 3000, 500
# The most Newton steps, and where they aim: at rounding errors. Pairs of vectors in L-BFGS.
NEWTON_STEPS, NEWTON_GOAL, MEMORY = 50, 1e-13, 20
# L-BFGS ends where a step gains less than this share of the objective: where Newton's method does
# the rest, and where it does not.
GAIN, LEAST_GAIN = 1e-12, 1e-14
# The share of the mean curvature that is added to it in all directions: intercepts may have none.
RIDGE = 1e-10
# The share of the expected decrease that a Newton step has to bring, and the most halvings of it.
DECREASE, MOST_HALVINGS = 1e-4, 30


@dataclass(frozen=True, eq=False)
class SmoothProblem(ViewsProblem):
    """What to minimise; see `ViewsProblem`."""

    loss: SmoothLoss

    def violations(self, z: Array) -> tuple[Array, Array]:
        """Return max(0, 1 - y f_v) for both views, and f_A - f_B."""
        f = self.decisions(z)
        return np.maximum(1.0 - self.y * f, 0.0), f[0] - f[1]

    def value_and_gradient(self, z: Array) -> tuple[float, Array]:
        """Return the objective and its gradient."""
        value, slopes = self._losses(z)
        return value + self.energy(z), self.gradient(z, slopes)

    def _losses(self, z: Array) -> tuple[float, Array]:
        """Return the sum of all losses, and their slopes in the decision values of both views."""
        u, difference = self.violations(z)
        value, slope, _ = self.loss(u, self.y)
        total = float(np.sum(self.penalties * value) + self.coupling @ difference**2)
        tie = 2.0 * self.coupling * difference
        return total, np.array([tie, -tie]) - self.y * self.penalties * slope

    def hessian(self, z: Array) -> Array:
        """Return the matrix of second derivatives; one-sided where a violation is zero."""
        u = self.violations(z)[0]
        return self.curved(np.where(u > 0.0, self.loss(u, self.y)[2], 0.0))

    def curved(self, curvatures: Array) -> Array:
        """Return the Hessian for these curvatures of the losses."""
        return self.matrix(self.penalties * curvatures, [(0, 1, 2.0 * self.coupling)])

    def residuals_at(self, z: Array) -> tuple[float, float]:
        """Return the size of the gradient in the coefficients, and in the intercepts."""
        return self.residuals(self.weights * z[: len(self.weights)], self._losses(z)[1])

    def constant(self) -> Array:
        """Return the best variables with w = 0."""
        z = np.zeros(self.size)
        if not self.fit_intercept:
            return z
        mass = self.penalties.sum(axis=0)
        signs = np.array([-1.0, 1.0])
        per_class = np.array([mass[self.y == sign].sum() for sign in signs])

        def total(b: float) -> float:
            return float(per_class @ self.loss(np.maximum(1.0 - signs * b, 0.0), signs)[0])

        # Beyond -1 and 1 one of the classes has no loss, and the other one only more.
        grid = np.linspace(-1.0, 1.0, 41)
        near = grid[int(np.argmin([total(b) for b in grid]))]
        fine = minimize_scalar(
            total, bounds=(max(near - 0.05, -1.0), min(near + 0.05, 1.0)), method="bounded"
        )
        z[-2:] = fine.x if fine.fun < total(near) else near
        return z


@register_certificate(SmoothProblem)
def certify_gradient(
    problem: SmoothProblem, coef: Array, intercept: Array, _: Any, tol: float
) -> GradientCertificate:
    """Return the residuals of the gradient at a point, and the smallest curvature there."""
    z = problem.joined(coef, intercept)
    curvature = float("nan")
    if problem.size <= EIGENVALUE_SIDE:
        curvature = float(scipy.linalg.eigvalsh(problem.hessian(z), subset_by_index=[0, 0])[0])
    stationarity, balance = problem.residuals_at(z)
    return GradientCertificate(
        stationarity=stationarity, balance=balance, tol=tol, curvature=curvature,
        objective=problem.value_and_gradient(z)[0],
        trivial_objective=problem.value_and_gradient(problem.constant())[0],
    )  # fmt: skip


@dataclass(frozen=True)
class SmoothDescent(Solver):
    """L-BFGS from several starts, then Newton's method.

    Parameters
    ----------
    tol, max_iter : float, int
        The residual of the gradient to reach, and the most iterations from each start.
    n_restarts, random_state : int
        Random starts, beside w = 0 and the best constant classifiers, and their seed.
    callback : callable, optional
        Called after each start, and after Newton's method, with its row of the history.
    """

    tol: float = 1e-6
    max_iter: int = 1000
    n_restarts: int = 3
    random_state: int = 0
    callback: Callback | None = None

    def solve(self, problem: SmoothProblem, *, start: Any = None) -> SolverResult:
        """Return the lowest stationary point that was found; warm starts are not made use of."""
        history = History(self.callback)

        def record(name: str, z: Array, steps: int) -> float:
            objective = problem.value_and_gradient(z)[0]
            residual = max(problem.residuals_at(z))
            history.add(start=name, objective=objective, residual=residual, steps=steps)
            return objective

        best, lowest, name, root = problem.constant(), np.inf, "", _coordinates(problem)
        starts = self._starts(problem, best)
        for one, first in starts.items():
            z, steps = self._descend(problem, root, first)
            objective = record(one, z, steps)
            if objective < lowest - SAME * abs(lowest) or not np.isfinite(lowest):
                best, lowest, name = z, objective, one
        best, steps = _finished(problem, best)
        objective = record("newton", best, steps)
        residual = history["residual"][-1]
        return SolverResult(
            best[: len(problem.weights)], problem.parts(best)[1], np.zeros(0), objective,
            converged=residual <= self.tol, residual=residual, n_iter=sum(history["steps"]),
            history=history.columns, start=name,
        )  # fmt: skip

    def _starts(self, problem: SmoothProblem, constant: Array) -> dict[str, Array]:
        starts = {"zero": np.zeros(problem.size)}
        if problem.fit_intercept:
            starts["constant"] = constant
        rng = np.random.default_rng(self.random_state)
        # Decision values of about one.
        share = problem.penalties[0] / problem.penalties[0].sum()
        each = [np.sqrt(float(share @ row_squares(X))) or 1.0 for X in problem.views]
        lengths = np.repeat(each, np.diff(problem.edges))
        for number in range(1, self.n_restarts + 1):
            w = rng.normal(size=len(lengths)) / lengths
            starts[f"random {number}"] = problem.joined(w, np.zeros(2))
        return starts

    def _descend(self, problem: SmoothProblem, root: Array | None, z: Array) -> tuple[Array, int]:
        """Run L-BFGS; the objective is scaled so that its first step is of a sensible length."""
        scale = 1.0 / (1.0 + float(problem.penalties.sum()))

        def from_root(v: Array, trans: str = "N") -> Array:
            solved = v if root is None else solve_triangular(root, v, trans, check_finite=False)
            return np.asarray(solved)

        def scaled(point: Array) -> tuple[float, Array]:
            value, gradient = problem.value_and_gradient(from_root(point))
            return scale * value, scale * from_root(gradient, "T")

        goal = 0.1 * self.tol * scale / np.sqrt(problem.size)
        found = minimize(
            scaled, z if root is None else root @ z, jac=True, method="L-BFGS-B",
            options={"maxiter": self.max_iter, "maxfun": 2 * self.max_iter, "gtol": goal,
                     "ftol": LEAST_GAIN if root is None else GAIN, "maxcor": MEMORY},
        )  # fmt: skip
        return from_root(found.x), int(found.nit)


def _coordinates(problem: SmoothProblem) -> Array | None:
    """Return R with R' R the curvature of the objective where all losses begin; None if too large.

    Samples far longer than the others count less: their losses are likely to be where they are
    flat, and in coordinates that are theirs L-BFGS ends in worse minima.
    """
    if problem.size > NEWTON_SIDE:
        return None
    bend = problem.loss(np.zeros_like(problem.penalties), problem.y)[2]
    H = problem.curved(np.maximum(bend, 0.0) * _without_far_samples(problem))
    places = np.arange(len(H))
    H[places, places] += RIDGE * float(np.trace(H)) / len(H)
    return np.asarray(scipy.linalg.cholesky(H, overwrite_a=True))


def _without_far_samples(problem: SmoothProblem) -> Array:
    """Return factors that leave no sample longer than the mean, the harmonic one, in each view."""
    squares = np.array([row_squares(X) for X in problem.views]) + 1.0
    shares = problem.penalties / problem.penalties.sum(axis=1, keepdims=True)
    mean = 1.0 / np.sum(shares / squares, axis=1, keepdims=True)
    return np.asarray(np.minimum(1.0, mean / squares))


def _finished(problem: SmoothProblem, z: Array) -> tuple[Array, int]:
    """Take Newton steps until rounding stops them; return their number too."""
    if problem.size > NEWTON_SIDE:
        return z, 0
    goal = NEWTON_GOAL * (1.0 + float(problem.penalties.sum()))
    for steps in range(NEWTON_STEPS):
        _, gradient = problem.value_and_gradient(z)
        if np.linalg.norm(gradient) <= goal:
            return z, steps
        direction = _newton_direction(problem.hessian(z), gradient)
        moved = backtracked(problem.value_and_gradient, z, direction)
        if moved is None:
            return z, steps
        z = moved
    return z, NEWTON_STEPS


def _newton_direction(H: Array, gradient: Array) -> Array:
    """Return the Newton direction, or one of descent where H is not positive definite."""
    size = float(np.abs(np.diagonal(H)).max())
    factor = factorised(H, [0.0, *(size * 10.0 ** np.arange(-8.0, 2.0))])
    if factor is None:
        return -gradient / size
    return np.asarray(-scipy.linalg.cho_solve(factor, gradient, check_finite=False))


def backtracked(
    value_and_gradient: Callable[[Array], tuple[float, Array]], z: Array, direction: Array
) -> Array | None:
    """Return a lower point along a direction; None where rounding errors are all there is."""
    value, gradient = value_and_gradient(z)
    falling, size = float(gradient @ direction), np.linalg.norm(gradient)
    t = 1.0
    for _ in range(MOST_HALVINGS):
        moved = z + t * direction
        new_value, new_gradient = value_and_gradient(moved)
        if new_value <= value + DECREASE * t * falling:
            return moved
        # Close to the minimum values differ by rounding errors only, gradients still do more.
        if new_value <= value + 1e-12 * abs(value) and np.linalg.norm(new_gradient) < 0.5 * size:
            return moved
        t *= 0.5
    return None
