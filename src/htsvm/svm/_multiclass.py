"""The multi-class fit as one problem: what estimators hand to its solver, and get back."""

from __future__ import annotations

from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import Quadratic, as_operator
from htsvm.losses import Loss
from htsvm.optimality import PointCertificate
from htsvm.problems.build import weigh_samples
from htsvm.problems.multiclass import MulticlassProblem, MulticlassStart
from htsvm.solvers import Newton, Problem, Solver, SolverResult, solve_certified
from htsvm.solvers.multiclass.certified import solve_multiclass
from htsvm.solvers.multiclass.solver import MulticlassNewton

AnyProblem = Problem | MulticlassProblem
AnyFitted = tuple[SolverResult, PointCertificate]


def is_multiclass(multi_class: str, n_classes: int, solver: Any) -> bool:
    """Return whether a fit is to be one problem for all classes.

    Two classes are one binary problem whatever `multi_class` says. "auto" means "joint", except
    for the ADMM solver, which only knows binary problems.
    """
    if n_classes == 2 or multi_class == "ovr":
        return False
    newton = isinstance(solver, Newton) or solver == "newton"
    if multi_class == "joint" and not newton:
        raise ValueError(
            f"multi_class='joint' needs solver='newton', got solver={solver!r}; use that solver, "
            "or multi_class='ovr' for one binary problem per class."
        )
    return newton


def multiclass_problem(
    X: Any,
    n_classes: int,
    codes: Array,
    weights: Array | None,
    factors: Array,
    *,
    C: float,
    loss: Loss,
    fit_intercept: bool,
) -> MulticlassProblem:
    """Return the problem of a fit of all classes at once."""
    operator = as_operator(X)
    total = weigh_samples(weights, factors, codes)
    return MulticlassProblem(
        operator=operator,
        labels=np.ascontiguousarray(codes, dtype=np.intp),
        n_classes=n_classes,
        penalty=np.full(len(codes), C) if total is None else C * total,
        loss=loss,
        regularizer=Quadratic(None, operator.shape[1]),
        C=C,
        fit_intercept=fit_intercept,
    )


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
    )


def solve_any(problem: AnyProblem, solver: Any, *, start: Any = None) -> AnyFitted:
    """Solve and certify a binary or a multi-class problem; `solver` is that of the binary one."""
    if isinstance(problem, MulticlassProblem):
        return solve_multiclass(problem, multiclass_solver(solver), start=start)
    return solve_certified(problem, solver, start=start)


def multiclass_start(model: Any, n_samples: int) -> MulticlassStart:
    """Return the last solution of a fitted model, with its multipliers if the size is the same."""
    pulls = None
    if len(model.sample_status_) == n_samples:
        pulls = np.zeros((n_samples, len(model.classes_)))
        pulls[model.support_] = model.dual_coef_.T
    return model.coef_, model.intercept_, pulls


def margin_violation(scores: Array, codes: Array) -> Array:
    """Return ``1 + max_{j != y} f_j - f_y`` of each sample, or ``1 - y f`` for two classes."""
    if scores.ndim == 1:
        binary: Array = 1.0 - np.where(codes == 1, scores, -scores)
        return binary
    rows = np.arange(len(codes))
    own = scores[rows, codes]
    rivals = scores.copy()
    rivals[rows, codes] = -np.inf
    violation: Array = 1.0 + rivals.max(axis=1) - own
    return violation
