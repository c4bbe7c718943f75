"""Solve the multi-class problem and certify the result."""

from __future__ import annotations

from dataclasses import replace

from htsvm.optimality.multiclass import MulticlassCertificate
from htsvm.problems.multiclass import MulticlassProblem, MulticlassStart
from htsvm.solvers.api import Solver
from htsvm.solvers.certified import solve_to_certificate
from htsvm.solvers.result import SolverResult


def solve_multiclass(
    problem: MulticlassProblem, solver: Solver, *, start: MulticlassStart | None = None
) -> tuple[SolverResult, MulticlassCertificate]:
    """Solve `problem` and certify the result independently of the solver.

    Parameters
    ----------
    problem : MulticlassProblem
        What to minimise.
    solver : Solver
        Who does it.
    start : (W, b, B), optional
        A warm start.

    Returns
    -------
    result : SolverResult
        The point found.
    certificate : MulticlassCertificate
        Its certificate.
    """
    result, certificate = solve_to_certificate(problem, solver, start)
    return result, replace(certificate, convex_objective=result.convex_objective)
