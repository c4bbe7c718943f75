"""The multi-class solver: majorise by a weighted Crammer-Singer problem, solve that, repeat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from htsvm.linalg.threads import single_threaded_blas
from htsvm.problems.coordinates import in_coordinates
from htsvm.problems.multiclass import MulticlassProblem, MulticlassStart
from htsvm.solvers.api import Solver
from htsvm.solvers.history import Callback
from htsvm.solvers.multiclass.run import MulticlassRun
from htsvm.solvers.restarts import lowest, never_worse_than_constant
from htsvm.solvers.result import SolverResult
from htsvm.solvers.starts import first_descent


@dataclass(frozen=True)
class MulticlassNewton(Solver):
    """Majorisation with a semismooth Newton method for the multi-class problem.

    The loss ``g(h_i)`` with concave g lies below ``g(h) + g'(h) (h_i - h)``. Minimising that bound
    is the convex problem of Crammer and Singer with a weight ``C g'(h_i)`` per sample. Each round
    takes a few Newton steps on it, or on large data a few sweeps of coordinate descent in its dual,
    before it updates multipliers and weights. As in the binary solver the truncation comes step by
    step: the convex problem first, then the loss stretched to 8, 4, ... times its cap, then the
    loss itself. Where the convex problem finds nothing better than equal scores for all classes,
    a least squares fit takes its place.

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
        Drives the order of sweeps and the restarts.
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
        result: SolverResult = in_coordinates(problem).solved(self._solve, start)
        return result

    def _solve(self, problem: MulticlassProblem, start: MulticlassStart | None) -> SolverResult:
        """Return a stationary point of a problem in coordinates that suit a search."""
        rng = np.random.default_rng(self.random_state)
        with single_threaded_blas():
            best = lowest(
                first_descent(
                    problem,
                    self,
                    start,
                    lambda s, **how: MulticlassRun(problem, self, rng).run(s, **how),
                ),
                lambda: MulticlassRun(problem, self, rng).run_from_random_weights(),
                self.n_restarts,
            )
            return never_worse_than_constant(
                problem,
                best,
                lambda W, b: MulticlassRun(problem, self, rng).run((W, b, best.multipliers)),
            )
