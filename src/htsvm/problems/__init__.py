"""What is minimised: rows, labels, penalties and a loss, as frozen objects."""

from htsvm._moved import moved
from htsvm.problems.binary import Problem, Start
from htsvm.problems.multiclass import MulticlassProblem, MulticlassStart

AnyProblem = Problem | MulticlassProblem

__all__ = [
    "AnyProblem",
    "MulticlassProblem",
    "MulticlassStart",
    "Problem",
    "Start",
]

__getattr__ = moved(__name__, {"CoupledProblem": "htsvm_paper.solvers"})
