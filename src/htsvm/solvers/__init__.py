"""Solvers: each takes a Problem and returns a SolverResult."""

from htsvm._moved import moved
from htsvm.problems.binary import Problem
from htsvm.solvers.admm.run import ADMM
from htsvm.solvers.api import Solver, register, solver_names
from htsvm.solvers.certified import certify_result, solve_certified
from htsvm.solvers.least_squares import LinearSystem
from htsvm.solvers.result import SolverResult
from htsvm.solvers.search import Newton

__all__ = [
    "ADMM",
    "LinearSystem",
    "Newton",
    "Problem",
    "Solver",
    "SolverResult",
    "certify_result",
    "register",
    "solve_certified",
    "solver_names",
]

register("newton", Newton)
register("admm", ADMM)

__getattr__ = moved(__name__, {"ZeroOneSolver": "htsvm_paper.solvers"})
