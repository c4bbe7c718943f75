"""The reference search: the lowest objective that many searches find, whatever they cost."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import fmin_l_bfgs_b
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from htsvm.linalg import Quadratic, as_operator
from htsvm.losses import HybridTruncated
from htsvm.solvers import Newton, Problem

MULTIPLES = np.exp(np.linspace(-4.0, 6.0, 40))
LADDERS = ((4.0, 2.0, 1.0, 0.5, 0.25), (1.0, 0.5, 0.25))
RESTARTS, SUBSETS = 20, 30
# The solver's own way alone, from the convex solution: that of version 0.1.
OWN_WAY = Newton(max_iter=1000, starts=("convex",))

Point = tuple[np.ndarray, float]


def problem_of(X: Any, y: np.ndarray, C: float, cap: float) -> Problem:
    """Return the problem of a fit of HTSVC."""
    return Problem(
        operator=as_operator(X), y=y.astype(np.int8), penalty=np.full(len(y), float(C)),
        loss=HybridTruncated(cap=cap), regularizer=Quadratic(None, X.shape[1]), C=float(C),
    )  # fmt: skip


def rescaled(problem: Problem, w: np.ndarray, b: float) -> tuple[Point, float]:
    """Return the best multiple of a classifier, and the objective there."""
    margins = 1.0 - problem.violations(w, b)
    energy = problem.energy(w)
    values = [
        t * t * energy + problem.loss.total(1.0 - t * margins, problem.penalty) for t in MULTIPLES
    ]
    best = int(np.argmin(values))
    return (MULTIPLES[best] * w, MULTIPLES[best] * b), float(values[best])


def annealed(problem: Problem, X: Any, point: Point, widths: tuple[float, ...]) -> Point:
    """Go down with logistic functions that become steeper, on all rows, by SciPy's L-BFGS."""
    y, p, cap = problem.y.astype(float), problem.penalty, problem.loss.cap
    z = np.append(*point)

    def function(z: np.ndarray, width: float) -> tuple[float, np.ndarray]:
        u = (1.0 - 0.5 * cap - y * (X @ z[:-1] + z[-1])) / (width * cap)
        share = expit(u)
        pull = -(p * share * (1.0 - share) / width) * y
        value = 0.5 * z[:-1] @ z[:-1] + cap * (p @ share)
        return value, np.append(z[:-1] + X.T @ pull, pull.sum())

    for width in widths:
        z, _, _ = fmin_l_bfgs_b(function, z, args=(width,), maxiter=60)
    return z[:-1], float(z[-1])


def linear_models(C: float, m: int) -> dict[str, Any]:
    """Return the linear models whose directions are tried, by name."""
    few = 10.0 / m
    return {
        "LinearSVC": LinearSVC(C=C, dual=False),
        "LinearSVC, small C": LinearSVC(C=few, dual=False),
        "LinearSVC, balanced": LinearSVC(C=C, dual=False, class_weight="balanced"),
        "LinearSVC, hinge": LinearSVC(C=C, loss="hinge", max_iter=3000, random_state=0),
        "LogisticRegression": LogisticRegression(C=C, max_iter=300),
        "LogisticRegression, small C": LogisticRegression(C=few, max_iter=300),
        "Ridge": Ridge(alpha=1.0 / C),
        "Ridge, large alpha": Ridge(alpha=0.1 * m),
    }


def direction(model: Any, X: Any, y: np.ndarray) -> Point:
    """Return the weights and the intercept of a fitted model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return np.ravel(model.coef_).astype(float), float(np.ravel(model.intercept_)[0])


def points(problem: Problem, X: Any, y: np.ndarray) -> Iterator[tuple[str, Point]]:
    """Yield the points from which the reference search goes down, apart from restarts."""
    m, n = X.shape
    convex = OWN_WAY.solve(replace(problem, loss=HybridTruncated(cap=np.inf)))
    yield "convex", (convex.coef, convex.intercept)
    yield "hinge", rescaled(problem, convex.coef, convex.intercept)[0]
    bases = {}
    for name, model in linear_models(problem.C, m).items():
        bases[name] = rescaled(problem, *direction(model, X, y))[0]
        yield name, bases[name]
    for name in ("Ridge", "LogisticRegression"):
        for widths in LADDERS:
            yield f"annealed from {name}", annealed(problem, X, bases[name], widths)
    rng = np.random.default_rng(0)
    for _ in range(SUBSETS):
        rows = rng.choice(m, max(min(m // 2, 5 * n + 20), 4), replace=False)
        if len(np.unique(y[rows])) == 2:
            found = direction(Ridge(alpha=1.0), X[rows], y[rows])
            yield "subset", rescaled(problem, *found)[0]


def reference(problem: Problem, X: Any, y: np.ndarray) -> tuple[float, str, int]:
    """Return the lowest objective of all searches, the one that found it, and their number."""
    best, name = problem.trivial()[0], "constant"
    searches = 1
    for where, (w, b) in points(problem, X, y):
        result = OWN_WAY.solve(problem, start=(w, b, None))
        searches += 1
        if result.objective < best:
            best, name = result.objective, where
    result = replace(OWN_WAY, n_restarts=RESTARTS).solve(problem)
    searches += 1 + RESTARTS
    if result.objective < best:
        best, name = result.objective, "restarts"
    return best, name, searches
