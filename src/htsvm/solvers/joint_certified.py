"""Solve the multi-class problem and certify the result."""

from __future__ import annotations

from dataclasses import replace

from htsvm.optimality.joint import JointCertificate
from htsvm.solvers.joint import JointNewton
from htsvm.solvers.joint_problem import JointProblem, JointStart
from htsvm.solvers.problem import SolverResult


def solve_joint(
    problem: JointProblem, solver: JointNewton, *, start: JointStart | None = None
) -> tuple[SolverResult, JointCertificate]:
    """Solve `problem` and certify the result independently of the solver.

    Parameters
    ----------
    problem : JointProblem
        What to minimise.
    solver : JointNewton
        Who does it.
    start : (W, b, B), optional
        A warm start.

    Returns
    -------
    result : SolverResult
        The point found.
    certificate : JointCertificate
        Its certificate.
    """
    result = solver.solve(problem, start=start)
    before = problem.operator.passes
    certificate = problem.certify(result.coef, result.intercept, result.multipliers, solver.tol)
    result.passes += problem.operator.passes - before
    return result, replace(certificate, convex_objective=result.convex_objective)
