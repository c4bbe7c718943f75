"""Points of a grid for several classes, by searches on a smooth loss: no certificate, little work.

Hundreds of fits of a cross-validation are only compared with each other. At a large C without a
cap the exact solution is a hard margin that takes most of the time of the whole grid, and the
held-out samples do not tell it from a point near it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers.result import SolverResult
from htsvm.solvers.starts import MulticlassTerrain
from htsvm.solvers.starts.quasi_newton import minimise
from htsvm.solvers.starts.terrain import ROUNDING, Rounded

# Steps of one point at most, each of which gains at least this share. On 600 digits with and
# without wrong labels (five draws) 40 steps, and 1e-4, chose points 0.2 less accurate in the mean.
STEPS, GAIN = 80, 1e-5


class SmoothMulticlass:
    """Solves a problem of several classes for many C and caps.

    Parameters
    ----------
    problem : MulticlassProblem
        The rows; its C and its loss do not matter.
    """

    def __init__(self, problem: MulticlassProblem) -> None:
        self._any = MulticlassTerrain(problem)
        self._terrains: dict[float, MulticlassTerrain] = {}

    def solve(self, problem: MulticlassProblem, start: Any = None) -> SolverResult:
        """Return a point close to a minimum.

        Parameters
        ----------
        problem : MulticlassProblem
            The rows of this object with some C and loss.
        start : (W, b, multipliers), optional
            Where to begin; the multipliers are not used. By default at least squares, rescaled.
        """
        if problem.C not in self._terrains:
            self._terrains[problem.C] = self._any.at(problem)
        terrain = self._terrains[problem.C]
        terrain.problem = problem
        if start is None:
            start = terrain.parts(terrain.rescaled(terrain.least_squares(STEPS)))
        terrain.stage = Rounded(problem.loss, ROUNDING * min(problem.loss.cap, 1.0))
        z = np.append(np.ravel(start[0]), start[1])
        z, _, steps = minimise(terrain, z, STEPS, GAIN)
        coef, intercept = terrain.parts(z)
        pulls = np.negative(terrain.value_and_slopes(terrain.image(z))[1])
        return SolverResult(
            coef=coef,
            intercept=intercept,
            multipliers=problem.multipliers_of(problem, pulls),
            objective=problem.objective_at(coef, intercept),
            n_iter=steps,
            start="warm",
        )
