"""Which starts are compared, and on which rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from htsvm.problems.binary import Problem
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers.newton import valley
from htsvm.solvers.newton.dual_sweeps import prefers_sweeps
from htsvm.solvers.result import SolverResult
from htsvm.solvers.starts.binary_terrain import BinaryTerrain
from htsvm.solvers.starts.descents import (
    CLOSE,
    SAME,
    SLIPPED,
    Descend,
    best_point,
    descended,
    given,
    is_not_truncated,
    named,
    never_up,
    refined,
    with_bends,
)
from htsvm.solvers.starts.multiclass_terrain import MulticlassTerrain
from htsvm.solvers.starts.portfolio import (
    ALL,
    ON_A_SAMPLE,
    ON_MANY_ROWS,
    ON_WIDE_ROWS,
    SEVERAL_CLASSES,
    Convex,
    chosen,
)
from htsvm.solvers.starts.searching import Search, SearchStart, search
from htsvm.solvers.starts.terrain import ROUGH, Terrain

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
# With several classes there are more unknowns, and small samples mislead: so many values times
# classes.
MULTICLASS_VALUES = 100_000_000
# Classes whose total penalties differ by this factor are uneven.
UNEVEN = 2.0
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
    kind = MulticlassTerrain if isinstance(problem, MulticlassProblem) else BinaryTerrain
    size = _sample_size(problem)
    local = problem.rows is None
    if m <= NO_SAMPLE * size and local:
        return kind(problem), 1.0
    rows = np.arange(m)
    if m > NO_SAMPLE * size:
        rows = np.sort(rng.choice(m, size=size, replace=False))
    part = _scaled_up(problem.take(rows), m / len(rows))
    labels = part.labels if isinstance(part, MulticlassProblem) else part.y
    counted = labels[part.penalty > 0.0]
    if len(counted) == 0 or np.all(counted == counted[0]):
        return None, 1.0
    return kind(part), len(rows) / m


def _sample_size(problem: Any) -> int:
    """Return how many rows are worth searching."""
    per_row = max(problem.operator.stored / max(problem.n_samples, 1), 1.0)
    size = int(np.clip(SAMPLE_VALUES / per_row, FEWEST_ROWS, MOST_ROWS))
    if isinstance(problem, MulticlassProblem):
        size = max(size, int(MULTICLASS_VALUES / (per_row * problem.n_classes)))
    return size


def _scaled_sample(problem: Any, size: int, rng: np.random.Generator) -> Any:
    """Return a random sample of the rows, scaled up to stand for all of them."""
    m = problem.n_samples
    rows = np.sort(rng.choice(m, size=min(size, m), replace=False, shuffle=False))
    return _scaled_up(problem.take(rows), m / len(rows))


def _scaled_up(part: Any, factor: float) -> Any:
    """Return a problem on a sample of the rows that stands for all of them."""
    return replace(part, penalty=part.penalty * factor, C=part.C * factor)
