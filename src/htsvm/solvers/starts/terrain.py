"""Where searches for a start take place: the rows of a problem, or a sample of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.linalg.operators import dense, double
from htsvm.losses import HybridTruncated, Loss, Ramp
from htsvm.problems.binary import Problem
from htsvm.solvers.starts.quasi_newton import minimise
from htsvm.solvers.starts.smoothing import Rounded, Sigmoid, Squares, Stage

# Searches in one call each; None where nothing was compiled.
compiled = kernels.optional("solvers.starts._smooth")

# The kink of the loss at zero is rounded over this share of the cap.
ROUNDING = 0.15
# Multiples of a point at which the objective is compared.
MULTIPLES = np.exp(np.linspace(-4.0, 6.0, 15))
# How often random weights rise and fall within a few standard deviations of the data.
WAVES = 8.0
# Up to so many values least squares is also solved exactly; where rows are fewer than columns, up
# to so much work: values times rows.
LITTLE_DATA, WIDE_WORK = 3000, 5_000_000
# With these ridges, in units of the largest singular value squared.
RIDGES = np.array([1e-15, 1e-12, 1e-9, 1e-6, 1e-4, 1e-2, 1.0])
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
    """

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self.penalty: Array = problem.penalty

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
        if balanced:
            self.weigh(self.class_factors())
        try:
            return self.descend(self.zero(), Squares(), max_steps, ROUGH)
        finally:
            self.weigh(None)

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


