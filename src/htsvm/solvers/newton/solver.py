"""The default solver: majorise by a weighted hinge, solve that by Newton's method, repeat."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from htsvm.linalg.threads import single_threaded_blas
from htsvm.problems.binary import Problem, Start
from htsvm.problems.coordinates import in_coordinates
from htsvm.solvers.api import Solver
from htsvm.solvers.multiclass.solver import MulticlassNewton
from htsvm.solvers.newton import convex, wide
from htsvm.solvers.newton.run import Run
from htsvm.solvers.restarts import lowest, never_worse_than_constant
from htsvm.solvers.result import Callback, Clock, SolverResult
from htsvm.solvers.starts import first_descent


@dataclass(frozen=True)
class Newton(Solver):
    """Majorisation with a semismooth Newton method on the augmented Lagrangian.

    A loss ``g(max(s, 0))`` with concave g, less a linear part if it has a tilt, lies below the
    hinge loss with weights ``C g'(h_i)``, tilted alike, that touches it at the current violations
    h_i. Each round takes a few Newton steps on that weighted
    hinge problem, updates the multipliers, and weighs anew; samples beyond the cap get weight zero
    and leave. The truncation is not switched on at once: the convex problem (no cap) comes first,
    then the loss stretched to 8, 4, ... times its cap, one round each, then the loss itself until
    it is stationary. That path leads to lower objectives than truncating at once, for the price of
    a few cheap rounds. Where there are many rows, a sample of them goes the first part of the way.

    Parameters
    ----------
    tol : float, default=1e-3
        Stop when the largest residual is below this, and a round lowers the objective by a share
        of less than ``0.3 * tol``.
    max_iter : int, default=200
        The largest number of rounds.
    n_restarts : int, default=0
        Further runs from convex starts with random sample weights; the best objective wins.
    random_state : int or numpy.random.Generator, default=0
        Drives the choice of sampled rows and the restarts.
    callback : callable, optional
        Called after each round with its row of the history.
    starts : "auto" or tuple of str, default="auto"
        The names of the starts that are compared where the loss is truncated and there is no warm
        start; see `htsvm.solvers.starts`. ``("convex",)`` takes the solver's own way alone.
    compare_warm : bool or "search", default=False
        Whether a warm start is compared with these starts too: it may lead into a poor minimum.
        With "search" only where a quick search says that they lead lower.
    """

    requires: ClassVar[tuple[str, ...]] = ("profile",)
    several_classes: ClassVar[bool] = True
    on_dask: ClassVar[bool] = True

    tol: float = 1e-3
    max_iter: int = 200
    n_restarts: int = 0
    random_state: int | np.random.Generator = 0
    callback: Callback | None = None
    starts: str | tuple[str, ...] = "auto"
    compare_warm: bool | str = False

    def for_several_classes(self) -> MulticlassNewton:
        """Return the solver of the multi-class problem with the same options."""
        return MulticlassNewton(**{name: getattr(self, name) for name in self.option_names()})

    def solve(self, problem: Problem, *, start: Start | None = None) -> SolverResult:
        """Return a stationary point of `problem`.

        Parameters
        ----------
        problem : Problem
            What to minimise.
        start : (w, b, psi), optional
            A warm start; the convex start is then left out. Without psi (None) the multipliers
            are guessed from the violations.
        """
        self.check_loss(problem.loss)
        if problem.solved_by is not None:
            elsewhere: SolverResult = problem.solved_by(self, start)
            return elsewhere
        result: SolverResult = in_coordinates(problem).solved(self._solve, start)
        return result

    def _solve(self, problem: Problem, start: Start | None) -> SolverResult:
        """Return a stationary point of a problem in coordinates that suit a search."""
        from htsvm.solvers import search

        if problem.rows is None and not problem.operator.representers:
            with single_threaded_blas(problem.operator):
                return search.solve(problem, self, start)
        problem = problem.tilted()
        rng = np.random.default_rng(self.random_state)
        kind, clock = _kind_of_run(problem), Clock()

        def descend(start: Start | None, restart: bool = False, **how: Any) -> SolverResult:
            run = kind(problem, self, rng, **how)
            return clock.descent(lambda: run.run(start, restart))

        with single_threaded_blas(problem.operator):
            best = lowest(
                first_descent(problem, self, start, descend),
                lambda: descend(None, restart=True),
                self.n_restarts,
            )
            best = never_worse_than_constant(problem, best, lambda w, b: descend((w, b, None)))
        return replace(best, seconds=clock.seconds())


def _kind_of_run(problem: Problem) -> type[Run]:
    """Return how to go down."""
    if convex.suits(problem):
        return convex.ConvexRun
    return wide.WideRun if wide.suits(problem) else Run
