r"""Smooth bounded losses in two views, tied together by the square of their difference.

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

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.linalg
from scipy.optimize import minimize, minimize_scalar

from htsvm._typing import Array
from htsvm.solvers.coupled_system import CoupledSystem

# Points with objectives this close, relatively, count as the same.
SAME = 1e-8
# Newton's method and the coordinates of L-BFGS need a matrix; neither above this side.
NEWTON_SIDE = 3000
# The eigenvalues of the Hessian are computed up to this side.
EIGENVALUE_SIDE = 500
# The most Newton steps, and where they aim: at rounding errors.
NEWTON_STEPS, NEWTON_GOAL = 50, 1e-13
# The most halvings of a Newton step.
MOST_HALVINGS = 30
# Pairs of vectors that L-BFGS keeps.
MEMORY = 20
# L-BFGS ends where a step gains less than this share of the objective: where Newton's method does
# the rest, and where it does not.
GAIN, LEAST_GAIN = 1e-12, 1e-14
# The share of the mean curvature that is added to it in all directions: intercepts may have none.
RIDGE = 1e-10


class SmoothLoss(Protocol):
    """A loss of violations u >= 0, which may depend on the label."""

    def value(self, u: Array, y: Array) -> Array:
        """Return the loss."""

    def slope(self, u: Array, y: Array) -> Array:
        """Return its derivative in u."""

    def curvature(self, u: Array, y: Array) -> Array:
        """Return its second derivative in u."""


@dataclass(frozen=True, eq=False)
class SmoothProblem:
    """What to minimise.

    Attributes
    ----------
    views : list of {ndarray, CSR matrix} of shape (n_samples, n_columns)
        The two views.
    y : ndarray of shape (n_samples,)
        Labels in {-1, +1}.
    penalties : ndarray of shape (2, n_samples)
        The c of each sample in each view.
    coupling : ndarray of shape (n_samples,)
        The d of each sample.
    scales : ndarray of shape (2,)
        The theta of each view, positive.
    loss : SmoothLoss
        The loss L.
    fit_intercept : bool
        Whether the b_v are free; otherwise they are zero.
    """

    views: list[Any]
    y: Array
    penalties: Array
    coupling: Array
    scales: Array
    loss: SmoothLoss
    fit_intercept: bool = True

    @property
    def widths(self) -> list[int]:
        """The number of columns of each view."""
        return [X.shape[1] for X in self.views]

    @property
    def size(self) -> int:
        """The number of variables: both coefficients, then both intercepts."""
        return sum(self.widths) + (2 if self.fit_intercept else 0)

    def parts(self, z: Array) -> tuple[list[Array], Array]:
        """Return the coefficients and the intercepts in a vector of all variables."""
        first, both = self.widths[0], sum(self.widths)
        b = z[both:] if self.fit_intercept else np.zeros(2)
        return [z[:first], z[first:both]], b

    def violations(self, z: Array) -> tuple[Array, Array]:
        """Return max(0, 1 - y f_v) for both views, and f_A - f_B."""
        coefs, b = self.parts(z)
        f = np.array([X @ w for X, w in zip(self.views, coefs, strict=True)]) + b[:, None]
        return np.maximum(1.0 - self.y * f, 0.0), f[0] - f[1]

    def value_and_gradient(self, z: Array) -> tuple[float, Array]:
        """Return the objective and its gradient."""
        coefs, _ = self.parts(z)
        u, difference = self.violations(z)
        value = float(np.sum(self.penalties * self.loss.value(u, self.y)))
        value += float(self.coupling @ difference**2)
        value += sum(0.5 * s * float(w @ w) for s, w in zip(self.scales, coefs, strict=True))
        pull = -self.y * self.penalties * self.loss.slope(u, self.y)
        tie = 2.0 * self.coupling * difference
        pull[0] += tie
        pull[1] -= tie
        gradient = [
            s * w + X.T @ p for s, w, X, p in zip(self.scales, coefs, self.views, pull, strict=True)
        ]
        if self.fit_intercept:
            gradient.append(pull.sum(axis=1))
        return value, np.concatenate(gradient)

    def hessian(self, z: Array, system: CoupledSystem) -> Array:
        """Return the matrix of second derivatives; one-sided where a violation is zero."""
        u, _ = self.violations(z)
        own = np.where(u > 0.0, self.penalties * self.loss.curvature(u, self.y), 0.0)
        return system.matrix(own, [(0, 1, 2.0 * self.coupling)])

    def residuals(self, z: Array) -> tuple[float, float]:
        """Return the size of the gradient in the coefficients, and in the intercepts."""
        _, gradient = self.value_and_gradient(z)
        both = sum(self.widths)
        stationarity = float(np.linalg.norm(gradient[:both]) / (1.0 + np.linalg.norm(z[:both])))
        mass = float(self.penalties.sum())
        return stationarity, float(np.abs(gradient[both:]).max(initial=0.0)) / (1.0 + mass)

    def constant(self) -> Array:
        """Return the best variables with w = 0."""
        z = np.zeros(self.size)
        if not self.fit_intercept:
            return z
        mass = self.penalties.sum(axis=0)
        signs = np.array([-1.0, 1.0])
        per_class = np.array([mass[self.y == sign].sum() for sign in signs])

        def total(b: float) -> float:
            return float(per_class @ self.loss.value(np.maximum(1.0 - signs * b, 0.0), signs))

        # Beyond -1 and 1 one of the classes has no loss, and the other one only more.
        grid = np.linspace(-1.0, 1.0, 41)
        near = grid[int(np.argmin([total(b) for b in grid]))]
        fine = minimize_scalar(
            total, bounds=(max(near - 0.05, -1.0), min(near + 0.05, 1.0)), method="bounded"
        )
        z[-2:] = fine.x if fine.fun < total(near) else near
        return z


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
    callback: Callable[[dict[str, Any]], None] | None = None

    def solve(self, problem: SmoothProblem) -> SmoothResult:
        """Return the lowest stationary point that was found."""
        began = time.perf_counter()
        history: dict[str, list[Any]] = {}

        def record(name: str, z: Array, steps: int) -> float:
            objective = problem.value_and_gradient(z)[0]
            row = {
                "iteration": len(history.get("iteration", ())) + 1,
                "start": name,
                "objective": objective,
                "residual": max(problem.residuals(z)),
                "steps": steps,
                "seconds": time.perf_counter() - began,
            }
            for column, entry in row.items():
                history.setdefault(column, []).append(entry)
            if self.callback is not None:
                self.callback(row)
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
            sum(history["steps"]), history,
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
            moved = _moved(problem, z, direction)
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
        try:
            factor = scipy.linalg.cho_factor(shifted, lower=True, overwrite_a=True)
        except scipy.linalg.LinAlgError:
            continue
        direction: Array = -scipy.linalg.cho_solve(factor, gradient)
        return direction
    return -gradient / size


def _moved(problem: SmoothProblem, z: Array, direction: Array) -> Array | None:
    """Return a better point along a direction; None where rounding errors are all there is."""
    value, gradient = problem.value_and_gradient(z)
    falling, size = float(gradient @ direction), np.linalg.norm(gradient)
    t = 1.0
    for _ in range(MOST_HALVINGS):
        new_value, new_gradient = problem.value_and_gradient(z + t * direction)
        if new_value <= value + 1e-4 * t * falling:
            return z + t * direction
        # Close to the minimum values differ by rounding errors only, gradients still do more.
        if new_value <= value + 1e-12 * abs(value) and np.linalg.norm(new_gradient) < 0.5 * size:
            return z + t * direction
        t *= 0.5
    return None


def _squares(X: Any) -> Array:
    """Return the squared lengths of the rows."""
    if hasattr(X, "multiply"):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    squares: Array = np.einsum("ij,ij->i", X, X)
    return squares