class BinaryTerrain(Terrain):
    """The rows of a binary problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        squares = problem.operator.squared_pull(problem.penalty[:, None])[0]
        total = float(problem.penalty.sum())
        self.scale = inverse(np.append(problem.regularizer.diagonal() + squares, total))
        self.stage: Stage = Squares()
        self._kernel = _compiled(problem, self.scale)

    def on(self, problem: Problem) -> BinaryTerrain | None:
        """Return the same for another problem; None where nothing is compiled for it."""
        if compiled is None or problem.operator.compiled_rows is None:
            return None
        return BinaryTerrain(problem)

    def zero(self) -> Array:
        """Return the point zero."""
        return np.zeros(self.problem.n_features + 1)

    def weigh(self, factors: Array | None) -> None:
        """Multiply the penalties of the problem by factors per sample; None: as they were."""
        own = self.problem.penalty
        self.penalty = own if factors is None else own * factors
        if self._kernel is not None:
            self._kernel.set_penalty(self.penalty)

    def exact_least_squares(self) -> Array | None:
        """Return the best of some least squares fits by singular values, on little data; else None.

        They differ by their ridge, from none that counts to one that leaves the first direction.
        """
        p = self.problem
        m, n = p.n_samples, p.n_features
        if n == 0 or (m * n > LITTLE_DATA and (m > n or m * m * n > WIDE_WORK)):
            return None
        X = dense(double(p.operator.block(slice(None))))
        mass = p.penalty / p.penalty.sum()
        mean = mass @ X if p.fit_intercept else np.zeros(X.shape[1])
        middle = float(mass @ p.y) if p.fit_intercept else 0.0
        root = np.sqrt(mass)
        U, S, V = np.linalg.svd(root[:, None] * (X - mean), full_matrices=False)
        if not S[0] > 0.0:
            return None
        parts = U.T @ (root * (p.y - middle))
        best, lowest = None, math.inf
        for ridge in RIDGES * S[0] ** 2:
            w = V.T @ (S / (S**2 + ridge) * parts)
            z = np.append(w, middle - float(mean @ w))
            size = math.sqrt(float(mass @ np.square(1.0 - self.violations(z))))
            z = self.rescaled(z / size) if size > 0.0 else z
            objective = self.objective(z)
            if objective < lowest:
                best, lowest = z, objective
        return best

    n_classes = 2

    def codes(self) -> Array:
        """Return 0 for the label -1, 1 for the label +1."""
        codes: Array = (self.problem.y > 0).astype(np.intp)
        return codes

    def class_factors(self) -> Array:
        """Return factors per sample that give both classes the same total penalty."""
        p = self.problem
        positive = float(p.penalty[p.y > 0].sum())
        total = float(p.penalty.sum())
        sides = (max(total - positive, 1e-300), max(positive, 1e-300))
        return np.where(p.y > 0, 0.5 * total / sides[1], 0.5 * total / sides[0])

    def parts(self, z: Array) -> tuple[Array, float]:
        """Return the weights and the intercept of a point."""
        return z[:-1].copy(), float(z[-1])

    def violations(self, z: Array) -> Array:
        """Return the violations at z."""
        q: Array = self.problem.violations(np.ascontiguousarray(z[:-1]), float(z[-1]))
        return q

    def multipliers(self, z: Array, stretch: float = 1.0) -> Array:
        """Return psi of the loss with a rounded kink, times what makes its pull most like Rw.

        A search may end before the two agree, and where margins are hard, far from it.
        """
        p = self.problem
        _, slope = self.final_stage(stretch).value_and_slope(self.violations(z))
        psi: Array = -p.penalty * slope
        psi *= p.share_explained(z[:-1], -psi)
        return psi

    def rescaled(self, z: Array) -> Array:
        """Return the multiple of z with the lowest objective."""
        p = self.problem
        margins = 1.0 - self.violations(z)
        energy = p.regularizer.energy(z[:-1])
        values = [t * t * energy + p.loss.total(1.0 - t * margins, p.penalty) for t in MULTIPLES]
        multiple: Array = MULTIPLES[int(np.argmin(values))] * z
        return multiple

    def descend(self, z: Array, stage: Stage, max_steps: int, tol: float) -> Array:
        """Return where a descent from z on a smooth loss ends."""
        if self._kernel is not None and _choose(self._kernel, stage):
            end = np.array(z)
            before = self._kernel.steps
            self._kernel.minimise(end, max_steps, tol)
            self.problem.operator.count(2.0 * (1 + self._kernel.steps - before))
            return end
        self.stage = stage
        return minimise(self, z, max_steps, tol)[0]

    # ------------------------------------------------------------ what `minimise` asks for

    def precondition(self, z: Array) -> Array:
        """Return z times an estimate of the inverse of the diagonal of the Hessian."""
        return self.scale * z

    def image(self, z: Array) -> Array:
        """Return minus the margins."""
        p = self.problem
        out = np.empty(p.n_samples)
        p.operator.signed_dot(p.y, np.ascontiguousarray(z[:-1]), float(z[-1]), out)
        return np.negative(out, out=out)

    def value_and_slopes(self, image: Array) -> tuple[float, Array]:
        """Return the total of the smooth loss, and its derivatives."""
        value, slope = self.stage.value_and_slope(1.0 + image)
        return float(self.penalty @ value), self.penalty * slope

    def pull(self, slopes: Array) -> Array:
        """Return the gradient of the loss."""
        p = self.problem
        pulled, total = p.operator.signed_tdot(p.y, slopes)
        return -np.append(pulled, total if p.fit_intercept else 0.0)

    def smooth(self, z: Array) -> Array:
        """Return the gradient of the regulariser."""
        return np.append(self.problem.regularizer.dot(z[:-1]), 0.0)


def inverse(diagonal: Array) -> Array:
    """Return one over the entries; those that are zero count like the smallest other one."""
    least = float(diagonal.min(initial=np.inf, where=diagonal > 0.0))
    inverted: Array = 1.0 / np.maximum(diagonal, least if math.isfinite(least) else 1.0)
    return inverted


def _compiled(problem: Problem, scale: Array) -> Any:
    """Return the compiled search on a problem, or None where there is none."""
    rows = problem.operator.compiled_rows
    if compiled is None or rows is None or problem.n_samples == 0:
        return None
    R, n = problem.regularizer, problem.n_features
    matrix = np.ascontiguousarray(R.values) if R.is_matrix else np.zeros((0, 0))
    diagonal = np.ascontiguousarray(R.diagonal())
    return compiled.Smooth(
        rows, problem.y, problem.penalty, diagonal.reshape(n), matrix, scale, problem.fit_intercept
    )


def _choose(kernel: Any, stage: Stage) -> bool:
    """Set the loss of a compiled search; return whether it knows such a loss."""
    if isinstance(stage, Squares):
        kernel.squares()
    elif isinstance(stage, Sigmoid):
        kernel.sigmoid(stage.height, stage.centre, stage.width)
    elif isinstance(stage.loss, (HybridTruncated, Ramp)):
        loss = stage.loss
        top = float(loss.profile_slope(0.0))
        knee = loss.curved_interval[0]
        kernel.rounded(top, knee, loss.cap, stage.width)
    else:
        return False
    return True
