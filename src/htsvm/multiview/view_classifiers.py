"""The classifiers of the views for fixed weights, each by a solver of its own problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from htsvm._typing import Array
from htsvm.linalg import Quadratic
from htsvm.multiview.alternation import LEAST_WEIGHT, Classifiers
from htsvm.optimality import PointCertificate
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers import Problem, Solver, SolverResult, certify_result, solve_certified

# A view's problem: of two classes, or of all classes at once.
ViewProblem = Problem | MulticlassProblem

# The share of the tolerance for warm starts, which are nearly solutions already; with several
# classes a larger one. There the last digit takes most of the time: on 3,000 images of ten classes
# a residual of 1e-3 was reached after 52 iterations, 4e-4 after 113 more.
WARM_SHARE, MULTICLASS_SHARE = 0.1, 0.5
# The most convex problems in a row where a solver went up instead of down, and the share of the
# solver's tolerance for them.
MAJORISERS, MAJORISER_SHARE = 10, 0.01
MULTICLASS_MAJORISER_SHARE = 0.02


@dataclass(frozen=True)
class ViewPoint:
    """The classifier of one view, and what its terms in the objective amount to.

    Attributes
    ----------
    result : SolverResult
        The classifier.
    square : float
        ``||w||²``, summed over the classes of a multi-class problem; so is the next one.
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


@dataclass(frozen=True)
class ViewPoints:
    """The classifiers of all views, the view weights that they were found for, and certificates.

    There are none of these before the last round.
    """

    views: list[ViewPoint]
    weights: Array
    certificates: list[PointCertificate] = field(default_factory=list)

    @property
    def counting(self) -> list[tuple[SolverResult, PointCertificate]]:
        """The classifiers of the views that take part in the decision, with certificates."""
        return [
            (point.result, certificate)
            for point, certificate, weight in zip(
                self.views, self.certificates, self.weights, strict=True
            )
            if weight > 0.0
        ]


