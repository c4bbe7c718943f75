"""Solve the multi-class problem and certify the result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from htsvm.optimality.joint import JointCertificate, certify_joint
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
    uniform = bool(np.all(problem.penalty == problem.C))
    before = problem.operator.passes
    certificate = certify_joint(
        problem.operator,
        problem.labels,
        result.coef,
        result.intercept,
        result.multipliers,
        C=problem.C,
        loss=problem.loss,
        sample_weight=None if uniform else problem.penalty / problem.C,
        regularizer=problem.regularizer,
        fit_intercept=problem.fit_intercept,
        tol=solver.tol,
    )
    result.passes += problem.operator.passes - before
    return result, replace(certificate, convex_objective=result.convex_objective)
