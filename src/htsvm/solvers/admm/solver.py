"""The paper's ADMM with a working set (Algorithm 1), as printed or with named safeguards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from htsvm.problems.binary import Problem, Start
from htsvm.solvers.admm.run import DEFAULT_SAFEGUARDS, ADMMRun, check_safeguards
from htsvm.solvers.api import Solver
from htsvm.solvers.result import SolverResult


@dataclass(frozen=True)
class ADMM(Solver):
    r"""Alternating directions for q + Nw + by = 1, with N = diag(y) X.

    With ``safeguards=()`` this is Algorithm 1 of the paper to the letter: start w = 1/100, b = 0,
    psi = 0; then in turn the working set F, q by the prox, w over F, b as a mean over all
    samples, psi over F and zero elsewhere; stop when the four printed residuals are below `tol`.
    On real data that rarely converges, and then mostly to a constant classifier. The default
    safeguards keep the splitting and the stopping rule and repair the rest; each is described in
    `htsvm.solvers.admm.run.SAFEGUARDS` and can be left out.

    Parameters
    ----------
    penalty : float, default=1.0
        The paper's xi = 1/nu; with the safeguard "bounded-penalty" only the initial one.
    dual_step : float, default=1.0
        The paper's tau, in (0, (1 + sqrt(5)) / 2).
    tol : float, default=1e-3
        The bound of the stopping rule.
    max_iter : int, default=1000
        The most iterations, all phases together.
    safeguards : tuple of str
        Names from `SAFEGUARDS`.
    callback : callable, optional
        Called after each iteration with its row of the history, a dict.

    Notes
    -----
    Works with any loss that has a prox. A sample of weight k (its penalty is k C) counts exactly
    like k samples: it has its own xi, k times the common one, so that C / xi is the same for all.
    Samples of weight zero are left out.
    """

    penalty: float = 1.0
    dual_step: float = 1.0
    tol: float = 1e-3
    max_iter: int = 1000
    safeguards: tuple[str, ...] = DEFAULT_SAFEGUARDS
    callback: Callable[[dict[str, Any]], object] | None = None

    requires: ClassVar[tuple[str, ...]] = ("prox",)
    refines: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_safeguards(self.safeguards)
        if not 0.0 < self.penalty < np.inf:
            raise ValueError(f"penalty must be positive and finite, got {self.penalty!r}.")
        if not 0.0 < self.dual_step < (1.0 + np.sqrt(5.0)) / 2.0:
            raise ValueError(
                f"dual_step must lie strictly between 0 and 1.618, got {self.dual_step!r}."
            )

    def solve(self, problem: Problem, *, start: Start | None = None) -> SolverResult:
        """Solve `problem`.

        Parameters
        ----------
        problem : Problem
            What to solve.
        start : tuple of (w, b, psi), optional
            Where to start instead of the safeguards' or the printed start; psi may be None.

        Returns
        -------
        SolverResult
            If it did not converge, `converged` is False and `notes` says what to try.
        """
        self.check_loss(problem.loss)
        rows = np.flatnonzero(problem.penalty > 0.0)
        if len(rows) == problem.n_samples:
            return ADMMRun(self, problem).solve(start)
        part = problem.take(rows)
        if start is not None and start[2] is not None:
            start = (start[0], start[1], start[2][rows])
        result = ADMMRun(self, part).solve(start)
        multipliers = np.zeros(problem.n_samples)
        multipliers[rows] = result.multipliers
        result.multipliers = multipliers
        return result
