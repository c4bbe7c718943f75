"""Solvers: each takes a Problem and returns a SolverResult."""

from htsvm.solvers.admm import ADMM
from htsvm.solvers.certified import Solver, certify_result, solve_certified
from htsvm.solvers.least_squares import LinearSystem
from htsvm.solvers.newton import Newton
from htsvm.solvers.problem import Problem, SolverResult
from htsvm.solvers.zero_one import ZeroOneSolver

__all__ = [
    "ADMM",
    "LinearSystem",
    "Newton",
    "Problem",
    "Solver",
    "SolverResult",
    "ZeroOneSolver",
    "certify_result",
    "solve_certified",
]
