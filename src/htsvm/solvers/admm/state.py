"""The iterate of the ADMM and the residuals of its stopping rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from htsvm._typing import Array
from htsvm.losses import Loss
from htsvm.optimality import residuals
from htsvm.problems.binary import Problem


@dataclass
class State:
    """The iterate, and what the next iteration will take from it.

    `psi` holds multipliers per unit of weight.
    """

    w: Array
    b: float
    psi: Array
    violations: Array
    xi: float
    q: Array
    next_q: Array
    working: Array
    reach: float = np.inf


@dataclass
class Splitting:
    """The loss and penalties whose prox is in force, and how w and b are updated."""

    loss: Loss
    penalty: Array | float
    guarded: bool
    with_intercept: bool


class Measures:
    """The four residuals of the stopping rule, with weights counted as repetitions.

    They are those of the paper. What they are divided by is as printed only for the printed
    algorithm; with any safeguard it is what all solvers use, see `htsvm.optimality.residuals`.
    """

    def __init__(self, problem: Problem, printed: bool) -> None:
        self.problem, self.printed = problem, printed
        self.weight = problem.penalty / problem.C

    def pull(self, w: Array, psi: Array, working: Array) -> tuple[float, float]:
        """Return the first two residuals: those of ||Rw + N'psi|| and |y'psi|."""
        problem = self.problem
        weighted = self.weight * psi
        share = float(np.count_nonzero(psi)) / len(psi)
        pull, balance = problem.operator.signed_tdot(problem.y, weighted, share)
        if not problem.fit_intercept:
            balance = 0.0
        own = problem.regularizer.dot(w)
        if self.printed:
            size, length = float(self.weight @ working), float(np.linalg.norm(w))
            off = float(np.linalg.norm(own + pull))
            return off / (1.0 + length), abs(balance) / (1.0 + size)
        gross = float(np.abs(weighted).sum())
        return (
            residuals.of_gradient(own, -pull, gross * problem.operator.row_length),
            residuals.balance(balance, gross),
        )

    def complementarity(self, w: Array, q: Array, psi: Array) -> float:
        """Return what the multipliers miss of the loss, relative to the objective.

        The paper's rule has nothing of the kind; without it a large penalty passes far from a
        solution. Where the loss bends, its slope is as good as the multiplier.
        """
        problem = self.problem
        loss, penalty = problem.loss, problem.penalty
        if self.printed or "profile" not in loss.abilities:
            return 0.0
        straight = q <= loss.curved_interval[0]
        slopes = np.empty(len(q))
        loss.slopes(q, penalty, slopes)
        alpha = loss.tilt * penalty - self.weight * psi
        missing = np.abs(np.where(q > 0.0, slopes, 0.0) - alpha)
        slack = float(missing[straight] @ np.abs(q[straight]))
        return residuals.complementarity(slack, problem.objective(w, q))

    def norm(self, vector: Array) -> float:
        """Return the Euclidean norm in which a sample of weight k counts k times."""
        return float(np.sqrt(self.weight @ np.square(vector)))

    def relative(self, vector: Array, reference: Array) -> float:
        """Return the length of a change of the violations, relative to theirs."""
        if self.printed:
            return self.norm(vector) / (1.0 + self.norm(reference))
        size = float(self.weight @ (1.0 + np.square(reference)))
        return residuals.violation(self.norm(vector) ** 2, size)

    def feasibility(self, state: State) -> float:
        """Return the third printed residual, ||q - 1 + Nw + by|| / sqrt(m)."""
        return self.norm(state.q - state.violations) / float(np.sqrt(self.weight.sum()))
