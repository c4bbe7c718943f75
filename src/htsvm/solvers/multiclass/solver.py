"""The multi-class solver: majorise by a weighted Crammer-Singer problem, solve that, repeat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from htsvm.linalg.threads import single_threaded_blas
from htsvm.problems.coordinates import in_coordinates
from htsvm.problems.multiclass import MulticlassProblem, MulticlassStart
from htsvm.solvers.api import Solver
from htsvm.solvers.multiclass.search import solve
from htsvm.solvers.result import Callback, SolverResult


@dataclass(frozen=True)
class MulticlassNewton(Solver):
    """Majorisation with a semismooth Newton method for the multi-class problem.

    The loss ``g(h_i)`` with concave g lies below ``g(h) + g'(h) (h_i - h)``. Minimising that bound
    is the convex problem of Crammer and Singer with a weight ``C g'(h_i)`` per sample. Each round
    takes a few Newton steps on it, or where C is small a few sweeps of coordinate descent in its
    dual, before it updates multipliers and weights. A search on smooth stand-ins finds where to
    begin; see `search.py`.

    The options are those of `Newton`; `random_state` drives the order of sweeps and the restarts.
    """

    requires: ClassVar[tuple[str, ...]] = ("profile",)
    on_dask: ClassVar[bool] = True

    tol: float = 1e-3
    max_iter: int = 200
    n_restarts: int = 0
    random_state: int | np.random.Generator = 0
    callback: Callback | None = None
    starts: str | tuple[str, ...] = "auto"
    compare_warm: bool | str = False

    def solve(
        self, problem: MulticlassProblem, *, start: MulticlassStart | None = None
    ) -> SolverResult:
        """Return a stationary point of `problem`.

        The multipliers of the result are the pulls B, of shape (n_samples, n_classes), with
        ``R W' = X' B`` at a stationary point.

        Parameters
        ----------
        problem : MulticlassProblem
            What to minimise.
        start : (W, b, B), optional
            A warm start; the convex start is then left out. B may be None.
        """
        self.check_loss(problem.loss)
        if problem.solved_by is not None:
            elsewhere: SolverResult = problem.solved_by(self, start)
            return elsewhere
        result: SolverResult = in_coordinates(problem).solved(self._solve, start)
        return result

    def _solve(self, problem: MulticlassProblem, start: MulticlassStart | None) -> SolverResult:
        """Return a stationary point of a problem in coordinates that suit a search."""
        with single_threaded_blas():
            return solve(problem, self, start)
