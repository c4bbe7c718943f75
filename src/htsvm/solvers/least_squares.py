"""The solver for the least squares loss: one linear system on the smaller side of the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.threads import single_threaded_blas
from htsvm.losses import LeastSquares
from htsvm.optimality import residuals
from htsvm.problems.binary import Problem, Start
from htsvm.problems.coordinates import in_coordinates
from htsvm.solvers.admm.system import RidgeSystem
from htsvm.solvers.api import Solver
from htsvm.solvers.result import Callback, History, SolverResult

# A correction is worth its passes only where it shrinks the residual by this factor.
WORTHWHILE = 0.5
# What a factorised system reaches without a correction, if it is not ill-conditioned.
EXACT = 1e-9


@dataclass(frozen=True)
class LinearSystem(Solver):
    """Least squares by a Cholesky factorisation, or by conjugate gradients where that is too large.

    The system is n x n, or m x m where the samples are fewer than the features; conjugate
    gradients take over where both sides are large. The solution is then corrected with the same
    factorisation until its residual is that of rounding: features that are far from zero on
    average cost the normal equations digits, and this brings them back.

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
        return _Run(self, problem).solve(start)


class _Run:
    """One call of `LinearSystem.solve`."""

    def __init__(self, options: LinearSystem, problem: Problem) -> None:
        self.options, self.problem = options, problem
        self.rows = np.flatnonzero(problem.penalty > 0.0)
        some = len(self.rows) < problem.n_samples
        self.part = problem.take(self.rows) if some else problem
        self.system = RidgeSystem(self.part)
        self.passes_before = self.part.operator.passes
        self.history = History(options.callback)

    def solve(self, start: Start | None) -> SolverResult:
        part = self.part
        if start is None:
            w, b, q = np.zeros(part.n_features), 0.0, np.ones(part.n_samples)
        else:
            w, b = np.array(start[0], dtype=np.float64), float(start[1])
            q = part.violations(w, b)
        best = (w, b, q, np.inf)
        goal = EXACT if self.system.factorised else self.options.tol
        for _ in range(self.options.max_iter):
            w, b = self._corrected(*best[:3])
            q = part.violations(w, b)
            residual = self._residual(w, q)
            worthwhile = residual <= WORTHWHILE * best[3]
            if residual < best[3]:
                best = (w, b, q, residual)
            self._record(best)
            if residual <= goal or not worthwhile:
                break
        return self._result(*best)

    def _corrected(self, w: Array, b: float, q: Array) -> tuple[Array, float]:
        """Return the minimiser, found as a correction of (w, b) with violations q."""
        part = self.part
        offset = part.regularizer.dot(w) if np.any(w) else None
        zero = (np.zeros_like(w), 0.0)
        with_intercept = part.fit_intercept
        dw, db = self.system.solve(None, 2.0 * part.C, q, with_intercept, zero, offset)
        return w + dw, b + db if with_intercept else 0.0

    def _residual(self, w: Array, q: Array) -> float:
        """Return the larger of the first two residuals of the certificate."""
        part = self.part
        slopes = 2.0 * part.penalty * q
        pull, total = part.operator.signed_tdot(part.y, slopes)
        own = part.regularizer.dot(w)
        gross = float(np.abs(slopes).sum())
        return max(
            residuals.of_gradient(own, pull, gross * part.operator.row_length, part.regularizer),
            residuals.balance(total, gross) if part.fit_intercept else 0.0,
        )

    def _record(self, best: tuple[Array, float, Array, float]) -> None:
        w, _, q, residual = best
        self.history.add(
            objective=self.part.objective(w, q), residual=residual, passes=self._passes()
        )

    def _passes(self) -> float:
        return self.part.operator.passes - self.passes_before

    def _result(self, w: Array, b: float, q: Array, residual: float) -> SolverResult:
        multipliers = np.zeros(self.problem.n_samples)
        multipliers[self.rows] = -2.0 * self.part.penalty * q
        return SolverResult(
            coef=w,
            intercept=b,
            multipliers=multipliers,
            objective=self.part.objective(w, q),
            converged=residual <= self.options.tol,
            residual=residual,
            n_iter=len(self.history),
            passes=self._passes(),
            history=self.history.columns,
            seconds={"system": self.history.seconds, "total": self.history.seconds},
        )
