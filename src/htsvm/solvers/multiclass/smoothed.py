"""Smooth stand-ins of the objective of several classes, and points near their minima.

The largest score of a rival is rounded over a spread, the kink of the loss over a width, or a
sigmoid stands for the loss (annealing). `minimise` goes down by preconditioned L-BFGS.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels, single
from htsvm.linalg.positive import Cholesky
from htsvm.losses import Loss
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers import lbfgs
from htsvm.solvers.result import SolverResult
from htsvm.solvers.system import MULTIPLES

# The largest score of a rival is rounded over this, with a sigmoid and with the loss itself.
SPREADS = 0.6, 0.2
# The kink of the loss is rounded over this, in caps up to one.
WIDTH = 0.15
# Up to this many features the preconditioner knows the correlations between them.
CORRELATED = 1500
# Steps of a point of a grid, each of which gains this share: on 600 digits with and without wrong
# labels 40 steps, and 1e-4, chose points 0.2 less accurate in the mean.
STEPS, GAIN = 80, 1e-5


class StandIn(NamedTuple):
    """What stands for the loss, as `smooth_losses` takes it."""

    kind: int
    spread: float
    shape: Array

    @property
    def width(self) -> float:
        """How far the kink is rounded."""
        return float(self.shape[-1])


def rounded(loss: Loss, sharper: float = 1.0) -> StandIn:
    """Return the loss with its maximum over rivals and its kink rounded."""
    width = WIDTH * min(loss.cap, 1.0) / sharper
    top, knee = float(loss.profile_slope(0.0)), float(loss.curved_interval[0])
    return StandIn(0, SPREADS[1] / sharper, np.array([top, knee, loss.cap, width]))


def sigmoid(loss: Loss, width: float) -> StandIn:
    """Return a sigmoid of the height of the loss, its width in caps."""
    cap = loss.cap
    return StandIn(1, SPREADS[0], np.array([float(loss.profile(cap)), 0.5 * cap, width * cap]))


class Smoothed:
    """The rows of a problem with stand-ins for its loss; points are (W, b) as k x (n + 1) arrays.

    Attributes
    ----------
    penalty : ndarray
        The penalties in force, which a search may change for a while.
    """

    def __init__(self, problem: MulticlassProblem) -> None:
        self.problem, self.penalty = problem, problem.penalty
        self.stage = rounded(problem.loss)
        self._inverses: dict[float, Array] = {}

    def minimise(self, z: Array, stage: StandIn, most: int, gain: float) -> Array:
        """Return where L-BFGS leads from z."""
        self.stage = stage
        return lbfgs.minimise(self, z, most, gain)[0]

    def pulls(self, z: Array, stage: StandIn) -> Array:
        """Return the multipliers B of a stand-in at z."""
        self.stage = stage
        return -self.value_slopes(self.image(z))[1]

    def parts(self, z: Array) -> tuple[Array, Array]:
        """Return W and b, with means over classes taken off."""
        W, b = z[:, :-1], z[:, -1]
        return W - W.mean(axis=0), b - b.mean()

    def largest_violation(self, z: Array) -> float:
        """Return the largest violation of a sample that counts, at least zero."""
        q = self.problem.violations_at(*self.parts(z))
        return float(q.max(initial=0.0, where=self.problem.penalty > 0.0))

    def least_squares(self) -> Array:
        """Return the multiple of a least squares fit to the labels with the lowest objective."""
        p, _k = self.problem, self.problem.n_classes
        if self.moments is None:
            T = p.targets()
            z = self.precondition(self.pull(self.penalty[:, None] * T))
        else:
            T = self.penalty[:, None] * p.targets()
            rhs = self.pull(T)
            z = self._factor(self.moments).solve(rhs.T).T
            if not p.fit_intercept:
                z[:, -1] = 0.0
        F, energy = p.operator.scores(*self.parts(z)), p.energy(z[:, :-1])
        values = [
            t * t * energy + p.loss.total(p.violations(p.raised(t * F)), p.penalty)
            for t in MULTIPLES
        ]
        best: Array = MULTIPLES[int(np.argmin(values))] * z
        return best

    def at(self, problem: MulticlassProblem) -> Self:
        """Return the same for the same rows with other penalties; second moments are shared."""
        other = type(self)(problem)
        if self.moments is not None:
            other.__dict__["moments"] = self.moments * (problem.C / self.problem.C)
        other.__dict__["rough"] = self.rough
        return other

    # ------------------------------------------------------------------ the preconditioner

    @cached_property
    def moments(self) -> Array | None:
        """The second moments of the rows (x, 1), times penalties; None if there are too many."""
        n, weights = self.problem.n_features, self.problem.penalty
        if n > CORRELATED:
            return None
        rows, moments = np.flatnonzero(weights > 0.0), np.zeros((n + 1, n + 1))
        if len(rows):
            self.problem.operator.add_gram(rows, 1.0, moments, weights[rows])
        return np.tril(moments) + np.tril(moments, -1).T

    @cached_property
    def rough(self) -> Array | None:
        """Many dense rows in single precision, which is good enough for a search; else None."""
        p = self.problem
        if self.moments is None or not single.pays(p.operator, p.n_classes, self.moments):
            return None
        rows: Array = p.operator.block(slice(None)).astype(np.float32)
        return rows

    @cached_property
    def inverse(self) -> Array:
        """The inverse of an estimate of the Hessian for one class, or of its diagonal."""
        p, k = self.problem, self.problem.n_classes
        if self.moments is None:
            squares = p.operator.squared_pull(p.penalty[:, None])[0] / k
            diagonal = np.append(p.regularizer.diagonal() + squares, float(p.penalty.sum()) / k)
            least = float(diagonal.min(initial=np.inf, where=diagonal > 0.0))
            return np.asarray(1.0 / np.maximum(diagonal, least if np.isfinite(least) else 1.0))
        # LAPACK's own inverse (dpotri) is quicker, but its last digits differ between threads.
        inverse: Array = self._factor(self.moments / k).solve(np.eye(p.n_features + 1))
        return inverse if self.rough is None else inverse.astype(np.float32)

    def _factor(self, moments: Array) -> Cholesky:
        """Return Cholesky factors of the regulariser plus second moments."""
        H = moments.copy()
        if not self.problem.fit_intercept:
            H[-1, :-1] = H[:-1, -1] = 0.0
        self.problem.regularizer.add_to(H)
        H[np.diag_indices_from(H)] *= 1.0 + 1e-12
        return Cholesky(H)

    # ---------------------------------------------------------- what `lbfgs.minimise` asks for

    def precondition(self, z: Array) -> Array:
        """Return z times an estimate of the inverse of the Hessian."""
        inverse = self.inverse
        if inverse.ndim == 1:
            out: Array = z * inverse
        else:
            out = single.product(z, inverse) if inverse.dtype == np.float32 else z @ inverse
        if not self.problem.fit_intercept:
            out[:, -1] = 0.0
        return out

    def image(self, z: Array) -> Array:
        """Return the scores."""
        operator = self.problem.operator
        if self.rough is None:
            return operator.scores(np.ascontiguousarray(z[:, :-1]), z[:, -1])
        operator.count(len(z))
        return single.scores(self.rough, z[:, :-1], z[:, -1])

    def value_slopes(self, image: Array) -> tuple[float, Array]:
        """Return the total of the stand-in, and its derivatives."""
        out, (kind, spread, shape) = np.empty_like(image), self.stage
        value = kernels.active.smooth_losses(
            image, self.problem.labels, self.penalty, spread, kind, shape, out
        )
        return float(value), out

    def pull(self, slopes: Array) -> Array:
        """Return the gradient of the loss."""
        out = np.zeros((slopes.shape[1], self.problem.n_features + 1))
        if self.rough is None:
            out[:, :-1] = self.problem.operator.pull(slopes)
        else:
            self.problem.operator.count(slopes.shape[1])
            out[:, :-1] = single.pull(self.rough, slopes)
        if self.problem.fit_intercept:
            out[:, -1] = slopes.sum(axis=0)
        return out

    def smooth(self, z: Array) -> Array:
        """Return the gradient of the regulariser."""
        out = np.zeros_like(z)
        out[:, :-1] = self.problem.regularizer.dot(z[:, :-1])
        return out

    def largest(self, image: Array) -> float:
        """Return the largest entry of the image of a direction, in size, that counts."""
        return float(np.abs(image[self.penalty > 0.0]).max(initial=0.0))


class SmoothMulticlass:
    """Solves a problem of several classes for many C and caps, without a certificate.

    Hundreds of fits of a cross-validation are only compared with each other. At a large C without
    a cap the exact solution is a hard margin that takes most of the time of the whole grid, and
    the held-out samples do not tell it from a point near it.

    Parameters
    ----------
    problem : MulticlassProblem
        The rows; its C and its loss do not matter.
    """

    def __init__(self, problem: MulticlassProblem) -> None:
        self._any = Smoothed(problem)
        self._known: dict[float, Smoothed] = {}

    def solve(self, problem: MulticlassProblem, start: Any = None) -> SolverResult:
        """Return a point close to a minimum.

        Parameters
        ----------
        problem : MulticlassProblem
            The rows of this object with some C and loss.
        start : (W, b, multipliers), optional
            Where to begin; the multipliers are not used. By default at least squares, rescaled.
        """
        if problem.C not in self._known:
            self._known[problem.C] = self._any.at(problem)
        smoothed = self._known[problem.C]
        smoothed.problem, smoothed.stage = problem, rounded(problem.loss)
        z = smoothed.least_squares() if start is None else np.column_stack(start[:2])
        z, slopes, steps = lbfgs.minimise(smoothed, z, STEPS, GAIN)
        coef, intercept = smoothed.parts(z)
        return SolverResult(
            coef=coef,
            intercept=intercept,
            multipliers=-slopes,
            objective=problem.objective_at(coef, intercept),
            n_iter=steps,
            start="warm",
        )
