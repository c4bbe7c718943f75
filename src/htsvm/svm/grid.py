"""All fits of a grid of caps and C on one data set, each from the best of what is known already.

Small caps start from least squares, strongly shrunk. With many wrong labels and few samples the
least squares solution fits the noise, and so does what is found from there. The more it is shrunk,
the closer its direction comes to that from one class mean to the other, to which every sample
contributes alike. A truncated loss has minima near that direction too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.positive import conjugate_gradients
from htsvm.losses import HybridTruncated
from htsvm.problems import AnyProblem
from htsvm.problems.coordinates import Coordinates, in_coordinates
from htsvm.solvers import Newton, SolverResult
from htsvm.solvers.multiclass.smoothed import SmoothMulticlass

# From this cap on the problem is nearly convex, and where one begins does not matter.
NEARLY_CONVEX = 4.0
# How strongly the least squares start is shrunk, in mean squares of a feature times features per
# sample: with few samples it would fit the noise, with many it need not be shrunk.
SHRINKAGE, MOST_SHRINKAGE = 12.0, 10.0
# The relative residual of the systems, and the most steps of conjugate gradients.
ACCURACY, MOST_STEPS = 1e-2, 12
# What a direction is multiplied by, in units of one over the spread of its scores.
FACTORS = np.exp(np.linspace(-2.0, 3.5, 10))
# Where the boundary may lie among the scores.
QUANTILES = np.linspace(0.05, 0.95, 15)
# The most rows on which the factor and the boundary are searched for.
SEARCH_ROWS = 1000

Place = tuple[int, int]


@dataclass(frozen=True, eq=False)
class GridPoint:
    """A solved point: the C of its multipliers, the violations of all rows, and what it took."""

    result: SolverResult
    C: float
    violations: Array
    seconds: float

    def start(self, C: float) -> Any:
        """Return the solution as a start for another penalty."""
        result = self.result
        return result.coef, result.intercept, result.multipliers * (C / self.C)


@dataclass(eq=False)
class Grid:
    """The grid on one problem.

    Without a cap, and with a large one, C runs from the largest to the smallest, each point from
    the lowest of the solutions next to it. Where a cap is so large that no sample feels it, the
    solution for the next larger cap is the solution. Small caps do not follow on from there: what
    fits the wrong labels without a cap leads to a minimum that still does. They start from least
    squares, shrunk the more the fewer samples there are, whatever C is.

    Parameters
    ----------
    problem : Problem or MulticlassProblem
        The problem, stated for C = 1; its loss is replaced.
    Cs, caps : ndarray
        The grid; caps from the largest to the smallest.
    loss_at : callable
        The loss for a cap.
    solver : Newton
        Who solves; for several classes a search on a smooth loss comes near enough.
    """

    problem: AnyProblem
    Cs: Array
    caps: Array
    loss_at: Callable[[float], HybridTruncated]
    solver: Newton

    def __post_init__(self) -> None:
        self.order = np.argsort(-self.Cs, kind="stable")
        self.points: dict[Place, GridPoint] = {}
        self.passes = 0.0

    def solve(self) -> list[list[GridPoint]]:
        """Return all points, a list per cap, in the order of `Cs`."""
        back = np.argsort(self.order)
        return [[self._point(i, int(rank)) for rank in back] for i in range(len(self.caps))]

    def start_at(self, cap: float, C: float) -> Any:
        """Go the way that leads to one point of the grid; return it as a start.

        None where the way does not matter: a search for several classes without a cap.
        """
        if self.problem.n_scores > 1 and np.isinf(cap):
            return None
        i = int(np.flatnonzero(self.caps == cap)[0])
        rank = int(np.flatnonzero(self.Cs[self.order] == C)[0])
        return self._point(i, rank).start(C)

    # ------------------------------------------------------------------------------- one point

    def _point(self, i: int, rank: int) -> GridPoint:
        """Return a point; solve it, and those that it starts from, where that is still to do."""
        if (i, rank) not in self.points:
            self.points[i, rank] = self._solved(i, rank)
        return self.points[i, rank]

    def _solved(self, i: int, rank: int) -> GridPoint:
        known = [self._point(*place) for place in self._leading_to(i, rank)]
        began, before = time.perf_counter(), self.problem.operator.passes
        C = float(self.Cs[self.order[rank]])
        problem = replace(self.problem, loss=self.loss_at(float(self.caps[i]))).scaled(C)
        # The part of the loss that is the hinge loss ends here.
        bend: float = problem.loss.curved_interval[0]
        if known and known[0].C == C and np.all(known[0].violations <= bend):
            return replace(known[0], seconds=0.0)
        inside = self.coordinates
        start = inside.enter(self._start(problem, known))
        stated: Any = replace(inside.problem, loss=problem.loss).scaled(C)
        result = inside.leave(self._solver.solve(stated, start=start))
        violations = problem.violations_at(result.coef, result.intercept)
        self.passes += self.problem.operator.passes - before
        return GridPoint(result, C, violations, time.perf_counter() - began)

    @cached_property
    def _solver(self) -> Any:
        """Who solves: the solver, but a search for several classes."""
        problem: Any = self.coordinates.problem
        return self.solver if problem.n_scores == 1 else SmoothMulticlass(problem)

    @cached_property
    def coordinates(self) -> Coordinates:
        """Where all points are solved."""
        return in_coordinates(self.problem)

    def _leading_to(self, i: int, rank: int) -> list[Place]:
        """Return the places that a point may start from, that for the next larger cap first."""
        if self.caps[i] < NEARLY_CONVEX:
            return []
        near = [(i - 1, rank), (i, rank - 1)]
        return [place for place in near if min(place) >= 0]

    def _start(self, problem: AnyProblem, known: list[GridPoint]) -> Any:
        """Return the start of a point; None if nothing is known."""
        if known:
            values = [problem.objective(point.result.coef, point.violations) for point in known]
            return known[int(np.argmin(values))].start(problem.C)
        if problem.loss.cap >= NEARLY_CONVEX or self._direction is None:
            return None
        return self._direction.start(problem)

    @cached_property
    def _direction(self) -> Direction | None:
        m, n = self.problem.operator.shape
        strength = min(SHRINKAGE * n / max(m, 1), MOST_SHRINKAGE)
        return shrunk(self.problem, strength, np.random.default_rng(self.solver.random_state))


# ------------------------------------------------------------------------ strongly shrunk starts


@dataclass(frozen=True, eq=False)
class Direction:
    """Weights W of length one; the scores of some rows, less the `offset`, that of their mean."""

    W: Array
    rows: Array
    scores: Array
    offset: Array

    def start(self, problem: AnyProblem) -> Any:
        """Return the multiple of the direction, with the boundary, of the lowest objective."""
        share = problem.n_samples / len(self.rows)
        penalty = share * problem.penalty[self.rows]
        if problem.n_scores == 1:
            return self._among_boundaries(problem, penalty)
        return self._among_factors(problem, penalty)

    def _among_boundaries(self, problem: Any, penalty: Array) -> Any:
        y, f = problem.y[self.rows], self.scores[:, 0]
        places = np.quantile(f, QUANTILES) if problem.fit_intercept else -self.offset
        signed = y * (f - places[:, None])
        best = (np.inf, 0.0, 0.0)
        for t in FACTORS / (float(f.std()) or 1.0):
            values = 0.5 * t * t + problem.loss.value(1.0 - t * signed) @ penalty
            k = int(values.argmin())
            best = min(best, (float(values[k]), float(t), float(places[k])))
        _, t, place = best
        b = -t * (place + float(self.offset[0])) if problem.fit_intercept else 0.0
        return t * self.W[0], b, None

    def _among_factors(self, problem: Any, penalty: Array) -> Any:
        labels = problem.labels[self.rows]
        rows, best = np.arange(len(labels)), (np.inf, 0.0)
        F = self.scores if problem.fit_intercept else self.scores + self.offset
        for t in FACTORS / (float(F.std()) or 1.0):
            levels = t * F + 1.0
            levels[rows, labels] -= 1.0
            q = levels.max(axis=1) - levels[rows, labels]
            value = 0.5 * t * t + problem.loss.total(q, penalty)
            best = min(best, (float(value), float(t)))
        t = best[1]
        b = -t * self.offset if problem.fit_intercept else np.zeros(len(self.W))
        return t * self.W, b, None


def shrunk(problem: AnyProblem, strength: float, rng: np.random.Generator) -> Direction | None:
    """Return the direction of least squares with a penalty on its length; None if there is none.

    The `strength` is the penalty, in units of the mean square of a feature; `rng` drives the choice
    of rows that the start is sought on.
    """
    operator, weights = problem.operator, problem.penalty / problem.penalty.sum()
    # What least squares aims at, a column per class or one, less its mean.
    T = problem.targets()
    T -= weights @ T
    mean = operator.pull(weights[:, None])[0]
    m, n = operator.shape
    mean_square = operator.square_sum / max(m * n, 1)
    ridge = strength * mean_square
    target = operator.pull(weights[:, None] * T)

    def system(W: Array) -> Array:
        F = operator.scores(W, -(W @ mean))
        F *= weights[:, None]
        product: Array = operator.pull(F) - np.outer(F.sum(axis=0), mean) + ridge * W
        return product

    # A power of two as preconditioner: the unit of the system, without a rounding error.
    unit = math.ldexp(1.0, math.frexp(mean_square)[1])
    W, _ = conjugate_gradients(
        system, target, lambda V: V / unit, tolerance=ACCURACY, most_steps=MOST_STEPS
    )
    length = float(np.linalg.norm(W))
    if not (np.isfinite(length) and length > 0.0):
        return None
    W /= length
    rows = np.arange(m)
    if m > SEARCH_ROWS:
        rows = np.sort(rng.choice(m, size=SEARCH_ROWS, replace=False))
    offset = W @ mean
    return Direction(W, rows, operator.take(rows).scores(W, -offset), offset)
