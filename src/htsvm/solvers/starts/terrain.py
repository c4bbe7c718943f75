"""Where searches for a start take place: the rows of a problem, or a sample of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.losses import Loss

# The kink of the loss at zero is rounded over this share of the cap.
ROUNDING = 0.15
# Multiples of a point at which the objective is compared.
MULTIPLES = np.exp(np.linspace(-4.0, 6.0, 15))
# How often random weights rise and fall within a few standard deviations of the data.
WAVES = 8.0
# A search ends when a step gains less than this share of the value.
ROUGH, FINE = 1e-3, 1e-4
# What was found on some rows goes on with all: steps with a sigmoid of this width, in caps, then
# with the loss itself.
REFINING_WIDTH, SIGMOID_STEPS, REFINING_STEPS = 0.5, 6, 10


class Terrain(ABC):
    """A problem whose loss can be exchanged for smooth ones; points are flat arrays (w, b).

    Parameters
    ----------
    problem : Problem or MulticlassProblem
        The problem, on rows in this process.

    Attributes
    ----------
    penalty : ndarray
        The penalties in force, which a search may change for a while.
    wide : Terrain
        Where wide losses are minimised, least squares and sigmoids: here, or on a sample of the
        rows, which they hardly depend on.
    """

    def __init__(self, problem: Any, wide: Terrain | None = None) -> None:
        self.problem = problem
        self.penalty: Array = problem.penalty
        self.wide = wide or self

    @property
    def loss(self) -> Loss:
        """The loss of the problem."""
        loss: Loss = self.problem.loss
        return loss

    # ------------------------------------------------------------------------------- moves

    def anneal(self, z: Array, temperature: float, max_steps: int) -> Array:
        """Go down from z with a sigmoid of the given width, in caps, for the loss."""
        return self.descend(z, Sigmoid.of(self.loss, temperature), max_steps, ROUGH)

    def settle(self, z: Array, max_steps: int, stretch: float = 1.0, tol: float = FINE) -> Array:
        """Go down from z with the loss, its cap stretched and its kink at zero rounded."""
        return self.descend(z, self.final_stage(stretch), max_steps, tol)

    def final_stage(self, stretch: float = 1.0) -> Rounded:
        """Return the loss with its cap stretched and its kink at zero rounded."""
        loss = self.loss if stretch == 1.0 else self.loss.stretched(stretch)
        return Rounded(loss or self.loss, ROUNDING * self.loss.cap)

    def on(self, problem: Any) -> Terrain | None:
        """Return the same for another problem; None where a descent on it would take long."""
        return None

    def refined(self, z: Array) -> Array:
        """Go on from a point that was found on some of the rows."""
        return self.settle(self.anneal(z, REFINING_WIDTH, SIGMOID_STEPS), REFINING_STEPS)

    def least_squares(self, max_steps: int, balanced: bool = False) -> Array:
        """Return the least squares fit to the labels, with classes of equal weight if asked."""
        z = self.zero() if self.wide is self else self.wide.least_squares(max_steps, balanced)
        if balanced:
            self.weigh(self.class_factors())
        try:
            return self.descend(z, Squares(), max_steps, ROUGH if self.wide is self else FINE)
        finally:
            self.weigh(None)

    def convex(self, max_steps: int, tol: float = FINE) -> Array:
        """Return the solution without truncation, on a sample first where there is one."""
        z = self.zero() if self.wide is self else self.wide.convex(max_steps, tol)
        return self.settle(z, max_steps, stretch=math.inf, tol=tol)

    def caps(self, stretched: tuple[float, ...]) -> tuple[float, ...]:
        """Return by which of some stretched caps to come from the convex solution to the loss."""
        return stretched

    def exact_least_squares(self) -> Array | None:
        """Return the best of some least squares fits by singular values, on little data; else None.

        Where columns are far from centred or of uneven scale, a search would not come near it.
        """
        return None

    @abstractmethod
    def weigh(self, factors: Array | None) -> None:
        """Multiply the penalties of the problem by factors per sample; None: as they were."""

    def wave(self, rng: np.random.Generator) -> Array:
        """Return random factors between 0 and 2 per sample that depend on its row and label alone.

        So a sample of weight two counts like two samples, and the order of rows does not matter.
        """
        u = np.empty(self.problem.n_samples)
        ones = np.ones(len(u), dtype=np.int8)
        self.problem.operator.signed_dot(ones, rng.normal(size=self.problem.n_features), 0.0, u)
        own = self.problem.penalty
        total = float(own.sum())
        u -= float(own @ u) / total
        u /= math.sqrt(float(own @ np.square(u)) / total) or 1.0
        phases = rng.uniform(0.0, 2.0 * math.pi, size=self.n_classes)
        factors: Array = 1.0 + np.sin(WAVES * u + phases[self.codes()])
        return factors

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """The number of classes."""

    @abstractmethod
    def codes(self) -> Array:
        """Return the class of each sample, from zero on."""

    @abstractmethod
    def class_factors(self) -> Array:
        """Return factors per sample that give all classes the same total penalty."""

    @abstractmethod
    def zero(self) -> Array:
        """Return the point zero."""

    @abstractmethod
    def descend(self, z: Array, stage: Stage, max_steps: int, tol: float) -> Array:
        """Return where a descent from z on a smooth loss ends."""

    @abstractmethod
    def rescaled(self, z: Array) -> Array:
        """Return the multiple of z with the lowest objective."""

    @abstractmethod
    def violations(self, z: Array) -> Array:
        """Return the violations at z."""

    @abstractmethod
    def parts(self, z: Array) -> tuple[Array, Any]:
        """Return the weights and the intercept of a point."""

    @abstractmethod
    def multipliers(self, z: Array, stretch: float = 1.0) -> Array | None:
        """Return the multipliers at z of the loss with a rounded kink, its cap stretched."""

    def largest_change(self, image: Array) -> float:
        """Return the largest entry of the image of a direction, in size, that counts."""
        return float(np.abs(image[self.penalty > 0.0]).max(initial=0.0))

    def objective(self, z: Array) -> float:
        """Return the objective of the problem at z."""
        coef, _ = self.parts(z)
        return float(self.problem.objective(coef, self.violations(z)))

    def separates(self, z: Array) -> bool:
        """Return whether a multiple of z is lower than z and truncates no sample."""
        return False

    def largest_violation(self, z: Array) -> float:
        """Return the largest violation of a sample that counts."""
        counts = self.problem.penalty > 0.0
        return float(self.violations(z).max(initial=0.0, where=counts))


def inverse(diagonal: Array) -> Array:
    """Return one over the entries; those that are zero count like the smallest other one."""
    least = float(diagonal.min(initial=np.inf, where=diagonal > 0.0))
    inverted: Array = 1.0 / np.maximum(diagonal, least if math.isfinite(least) else 1.0)
    return inverted


@dataclass(frozen=True)
class Squares:
    """Half the squared violation, whose minimiser tells classes apart however noisy labels are."""

    def value_and_slope(self, q: Array) -> tuple[Array, Array]:
        """Return the values and the derivatives at the violations q."""
        return 0.5 * np.square(q), q


@dataclass(frozen=True)
class Sigmoid:
    """A sigmoid in the place of a truncated loss: the wider, the fewer valleys.

    It is ``height (1 + u / sqrt(1 + u²)) / 2`` with ``u = (q - centre) / (2 width)``, which has the
    slope of the logistic function in the middle and needs no exponential.

    Attributes
    ----------
    height : float
        What it rises to, the loss of an ignored sample.
    centre : float
        Where half of that is reached.
    width : float
        How slowly it rises.
    """

    height: float
    centre: float
    width: float

    @classmethod
    def of(cls, loss: Loss, temperature: float) -> Sigmoid:
        """Return the sigmoid for a loss; its width is the `temperature` in units of the cap."""
        cap = loss.cap
        return cls(float(loss.profile(cap)), 0.5 * cap, temperature * cap)

    def value_and_slope(self, q: Array) -> tuple[Array, Array]:
        """Return the values and the derivatives at the violations q."""
        u = (0.5 / self.width) * (q - self.centre)
        root = 1.0 / np.sqrt(1.0 + np.square(u))
        value: Array = (0.5 * self.height) * (1.0 + u * root)
        return value, (0.25 * self.height / self.width) * root**3


@dataclass(frozen=True)
class Rounded:
    """A loss g(max(q, 0)) with its kink at zero rounded over [-width, width] by a parabola."""

    loss: Loss
    width: float

    def value_and_slope(self, q: Array) -> tuple[Array, Array]:
        """Return the values and the derivatives at the violations q."""
        inside = np.clip(0.5 + (0.5 / self.width) * q, 0.0, 1.0)
        h = np.where(q >= self.width, q, 0.5 * (q + self.width) * inside)
        h = np.maximum(h, 0.0)
        return self.loss.profile(h), self.loss.profile_slope(h) * inside


Stage = Squares | Sigmoid | Rounded
