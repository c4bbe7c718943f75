"""Solve, certify, and leave saddle points: what estimators call."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.optimality import PointCertificate, certify_problem
from htsvm.problems import AnyProblem
from htsvm.problems.coordinates import as_stated
from htsvm.solvers.api import Solver
from htsvm.solvers.result import SolverResult, continued

# How often a stationary point that is no minimiser is left along a direction of descent. A bound on
# the work: each time costs another descent.
ESCAPES = 3
# The share of tol to which a solver continues where its point is not certified.
FINER = 0.1


def solve_certified(
    problem: AnyProblem, solver: Solver, *, start: Any = None
) -> tuple[SolverResult, PointCertificate]:
    """Solve `problem` and certify the result independently of the solver.

    Solvers look at the weights of their last round, a certificate at those of the point: where it
    refuses a point, the solver continues with a finer tolerance, but not upwards. Where it shows
    that the point is not a local minimiser, the solver continues from a lower point along the
    direction that the certificate names, also with a finer tolerance: the way down from a saddle
    is flat at first. Where that gains less than `tol` it is not done again.

    Parameters
    ----------
    problem : Problem or MulticlassProblem
        What to minimise.
    solver : Solver
        Who does it.
    start : (w, b, psi) or (W, b, B), optional
        A warm start.

    Returns
    -------
    result : SolverResult
        The best point found; its history and counts cover all runs.
    certificate : BinaryCertificate or MulticlassCertificate
        The certificate of that point.
    """
    if problem.n_scores > 1 and not solver.several_classes:
        raise TypeError(f"{type(solver).__name__} solves problems of two classes only.")
    began = time.perf_counter()
    result = solver.solve(problem, start=start)
    certificate = certify_result(problem, result, solver.tol)
    # At last in the coordinates in which residuals are measured.
    for stated in (problem, as_stated(problem)):
        if certificate.certified or not (result.converged and solver.refines):
            break
        finer = solver.with_options(tol=FINER * solver.tol, compare_warm=False)
        point = (result.coef, result.intercept, result.multipliers)
        again = continued(result, finer.solve(stated, start=point))
        if again.objective > (1.0 + solver.tol) * result.objective:
            # Another minimum, and a higher one.
            continue
        result = again
        certificate = certify_result(problem, result, solver.tol)
    for _ in range(ESCAPES):
        if certificate.escape_direction is None:
            break
        lower = _lower_point(problem, result, certificate.escape_direction)
        if lower is None:
            break
        finer = solver.with_options(tol=FINER * solver.tol, compare_warm=False)
        better = continued(result, finer.solve(problem, start=lower))
        if not better.objective < result.objective:
            break
        gain = result.objective - better.objective
        result = better
        certificate = certify_result(problem, result, solver.tol)
        if gain <= solver.tol * abs(result.objective):
            break
    total = time.perf_counter() - began
    parts = {name: spent for name, spent in result.seconds.items() if name != "total"}
    result.seconds = {**parts, "certificate": total - sum(parts.values()), "total": total}
    return result, replace(certificate, convex_objective=result.convex_objective)


def certify_result(problem: Any, result: SolverResult, tol: float) -> Any:
    """Return the certificate of a solver's result, of the kind that goes with its problem."""
    operator = getattr(problem, "operator", None)
    before = operator.passes if operator else 0.0
    certificate = certify_problem(problem, result.coef, result.intercept, result.multipliers, tol)
    result.passes += operator.passes - before if operator else 0.0
    return certificate


def _lower_point(
    problem: Any, result: SolverResult, direction: Array
) -> tuple[Array, float, Array] | None:
    """Search both ways along `direction` for the lowest objective; None if there is none lower."""
    n = problem.n_features
    dw, db = np.ascontiguousarray(direction[:n]), float(direction[n])
    sizes = 2.0 ** np.arange(-8.0, 4.0)
    steps, values = problem.objectives_along(
        result.coef, result.intercept, dw, db, np.column_stack([sizes, -sizes]).ravel()
    )
    best = int(values.argmin())
    if not values[best] < result.objective:
        return None
    return (
        result.coef + steps[best] * dw,
        result.intercept + float(steps[best]) * db,
        result.multipliers,
    )
