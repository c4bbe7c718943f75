"""Which problems a fit consists of, and who solves them."""

from __future__ import annotations

from typing import Any

from htsvm.problems import MulticlassProblem, Problem
from htsvm.solvers import Solver, solve_certified
from htsvm.solvers.api import named
from htsvm.solvers.multiclass.certified import solve_multiclass
from htsvm.svm.fitted import AnyFitted

AnyProblem = Problem | MulticlassProblem


def is_multiclass(multi_class: str, n_classes: int, solver: Any) -> bool:
    """Return whether a fit is to be one problem for all classes.

    Two classes are one binary problem whatever `multi_class` says. "auto" means "joint", except
    for solvers that only know binary problems; "crammer_singer", the name that
    scikit-learn's LinearSVC has for it, is "joint".
    """
    if n_classes == 2 or multi_class == "ovr":
        return False
    able = named(solver).several_classes
    if multi_class != "auto" and not able:
        raise ValueError(
            f"multi_class={multi_class!r} needs solver='newton', got solver={solver!r}; use that "
            "solver, or multi_class='ovr' for one binary problem per class."
        )
    return able


def solve_any(problem: AnyProblem, solver: Solver, *, start: Any = None) -> AnyFitted:
    """Solve and certify a binary or a multi-class problem; `solver` is that of the binary one."""
    run: Any = solve_certified if problem.n_scores == 1 else solve_multiclass
    fitted: AnyFitted = run(problem, solver.suited_to(problem), start=start)
    return fitted
