"""The regulariser plus the truncated cross-entropy, by L-BFGS and Newton's method."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import Operator, Quadratic
from htsvm.linalg.operators import dense, double
from htsvm.logistic.batch import levels
from htsvm.losses.cross_entropy import TruncatedEntropy, log_probabilities, pulled
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
# From a saddle point the descent goes on along the direction of negative curvature, so often.
MOST_ESCAPES = 3


class EntropyObjective:
    """A function of z = (W, b), a row per score, the intercept last. It counts its `steps` down.

    Parameters
    ----------
    operator, R : Operator, Quadratic
        The rows and the regulariser.
    codes, penalty : ndarray
        The classes of the rows, and C times their weights.
    classes, intercept : int, bool
        How many classes there are; two have one score. Whether b is free.
    """

    def __init__(
        self, operator: Operator, R: Quadratic, codes: Array, penalty: Array, classes: int,
        intercept: bool,
    ) -> None:  # fmt: skip
        self.operator, self.codes, self.penalty = operator, codes, penalty
        self.R, self.classes, self.intercept = R, classes, intercept
        self.scores = 1 if classes == 2 else classes
        bound = (classes - 1) / classes**2
        diagonal = R.diagonal() + bound * operator.squared_pull(penalty[:, None])[0]
        self.diagonal = np.append(diagonal, bound * float(penalty.sum()) if intercept else 1.0)
        self.loss, self.steps = TruncatedEntropy(), 0

    @cached_property
    def constant(self) -> Array:
        """Zero weights, with intercepts that say how frequent classes are."""
        z = np.zeros((self.scores, len(self.diagonal)))
        if self.intercept:
            found = levels(self.codes, self.penalty, self.classes, 0.0)
            z[:, -1] = found - (found.mean() if self.scores > 1 else 0.0)
        return z

    # ---------------------------------------------------------- what `lbfgs.minimise` asks for

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
        total = pulled(slopes, self.codes, self.penalty, self.loss)
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

    # ---------------------------------------------------------------- values and derivatives

    def value(self, z: Array) -> float:
        """Return the objective."""
        return self.value_slopes(self.image(z))[0] + 0.5 * float(np.vdot(z, self.smooth(z)))

    def gradient(self, z: Array) -> Array:
        """Return its gradient."""
        return self.smooth(z) + self.pull(self.value_slopes(self.image(z))[1])

    def logs(self, z: Array) -> tuple[Array, Array]:
        """Return the logarithms of all probabilities, and the cross-entropy of each label."""
        logs = log_probabilities(self.image(z))
        return logs, -logs[np.arange(len(logs)), self.codes]

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
        logs, entropy = self.logs(z)
        slope = self.loss.value_slope(entropy)[1]
        bend = self.penalty * self.loss.curvature(entropy)
        weight = self.penalty if slope is None else self.penalty * slope
        k, side = z.shape
        likely = np.exp(logs[:, -k:])
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

    # ------------------------------------------------------------------------------ the way down

    def descend(self, z: Array, tol: float, most: int) -> Array:
        """Return where `most` steps lead, or as many as bring the residuals below `tol`."""

        def enough(gradient: Array) -> bool:
            return max(self.residuals(gradient)) <= tol

        z, _, steps = minimise(self, z, most, LEAST_GAIN, enough)
        gradient = self.gradient(z)
        while steps < most and z.size <= FORMED and not enough(gradient):
            # Newton's method with the sizes of the curvatures, which never goes up.
            values, vectors = np.linalg.eigh(self.hessian(z))
            sizes = np.maximum(np.abs(values), FLAT * np.abs(values).max(initial=1e-300))
            step = -(vectors @ (vectors.T @ gradient.ravel() / sizes)).reshape(z.shape)
            slope, value = float(np.vdot(step, gradient)), self.value(z)
            for share in 0.5 ** np.arange(MOST_HALVINGS):
                new = z + share * step
                if self.value(new) <= value + 1e-4 * share * slope + 1e-15 * abs(value):
                    break
            else:
                break
            z, gradient, steps = new, self.gradient(new), steps + 1
        self.steps += steps
        return z

    def lowest_curvature(self, z: Array) -> tuple[float, Array]:
        """Return the smallest eigenvalue of the Hessian, in units of its bound, and its direction.

        NaN where there are too many variables to form it.
        """
        if z.size > FORMED:
            return math.nan, np.zeros_like(z)
        scale = np.tile(1.0 / np.sqrt(self.diagonal), len(z))
        values, vectors = np.linalg.eigh(scale[:, None] * self.hessian(z) * scale)
        return float(values[0]), (scale * vectors[:, 0]).reshape(z.shape)

    def settled(self, z: Array, tol: float, most: int) -> tuple[Array, str, float]:
        """Leave saddle points; return the end, whether it is a minimiser, and the curvature."""
        for _ in range(MOST_ESCAPES + 1):
            if math.isinf(self.loss.cap) or not np.any(self.loss.curvature(self.logs(z)[1])):
                # Convex near the point.
                return z, "yes", math.nan
            curvature, direction = self.lowest_curvature(z)
            if not curvature < -CURVED:
                break
            step = direction / max(self.largest(self.image(direction)), 1e-300)
            ends = [self.descend(z + s * step, tol, most) for s in (1, -1)]
            best = min(ends, key=self.value)
            if not self.value(best) < self.value(z):
                break
            z = best
        if abs(curvature) > CURVED:
            return z, "yes" if curvature > 0.0 else "no", curvature
        return z, "undecided", curvature
