"""Problems and solvers of the comparison methods."""

from htsvm_paper.solvers.coupled import CoupledNewton, CoupledProblem
from htsvm_paper.solvers.smooth import SmoothDescent, SmoothProblem
from htsvm_paper.solvers.zero_one import ZeroOneSolver

__all__ = ["CoupledNewton", "CoupledProblem", "SmoothDescent", "SmoothProblem", "ZeroOneSolver"]
