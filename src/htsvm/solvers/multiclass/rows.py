"""What a multi-class descent keeps per row, and all that it asks of the rows.

`solver.py` decides what happens next and never looks at a single row; it talks to an object with
the methods of `MulticlassRows`. A problem whose rows are elsewhere brings its own
(`MulticlassProblem.rows`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import multiclass_kernels
from htsvm.losses import Loss
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers.multiclass.least_squares import (
    every_row,
    losses_at_scales,
    solve_least_squares,
    target_sums,
)
from htsvm.solvers.multiclass.round import (
    MulticlassIterate,
    MulticlassReport,
    MulticlassRounds,
    MultiplierSums,
    RoundOptions,
    go_to,
    multiplier_sums,
)
from htsvm.solvers.multiclass.sweeps import (
    MulticlassSweeps,
    prefers_sweeps,
    square_sum,
)

# A weighted problem may end above where it began by this share.
ROUGHLY = 1e-3


@dataclass(frozen=True)
class MulticlassClosing:
    """How a round left things.

    Attributes
    ----------
    before, after : MultiplierSums
        How far the multipliers are off for the weights of the round, and for the new ones.
    loss : float
        The total of the loss itself.
    """

    before: MultiplierSums
    after: MultiplierSums
    loss: float


class MulticlassState:
    """Rows with their levels, violations, multipliers and weights."""

    problem: MulticlassProblem
    it: MulticlassIterate
    # The objective of the weighted problem where its weights were taken.
    touched: float = math.inf

    def start_at_zero(self) -> None:
        """Start from W = 0, b = 0 and no multipliers."""
        m, k = self.problem.n_samples, self.problem.n_classes
        U = np.ones((m, k))
        U[np.arange(m), self.problem.labels] = 0.0
        zero = np.zeros((k, self.problem.n_features))
        self.it = MulticlassIterate(zero, np.zeros(k), U, np.ones(m), np.zeros((m, k)), np.zeros(m))

    def start_at(self, W: Array, b: Array) -> None:
        """Start from (W, b), without multipliers."""
        self.start_at_zero()
        go_to(self.it, self.problem, W, b)

    def set_multipliers(self, B: Array | None) -> None:
        """Take the multipliers from pulls B, or guess that they sit at the highest levels."""
        it, labels = self.it, self.problem.labels
        rows = np.arange(len(it.q))
        if B is None:
            guess, counts = np.empty_like(it.alpha), np.empty(len(it.q), dtype=np.intc)
            multiclass_kernels.active.simplex_step(
                it.alpha, it.U, it.U, 0.0, self.problem.penalty, it.weights, guess, counts
            )
            it.alpha = guess
            return
        np.negative(B, out=it.alpha)
        it.alpha[rows, labels] = 0.0
        np.maximum(it.alpha, 0.0, out=it.alpha)
        used = it.alpha.sum(axis=1)
        too_much = used > it.weights
        factor = np.ones(len(used))
        np.divide(it.weights, used, out=factor, where=too_much)
        it.alpha *= factor[:, None]
        it.alpha[rows, labels] = np.maximum(it.weights - np.minimum(used, it.weights), 0.0)

    def weigh(self, loss: Loss) -> None:
        """Set the weights of the majoriser that touches `loss` at the current violations."""
        self.it.weights = np.empty(len(self.it.q))
        loss.slopes(self.it.q, self.problem.penalty, self.it.weights)
        self.touched = self.problem.energy(self.it.W) + self.it.majorised_loss()

    def weigh_convex(self) -> None:
        """Set the weights of the convex start, and give all of them to the own classes."""
        it, problem = self.it, self.problem
        it.weights = float(problem.loss.profile_slope(0.0)) * problem.penalty
        it.alpha[np.arange(len(it.q)), problem.labels] = it.weights

    def largest_violation(self) -> float:
        """Return the largest violation of a sample that counts, at least zero."""
        return float(self.it.q.max(initial=0.0, where=self.problem.penalty > 0.0))

    def loss_total(self) -> float:
        """Return the total of the loss."""
        return self.problem.loss.total(self.it.q, self.problem.penalty)

    def hinge_total(self) -> float:
        """Return the total of the hinge loss."""
        return float(self.problem.penalty @ np.maximum(self.it.q, 0.0))


class MulticlassRows(MulticlassState):
    """The rows of a multi-class problem in this process."""

    def __init__(self, problem: MulticlassProblem, rng: np.random.Generator) -> None:
        self.problem, self.rng = problem, rng
        self.total = float(problem.penalty.sum())
        self.rounds: MulticlassRounds | MulticlassSweeps = (
            MulticlassSweeps(problem, rng) if prefers_sweeps(problem) else MulticlassRounds(problem)
        )

    @cached_property
    def square_length(self) -> float:
        """The mean square of the rows."""
        return square_sum(self.problem) / (self.total or 1.0)

    @property
    def W(self) -> Array:
        """The weights of the classes."""
        return self.it.W

    @property
    def b(self) -> Array:
        """Their intercepts."""
        return self.it.b

    def traffic(self) -> dict[str, float]:
        """Return what went over a network, as further columns of the history: none here."""
        return {}

    def with_random_penalties(self) -> MulticlassRows:
        """Return these rows with their penalties multiplied by exponential random numbers."""
        noise = self.rng.exponential(size=self.problem.n_samples)
        return MulticlassRows(replace(self.problem, penalty=self.problem.penalty * noise), self.rng)

    def adopt(self, varied: MulticlassRows) -> None:
        """Go where these rows with other penalties have gone."""
        self.it = varied.it

    def majoriser(self) -> tuple[float, float]:
        """Return the objective of the weighted convex problem here, and at W = 0, b = 0."""
        it = self.it
        return self.problem.energy(it.W) + it.majorised_loss(), float(it.weights.sum())

    def multipliers(self, copy: bool = False) -> Array:
        """Return the pulls B; unless of a copy, the multipliers are no longer to be had then."""
        return self.problem.own(self.it.alpha.copy() if copy else self.it.alpha)

    @property
    def sweeping(self) -> bool:
        """Whether rounds are sweeps of coordinate descent."""
        return isinstance(self.rounds, MulticlassSweeps)

    def unsettled(self) -> bool:
        """Return whether the weighted problem is above where the weights were taken."""
        return self.majoriser()[0] > (1.0 + ROUGHLY) * self.touched

    def take_newton_steps(self) -> None:
        """Let rounds take Newton steps from now on."""
        self.rounds = MulticlassRounds(self.problem)

    def run(self, xi: float, *, tol: float, max_steps: int, reach: float) -> MulticlassReport:
        """Minimise the function of a round approximately and take the multiplier step."""
        return self.rounds.run(self.it, RoundOptions(xi, tol, max_steps, reach))

    def least_squares(self) -> tuple[Array, Array]:
        """Return (W, b) of a least squares fit to the labels."""
        return solve_least_squares(
            self.rounds.system, every_row(self.problem), *target_sums(self.problem)
        )

    def losses_at_scales(self, W: Array, b: Array) -> Array:
        """Return the total losses at multiples of (W, b): with a cap of one, and as they are."""
        return losses_at_scales(self.problem, W, b)

    def close(self, loss: Loss | None, curvature: float) -> MulticlassClosing:
        """Weigh the samples for `loss` (None: as they are) and look at the result."""
        before = after = self.residual(curvature)
        if loss is not None:
            self.weigh(loss)
            after = multiplier_sums(self.it, self.problem, curvature, loss.curved_interval[0])
        return MulticlassClosing(before, after, self.loss_total())

    def residual(self, curvature: float) -> MultiplierSums:
        """Return how far the multipliers are from the levels they belong to."""
        return multiplier_sums(self.it, self.problem, curvature)
