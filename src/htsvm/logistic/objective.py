"""The regulariser plus the truncated cross-entropy, as L-BFGS and Newton's method ask for it."""

from __future__ import annotations

import math

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import Operator, Quadratic
from htsvm.linalg.operators import dense, double
from htsvm.logistic.batch import Members, binary, several
from htsvm.losses.cross_entropy import TruncatedEntropy
from htsvm.optimality.residuals import balance
from htsvm.solvers.lbfgs import minimise

# L-BFGS ends where a step gains less than this share; Newton's method does the rest.
LEAST_GAIN = 1e-12
# Up to so many variables the Hessian is formed; values of rows looked at together, 4 MB.
FORMED, BLOCK_VALUES = 600, 1 << 19
# Curvature counts if it is more than this share of the largest that the loss can have.
CURVED = 1e-7
# A Newton step is halved so often at most; flat directions get this share of the largest curvature.
MOST_HALVINGS, FLAT = 30, 1e-14


class EntropyObjective:
    """A function of z = (W, b), a row per score, the intercept last.

    Parameters
    ----------
    operator : Operator
        The rows.
    codes, penalty : ndarray
        Their classes, and C times their weights.
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
        self.members = Members([loss], np.ones(1), np.zeros((1, 1)))

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
        return np.column_stack([self.operator.pull(slopes), slopes.sum(axis=0) * self.intercept])

    def smooth(self, z: Array) -> Array:
        """Return the gradient of the regulariser."""
        return np.column_stack([self.R.dot(z[:, :-1]), np.zeros(len(z))])

    def largest(self, image: Array) -> float:
        """Return the largest change of a score that counts."""
        return float(np.abs(image[self.penalty > 0.0]).max(initial=0.0))

    def value(self, z: Array) -> float:
        """Return the objective."""
        return self.value_slopes(self.image(z))[0] + 0.5 * float(np.vdot(z, self.smooth(z)))

    def gradient(self, z: Array) -> Array:
        """Return its gradient."""
        return self.smooth(z) + self.pull(self.value_slopes(self.image(z))[1])

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

    def hessian(self, z: Array) -> Array:
        """Return the Hessian at z, the variables of each score together.

        A common change of all intercepts, and intercepts that are not there, get a curvature.
        """
        likely, entropy = self.likelihoods(self.image(z))
        slope = self.loss.value_slope(entropy)[1]
        bend = self.penalty * self.loss.curvature(entropy)
        weight = self.penalty if slope is None else self.penalty * slope
        k, side = z.shape
        likely = likely[:, -k:]
        miss = likely - np.equal.outer(self.codes, np.arange(self.classes)[-k:])
        out = np.zeros((k, side, k, side))
        for rows, part in self.operator.blocks(max(BLOCK_VALUES // side, 1)):
            X = np.column_stack([dense(double(part)), np.ones(rows.stop - rows.start)])
            for i, j in np.ndindex(k, k):
                each = weight[rows] * likely[rows, i] * ((i == j) - likely[rows, j])
                each += bend[rows] * miss[rows, i] * miss[rows, j]
                out[i, :, j] += X.T @ (each[:, None] * X)
        columns = np.arange(side - 1)
        for i in range(k):
            out[i, columns, i, columns] += self.R.diagonal()
        if not self.intercept:
            out[:, -1], out[:, :, :, -1] = 0.0, 0.0
            out[np.arange(k), -1, np.arange(k), -1] = self.diagonal[-1]
        elif k > 1:
            out[:, -1, :, -1] += self.diagonal[-1] / k
        return out.reshape(k * side, k * side)


def descend(
    objective: EntropyObjective, z: Array, tol: float, most: int, start: str = ""
) -> tuple[Array, str, int]:
    """Go down until the residuals are below `tol`; return where that ends, the start, the steps."""

    def enough(gradient: Array) -> bool:
        return max(objective.residuals(gradient)) <= tol

    z, _, steps = minimise(objective, z, most, LEAST_GAIN, enough)
    gradient = objective.gradient(z)
    while steps < most and z.size <= FORMED and not enough(gradient):
        # Newton's method with the sizes of the curvatures, which never goes up.
        values, vectors = np.linalg.eigh(objective.hessian(z))
        sizes = np.maximum(np.abs(values), FLAT * np.abs(values).max(initial=1e-300))
        step = -(vectors @ (vectors.T @ gradient.ravel() / sizes)).reshape(z.shape)
        slope, value, share = float(np.vdot(step, gradient)), objective.value(z), 1.0
        for _ in range(MOST_HALVINGS):
            new = z + share * step
            lower = objective.value(new) <= value + 1e-4 * share * slope + 1e-15 * abs(value)
            if lower:
                break
            share *= 0.5
        else:
            break
        z, gradient, steps = new, objective.gradient(new), steps + 1
    return z, start, steps


def lowest_curvature(objective: EntropyObjective, z: Array) -> tuple[float, Array]:
    """Return the smallest eigenvalue of the Hessian, in units of its bound, and its direction.

    NaN where there are too many variables to form it.
    """
    if z.size > FORMED:
        return math.nan, np.zeros_like(z)
    scale = np.tile(1.0 / np.sqrt(objective.diagonal), len(z))
    values, vectors = np.linalg.eigh(scale[:, None] * objective.hessian(z) * scale)
    return float(values[0]), (scale * vectors[:, 0]).reshape(z.shape)
