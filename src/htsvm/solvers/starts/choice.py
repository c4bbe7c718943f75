"""From the search to a result: which starts the solver goes down from, and which it leaves out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.problems.binary import Problem
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers.newton import valley
from htsvm.solvers.result import SolverResult
from htsvm.solvers.starts.multiclass_terrain import MulticlassTerrain
from htsvm.solvers.starts.portfolio import (
    ALL,
    GOOD_FIT,
    ON_A_SAMPLE,
    SEVERAL_CLASSES,
    Convex,
    Search,
    SearchStart,
    chosen,
    search,
)
from htsvm.solvers.starts.terrain import (
    LITTLE_DATA,
    REFINING_STEPS,
    ROUGH,
    BinaryTerrain,
    Terrain,
)

# The rows that are searched: so many stored values are worth it, within these numbers of rows.
SAMPLE_VALUES, FEWEST_ROWS, MOST_ROWS = 35_000, 2000, 5000
# With several classes there are more unknowns, and small samples mislead: so many values times
# classes.
MULTICLASS_VALUES = 100_000_000
# Classes whose total penalties differ by this factor are uneven.
UNEVEN = 2.0
# All rows are taken if they are no more than this many samples.
NO_SAMPLE = 1.5
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
# What a certificate may cost: a point of several classes that is certified may be above one that is
# not by this share.
LITTLE = 0.02
# What a descent from the best point of the search gains, at most, where it may win.
POLISHED = 0.01
# Objectives that differ by no more than this share are those of one minimum.
SAME = 1e-6
# The solver may end above where the search ended by this share, before the next point is tried.
SLIPPED = 1e-3
# Sets the random numbers of the search apart from others with the same seed: "starts" in ASCII.
STREAM = int.from_bytes(b"starts", "big")

# Takes a start, or None for the solver's own way. With `beat` a descent that falls behind that
# objective may end early; with `truncated=False` one for several classes begins without truncation.
Descend = Callable[..., SolverResult]


def own_generator(seed: Any) -> np.random.Generator:
    """Return a generator for a seed that no other use of the same seed shares.

    People who flip labels or draw rows with ``default_rng(0)`` must not meet the same rows here.
    """
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng([STREAM, int(seed)])


def searches(problem: Any, names: Any) -> tuple[SearchStart, ...]:
    """Return the starts that are to be compared; none where there is nothing to compare.

    A convex loss has one minimum; the convex start alone needs no comparison.
    """
    starts = chosen(names)
    if isinstance(problem, MulticlassProblem) and isinstance(names, str):
        starts = SEVERAL_CLASSES if _uneven(problem) else SEVERAL_CLASSES[:-1]
    loss = problem.loss
    if math.isinf(loss.cap) or loss.tilt != 0.0 or loss.stretched(math.inf) is None:
        return ()
    return () if len(starts) == 1 and isinstance(starts[0], Convex) else starts


def _uneven(problem: MulticlassProblem) -> bool:
    """Return whether the classes differ so much that equal ones would be another start."""
    mass = problem.class_penalty
    return float(mass.max()) > UNEVEN * float(mass.min())


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
    if start is None:
        if compared:
            best = best_start(problem, compared, solver.random_state, descend)
        else:
            best = replace(descend(None), start="convex")
        return _no_higher_than_convex(problem, solver, best, descend)
    warm = replace(descend(start), start="warm")
    if not (solver.compare_warm and compared):
        return warm
    return no_worse_than_cold(problem, warm, compared, solver.random_state, descend)


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
    lower = _named(_never_up(problem, start, reached, descend), "convex", result.starts)
    if not lower.objective < result.objective:
        return result
    return replace(lower, convex_objective=min(reached, result.convex_objective))


def best_start(
    problem: Any, starts: tuple[SearchStart, ...], seed: Any, descend: Descend
) -> SolverResult:
    """Search for starts, go down from the best, and return the lowest point.

    Parameters
    ----------
    problem : Problem or MulticlassProblem
        What to minimise; its rows may be elsewhere.
    starts : tuple of SearchStart
        Which starts are tried.
    seed : int or Generator
        Drives the sample of rows and what is random in starts.
    descend : callable
        The solver, from a start or, with None, by its own way from the convex solution; see
        `Descend`.
    """
    rng = own_generator(seed)
    before = problem.operator.passes
    terrain, share = _terrain(problem, rng)
    if terrain is None:
        return _named(descend(None), "convex", {})
    if share < 1.0 and isinstance(problem, Problem):
        result = _own_way_first(problem, terrain, starts, rng, descend)
    else:
        result = _descended(problem, search(terrain, starts, rng), share, descend)
    return replace(result, passes=problem.operator.passes - before)


def _own_way_first(
    problem: Problem,
    terrain: Terrain,
    starts: tuple[SearchStart, ...],
    rng: np.random.Generator,
    descend: Descend,
) -> SolverResult:
    """Go the solver's own way on all rows, then look on a sample of them for something lower.

    What is found there goes on with all rows only if it is lower than the own way's end.
    """
    own, reached = None, {}
    if any(isinstance(start, Convex) for start in starts):
        own = descend(None)
        reached["convex"] = own.objective
        if _is_not_truncated(problem, own):
            return _named(own, "convex", reached)
    if starts == ALL:
        starts = ON_A_SAMPLE
    others = tuple(start for start in starts if not isinstance(start, Convex))
    found = search(terrain, others, rng)
    reached |= found.reached
    if found.point is not None:
        name, start, lowest = _best_point(problem, found, 0.0)
        if own is None or lowest < (1.0 - SLIPPED) * own.objective:
            result = _named(_never_up(problem, start, lowest, descend), name, reached)
            if own is None or result.objective < own.objective:
                convex = math.nan if own is None else own.convex_objective
                return replace(result, convex_objective=convex)
    assert own is not None
    return _named(own, "convex", reached)


def _is_not_truncated(problem: Problem, result: SolverResult) -> bool:
    """Return whether a result is a good fit with no sample where the loss bends."""
    if result.objective > GOOD_FIT * problem.trivial_objective or problem.rows is not None:
        return False
    q = problem.violations(result.coef, result.intercept)
    largest = float(q.max(initial=0.0, where=problem.penalty > 0.0))
    return largest <= problem.loss.curved_interval[0]


def no_worse_than_cold(
    problem: Any,
    warm: SolverResult,
    starts: tuple[SearchStart, ...],
    seed: Any,
    descend: Descend,
) -> SolverResult:
    """Return what a warm start led to, or what a cold one leads to if that is lower.

    The search for starts decides whether it is worth going down from one.
    """
    rng = own_generator(seed)
    before = problem.operator.passes
    terrain, share = _terrain(problem, rng)
    found = None if terrain is None else search(terrain, starts, rng)
    result = warm
    if found is not None and found.point is not None and found.truncated:
        reached = found.lowest
        if share < 1.0:
            reached = problem.objective_at(*found.terrain.parts(found.point))
        if reached < (1.0 - SLIPPED) * warm.objective:
            cold = _descended(problem, found, share, descend)
            result = min(warm, cold, key=lambda one: one.objective)
    return replace(result, passes=warm.passes + problem.operator.passes - before)


def _terrain(problem: Any, rng: np.random.Generator) -> tuple[Terrain | None, float]:
    """Return where to search, and the share of rows there; None if one class has no sample."""
    m = problem.n_samples
    kind = MulticlassTerrain if isinstance(problem, MulticlassProblem) else BinaryTerrain
    per_row = max(problem.operator.stored / max(m, 1), 1.0)
    size = int(np.clip(SAMPLE_VALUES / per_row, FEWEST_ROWS, MOST_ROWS))
    if kind is MulticlassTerrain:
        size = max(size, int(MULTICLASS_VALUES / (per_row * problem.n_classes)))
    local = problem.rows is None
    if m <= NO_SAMPLE * size and local:
        return kind(problem), 1.0
    rows = np.arange(m)
    if m > NO_SAMPLE * size:
        rows = np.sort(rng.choice(m, size=size, replace=False))
    part = problem.take(rows)
    part = replace(part, penalty=part.penalty * (m / len(rows)), C=part.C * (m / len(rows)))
    labels = part.labels if isinstance(part, MulticlassProblem) else part.y
    counted = labels[part.penalty > 0.0]
    if len(counted) == 0 or np.all(counted == counted[0]):
        return None, 1.0
    return kind(part), len(rows) / m


def _descended(problem: Any, found: Search, share: float, descend: Descend) -> SolverResult:
    """Go down from the best point of the search, and by the solver's own way.

    The search says where to begin, not where one ends: its objectives are those of a smoothed
    loss followed for a few steps, on large data on some of the rows. So "convex", if it is among
    the starts, takes part with the solver's own way from the convex solution; it is left when it
    falls behind, and left out where the search on all rows has put it far behind.
    """
    if isinstance(problem, MulticlassProblem) and found.point is not None:
        return _descended_multiclass(problem, found, share, descend, found.rng)
    name, start, reached = "convex", None, math.inf
    if found.point is not None and found.truncated:
        name, start, reached = _best_point(problem, found, share)
    takes_part = "convex" in found.reached
    if start is not None and takes_part and share == 1.0:
        takes_part = found.reached["convex"] <= (1.0 + CLOSE) * reached
    results = []
    if start is None or takes_part:
        same_way = name == "convex" and share == 1.0
        beat = math.inf if start is None or same_way else reached
        results.append(_named(descend(None, beat=beat), "convex", found.reached))
    if start is not None and not (results and _clearly_lower(results[0], name, reached, share)):
        results.append(_named(_never_up(problem, start, reached, descend), name, found.reached))
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


def _descended_multiclass(
    problem: MulticlassProblem,
    found: Search,
    share: float,
    descend: Descend,
    rng: np.random.Generator,
) -> SolverResult:
    """Go down from the best point of the search, which for several classes ends near a minimum.

    With more features than rows per class a sample of rows tells too little of where it lies, but
    which start is the best.
    """
    terrain, z, multipliers = found.terrain, found.point, None
    assert z is not None
    assert isinstance(terrain, MulticlassTerrain)
    stretch = 1.0 if found.truncated else math.inf
    seconds = terrain.seconds_of_least_squares()
    if share < 1.0 and problem.rows is None:
        # What was best for the sample of rows, again for all of them.
        terrain = MulticlassTerrain(problem)
        whole = search(terrain, chosen([found.name]), rng)
        if whole.point is not None:
            z, share = whole.point, 1.0
    if found.truncated and share == 1.0:
        z = terrain.sharpen(z)
    point = terrain.parts(z)
    if share == 1.0:
        pulls = terrain.multipliers(z, stretch)
        multipliers = problem.multipliers_of(terrain.problem, pulls)
    reached = problem.objective_at(*point)
    how = {"truncated": found.truncated, "reference": seconds}
    result = _never_up(problem, (*point, multipliers), reached, descend, **how)
    if not result.converged and found.truncated:
        # A point that can be certified is worth more than one that is a little lower.
        others = [descend((*point, multipliers), careful=True), descend(None)]
        most = (1.0 + LITTLE) * result.objective
        ended = [one for one in others if one.converged and one.objective <= most]
        notes = [note for one in (result, *others) for note in one.notes]
        result = min(ended, key=lambda one: one.objective, default=result)
        result = replace(result, notes=list(dict.fromkeys(notes)))
    result = _named(result, found.name, found.reached)
    if found.convex is None:
        return result
    convex = problem.objective_at(*found.terrain.parts(found.convex))
    return replace(result, convex_objective=convex)


def _never_up(
    problem: Any, start: Any, reached: float, descend: Descend, **how: Any
) -> SolverResult:
    """Go down from a start; if that leads upwards, try again without multipliers, or stay there."""
    result = descend(start, **how)
    *point, multipliers = start
    if result.objective > (1.0 + SLIPPED) * reached and multipliers is not None:
        again = descend((*point, None), **how)
        notes = list(dict.fromkeys([*result.notes, *again.notes]))
        result = replace(min(result, again, key=lambda one: one.objective), notes=notes)
    if result.objective > (1.0 + SLIPPED) * reached and problem.rows is None:
        coef, intercept = point
        result = replace(
            result, coef=coef, intercept=intercept, objective=reached, converged=False, residual=1.0
        )
        if multipliers is not None:
            result = replace(result, multipliers=multipliers)
    return result


def _best_point(problem: Any, found: Search, share: float) -> tuple[str, Any, float]:
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
        return ranked[0], *_refined(problem, terrain.parts(found.points[ranked[0]]))
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


def _refined(problem: Problem, point: tuple[Array, float]) -> tuple[Any, float]:
    """Go on with all rows from a point found on some; return a start, and its objective."""
    loss, width = problem.loss, REFINED_WIDTH * problem.loss.cap
    way = valley.Valley(problem)
    w, b = way.descend(*point, loss, width, tol=ROUGH, gain=ROUGH, max_steps=REFINING_STEPS)
    return (w, b, way.multipliers(w, b, loss, width)), problem.objective_at(w, b)


def _named(result: SolverResult, name: str, reached: dict[str, float]) -> SolverResult:
    return replace(result, start=name, starts=dict(reached))
