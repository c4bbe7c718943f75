"""Several runs from different starts, of which the lowest wins; and the constant classifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.solvers.result import SolverResult

# A result that is above the constant classifier by no more than this share is left as it is.
CLOSE = 1e-6


def lowest(first: SolverResult, again: Callable[[], SolverResult], n_restarts: int) -> SolverResult:
    """Return the result with the lowest objective, the first or one of some restarts.

    Parameters
    ----------
    first : SolverResult
        What was found from the usual start.
    again : callable
        Runs once more, from a random start.
    n_restarts : int
        How often.
    """
    best = first
    for number in range(1, n_restarts + 1):
        rival = again()
        if rival.objective < best.objective:
            rival.convex_objective = best.convex_objective
            rival.start, rival.starts = f"restart {number}", best.starts
            best = rival
    return best


def never_worse_than_constant(
    problem: Any, result: SolverResult, descend: Callable[[Array, Any], SolverResult]
) -> SolverResult:
    """Return the best constant classifier, or what lies below it, if `result` lies above.

    With a bounded loss the constant classifier is often stationary: the samples that it gets wrong
    (violation 2, or 1 without an intercept) are ignored. Where they still pull, there is a way
    down from it.

    Parameters
    ----------
    problem : Problem or MulticlassProblem
        What was minimised.
    result : SolverResult
        What was found.
    descend : callable
        Runs from weights and intercept.
    """
    objective, b = problem.trivial()
    if result.objective < objective * (1.0 - 1e-9):
        return result
    violation = 2.0 if np.any(b) else 1.0
    if float(problem.loss.profile_slope(violation)) > 0.0:
        below = descend(np.zeros_like(result.coef), b)
        below.convex_objective = result.convex_objective
        below.start, below.starts = "constant", result.starts
        best = min(result, below, key=lambda one: one.objective)
        if best.objective <= objective * (1.0 + CLOSE):
            return best
        # Neither came down to it: rounding or a lack of rounds. What pulls stays as it was found,
        # for the certificate to look at.
        return replace(constant(best, b, objective), multipliers=best.multipliers)
    return constant(result, b, objective)


def constant(result: SolverResult, b: Any, objective: float) -> SolverResult:
    """Return the constant classifier b in the place of `result`."""
    return replace(
        result,
        coef=np.zeros_like(result.coef),
        intercept=b,
        multipliers=0.0 * result.multipliers,
        objective=objective,
        constant=True,
        start="constant",
    )
