"""The solver for the least squares loss: a linear system, and corrections of its solution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.threads import single_threaded_blas
from htsvm.losses import LeastSquares
from htsvm.optimality import residuals
from htsvm.problems.binary import Problem, Start
from htsvm.problems.coordinates import in_coordinates
from htsvm.solvers.api import Solver
from htsvm.solvers.result import Callback, History, SolverResult
from htsvm.solvers.system import RidgeSystem

# A correction is worth its passes only where it shrinks the residual by this factor.
WORTHWHILE = 0.5
# What a factorised system reaches without a correction, if it is not ill-conditioned.
EXACT = 1e-9


@dataclass(frozen=True)
class LinearSystem(Solver):
    """Least squares by a Cholesky factorisation, or by conjugate gradients for many columns.

    The solution is corrected with the same factorisation until its residual is that of rounding.

    Parameters
    ----------
    tol : float, default=1e-3
        The residual to reach; factorised systems go on to that of rounding.
    max_iter : int, default=1000
        The largest number of solves and corrections.
    callback : callable, optional
        Called after each of them with its row of the history.
    """

    tol: float = 1e-3
    max_iter: int = 1000
    callback: Callback | None = None

    def solve(self, problem: Problem, *, start: Start | None = None) -> SolverResult:
        """Return the minimiser of `problem`, whose loss must be `LeastSquares`.

        Only conjugate gradients gain from a `start` (w, b, psi).
        """
        if not isinstance(problem.loss, LeastSquares):
            raise TypeError(
                f"LinearSystem solves problems with LeastSquares, not {problem.loss!r}."
            )
        with single_threaded_blas(problem.operator):
            result: SolverResult = in_coordinates(problem).solved(self._solve, start)
        return result

    def _solve(self, problem: Problem, start: Start | None) -> SolverResult:
        """Return the minimiser of a problem in coordinates that suit its system."""
        system, history = RidgeSystem(problem), History(self.callback)
        before, free, penalty = problem.operator.passes, problem.fit_intercept, problem.penalty
        z = np.zeros(problem.n_features + 1)
        if start is not None:
            z = np.append(start[0], start[1])
        q = problem.violations(z[:-1].copy(), float(z[-1]))
        best, goal = (z, q, np.inf), EXACT if system.formed else self.tol
        for _ in range(self.max_iter):
            # The minimiser, as a correction of the best point.
            z, q, last = best
            own = problem.regularizer.dot(z[:-1])
            z = z + system.solve(2.0 * penalty, q, with_intercept=free, offset=own)
            q = problem.violations(z[:-1].copy(), float(z[-1]))
            residual = _residual(problem, z[:-1], q)
            best = (z, q, residual) if residual < last else best
            history.add(
                objective=problem.objective(best[0][:-1], best[1]), residual=best[2],
                passes=problem.operator.passes - before,
            )  # fmt: skip
            if residual <= goal or not residual <= WORTHWHILE * last:
                break
        z, q, residual = best
        return SolverResult(
            coef=z[:-1].copy(),
            intercept=float(z[-1]),
            multipliers=-2.0 * penalty * q,
            objective=problem.objective(z[:-1], q),
            converged=residual <= self.tol,
            residual=residual,
            n_iter=len(history),
            passes=problem.operator.passes - before,
            history=history.columns,
            seconds={"system": history.seconds, "total": history.seconds},
        )


def _residual(problem: Problem, w: Array, q: Array) -> float:
    """Return the larger of the first two residuals of the certificate."""
    slopes = 2.0 * problem.penalty * q
    pull, total = problem.operator.signed_tdot(problem.y, slopes)
    own, gross = problem.regularizer.dot(w), float(np.abs(slopes).sum())
    length = gross * problem.operator.row_length
    return max(
        residuals.of_gradient(own, pull, length, problem.regularizer),
        residuals.balance(total, gross) if problem.fit_intercept else 0.0,
    )
