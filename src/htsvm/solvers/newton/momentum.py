"""Momentum between rounds: weights and multipliers go on as they changed in the round before.

Majorisation takes the slopes of the loss where a round began. Where many samples drift towards the
cap together, each round moves them a little further in the same direction, and a descent takes a
hundred rounds. So a round begins with the slopes a little ahead of where it is, as accelerated
gradient methods do, and without momentum again after one that led upwards.
"""

from __future__ import annotations

import math

import numpy as np

from htsvm._typing import Array
from htsvm.losses import Loss
from htsvm.problems.binary import Problem
from htsvm.solvers.newton.state import Iterate

# The share of the last change that is added grows as k / (k + DELAY) with the round k, up to this.
# On text of 50,000 documents 0.7 takes 30 rounds, none at all more than 100, 0.9 a few more.
MOST, DELAY = 0.7, 3.0


class Momentum:
    """What the last round with the same loss began with."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.loss: Loss | None = None
        self.forget()

    def forget(self) -> None:
        """Begin again, without momentum."""
        self.rounds, self.level = 0, math.inf
        self.before: tuple[Array, Array] | None = None

    def weigh(self, loss: Loss | None) -> None:
        """Take note of the loss by which samples are weighed."""
        if loss is not self.loss:
            self.loss = loss
            self.forget()

    def go_ahead(self, it: Iterate) -> None:
        """Set multipliers and weights to what they will be soon, if all goes on as it did."""
        loss, problem = self.loss, self.problem
        if loss is None or not 0.0 < loss.weak_convexity < math.inf:
            return
        level = problem.objective(it.w, it.q)
        if level > self.level:
            self.rounds = 0
        q, alpha = it.q.copy(), it.alpha
        if self.before is not None and self.rounds > 0:
            share = min(self.rounds / (self.rounds + DELAY), MOST)
            loss.slopes(q + share * (q - self.before[0]), problem.penalty, it.weights)
            ahead = alpha + share * (alpha - self.before[1])
            it.alpha = np.clip(ahead, 0.0, it.weights, out=ahead)
        self.before, self.level = (q, alpha.copy()), level
        self.rounds += 1
