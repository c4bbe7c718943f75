"""What the best of all starts is compared with: warm starts, the convex solution, directions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from htsvm.problems.binary import Problem
from htsvm.solvers.result import SolverResult
from htsvm.solvers.starts.binary_terrain import LITTLE_DATA
from htsvm.solvers.starts.choice import best_start, own_generator, searches, terrain_of
from htsvm.solvers.starts.descents import (
    SLIPPED,
    Descend,
    descended,
    from_given,
    lower_of,
    named,
    never_up,
)
from htsvm.solvers.starts.multiples import no_higher_than_directions
from htsvm.solvers.starts.portfolio import ALL, ON_WIDE_ROWS
from htsvm.solvers.starts.searching import SearchStart, search


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
