"""The iterate of the ADMM and the residuals of its stopping rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from htsvm._typing import Array
from htsvm.losses import Loss
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
    joint: bool


class Measures:
    """The residuals of the printed stopping rule, with weights counted as repetitions."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.weight = problem.penalty / problem.C

    def pull(self, w: Array, psi: Array, working: Array) -> tuple[float, float]:
        """Return the first two printed residuals: ||Rw + N'psi|| and |y'psi|, scaled."""
        problem = self.problem
        weighted = self.weight * psi
        share = float(np.count_nonzero(psi)) / len(psi)
        pull, balance = problem.operator.signed_tdot(problem.y, weighted, share)
        gradient = problem.regularizer.dot(w) + pull
        stationarity = float(np.linalg.norm(gradient)) / (1.0 + float(np.linalg.norm(w)))
        size = float(self.weight @ working)
        return stationarity, (abs(balance) / (1.0 + size) if problem.fit_intercept else 0.0)

    def norm(self, vector: Array) -> float:
        """Return the Euclidean norm in which a sample of weight k counts k times."""
        return float(np.sqrt(self.weight @ np.square(vector)))

    def relative(self, vector: Array, reference: Array) -> float:
        """Return ||vector|| / (1 + ||reference||)."""
        return self.norm(vector) / (1.0 + self.norm(reference))

    def feasibility(self, state: State) -> float:
        """Return the third printed residual, ||q - 1 + Nw + by|| / sqrt(m)."""
        return self.norm(state.q - state.violations) / float(np.sqrt(self.weight.sum()))
