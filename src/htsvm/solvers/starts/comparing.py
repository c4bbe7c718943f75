"""What the best of all starts is compared with: warm starts, the convex solution, directions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.problems.binary import Problem
from htsvm.solvers.newton import valley
from htsvm.solvers.newton.ridge import is_cheap, ridge_point
from htsvm.solvers.result import SolverResult
from htsvm.solvers.starts.binary_terrain import LITTLE_DATA
from htsvm.solvers.starts.choice import best_start, own_generator, searches, terrain_of
from htsvm.solvers.starts.descents import (
    SLIPPED,
    Descend,
    descended,
    from_given,
    given,
    lower_of,
    named,
    never_up,
)
from htsvm.solvers.starts.portfolio import ALL, ON_WIDE_ROWS
from htsvm.solvers.starts.searching import SearchStart, search

# With more stored values the time is better spent elsewhere.
MOST_VALUES = 1_000_000
# Multiples, in units of the direction itself and of its typical score; of them so many are looked
# at on all rows, and what is near the best.
MULTIPLES = np.exp(np.linspace(-6.0, 8.0, 36))
LOOKED_AT, NEARBY = 3, np.array([0.8, 0.9, 1.1, 1.25])
# With more rows than the first number some, drawn by their penalties, say whether directions come
# within this share of the result at all; so many of them say which multiples are worth a look.
FEW_ROWS, NEAR, ASKED = 3000, 0.01, 500


def first_descent(problem: Any, solver: Any, start: Any, descend: Descend) -> SolverResult:
    """Return what a given start leads to, or the best of the starts that a solver compares.

    Parameters
    ----------
    problem : Problem or MulticlassProblem
        What to minimise.
    solver : Newton or MulticlassNewton
        Which starts are compared, and whether a warm one is compared with them.
    start : tuple or None
        A warm start.
    descend : callable
        The solver, from a start or, with None, by its own way from the convex solution; see
        `Descend`.
    """
    compared = searches(problem, solver.starts)
    convex = math.isinf(problem.loss.cap)
    if start is not None and (convex or solver.compare_warm is not True):
        warm = replace(from_given(problem, start, descend), start="warm")
        if convex or not (solver.compare_warm and compared):
            return warm
        return no_worse_than_cold(problem, warm, compared, solver.random_state, descend)
    if compared:
        cold = best_start(problem, compared, solver.random_state, descend)
    else:
        cold = replace(descend(None), start="convex")
    cold = _no_higher_than_convex(problem, solver, cold, descend)
    if compared and isinstance(solver.starts, str):
        cold = no_higher_than_directions(problem, cold, descend)
    if start is None:
        return cold
    return lower_of(cold, from_given(problem, start, descend), solver.tol)


def _no_higher_than_convex(
    problem: Any, solver: Any, result: SolverResult, descend: Descend
) -> SolverResult:
    """Return `result`, or what the exact convex solution leads to if that is lower.

    Searches and the solver's own way only come near that solution. On little data a hard margin
    that they miss may matter, and the exact one is cheap.
    """
    little = isinstance(problem, Problem) and problem.rows is None
    little = little and problem.n_samples * problem.n_features <= LITTLE_DATA
    without = None if math.isinf(problem.loss.cap) else problem.loss.stretched(math.inf)
    if not little or without is None or "convex" not in (*result.starts, result.start):
        return result
    exact = replace(solver, starts=("convex",), n_restarts=0, callback=None)
    convex = exact.solve(replace(problem, loss=without))
    reached = problem.objective_at(convex.coef, convex.intercept)
    if not reached < (1.0 - SLIPPED) * result.objective:
        return result
    start = (convex.coef, convex.intercept, convex.multipliers)
    lower = named(never_up(problem, start, reached, descend), "convex", result.starts)
    if not lower.objective < result.objective:
        return result
    return replace(lower, convex_objective=min(reached, result.convex_objective))


def no_worse_than_cold(
    problem: Any,
    warm: SolverResult,
    starts: tuple[SearchStart, ...],
    seed: Any,
    descend: Descend,
) -> SolverResult:
    """Return what a warm start led to, or a cold one if a search says that it may be lower."""
    rng = own_generator(seed)
    before = problem.operator.passes
    terrain, share = terrain_of(problem, rng)
    if share < 1.0 and starts == ALL:
        # A sample of the rows can only say whether the warm start led far astray.
        starts = ON_WIDE_ROWS
    found = None if terrain is None else search(terrain, starts, rng)
    result = warm
    if found is not None and found.point is not None:
        reached = found.lowest
        if share < 1.0:
            reached = problem.objective_at(*found.terrain.parts(found.point))
        if reached < (1.0 - SLIPPED) * warm.objective:
            cold = descended(problem, found, share, descend)
            result = min(warm, cold, key=lambda one: one.objective)
    return replace(result, passes=warm.passes + problem.operator.passes - before)


def no_higher_than_directions(problem: Any, result: SolverResult, descend: Descend) -> SolverResult:
    """Return `result`, or what a multiple of a least squares direction leads to, if that is lower.

    Searches follow a smoothed loss from least squares. Where the cap is small and the labels are
    noisy that leads away from points that are lower than all they end at.
    """
    if not _suits(problem) or not _is_near(problem, result):
        return result
    w, b, reached = _lowest(problem)
    if not reached < (1.0 - SLIPPED) * result.objective:
        return result
    start = given(problem, (w, b)) if valley.suits(problem) else (w, b, None)
    lower = never_up(problem, start, reached, descend)
    if not lower.objective < result.objective:
        return result
    convex = result.convex_objective
    passes = result.passes + lower.passes
    lower.convex_objective, lower.passes = convex, passes
    return named(lower, "least_squares", result.starts)


def _suits(problem: Any) -> bool:
    """Return whether the rows are of two classes, here, and few enough of their values."""
    if not isinstance(problem, Problem):
        return False
    return is_cheap(problem) and 0 < problem.operator.stored <= MOST_VALUES


def _is_near(problem: Problem, result: SolverResult) -> bool:
    """Return whether, as far as some of the rows say, a direction may be below the result."""
    if problem.n_samples <= FEW_ROWS:
        return True
    rows = np.sort(_drawn(problem.penalty, FEW_ROWS))
    share = np.full(FEW_ROWS, float(problem.penalty.sum()) / FEW_ROWS)
    part = replace(problem.take(rows), penalty=share)
    reached = _lowest(part)[2]
    return reached < (1.0 + NEAR) * part.objective_at(result.coef, result.intercept)


def _drawn(penalty: Array, count: int) -> Array:
    """Return rows evenly spread over the sum of the penalties, heavy ones more than once."""
    mass = np.cumsum(penalty)
    places = (np.arange(count) + 0.5) / count * mass[-1]
    rows: Array = np.minimum(np.searchsorted(mass, places), len(mass) - 1)
    return rows


def _lowest(problem: Problem) -> tuple[Array, float, float]:
    """Return the best multiple of two ridge fits, with the objective there.

    One has the penalties of the problem, one those of C = 1.
    """
    best: tuple[Array, float, float] = (np.zeros(problem.n_features), 0.0, np.inf)
    for penalty in (problem.penalty, problem.penalty / problem.C):
        z = ridge_point(problem, penalty)
        w, b = np.ascontiguousarray(z[:-1]), float(z[-1])
        if not (np.all(np.isfinite(z)) and np.any(w)):
            continue
        scores = 1.0 - problem.violations(w, b)
        energy = problem.regularizer.energy(w)
        tried = _promising(problem, scores, energy)
        for _ in range(2):
            values = problem.loss.totals(1.0 - scores, problem.penalty, tried) + tried**2 * energy
            t, reached = float(tried[values.argmin()]), float(values.min())
            if reached < best[2]:
                best = (t * w, t * b, reached)
            tried = t * NEARBY
    return best


def _promising(problem: Problem, scores: Array, energy: float) -> Array:
    """Return the multiples that are the lowest on some samples, drawn by their penalties."""
    size = float(np.median(np.abs(scores)))
    multiples = np.concatenate([MULTIPLES, MULTIPLES / size]) if size > 0.0 else MULTIPLES
    some = _drawn(problem.penalty, ASKED)
    share = np.full(ASKED, float(problem.penalty.sum()) / ASKED)
    values = problem.loss.totals(1.0 - scores[some], share, multiples) + multiples**2 * energy
    kept: Array = multiples[np.argsort(values, kind="stable")[:LOOKED_AT]]
    return kept
