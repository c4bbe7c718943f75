"""Classes that can be separated at a large C: the margin is hard, and a smaller C has it as well.

Where no multiplier is at its bound, the solution of the convex problem is that of all larger C. At
a C that is a million times too large a violation of 1e-6 costs as much as the whole classifier, and
neither smoothed losses nor residuals say anything about it; at one that just decides it they do.
"""

from __future__ import annotations

import math
from dataclasses import replace

from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers.result import SolverResult

# The largest violation that a slightly larger W may mend.
KEPT = 0.01


def with_share_of_C(problem: MulticlassProblem, share: float) -> MulticlassProblem:
    """Return the convex problem with a share of C."""
    without = problem.loss.stretched(math.inf) or problem.loss
    return replace(problem, penalty=share * problem.penalty, C=share * problem.C, loss=without)


def keeping_margins(result: SolverResult, violation: float) -> SolverResult | None:
    """Return a result times the least number with which it keeps all margins; None if too large.

    Parameters
    ----------
    result : SolverResult
        The solution of a convex problem.
    violation : float
        The largest violation there.
    """
    if not (result.converged and violation < KEPT):
        return None
    larger = 1.0 / (1.0 - violation)
    return replace(
        result,
        coef=larger * result.coef,
        intercept=larger * result.intercept,
        multipliers=larger * result.multipliers,
    )
