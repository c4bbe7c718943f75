"""From the search to a result: the points that the solver goes down from, and those left out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from htsvm._typing import Array
from htsvm.problems.binary import Problem
from htsvm.solvers.newton import valley
from htsvm.solvers.result import SolverResult
from htsvm.solvers.starts.portfolio import GOOD_FIT, Search
from htsvm.solvers.starts.terrain import REFINING_STEPS, ROUGH

# So many of the points found on a sample go on with all rows by way of a sigmoid. On 54 problems of
# six large sets three of them end 0.02 % lower in the mean, 0.5 % at most, in 15 to 35 % more time.
REFINED = 1
# So many of the points found on a sample are judged on all rows.
JUDGED = 3
# What is found on a sample goes on with all rows, the kink rounded by this share of the cap.
REFINED_WIDTH = 0.15
# The solver's own way may still lead lower than the search if the search by the same way ended
# above its lowest point by no more than this share.
CLOSE = 0.03
# What a descent from the best point of the search gains, at most, where it may win.
POLISHED = 0.01
# Objectives that differ by no more than this share are those of one minimum.
SAME = 1e-6
# The solver may end above where the search ended by this share, before the next point is tried.
SLIPPED = 1e-3

# Takes a start, or None for the solver's own way. With `beat` a descent that falls behind that
# objective may end early; with `truncated=False` one for several classes begins without truncation.
Descend = Callable[..., SolverResult]


def descended(problem: Any, found: Search, share: float, descend: Descend) -> SolverResult:
    """Go down from the best point of the search, and by the solver's own way.

    The search says where to begin, not where one ends: its objectives are those of a smoothed
    loss followed for a few steps, on large data on some of the rows. So "convex", if it is among
    the starts, takes part with the solver's own way from the convex solution; it is left when it
    falls behind, and left out where the search on all rows has put it far behind.
    """
    name, start, reached = "convex", None, math.inf
    if found.point is not None and found.truncated:
        name, start, reached = best_point(problem, found, share)
    takes_part = "convex" in found.reached
    if start is not None and takes_part and share == 1.0:
        takes_part = found.reached["convex"] <= (1.0 + CLOSE) * reached
    results = []
    if start is None or takes_part:
        same_way = name == "convex" and share == 1.0
        beat = math.inf if start is None or same_way else reached
        results.append(named(descend(None, beat=beat), "convex", found.reached))
    if start is not None and not (results and _clearly_lower(results[0], name, reached, share)):
        results.append(named(never_up(problem, start, reached, descend), name, found.reached))
    # Two ways to one minimum: the first is taken, not the one that rounding prefers.
    best = results[0]
    for other in results[1:]:
        best = other if other.objective < (1.0 - SAME) * best.objective else best
    convex = results[0].convex_objective
    if not math.isfinite(convex) and found.convex is not None:
        convex = problem.objective_at(*found.terrain.parts(found.convex))
    return replace(best, convex_objective=convex)


def _clearly_lower(own: SolverResult, name: str, reached: float, share: float) -> bool:
    """Return whether the solver's own way ended so low that the best point found is left out.

    A descent from there gains some as well. If the search on all rows went the same way, it is the
    same valley.
    """
    most = 1.0 + SLIPPED if share == 1.0 and name == "convex" else 1.0 - POLISHED
    return own.converged and own.objective <= most * reached


def never_up(
    problem: Any, start: Any, reached: float, descend: Descend, **how: Any
) -> SolverResult:
    """Go down from a start; if that leads upwards, try again without multipliers, or stay there."""
    result = descend(start, **how)
    *point, multipliers = start
    if result.objective > (1.0 + SLIPPED) * reached and multipliers is not None:
        again = descend((*point, None), **how)
        result = min(result, again, key=lambda one: one.objective)
    stays = problem.rows is None or multipliers is not None
    if result.objective > (1.0 + SLIPPED) * reached and stays:
        coef, intercept = point
        result = replace(
            result, coef=coef, intercept=intercept, objective=reached, converged=False, residual=1.0
        )
        if multipliers is not None:
            result = replace(result, multipliers=multipliers)
    return result


def from_given(problem: Any, start: Any, descend: Descend) -> SolverResult:
    """Go down from a start that somebody gives, and never up where its objective is at hand."""
    if problem.rows is not None:
        return descend(start)
    return never_up(problem, start, float(problem.objective_at(*start[:2])), descend)


def best_point(problem: Any, found: Search, share: float) -> tuple[str, Any, float]:
    """Return the start that led lowest, where to go down from, and the objective there.

    What was found on some of the rows is judged on all of them, and the best goes on there, with
    the loss and by way of a sigmoid, where that can be done quickly.
    """
    terrain = found.terrain
    assert found.point is not None
    if share == 1.0:
        multipliers = terrain.multipliers(found.point)
        if multipliers is not None:
            multipliers = problem.multipliers_of(terrain.problem, multipliers)
        return found.name, (*terrain.parts(found.point), multipliers), found.lowest
    best = sorted(found.points, key=lambda name: (found.reached[name], name))[:JUDGED]
    points = [terrain.parts(found.points[name]) for name in best]
    on_all = dict(zip(best, problem.objectives_at(points), strict=True))
    ranked = sorted(on_all, key=lambda name: (on_all[name], name))
    if isinstance(problem, Problem) and valley.suits(problem):
        name = ranked[0]
        return name, *refined(problem, terrain.parts(found.points[name]), on_all[name])
    whole = None if problem.rows is not None else terrain.on(problem)
    if whole is None:
        name = ranked[0]
        return name, (*terrain.parts(found.points[name]), None), on_all[name]
    # The best of them may be in its valley already: a sigmoid could lead it out.
    first = found.points[ranked[0]]
    tried = [(ranked[0], whole.settle(first, REFINING_STEPS))]
    tried += [(name, whole.refined(found.points[name])) for name in ranked[:REFINED]]
    name, z = min(tried, key=lambda pair: whole.objective(pair[1]))
    return name, (*whole.parts(z), whole.multipliers(z)), whole.objective(z)


def refined(problem: Problem, point: tuple[Array, float], before: float) -> tuple[Any, float]:
    """Go on with all rows from a point found on some; return a start, and its objective.

    The last steps are not checked on all rows: if they led up, the point itself is the start.
    """
    loss, width = problem.loss, REFINED_WIDTH * problem.loss.cap
    way = valley.Valley(problem)
    w, b = way.descend(*point, loss, width, tol=ROUGH, gain=ROUGH, max_steps=REFINING_STEPS)
    reached = problem.objective_at(w, b)
    if not reached < before:
        (w, b), reached = point, before
    return given(problem, (w, b)), reached


def with_bends(problem: Any) -> Any:
    """Return a problem whose loss bends where that of the given one has a kink."""
    near = problem.loss.bent() if isinstance(problem, Problem) else None
    if near is None:
        return problem
    loss, factor = near
    return replace(problem, loss=loss, penalty=factor * problem.penalty, C=factor * problem.C)


def given(problem: Problem, point: tuple[Array, float]) -> Any:
    """Return a start at a point, with the multipliers of the rounded loss."""
    way, width = valley.Valley(problem), REFINED_WIDTH * problem.loss.cap
    return (*point, way.multipliers(*point, problem.loss, width))


def named(result: SolverResult, name: str, reached: dict[str, float]) -> SolverResult:
    """Return a result with the start that led to it, and what each start reached."""
    return replace(result, start=name, starts=dict(reached))


def lower_of(cold: SolverResult, warm: SolverResult, tol: float) -> SolverResult:
    """Return the lower of two ends; a warm one that is not finished must be so by more than `tol`.

    Data may have changed since the warm start was found, and then its valley is one of many. Ends
    that differ by a tenth of `tol` are alike.
    """
    share = 1.0 + 0.1 * tol if warm.converged or not cold.converged else 1.0 - tol
    passes = cold.passes + warm.passes
    if warm.objective <= share * cold.objective:
        return replace(warm, start="warm", starts=cold.starts, passes=passes)
    return replace(cold, passes=passes)


def is_not_truncated(problem: Problem, result: SolverResult) -> bool:
    """Return whether a result is a good fit with no sample where the loss bends."""
    if result.objective > GOOD_FIT * problem.trivial_objective or problem.rows is not None:
        return False
    q = problem.violations(result.coef, result.intercept)
    largest = float(q.max(initial=0.0, where=problem.penalty > 0.0))
    return largest <= problem.loss.curved_interval[0]
