"""Solvers: each takes a Problem and returns a SolverResult."""

from htsvm.solvers.admm import ADMM
from htsvm.solvers.certified import Solver, certify_result, solve_certified
from htsvm.solvers.newton import Newton
from htsvm.solvers.problem import Problem, SolverResult

__all__ = [
    "ADMM",
    "Newton",
    "Problem",
    "Solver",
    "SolverResult",
    "certify_result",
    "solve_certified",
]
