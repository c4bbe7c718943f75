"""Which starts are compared, and on which rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.problems.binary import Problem
from htsvm.solvers.newton import valley
from htsvm.solvers.newton.dual_sweeps import prefers_sweeps
from htsvm.solvers.newton.ridge import is_cheap, ridge_point
from htsvm.solvers.result import SolverResult
from htsvm.solvers.starts.binary_terrain import LITTLE_DATA, BinaryTerrain
from htsvm.solvers.starts.descents import (
    CLOSE,
    SAME,
    SLIPPED,
    Descend,
    best_point,
    descended,
    from_given,
    given,
    is_not_truncated,
    lower_of,
    named,
    never_up,
    refined,
    with_bends,
)
from htsvm.solvers.starts.portfolio import (
    ALL,
    ON_A_SAMPLE,
    ON_MANY_ROWS,
    ON_WIDE_ROWS,
    Convex,
    Search,
    SearchStart,
    chosen,
    search,
)
from htsvm.solvers.starts.terrain import ROUGH, Terrain

# With more stored values the time is better spent elsewhere.
MOST_VALUES = 1_000_000
# Multiples, in units of the direction itself and of its typical score; of them so many are looked
# at on all rows, and what is near the best.
MULTIPLES = np.exp(np.linspace(-6.0, 8.0, 36))
LOOKED_AT, NEARBY = 3, np.array([0.8, 0.9, 1.1, 1.25])
# With more rows than the first number some, drawn by their penalties, say whether directions come
# within this share of the result at all; so many of them say which multiples are worth a look.
FEW_ROWS, NEAR, ASKED = 3000, 0.01, 500
# The rows that are searched: so many stored values are worth it, within these numbers of rows.
SAMPLE_VALUES, FEWEST_ROWS, MOST_ROWS = 35_000, 2000, 5000
# Beyond that, the loss itself is searched on all rows, up to so much work: stored values, and so
# much per row; wide losses on so many values and rows. On 60 problems of five large sets a search
# of the loss on 10,000 rows ended 0.6 % higher in the mean, on 2,500 rows 0.5 % (with the solver's
# own way beside it), up to 5 % and six points of accuracy.
MOST_WORK, ROW_WORK, WIDE_VALUES, WIDE_ROWS = 1_200_000, 8, 150_000, 10_000
# So many of the points found are compared after a few Newton steps.
JUDGED = 2
# Where a descent gains more than this share, the search had not come near a minimum. With half of
# it a fit to w8a with C = 16 takes twice as long, and ends at the same point.
FAR_OFF = 0.1
# Where rows are elsewhere, all points found go on with a sample so many times larger: which of them
# is the best the smaller one does not know (0.3 % of the objective at 300,000 x 20 and C = 16).
LARGER = 5
# All rows are taken if they are no more than this many samples.
NO_SAMPLE = 1.5
# Sets the random numbers of the search apart from others with the same seed: "starts" in ASCII.
STREAM = int.from_bytes(b"starts", "big")


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
    loss = problem.loss
    if math.isinf(loss.cap) or loss.tilt != 0.0 or loss.stretched(math.inf) is None:
        return ()
    return () if len(starts) == 1 and isinstance(starts[0], Convex) else starts


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
    bent = with_bends(problem)
    if _has_many_rows(bent):
        result = _by_search(
            problem,
            bent,
            search(_many_rows(bent, rng), _on_many_rows(starts), rng, until_met=True),
            descend,
        )
        return replace(result, passes=problem.operator.passes - before)
    sample = _large_sample(problem, rng)
    if sample is not None:
        result = _from_sample(problem, sample, starts, rng, descend)
        return replace(result, passes=problem.operator.passes - before)
    terrain, share = terrain_of(problem, rng)
    if terrain is None:
        return named(descend(None), "convex", {})
    if share < 1.0 and starts == ALL and _goes_alone(problem):
        result = descend(None)
        result = named(result, "convex", {"convex": result.objective})
    elif share < 1.0 and isinstance(problem, Problem):
        result = _own_way_first(problem, terrain, starts, rng, descend)
    else:
        result = descended(problem, search(terrain, starts, rng), share, descend)
    return replace(result, passes=problem.operator.passes - before)


def _has_many_rows(problem: Any) -> bool:
    """Return whether a problem is searched by way of the rows near the bends of its loss."""
    if not (isinstance(problem, Problem) and valley.suits(problem)):
        return False
    return problem.n_samples > NO_SAMPLE * _sample_size(problem)


def _many_rows(problem: Problem, rng: np.random.Generator) -> BinaryTerrain:
    """Return all rows, or as many as there is time for, with a sample of them for wide losses."""
    m, stored = problem.n_samples, problem.operator.stored
    size = int(m * MOST_WORK / (stored + ROW_WORK * m))
    if size < m:
        rows = np.sort(rng.choice(m, size=size, replace=False))
        problem, m = _scaled_up(problem.take(rows), m / size), size
    size = min(WIDE_ROWS, int(m * WIDE_VALUES / max(stored, 1)))
    wide = None
    if m > NO_SAMPLE * size:
        rows = np.sort(rng.choice(m, size=size, replace=False))
        wide = BinaryTerrain(_scaled_up(problem.take(rows), m / size))
    return BinaryTerrain(problem, wide)


def _on_many_rows(starts: tuple[SearchStart, ...]) -> tuple[SearchStart, ...]:
    """Return the starts in the form that suits many rows; "ladder" only where it is asked for."""
    names = [start.name for start in starts if starts != ALL or start.name != "ladder"]
    return tuple(start for start in ON_MANY_ROWS if start.name in names)


def _by_search(problem: Problem, bent: Problem, found: Search, descend: Descend) -> SolverResult:
    """Go down from the best of the points found on many rows, for a loss that bends."""
    terrain = found.terrain
    whole = terrain.problem is bent
    if found.point is None or not found.truncated:
        return named(descend(None), "convex", found.reached)
    most = (1.0 + CLOSE) * found.lowest
    reached = found.reached
    best = sorted(found.points, key=lambda name: (reached[name], name))[:JUDGED]
    settled = whole and isinstance(terrain, BinaryTerrain) and terrain.by_newton
    tried = []
    for name in best[:1] if settled else best:
        if found.reached[name] <= most:
            point = terrain.parts(found.points[name])
            before = found.reached[name] if whole else bent.objective_at(*point)
            if settled:
                tried.append((name, given(bent, point), before))
            else:
                tried.append((name, *refined(bent, point, before)))
    name, start, lowest = min(tried, key=lambda one: one[2])
    if bent is not problem:
        lowest = problem.objective_at(*start[:2])
    at_best = found.lowest
    convex = None if found.convex is None else terrain.parts(found.convex)
    # The rows that were searched are not needed any more, nor what was not chosen.
    del found, terrain, tried
    result = named(never_up(problem, start, lowest, descend), name, reached)
    if result.objective < (1.0 - FAR_OFF) * at_best and "convex" in reached:
        # Columns of very different size: searches got nowhere near, Newton's method may.
        own = named(descend(None), "convex", reached)
        result = own if own.objective < (1.0 - SAME) * result.objective else result
    if convex is None:
        return result
    return replace(result, convex_objective=problem.objective_at(*convex))


def _large_sample(problem: Any, rng: np.random.Generator) -> Problem | None:
    """Return as many rows as there is time to search, where all rows are elsewhere and many more.

    None where the search is another one, or one class has no sample.
    """
    if not isinstance(problem, Problem) or problem.rows is None:
        return None
    m, stored = problem.n_samples, problem.operator.stored
    size = int(m * MOST_WORK / max(stored + ROW_WORK * m, 1))
    if m <= NO_SAMPLE * size or problem.n_features > valley.MOST_FEATURES:
        return None
    part = _scaled_sample(problem, size, rng)
    counted = part.y[part.penalty > 0.0]
    one_class = len(counted) == 0 or bool(np.all(counted == counted[0]))
    return None if one_class or not _has_many_rows(part) else part


def _from_sample(
    problem: Any,
    sample: Problem,
    starts: tuple[SearchStart, ...],
    rng: np.random.Generator,
    descend: Descend,
) -> SolverResult:
    """Search a large sample, go on with a larger one; one descent on all rows follows.

    It starts with the slopes of the loss as it was rounded last. Each pass costs a message.
    """
    found = search(_many_rows(sample, rng), _on_many_rows(starts), rng, until_met=True)
    if found.point is None or not found.truncated:
        return named(descend(None), "convex", found.reached)
    parts, reached = found.terrain.parts, found.reached
    larger = _scaled_sample(problem, LARGER * sample.n_samples, rng)
    ended = {
        name: valley.Valley(larger).through(*parts(point), ROUGH)
        for name, point in found.points.items()
    }
    name = min(ended, key=lambda one: larger.objective_at(*ended[one][:2]))
    result = named(descend(ended[name]), name, reached)
    if found.convex is None:
        return result
    return replace(result, convex_objective=problem.objective_at(*parts(found.convex)))


def _goes_alone(problem: Any) -> bool:
    """Return whether the solver's own way searches already, and on a sample there is no more.

    With so many columns little is learned there: of 36 fits to text, clean and noisy, one was won
    by what a search had found, by 0.3 %.
    """
    return isinstance(problem, Problem) and problem.rows is None and prefers_sweeps(problem)


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
        if is_not_truncated(problem, own):
            return named(own, "convex", reached)
    if starts == ALL:
        starts = ON_WIDE_ROWS if problem.n_features > valley.MOST_FEATURES else ON_A_SAMPLE
    others = tuple(start for start in starts if not isinstance(start, Convex))
    found = search(terrain, others, rng)
    reached |= found.reached
    if found.point is not None:
        name, start, lowest = best_point(problem, found, 0.0)
        if own is None or lowest < (1.0 - SLIPPED) * own.objective:
            result = named(never_up(problem, start, lowest, descend), name, reached)
            if own is None or result.objective < own.objective:
                convex = math.nan if own is None else own.convex_objective
                return replace(result, convex_objective=convex)
    assert own is not None
    return named(own, "convex", reached)


def terrain_of(problem: Any, rng: np.random.Generator) -> tuple[Terrain | None, float]:
    """Return where to search, and the share of rows there; None if one class has no sample."""
    m = problem.n_samples
    size = _sample_size(problem)
    local = problem.rows is None
    if m <= NO_SAMPLE * size and local:
        return BinaryTerrain(problem), 1.0
    rows = np.arange(m)
    if m > NO_SAMPLE * size:
        rows = np.sort(rng.choice(m, size=size, replace=False))
    part = _scaled_up(problem.take(rows), m / len(rows))
    labels = part.y
    counted = labels[part.penalty > 0.0]
    if len(counted) == 0 or np.all(counted == counted[0]):
        return None, 1.0
    return BinaryTerrain(part), len(rows) / m


def _sample_size(problem: Any) -> int:
    """Return how many rows are worth searching."""
    per_row = max(problem.operator.stored / max(problem.n_samples, 1), 1.0)
    return int(np.clip(SAMPLE_VALUES / per_row, FEWEST_ROWS, MOST_ROWS))


def _scaled_sample(problem: Any, size: int, rng: np.random.Generator) -> Any:
    """Return a random sample of the rows, scaled up to stand for all of them."""
    m = problem.n_samples
    rows = np.sort(rng.choice(m, size=min(size, m), replace=False, shuffle=False))
    return _scaled_up(problem.take(rows), m / len(rows))


def _scaled_up(part: Any, factor: float) -> Any:
    """Return a problem on a sample of the rows that stands for all of them."""
    return replace(part, penalty=part.penalty * factor, C=part.C * factor)


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
