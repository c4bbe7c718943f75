"""How a view's problem is solved from its solution for other view weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from htsvm._typing import Array
from htsvm.optimality import PointCertificate
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers import Problem, Solver, SolverResult

# A view's problem: of two classes, or of all classes at once.
ViewProblem = Problem | MulticlassProblem
ViewCertificate = PointCertificate

# The share of the tolerance for warm starts, which are nearly solutions already; with several
# classes a larger one. There the last digit takes most of the time: on 3,000 images of ten classes
# a residual of 1e-3 was reached after 52 iterations, 4e-4 after 113 more.
WARM_SHARE, MULTICLASS_SHARE = 0.1, 0.5
# The most convex problems in a row where a solver went up instead of down, and the share of the
# solver's tolerance for them.
MAJORISERS, MAJORISER_SHARE = 10, 0.01
MULTICLASS_MAJORISER_SHARE = 0.02


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
    if "profile" not in problem.loss.abilities:
        # No convex loss lies above it and touches it; such a solver goes on from its start.
        return solver.solve(problem, start=start_of(result))
    share = MAJORISER_SHARE if problem.n_scores == 1 else MULTICLASS_MAJORISER_SHARE
    solver = replace(solver, tol=share * solver.tol)
    convex, objective = problem.majorised(result.coef, result.intercept)
    for _ in range(MAJORISERS):
        try:
            result = solver.solve(convex, start=start_of(result))
        finally:
            convex.release()
        before = objective
        convex, objective = problem.majorised(result.coef, result.intercept)
        if before - objective <= solver.tol * abs(objective):
            break
    return replace(result, objective=objective)
