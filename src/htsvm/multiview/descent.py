"""Block descent: classifiers for fixed view weights, weights for fixed classifiers, by turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from htsvm._typing import Array
from htsvm.linalg import Quadratic
from htsvm.multiview.resolve import (
    ViewCertificate,
    ViewProblem,
    for_warm_start,
    majorised,
    start_of,
)
from htsvm.multiview.weights import balanced_smoothness, best_weights
from htsvm.solvers import ADMM, Problem, Solver, SolverResult, certify_result, solve_certified

# The least weight that a view has in its own problem. A view of weight zero would otherwise have no
# regularisation but that of its structure, and its classifier might not exist.
LEAST_WEIGHT = 1e-6

# How often an alpha that is chosen here is doubled where a view loses its weight.
MOST_DOUBLINGS = 4


@dataclass(frozen=True)
class Point:
    """The classifier of one view, and what its terms in the objective amount to.

    Attributes
    ----------
    result : SolverResult
        The classifier.
    square : float
        ``||w||²``, summed over the classes of a joint problem; so is the next one.
    spread : ndarray of shape (n_views,)
        ``w' Sigma^(v,u) w`` for each u: its variance within the clusters of view u.
    loss : float
        The loss, with the penalty.
    """

    result: SolverResult
    square: float
    spread: Array
    loss: float

    def value(self, weight: float, weights: Array, structure: float) -> float:
        """Return this view's part of the objective, without that of the weights alone."""
        return 0.5 * (weight * self.square + structure * float(weights @ self.spread)) + self.loss


@dataclass
class Outcome:
    """What a block descent ends with.

    Attributes
    ----------
    points : list of Point
        The classifiers.
    certificates : list of Certificate or MulticlassCertificate
        Their certificates, in the problems for the final weights.
    weights : ndarray of shape (n_views,)
        The view weights.
    smoothness : float
        The alpha that was used.
    objective : float
        The objective at the end.
    change : float
        How far the weights are from those that suit the classifiers best.
    converged : bool
        Whether `change` is within the tolerance.
    smoothness_needed : float or None
        If a view lost its weight, `balanced_smoothness` of the costs when it first did.
    left_out : ndarray of bool
        The views that were left out because their classifiers are constant.
    history : dict of lists
        One entry per round in each column.
    """

    points: list[Point]
    certificates: list[ViewCertificate]
    weights: Array
    smoothness: float
    objective: float
    change: float
    converged: bool
    smoothness_needed: float | None
    left_out: Array
    history: dict[str, list[Any]]

    @property
    def counting(self) -> list[tuple[SolverResult, ViewCertificate]]:
        """The classifiers of the views that take part in the decision, with certificates."""
        return [
            (point.result, certificate)
            for point, certificate, weight in zip(
                self.points, self.certificates, self.weights, strict=True
            )
            if weight > 0.0
        ]


