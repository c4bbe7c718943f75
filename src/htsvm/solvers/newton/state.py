"""What a round of the default solver starts from, reports, and leaves behind."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.losses import Loss
from htsvm.optimality.residuals import complementarity, violation
from htsvm.problems.binary import Problem

# The end of a round in one call; None where nothing was compiled.
compiled = kernels.optional("solvers.newton._closing")
# Recompute violations that were only updated after this many steps.
REFRESH = 25


@dataclass
class Iterate:
    """The variables of a fit over all samples.

    Attributes
    ----------
    w, b : ndarray, float
        The classifier.
    q : ndarray
        Violations at (w, b).
    alpha : ndarray
        Multipliers, the paper's -psi.
    weights : ndarray
        The weights c of the current hinge majoriser.
    """

    w: Array
    b: float
    q: Array
    alpha: Array
    weights: Array


@dataclass
class RoundReport:
    """What a round did.

    Attributes
    ----------
    steps, sweeps : int
        Newton steps, or sweeps of coordinate descent.
    stationarity, balance : float
        The first two residuals of the paper's stopping rule.
    finished : bool
        Whether the inner problem was solved to the tolerance.
    penalised : bool
        Whether the round depends on the penalty xi.
    rows, violated : int
        Rows looked at, and those of them that are violated; -1 if all rows were.
    stale : bool
        Whether the violations of all rows have to be computed anew.
    active, support : int
        Multipliers strictly inside their bounds, and above zero.
    """

    steps: int = 0
    sweeps: int = 0
    stationarity: float = math.inf
    balance: float = math.inf
    finished: bool = False
    penalised: bool = True
    rows: int = 0
    violated: int = -1
    stale: bool = False
    active: int = 0
    support: int = 0


@dataclass
class Closing:
    """What is known at the end of a round, after the samples were weighed anew.

    Attributes
    ----------
    violated : int
        Violated samples among those that had weight in the round.
    square_errors, square_size : float
        What `residuals.violation` takes, for the weights in force.
    loss : float
        The total of the loss itself, whatever loss the samples were weighed for.
    lag : float
        The slack for the weights of the round: how far the multipliers lag behind.
    """

    violated: int
    square_errors: float
    square_size: float
    loss: float
    lag: float

    def residual(self, curved: bool, unit: float) -> float:
        """Return the residual of the multipliers, with `unit` as the unit of the objective.

        The errors are those for the new weights, the slack that for the weights of the round, of
        which the multipliers are slopes: where the loss bends, new weights are always a little off.
        In the curved part of a loss the prox doubles an error of the multiplier.
        """
        errors = (2.0 if curved else 1.0) * violation(self.square_errors, self.square_size)
        return max(errors, complementarity(self.lag, unit))


def close_round(
    problem: Problem, it: Iterate, stage: Loss | None, nu: float, refresh: bool
) -> Closing:
    """Weigh the samples for the loss `stage` (None: as they are) and look at the result.

    With `refresh`, compute the violations anew first.
    """
    own = problem.loss.slope_line
    top = float(problem.loss.profile_slope(0.0))
    line = (top, top, 0.0) if stage is None else stage.slope_line
    compilable = compiled is not None and problem.operator.compiled_rows is not None
    if compilable and own is not None and line is not None:
        problem.operator.count(float(refresh))
        closing = Closing(
            *compiled.close_round(
                problem.operator.compiled_rows, problem.y, it.w, it.b, refresh,
                it.q, it.alpha, it.weights, problem.penalty, line, own, nu,
            )
        )  # fmt: skip
        if problem.loss.tilt != 0.0:
            closing.loss -= problem.loss.tilt * float(np.dot(problem.penalty, it.q))
        return closing
    if refresh:
        problem.violations(it.w, it.b, out=it.q)
    count, penalty = violated(it.q, it.weights), problem.penalty
    _, _, lag = kernels.active.natural_residual(it.q, it.alpha, it.weights, penalty, nu)
    if stage is not None:
        stage.slopes(it.q, penalty, it.weights)
    errors, size, _ = kernels.active.natural_residual(it.q, it.alpha, it.weights, penalty, nu)
    return Closing(count, errors, size, problem.loss.total(it.q, penalty), lag)


@dataclass
class Updates:
    """How often the violations of all rows were updated since they were computed."""

    steps: int = 0

    def lost_digits(self, steps: int) -> bool:
        """Add `steps`; return whether it is time to compute them anew: updates lose digits."""
        self.steps += steps
        if self.steps < REFRESH:
            return False
        self.steps = 0
        return True


def violated(q: Array, c: Array) -> int:
    """Return how many samples with a weight c are violated."""
    return int(np.count_nonzero((q > 0.0) & (c > 0.0)))
