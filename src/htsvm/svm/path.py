"""Whole grids of C (and of the cap) for little more than one fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_X_y
from sklearn.utils.multiclass import check_classification_targets

from htsvm._documented import documented
from htsvm._seeds import seed_of
from htsvm._typing import Array
from htsvm.losses import HybridTruncated
from htsvm.optimality import PointCertificate
from htsvm.problems import AnyProblem
from htsvm.problems.build import (
    check_weights,
    encode_labels,
    stated_problems,
)
from htsvm.solvers import Newton, Solver, solve_certified
from htsvm.svm.backend import backend_of
from htsvm.svm.fitted import AnyFitted
from htsvm.svm.validation import is_multiclass
from htsvm.svm.warn import warn_unconverged

# Warm starts along a path are compared with cold ones at every so many of its points: what is found
# there serves the neighbours as well. At every point: 5 to 25 % more time on six sets, objectives
# that differ on one of them, by 0.05 % in the mean.
COMPARED = 2


@dataclass(frozen=True, eq=False)
class HTPath:
    """The fits of `ht_path`, in the order of `Cs`.

    Attributes
    ----------
    Cs : ndarray of shape (n_Cs,)
        The penalties.
    coef : ndarray of shape (n_Cs, 1 or n_classes, n_features)
        Weights; one row for two classes, else one per class.
    intercept : ndarray of shape (n_Cs, 1 or n_classes)
        Intercepts.
    objective : ndarray of shape (n_Cs, n_problems)
        Objectives.
    n_iter : ndarray of shape (n_Cs, n_problems)
        Iterations.
    n_support : ndarray of shape (n_Cs, n_problems)
        Support vectors.
    certificates : list of lists of Certificate or MulticlassCertificate
        ``certificates[i][k]`` belongs to ``Cs[i]`` and problem k; there is one problem, or with
        ``multi_class="ovr"`` and more than two classes one per class.
    classes : ndarray
        The class labels.
    """

    Cs: Array
    coef: Array
    intercept: Array
    objective: Array
    n_iter: Array
    n_support: Array
    certificates: list[list[PointCertificate]]
    classes: Array


@documented
def ht_path(
    X: Any,
    y: Any,
    *,
    Cs: Any = 9,
    cap: float = 1.0,
    knee: float = 2.0 / 3.0,
    tol: float = 1e-3,
    max_iter: int = 1000,
    fit_intercept: bool = True,
    class_weight: Any = None,
    multi_class: str = "auto",
    sample_weight: Any = None,
    random_state: Any = None,
) -> HTPath:
    """Fit HTSVC for a whole grid of C, each from the solution of the next larger one.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training data.
    y : array-like of shape (n_samples,)
        Class labels.
    Cs : int or array-like, default=9
        The penalties, or how many between 1/16 and 16.
    cap : float, default=1.0
        The margin violation from which on a sample is ignored; ``inf`` never ignores one.
    {knee}, {tol}
    max_iter : int, default=1000
        The largest number of iterations for each C.
    {fit_intercept}, {class_weight}, {multi_class}
    sample_weight : array-like of shape (n_samples,), optional
        Factors of C per sample.
    {random_state}

    Returns
    -------
    HTPath
        The solutions with their certificates.

    Notes
    -----
    The path runs from the largest C to the smallest. The other way the objective of a bounded loss
    leads into a trap: at small C it is cheap to ignore many samples, and a warm start never looks
    at them again.
    """
    grid = check_grid(Cs)
    if multi_class not in ("auto", "joint", "crammer_singer", "ovr"):
        raise ValueError(
            f"multi_class must be 'auto', 'joint', 'crammer_singer' or 'ovr', got {multi_class!r}."
        )
    options = {
        "C": 1.0, "loss": HybridTruncated(knee=knee, cap=cap), "fit_intercept": fit_intercept
    }  # fmt: skip
    solver = Newton(
        tol=tol, max_iter=max_iter, random_state=seed_of(random_state), compare_warm="search"
    )
    with _problems(X, y, sample_weight, class_weight, multi_class, options) as (classes, problems):
        columns = [solve_path(problem, grid, solver) for problem in problems]
    rows = list(zip(*columns, strict=True))
    warn_unconverged("ht_path", [fit for row in rows for fit in row], max_iter)
    return HTPath(
        Cs=grid,
        coef=np.array([np.vstack([result.coef for result, _ in row]) for row in rows]),
        intercept=np.array([np.hstack([result.intercept for result, _ in row]) for row in rows]),
        objective=np.array([[c.objective for _, c in row] for row in rows]),
        n_iter=np.array([[result.n_iter for result, _ in row] for row in rows]),
        n_support=np.array([[c.n_support for _, c in row] for row in rows]),
        certificates=[[replace(c, sample_status=None) for _, c in row] for row in rows],
        classes=classes,
    )


@contextmanager
def _problems(
    X: Any,
    y: Any,
    sample_weight: Any,
    class_weight: Any,
    multi_class: str,
    options: dict[str, Any],
) -> Iterator[tuple[Array, Sequence[AnyProblem]]]:
    """Have the classes and the problems of valid data: one, or one per class."""
    backend = backend_of(X)
    if backend is not None:
        dataset = backend.open_dataset(X, y, sample_weight)
        try:
            check_path_classes(dataset.classes)
            multiclass = is_multiclass(multi_class, len(dataset.classes), "newton")
            yield dataset.classes, dataset.problems(class_weight, multiclass=multiclass, **options)
        finally:
            dataset.cluster.close()
        return
    X, y = check_X_y(
        X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C",
        accept_large_sparse=True,
    )  # fmt: skip
    check_classification_targets(y)
    weights = check_weights(sample_weight, X)
    classes, codes = encode_labels(y)
    check_path_classes(classes)
    options["multiclass"] = is_multiclass(multi_class, len(classes), "newton")
    yield classes, stated_problems(X, codes, weights, class_weight, classes, **options)


def check_path_classes(classes: Array) -> None:
    """Raise ValueError for fewer than two classes."""
    if len(classes) < 2:
        raise ValueError(f"ht_path needs at least two classes in y, got only {classes[0]!r}.")


def check_grid(Cs: Any, smallest: float = 2.0**-4, largest: float = 2.0**4) -> Array:
    """Return a grid of positive penalties from a number of points or a list of values."""
    if np.ndim(Cs) == 0:
        if not (isinstance(Cs, (int, np.integer)) and Cs >= 1):
            raise ValueError(f"Cs must be a positive whole number or a list of values, got {Cs!r}.")
        powers = np.linspace(np.log2(smallest), np.log2(largest), int(Cs))
        grid: Array = np.exp2(powers) if Cs > 1 else np.ones(1)
        return grid
    grid = np.asarray(Cs, dtype=np.float64)
    if grid.ndim != 1 or len(grid) == 0 or not np.all(np.isfinite(grid) & (grid > 0.0)):
        raise ValueError(f"Cs must be a non-empty list of positive, finite values, got {Cs!r}.")
    return grid


def solve_path(problem: AnyProblem, Cs: Array, solver: Solver) -> list[AnyFitted]:
    """Solve `problem` (stated for C = 1) for each of `Cs`; return the fits in their order.

    Each C but the largest starts from the next larger one.
    """
    unrivalled = solver
    if getattr(solver, "compare_warm", False):
        unrivalled = replace(solver, compare_warm=False)
    fits: dict[int, AnyFitted] = {}
    previous: tuple[AnyFitted, float] | None = None
    for k, i in enumerate(np.argsort(-Cs, kind="stable")):
        C = float(Cs[i])
        fits[i] = _solve_at(problem, C, unrivalled if k % COMPARED else solver, previous)
        previous = fits[i], C
    path = [fits[i] for i in range(len(Cs))]
    _improve_by_others(problem, Cs, solver, path)
    return path


def _solve_at(
    problem: AnyProblem, C: float, solver: Solver, previous: tuple[AnyFitted, float] | None
) -> AnyFitted:
    """Solve `problem` for one C, from the solution for another if there is one."""
    scaled, start = problem.scaled(C), None
    if previous is not None:
        (result, _), old = previous
        start = result.coef, result.intercept, result.multipliers * (C / old)
    return solve_certified(scaled, solver, start=start)


def _improve_by_others(
    problem: AnyProblem, Cs: Array, solver: Solver, path: list[AnyFitted]
) -> None:
    """Solve again, from the solution for another C, where that one has the lower objective.

    A solution costs energy + C * loss at every C, so all of them can be compared without looking
    at the data.
    """
    energy = np.array([problem.energy(result.coef) for result, _ in path])
    loss = np.array([result.objective for result, _ in path]) - energy
    loss /= Cs
    for i in np.argsort(Cs, kind="stable"):
        C = float(Cs[i])
        values = energy + C * loss
        j = int(values.argmin())
        if values[j] >= (1.0 - solver.tol) * values[i]:
            continue
        again = _solve_at(problem, C, solver, (path[j], float(Cs[j])))
        if again[0].objective < values[i]:
            path[i] = again
            energy[i] = problem.energy(again[0].coef)
            loss[i] = (again[0].objective - energy[i]) / C
