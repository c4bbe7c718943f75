"""Which problems a fit consists of, and who solves them."""

from __future__ import annotations

from typing import Any

from htsvm.problems import MulticlassProblem, Problem
from htsvm.solvers import Newton, Solver, solve_certified
from htsvm.solvers.multiclass.certified import solve_multiclass
from htsvm.solvers.multiclass.solver import MulticlassNewton
from htsvm.svm.fitted import AnyFitted

AnyProblem = Problem | MulticlassProblem


def is_multiclass(multi_class: str, n_classes: int, solver: Any) -> bool:
    """Return whether a fit is to be one problem for all classes.

    Two classes are one binary problem whatever `multi_class` says. "auto" means "joint", except
    for the ADMM solver, which only knows binary problems; "crammer_singer", the name that
    scikit-learn's LinearSVC has for it, is "joint".
    """
    if n_classes == 2 or multi_class == "ovr":
        return False
    newton = isinstance(solver, Newton) or solver == "newton"
    if multi_class != "auto" and not newton:
        raise ValueError(
            f"multi_class={multi_class!r} needs solver='newton', got solver={solver!r}; use that "
            "solver, or multi_class='ovr' for one binary problem per class."
        )
    return newton


def multiclass_solver(solver: Solver) -> MulticlassNewton:
    """Return the multi-class solver with the options of a `Newton`."""
    if not isinstance(solver, Newton):
        raise TypeError(f"the multi-class problem needs the Newton solver, got {solver!r}.")
    return MulticlassNewton(
        tol=solver.tol,
        max_iter=solver.max_iter,
        n_restarts=solver.n_restarts,
        random_state=solver.random_state,
        callback=solver.callback,
        starts=solver.starts,
        compare_warm=solver.compare_warm,
    )


def solve_any(problem: AnyProblem, solver: Any, *, start: Any = None) -> AnyFitted:
    """Solve and certify a binary or a multi-class problem; `solver` is that of the binary one."""
    if isinstance(problem, MulticlassProblem):
        return solve_multiclass(problem, multiclass_solver(solver), start=start)
    return solve_certified(problem, solver, start=start)