@dataclass
class ViewClassifiers(Classifiers[ViewPoints]):
    """Solve one problem per view: of two classes, or of all classes at once.

    Parameters
    ----------
    problems : sequence of Problem or of MulticlassProblem
        The problem of each view; their regularisers are replaced.
    solver : Solver
        Who solves them.
    structure : ndarray of shape (n_views,)
        The paper's eta of each view.
    covariances : list of lists of ndarrays, or None
        The paper's Sigma^(v,u); None where all of `structure` is zero.
    literal : bool
        Whether each round starts anew and its result is taken as it is, which with an `ADMM`
        without safeguards is Algorithm 2 of the paper; the objective may then increase.
    n_jobs : int, optional
        Threads over the views.
    start : ViewPoints, optional
        The solution of a similar problem, where the first round begins.
    certify : bool
        Whether to certify the last classifiers, and to leave those that are no minimisers.
    known : dict, optional
        Classifiers of these problems by view and view weights, looked up and added to: alpha may
        differ between runs that share it. By default there are none at first.
    """

    problems: Sequence[ViewProblem]
    solver: Solver
    structure: Array
    covariances: list[list[Array]] | None = None
    literal: bool = False
    n_jobs: int | None = None
    start: ViewPoints | None = None
    certify: bool = True
    known: dict[tuple[int, bytes], ViewPoint] | None = None

    def __post_init__(self) -> None:
        self.left_out: dict[int, ViewPoint] = {}
        if self.known is None and all(problem.solved_by is None for problem in self.problems):
            self.known = {}

    # ------------------------------------------------------------------------- the alternation

    def solve(self, weights: Array, before: ViewPoints | None, gain: float) -> ViewPoints:
        """Return classifiers for the weights.

        Their objectives are no higher than before, but for half of what the change of the weights
        has gained: near a solution what is left to gain is less than rounding errors, and new
        multipliers are worth more.
        """
        slack = 0.5 * max(gain, 0.0) / len(self.problems)
        known = {} if before is None else dict(enumerate(before.views))
        todo = [
            v
            for v in range(len(self.problems))
            if v not in self.left_out
            and (before is None or not self._same_problem(v, weights, before.weights))
        ]
        solved: list[ViewPoint] = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._view)(v, weights, known.get(v), slack) for v in todo
        )
        known |= self.left_out | dict(zip(todo, solved, strict=True))
        return ViewPoints([known[v] for v in range(len(self.problems))], weights)

    def costs(self, point: ViewPoints) -> Array:
        """Return twice the slopes of the objective in the weights."""
        squares = np.array([view.square for view in point.views])
        spreads = np.array([view.spread for view in point.views])
        costs: Array = squares + self.structure @ spreads
        return costs

    def objective(self, point: ViewPoints, weights: Array) -> float:
        """Return the objective, without the term of the weights alone."""
        return sum(
            view.value(float(weights[v]), weights, float(self.structure[v]))
            for v, view in enumerate(point.views)
        )

    def settle(self, point: ViewPoints, weights: Array) -> ViewPoints:
        """Certify the classifiers; leave points that turn out not to be minimisers."""
        if not self.certify:
            return point
        views, certificates = list(point.views), []
        for v, view in enumerate(views):
            problem: Any = self._problem(v, weights)
            certificate = certify_result(problem, view.result, self.solver.tol)
            solver = for_warm_start(self.solver, problem)
            if not certificate.certified and problem.regularizer.is_matrix and not self.literal:
                # The solver measures residuals where the regulariser is the identity.
                better = self._point(v, problem, majorised(problem, solver, view.result))
                if self._is_lower(v, weights, better, view):
                    view = views[v] = better
                    certificate = certify_result(problem, view.result, self.solver.tol)
            # Of a multi-class problem no second-order verdict is known.
            escape = getattr(certificate, "escape_direction", None)
            if (escape is not None or not certificate.certified) and not self.literal:
                result, other = solve_certified(problem, solver, start=start_of(view.result))
                better = self._point(v, problem, result)
                level = (1.0 + self.solver.tol) * float(view.result.objective)
                closer = other.certified and escape is None and result.objective <= level
                if closer or self._is_lower(v, weights, better, view):
                    views[v], certificate = better, other
            certificates.append(certificate)
        return ViewPoints(views, weights, certificates)

    def constant(self, point: ViewPoints) -> Array:
        """Return which views have a classifier that is constant."""
        return np.array([view.square == 0.0 for view in point.views])

    def leave_out(self, point: ViewPoints, views: Array) -> None:
        """Keep the classifiers that some views have at a point."""
        self.left_out = {v: point.views[v] for v in np.flatnonzero(views).tolist()}

    def diagnostics(self, point: ViewPoints) -> dict[str, float]:
        """Return the solver's iterations, and the sums of what went over a network."""
        traffic = [problem.traffic() for problem in self.problems]
        return {
            "newton_iterations": sum(view.result.n_iter for view in point.views),
            **{name: sum(view[name] for view in traffic) for name in traffic[0]},
        }

    # --------------------------------------------------------------------------------- a view

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

    def _view(self, v: int, weights: Array, before: ViewPoint | None, slack: float) -> ViewPoint:
        """Return the classifier of a view, perhaps a known one that is no higher than before."""
        if self.known is None:
            return self._solve_view(v, weights, before, slack)
        key = (v, weights.tobytes())
        found = self.known.get(key)
        if found is None or (before and not self._is_lower(v, weights, found, before)):
            found = self.known[key] = self._solve_view(v, weights, before, slack)
        return found

    def _solve_view(
        self, v: int, weights: Array, before: ViewPoint | None, slack: float
    ) -> ViewPoint:
        given = self._problem(v, weights)
        if self.literal:
            return self._point(v, given, self.solver.solve(given))
        if before is None:
            start = None if self.start is None else start_of(self.start.views[v].result)
            return self._point(v, given, self.solver.solve(given, start=start))
        solver = for_warm_start(self.solver, given)
        result = solver.solve(given, start=start_of(before.result))
        after = self._point(v, given, result)
        if self._is_lower(v, weights, after, before):
            return after
        after = self._point(v, given, majorised(given, solver, before.result))
        return after if self._is_lower(v, weights, after, before, slack) else before

    def _is_lower(
        self, v: int, weights: Array, after: ViewPoint, before: ViewPoint, slack: float = 0.0
    ) -> bool:
        """Return whether a point has no higher objective than another, or by no more than slack."""
        weight, structure = float(weights[v]), float(self.structure[v])
        limit = before.value(weight, weights, structure) + slack
        return after.value(weight, weights, structure) <= limit

    def _point(self, v: int, problem: ViewProblem, result: SolverResult) -> ViewPoint:
        w = result.coef
        spread = np.zeros(len(self.problems))
        if self.covariances is not None and self.covariances[v]:
            spread = np.array([float(np.vdot(w, w @ sigma)) for sigma in self.covariances[v]])
        loss = result.objective - problem.energy(w)
        return ViewPoint(result, float(np.vdot(w, w)), spread, loss)


def start_of(result: SolverResult) -> tuple[Array, Any, Array]:
    """Return a result as a start."""
    return result.coef, result.intercept, result.multipliers


def for_warm_start(solver: Solver, problem: ViewProblem) -> Solver:
    """Return the solver with a finer tolerance; restarts are for the first round."""
    share = WARM_SHARE if problem.n_scores == 1 else MULTICLASS_SHARE
    return solver.with_options(tol=share * solver.tol, n_restarts=0)


def majorised(problem: Any, solver: Solver, result: SolverResult) -> SolverResult:
    """Descend from a point without leaving its basin.

    A solver takes larger steps than a warm start needs, and may end near another minimiser, above
    its start. The hinge loss with weights that touches the loss at the present violations lies
    above it; minimising one such convex problem after the other cannot increase the objective by
    more than their tolerance.
    """
    share = MAJORISER_SHARE if problem.n_scores == 1 else MULTICLASS_MAJORISER_SHARE
    if "profile" not in problem.loss.abilities:
        # No convex loss lies above it and touches it; such a solver goes on from its start.
        share = 1.0
    solver = replace(solver, tol=share * solver.tol)
    if share == 1.0 or problem.solved_by is not None:
        return solver.solve(problem, start=start_of(result))
    convex, objective = problem.majorised(result.coef, result.intercept)
    for _ in range(MAJORISERS):
        result = solver.solve(convex, start=start_of(result))
        before = objective
        convex, objective = problem.majorised(result.coef, result.intercept)
        if before - objective <= solver.tol * abs(objective):
            break
    return replace(result, objective=objective)