@dataclass
class BlockDescent:
    """Minimise the multi-view objective of one binary problem, or of one for all classes.

    Parameters
    ----------
    problems : sequence of Problem or of MulticlassProblem
        The problem of each view; their regularisers are replaced.
    solver : Solver
        Who solves them: a `MulticlassNewton` for several classes. With an `ADMM` without safeguards
        each round starts anew and its result is taken as it is, which is Algorithm 2 of the paper;
        the objective may then increase.
    structure : ndarray of shape (n_views,)
        The paper's eta of each view.
    covariances : list of lists of ndarrays, or None
        The paper's Sigma^(v,u); None where all of `structure` is zero.
    smoothness : float or None
        The paper's alpha. None takes `balanced_smoothness` after the first round, or more.
    weights : ndarray of shape (n_views,)
        The view weights, where they are not learned.
    learn : bool
        Whether to learn them, beginning with equal ones.
    view_names : list
        What the views are called in the history.
    tol : float
        Stop when no weight would change by more.
    max_rounds : int
        The most rounds.
    n_jobs : int, optional
        Threads over the views.
    callback : callable, optional
        Called after each round with its row of the history.
    """

    problems: Sequence[ViewProblem]
    solver: Solver
    structure: Array
    covariances: list[list[Array]] | None
    smoothness: float | None
    weights: Array
    learn: bool
    view_names: list[Hashable]
    tol: float
    max_rounds: int
    n_jobs: int | None = None
    callback: Callable[[dict[str, Any]], None] | None = None

    def __post_init__(self) -> None:
        self.literal = isinstance(self.solver, ADMM) and not self.solver.safeguards
        self.active = np.ones(len(self.problems), dtype=bool)
        self.doublings = 0

    def run(self) -> Outcome:
        """Alternate until the weights stay as they are, and begin anew where that ends badly.

        A view whose classifier ends up constant costs nothing, so that learned weights would trust
        it most, although it tells nothing but its intercept: such views are left out. Where alpha
        is to be chosen here and a view loses its weight, alpha is doubled.
        """
        outcome = self._alternate([])
        while self.learn and not self.literal:
            constant = self.active & np.array([point.square == 0.0 for point in outcome.points])
            lost = np.any(outcome.weights[self.active] == 0.0)
            if constant.any() and not np.array_equal(constant, self.active):
                self.active &= ~constant
            elif lost and self.smoothness is None and self.doublings < MOST_DOUBLINGS:
                self.doublings += 1
            else:
                break
            outcome = self._alternate(outcome.points)
        return outcome

    def _alternate(self, kept: list[Point]) -> Outcome:
        """Run the rounds; views that are not active keep their classifiers and have no weight."""
        self.began = time.perf_counter()
        self.history: dict[str, list[Any]] = {}
        self.alpha = self.smoothness
        weights = self.active / self.active.sum() if self.learn else self.weights
        points, needed = kept, None
        certificates: list[ViewCertificate] = []
        solved_for, gain = None, 0.0
        for number in range(1, self.max_rounds + 1):
            points = self._solve_views(weights, points, solved_for, gain)
            solved_for = weights
            wanted, change = self._wanted(weights, points)
            last = change <= self.tol or number == self.max_rounds
            if last:
                points, certificates = self._certified(weights, points)
                wanted, change = self._wanted(weights, points)
                last = change <= self.tol or number == self.max_rounds
            self._record(number, weights, points, change)
            if last:
                break
            if needed is None and np.any((wanted == 0.0) & (weights > 0.0)):
                needed = balanced_smoothness(self._costs(points)[self.active])
            gain = self._objective(weights, points) - self._objective(wanted, points)
            weights = wanted
        return Outcome(
            points, certificates, weights, self._alpha(points), self._objective(weights, points),
            change, change <= self.tol, needed, ~self.active, self.history,
        )  # fmt: skip

    # --------------------------------------------------------------------------- the weights

    def _wanted(self, weights: Array, points: list[Point]) -> tuple[Array, float]:
        """Return the best weights for the classifiers, and the largest change to them."""
        if not self.learn:
            return weights, 0.0
        wanted = np.zeros(len(points))
        costs = self._costs(points)[self.active]
        wanted[self.active] = best_weights(costs, self._alpha(points))
        return wanted, float(np.abs(wanted - weights).max())

    def _costs(self, points: list[Point]) -> Array:
        """Return twice the slopes of the objective in the weights: the paper's pi + eta rho."""
        squares = np.array([point.square for point in points])
        spreads = np.array([point.spread for point in points])
        costs: Array = squares + self.structure @ spreads
        return costs

    def _alpha(self, points: list[Point]) -> float:
        if self.alpha is None:
            costs = self._costs(points)[self.active]
            self.alpha = 2.0**self.doublings * balanced_smoothness(costs)
        return self.alpha

    def _objective(self, weights: Array, points: list[Point]) -> float:
        """Return the objective; the term of a single view's weight, a constant, is left out."""
        total = sum(
            point.value(float(weights[v]), weights, float(self.structure[v]))
            for v, point in enumerate(points)
        )
        if len(points) > 1:
            total += 0.5 * self._alpha(points) * float(weights @ weights)
        return float(total)

    # ----------------------------------------------------------------------- the classifiers

    def _solve_views(
        self, weights: Array, points: list[Point], solved_for: Array | None, gain: float
    ) -> list[Point]:
        """Return classifiers for the weights.

        Their objectives are no higher than before, but for half of what the change of the weights
        has gained: near a solution what is left to gain is less than rounding errors, and new
        multipliers are worth more.
        """
        slack = 0.5 * max(gain, 0.0) / len(self.problems)
        todo = [
            v
            for v in np.flatnonzero(self.active).tolist()
            if solved_for is None or not self._same_problem(v, weights, solved_for)
        ]
        starts = [None if solved_for is None else points[v] for v in todo]
        solved: list[Point] = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._solve_view)(v, weights, start, slack)
            for v, start in zip(todo, starts, strict=True)
        )
        fresh = dict(zip(todo, solved, strict=True))
        return [fresh[v] if v in fresh else points[v] for v in range(len(self.problems))]

    def _same_problem(self, v: int, weights: Array, before: Array) -> bool:
        if self.structure[v] > 0.0:
            return bool(np.array_equal(weights, before))
        return bool(max(weights[v], LEAST_WEIGHT) == max(before[v], LEAST_WEIGHT))

    def _problem(self, v: int, weights: Array) -> ViewProblem:
        """Return the problem of a view for the given weights."""
        n = self.problems[v].n_features
        weight = max(float(weights[v]), LEAST_WEIGHT)
        if self.covariances is None or self.structure[v] == 0.0:
            return replace(self.problems[v], regularizer=Quadratic(weight, n))
        matrix = sum(w * sigma for w, sigma in zip(weights, self.covariances[v], strict=True))
        matrix = self.structure[v] * matrix
        matrix[np.diag_indices(n)] += weight
        return replace(self.problems[v], regularizer=Quadratic(matrix, n))

    def _solve_view(self, v: int, weights: Array, before: Point | None, slack: float) -> Point:
        problem = self._problem(v, weights)
        if before is None or self.literal:
            return self._point(v, problem, self.solver.solve(problem))
        solver = for_warm_start(self.solver)
        after = self._point(v, problem, solver.solve(problem, start=start_of(before.result)))
        if self._is_lower(v, weights, after, before):
            return after
        after = self._point(v, problem, majorised(problem, solver, before.result))
        return after if self._is_lower(v, weights, after, before, slack) else before

    def _is_lower(
        self, v: int, weights: Array, after: Point, before: Point, slack: float = 0.0
    ) -> bool:
        """Return whether a point has no higher objective than another, or by no more than slack."""
        weight, structure = float(weights[v]), float(self.structure[v])
        limit = before.value(weight, weights, structure) + slack
        return after.value(weight, weights, structure) <= limit

    def _point(self, v: int, problem: ViewProblem, result: SolverResult) -> Point:
        w = result.coef
        spread = np.zeros(len(self.problems))
        if self.covariances is not None and self.covariances[v]:
            spread = np.array([float(np.vdot(w, w @ sigma)) for sigma in self.covariances[v]])
        loss = result.objective - problem.energy(w)
        return Point(result, float(np.vdot(w, w)), spread, loss)

    def _certified(
        self, weights: Array, points: list[Point]
    ) -> tuple[list[Point], list[ViewCertificate]]:
        """Certify the classifiers; leave points that turn out not to be minimisers."""
        points, certificates = list(points), []
        for v, point in enumerate(points):
            problem = self._problem(v, weights)
            certificate = certify_result(problem, point.result, self.solver.tol)
            # Of a joint problem no second-order verdict is known.
            escape = getattr(certificate, "escape_direction", None)
            if escape is not None and isinstance(problem, Problem) and not self.literal:
                solver = for_warm_start(self.solver)
                result, other = solve_certified(problem, solver, start=start_of(point.result))
                better = self._point(v, problem, result)
                if self._is_lower(v, weights, better, point):
                    points[v], certificate = better, other
            certificates.append(certificate)
        return points, certificates

    def _traffic(self) -> dict[str, float]:
        """Return the sums of what went over a network for all views."""
        views = [problem.traffic() for problem in self.problems]
        return {name: sum(view[name] for view in views) for name in views[0]}

    def _record(self, number: int, weights: Array, points: list[Point], change: float) -> None:
        row = {
            "iteration": number,
            "objective": self._objective(weights, points),
            "change": change,
            "newton_iterations": sum(point.result.n_iter for point in points),
            **self._traffic(),
            "seconds": time.perf_counter() - self.began,
            **{
                f"weight_{name}": float(weight)
                for name, weight in zip(self.view_names, weights, strict=True)
            },
        }
        for name, value in row.items():
            self.history.setdefault(name, []).append(value)
        if self.callback is not None:
            self.callback(row)
