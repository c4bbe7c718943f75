"""The regulariser plus the truncated cross-entropy, as L-BFGS and Newton's method ask for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from htsvm._typing import Array
from htsvm.linalg import Operator, Quadratic
from htsvm.linalg.operators import dense, double
from htsvm.linalg.positive import conjugate_gradients
from htsvm.logistic.batch import Members, binary, several
from htsvm.losses.cross_entropy import TruncatedEntropy
from htsvm.optimality.residuals import balance
from htsvm.solvers.lbfgs import minimise
from htsvm.solvers.newton import wolfe_step

# L-BFGS ends where a step gains less than this share; if that is not enough, Newton's method does
# the rest.
LEAST_GAIN = 1e-12
# Newton systems are solved to this share of the gradient, in at most so many steps.
CG_TOLERANCE, CG_STEPS = 0.1, 250
# Values of rows that are looked at together, 4 MB.
BLOCK_VALUES = 1 << 19
# Up to so many variables the eigenvalues of the Hessian are those of a matrix.
FORMED = 300
# Curvature counts if it is more than this share of the largest that the loss can have.
CURVED = 1e-7
LANCZOS_STEPS, LANCZOS_TOLERANCE = 300, 1e-4


class EntropyObjective:
    """A function of z = (W, b), a row per score, the intercept last.

    Parameters
    ----------
    operator : Operator
        The rows.
    codes : ndarray
        Their classes.
    penalty : ndarray
        C times their weights.
    R : Quadratic
        The regulariser.
    classes : int
        How many there are; two have one score.
    intercept : bool
        Whether b is free.
    """

    def __init__(
        self, operator: Operator, codes: Array, penalty: Array, R: Quadratic, classes: int,
        intercept: bool,
    ) -> None:  # fmt: skip
        self.operator, self.codes, self.penalty = operator, codes, penalty
        self.R, self.classes, self.intercept = R, classes, intercept
        self.scores = 1 if classes == 2 else classes
        bound = (classes - 1) / classes**2
        diagonal = R.diagonal() + bound * operator.squared_pull(penalty[:, None])[0]
        self.diagonal = np.append(diagonal, bound * float(penalty.sum()) if intercept else 1.0)
        self.use(TruncatedEntropy())

    def use(self, loss: TruncatedEntropy) -> None:
        """Take another loss."""
        self.loss = loss
        self.members = Members.of([loss], np.ones(1), np.zeros((1, 1)))

    def precondition(self, z: Array) -> Array:
        """Return z over a bound of the diagonal of the Hessian."""
        scaled: Array = z / self.diagonal
        if not self.intercept:
            scaled[:, -1] = 0.0
        return scaled

    def image(self, z: Array) -> Array:
        """Return the scores."""
        return self.operator.scores(np.ascontiguousarray(z[:, :-1]), z[:, -1])

    def value_slopes(self, image: Array) -> tuple[float, Array]:
        """Return the total of the loss and its derivatives in the scores."""
        slopes = image[:, None].copy()
        of_scores = binary if self.scores == 1 else several
        total = of_scores(slopes, self.codes, self.penalty, self.members)
        return float(total[0]), slopes[:, 0]

    def pull(self, slopes: Array) -> Array:
        """Return the gradient of the loss, from the derivatives."""
        totals = slopes.sum(axis=0) * self.intercept
        return np.column_stack([self.operator.pull(slopes), totals])

    def smooth(self, z: Array) -> Array:
        """Return the gradient of the regulariser."""
        return np.column_stack([self.R.dot(z[:, :-1]), np.zeros(len(z))])

    def largest(self, image: Array) -> float:
        """Return the largest change of a score that counts."""
        return float(np.abs(image[self.penalty > 0.0]).max(initial=0.0))

    def value(self, z: Array) -> float:
        """Return the objective."""
        return self.value_slopes(self.image(z))[0] + 0.5 * float(np.vdot(z, self.smooth(z)))

    def likelihoods(self, image: Array) -> tuple[Array, Array]:
        """Return the probabilities of all classes, and the cross-entropy of each label."""
        scores = image if self.scores > 1 else np.column_stack([np.zeros(len(image)), image])
        scores = scores - scores.max(axis=1, keepdims=True)
        likely = np.exp(scores)
        total = likely @ np.ones(self.classes)
        entropy = np.log(total) - scores[np.arange(len(scores)), self.codes]
        likely /= total[:, None]
        return likely, entropy

    def residuals(self, gradient: Array) -> tuple[float, float]:
        """Return the residuals of the gradient in W and in b, free of units.

        They are shares of what the samples would pull if all did so in full, and none cancelled.
        """
        unit = float(self.penalty.sum())
        pulled = self.R.length(gradient[:, :-1]) / (self.operator.row_length or 1.0)
        return balance(pulled, unit), balance(float(np.linalg.norm(gradient[:, -1])), unit)

    def curved(self, image: Array) -> tuple[Array, Array, Array, Array]:
        """Return what the Hessian is made of.

        The slopes and the curvatures of the loss in the cross-entropy, the probabilities, and these
        less the label: the derivatives of the cross-entropy.
        """
        likely, entropy = self.likelihoods(image)
        _, slope = self.loss.value_slope(entropy)
        bend = self.penalty * self.loss.curvature(entropy)
        weight = self.penalty if slope is None else self.penalty * slope
        miss = likely.copy()
        miss[np.arange(len(miss)), self.codes] -= 1.0
        return weight, bend, likely, miss

    def formed(self, image: Array) -> Array:
        """Return the Hessian as a matrix, the variables of each score together."""
        weight, bend, likely, miss = self.curved(image)
        if self.scores == 1:
            likely, miss = likely[:, 1:], miss[:, 1:]
        k, side = self.scores, self.operator.shape[1] + 1
        out = np.zeros((k, side, k, side))
        for rows, part in self.operator.blocks(max(BLOCK_VALUES // side, 1)):
            X = np.column_stack([dense(double(part)), np.ones(rows.stop - rows.start)])
            for i in range(k):
                for j in range(i + 1):
                    each = weight[rows] * likely[rows, i] * ((i == j) - likely[rows, j])
                    each += bend[rows] * miss[rows, i] * miss[rows, j]
                    out[i, :, j] += X.T @ (each[:, None] * X)
        for i in range(k):
            for j in range(i):
                out[j, :, i] = out[i, :, j].T
            out[i, np.arange(side - 1), i, np.arange(side - 1)] += self.R.diagonal()
        if self.intercept and k > 1:
            out[:, -1, :, -1] += self.diagonal[-1] / k
        elif not self.intercept:
            out[:, -1], out[:, :, :, -1] = 0.0, 0.0
            out[np.arange(k), -1, np.arange(k), -1] = self.diagonal[-1]
        return out.reshape(k * side, k * side)

    def hessian(self, image: Array) -> Any:
        """Return what multiplies with the Hessian where the scores are these."""
        weight, bend, likely, miss = self.curved(image)
        if self.scores == 1:
            single = weight * likely[:, 0] * likely[:, 1] + bend * miss[:, 1] ** 2
        without = np.append(np.ones(self.operator.shape[1]), 0.0)

        def apply(v: Array) -> Array:
            change = self.image(v if self.intercept else v * without)
            if self.scores == 1:
                curved = single[:, None] * change
            else:
                mean = np.einsum("nk,nk->n", likely, change)
                curved = weight[:, None] * likely * (change - mean[:, None])
                curved += (bend * np.einsum("nk,nk->n", miss, change))[:, None] * miss
            out = self.smooth(v) + self.pull(curved)
            # What moves all scores alike changes nothing, and intercepts that are not there.
            if not self.intercept:
                out[:, -1] = self.diagonal[-1] * v[:, -1]
            elif self.scores > 1:
                out[:, -1] += self.diagonal[-1] * v[:, -1].mean()
            return out

        return apply


def descend(objective: EntropyObjective, z: Array, tol: float, most: int) -> tuple[Array, int]:
    """Go down from z until the residuals are below `tol`; return where that ends, and the steps."""

    def enough(gradient: Array) -> bool:
        return max(objective.residuals(gradient)) <= tol

    z, slopes, steps = minimise(objective, z, most, LEAST_GAIN, enough)
    own = objective.smooth(z)
    gradient = own + objective.pull(slopes)
    while steps < most and not enough(gradient):
        image = objective.image(z)
        value = objective.value_slopes(image)[0] + 0.5 * float(np.vdot(z, own))
        direction, _ = conjugate_gradients(
            objective.hessian(image), -gradient, objective.precondition,
            tolerance=CG_TOLERANCE, most_steps=CG_STEPS,
        )  # fmt: skip
        slope = float(np.vdot(direction, gradient))
        if not slope < 0.0:
            direction = -objective.precondition(gradient)
            slope = float(np.vdot(direction, gradient))
        z, moved = _moved(objective, z, image, direction, value, slope)
        slopes, own = objective.value_slopes(objective.image(z))[1], objective.smooth(z)
        gradient, steps = own + objective.pull(slopes), steps + 1
        if not moved:
            break
    return z, steps


def _moved(
    objective: EntropyObjective,
    z: Array,
    image: Array,
    direction: Array,
    value: float,
    slope: float,
) -> tuple[Array, bool]:
    """Move along a direction by a step that satisfies the strong Wolfe conditions."""
    change, own = objective.image(direction), objective.smooth(direction)
    linear, square = float(np.vdot(z, own)), float(np.vdot(direction, own))
    energy = 0.5 * float(np.vdot(z, objective.smooth(z)))

    def at(t: float) -> tuple[float, float]:
        total, slopes = objective.value_slopes(image + t * change)
        along = float(np.vdot(slopes, change)) + linear + t * square
        return total + energy + t * linear + 0.5 * t * t * square, along

    t = wolfe_step(at, value, slope, np.inf, 0.0)
    return z + t * direction, t > 0.0


def lowest_curvature(objective: EntropyObjective, z: Array) -> tuple[float, Array]:
    """Return the smallest eigenvalue of the Hessian, in units of its bound, and its direction.

    NaN if it was not found.
    """
    image, scale = objective.image(z), 1.0 / np.sqrt(objective.diagonal)
    if z.size <= FORMED:
        every = np.tile(scale, len(z))
        values, vectors = np.linalg.eigh(every[:, None] * objective.formed(image) * every)
        return float(values[0]), scale * vectors[:, 0].reshape(z.shape)
    apply = objective.hessian(image)

    def inside(v: Array) -> Array:
        return np.asarray(scale * apply(scale * v.reshape(z.shape))).ravel()

    operator = LinearOperator((z.size, z.size), matvec=inside, dtype=np.float64)
    try:
        values, vectors = eigsh(
            operator, k=1, which="SA", maxiter=LANCZOS_STEPS, tol=LANCZOS_TOLERANCE,
            v0=np.random.default_rng(0).normal(size=z.size),
        )  # fmt: skip
    except ArpackNoConvergence:
        return np.nan, np.zeros_like(z)
    return float(values[0]), scale * vectors[:, 0].reshape(z.shape)
