"""Where searches for a start take place if there are several classes."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from htsvm._typing import Array
from htsvm.linalg import multiclass_kernels, single
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers.starts.quasi_newton import minimise
from htsvm.solvers.starts.terrain import (
    MULTIPLES,
    ROUGH,
    Rounded,
    Sigmoid,
    Squares,
    Stage,
    Terrain,
    inverse,
)

# The largest score of a rival is rounded over this, with a sigmoid and with the loss itself.
WIDE, NARROW = 0.6, 0.2
# Multiples of a point among which one may separate the classes.
LARGER = (1.0, 1.1, 1.2, 1.35, 1.5, 2.0)
# At the end of a search: how much sharper the maximum and the kink become, and for how many steps,
# each of which gains at least this share.
SHARPER, FINER = ((2.0, 30), (4.0, 40)), 1e-5
# From this many values times classes on all of that pays.
LARGE = 20_000_000
# Samples further than this from where the loss has a slope may be left out there, if they are at
# least the rest of this share.
NEAR, MOST_NEAR = 0.5, 0.7
# Steps know the correlations of the features: this share of the number asked for will do.
STEPS_SHARE = 0.6
# Up to this many features searches know the correlations between them.
MOST_CORRELATED = 1500
# The convex problem is first solved for a C whose product with a squared row is at most this, then
# for larger ones, by this factor, while a multiplier is at its bound; roughly on the way there.
STRONGEST, GROWTH, ROUGH_STEPS = 40.0, 8.0, 15


class MulticlassTerrain(Terrain):
    """The rows of a problem of several classes; a smooth maximum stands for that over rivals.

    It is the largest mean of scores with weights from the simplex, less `spread` times half their
    squares: few rivals have a part in it, and its weights are the multipliers of a near problem.
    """

    def __init__(self, problem: MulticlassProblem) -> None:
        super().__init__(problem)
        self.stage: Stage = Squares()
        self._known: tuple[Stage, Any] = (self.stage, None)
        self.sharpness = 1.0
        # The share of C for which the convex problem was solved.
        self.convex_share = 1.0
        self._inverses: dict[float, Array] = {}
        self._own = (np.arange(problem.n_samples), problem.labels)
        self._shape = (problem.n_classes, problem.n_features)

    @property
    def large(self) -> bool:
        """Whether a Newton step is dear, so that a search is worth more steps."""
        return bool(self.problem.operator.stored * self.problem.n_classes >= LARGE)

    def at(self, problem: MulticlassProblem) -> MulticlassTerrain:
        """Return the same rows with all penalties times a factor; second moments are shared."""
        other = MulticlassTerrain(problem)
        moments = self._moments
        other._moments = None if moments is None else moments * (problem.C / self.problem.C)
        other._rough = self._rough
        return other

    @cached_property
    def _moments(self) -> Array | None:
        """The second moments of the rows (x, 1), times penalties; None if there are too many."""
        n = self.problem.n_features
        if n > MOST_CORRELATED:
            return None
        return self._weighted_moments(self.problem.penalty)

    @property
    def has_moments(self) -> bool:
        """Whether second moments shape the steps of the search."""
        return self._moments is not None

    @cached_property
    def _rough(self) -> Array | None:
        """Many dense rows in single precision, which is good enough for a search; else None."""
        p, moments = self.problem, self._moments
        if moments is None or not single.pays(p.operator, p.n_classes, moments):
            return None
        rows: Array = p.operator.block(slice(None)).astype(np.float32)
        return rows

    def _weighted_moments(self, weights: Array) -> Array:
        n = self.problem.n_features
        rows = np.flatnonzero(weights > 0.0)
        moments = np.zeros((n + 1, n + 1))
        if len(rows):
            self.problem.operator.add_gram(rows, 1.0, moments, weights[rows])
        return np.tril(moments) + np.tril(moments, -1).T

    @property
    def _whitening(self) -> Array:
        """The inverse of an estimate of the Hessian for one class, or of its diagonal."""
        share = self.convex_share
        if share not in self._inverses:
            inverted = self._inverse(share)
            rough = inverted.ndim == 2 and self._rough is not None
            self._inverses[share] = inverted.astype(np.float32) if rough else inverted
        return self._inverses[share]

    def _inverse(self, share: float) -> Array:
        """Return that estimate with all penalties times a share."""
        p, k = self.problem, self.problem.n_classes / share
        if self._moments is None:
            squares = p.operator.squared_pull(p.penalty[:, None])[0]
            diagonal = np.append(p.regularizer.diagonal() + squares / k, float(p.penalty.sum()) / k)
            return inverse(diagonal)
        try:
            # LAPACK's own inverse (dpotri) is quicker, but its last digits differ between threads.
            inverted: Array = cho_solve(self._factor(self._moments / k), np.eye(p.n_features + 1))
        except LinAlgError:
            return inverse(np.diagonal(self._moments) / k)
        return inverted

    def _factor(self, moments: Array) -> tuple[Array, bool]:
        """Return Cholesky factors of the regulariser plus second moments."""
        H = moments.copy()
        if not self.problem.fit_intercept:
            H[-1, :-1] = H[:-1, -1] = 0.0
        self.problem.regularizer.add_to(H)
        H[np.diag_indices_from(H)] *= 1.0 + 1e-12
        H[-1, -1] += 1e-10 * float(np.trace(H))
        factor: tuple[Array, bool] = cho_factor(H, lower=True)
        return factor

    def zero(self) -> Array:
        """Return the point zero."""
        k, n = self._shape
        return np.zeros(k * (n + 1))

    def least_squares(self, max_steps: int, balanced: bool = False) -> Array:
        """Return the least squares fit to the labels, with classes of equal weight if asked."""
        moments = self._moments
        if moments is None or not self.problem.fit_intercept:
            return super().least_squares(max_steps, balanced)
        p = self.problem
        weights = p.penalty * self.class_factors() if balanced else p.penalty
        if balanced:
            moments = self._weighted_moments(weights)
        T = np.zeros((p.n_samples, p.n_classes))
        T[self._own] = weights
        rhs = np.vstack([p.pull(T).T, T.sum(axis=0)])
        solution = cho_solve(self._factor(moments), rhs)
        return np.append(solution[:-1].T.ravel(), solution[-1])

    def weigh(self, factors: Array | None) -> None:
        """Multiply the penalties of the problem by factors per sample; None: as they were."""
        own = self.problem.penalty
        self.penalty = own if factors is None else own * factors

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.problem.n_classes)

    def codes(self) -> Array:
        """Return the class of each sample, from zero on."""
        labels: Array = self.problem.labels
        return labels

    def class_factors(self) -> Array:
        """Return factors per sample that give all classes the same total penalty."""
        p = self.problem
        mass = np.bincount(p.labels, weights=p.penalty, minlength=p.n_classes)
        factors: Array = (mass.sum() / p.n_classes / np.maximum(mass, 1e-300))[p.labels]
        return factors

    def parts(self, z: Array) -> tuple[Array, Array]:
        """Return the weights and the intercepts of a point, with means over classes taken off."""
        k, n = self._shape
        W, b = z[: k * n].reshape(k, n), z[k * n :]
        return W - W.mean(axis=0), b - b.mean()

    def violations(self, z: Array) -> Array:
        """Return the violations at z."""
        p = self.problem
        q: Array = p.violations(p.levels(*self.parts(z)))
        return q

    def multipliers(self, z: Array, stretch: float = 1.0) -> Array:
        """Return the pulls of the loss with a rounded kink, its cap stretched."""
        self.stage = self.final_stage(stretch)
        slopes = self.value_and_slopes(self.image(z))[1]
        slopes *= -self.convex_share if np.isinf(stretch) else -1.0
        return slopes

    def on_margin(self, z: Array) -> tuple[Array, Array]:
        """Return a solution of the convex problem and its pulls, both scaled to the margin.

        With a rounded kink the samples that hold a hard margin are on its safe side. The factor
        brings them, on average by their multipliers, to where they belong.
        """
        pulls = self.multipliers(z, np.inf)
        total = float(pulls[self._own].sum())
        margin = float(np.vdot(pulls, self.image(z)))
        factor = total / margin if 0.0 < total < margin else 1.0
        return factor * z, factor * pulls

    def rescaled(self, z: Array) -> Array:
        """Return the multiple of z with the lowest objective."""
        p = self.problem
        W, b = self.parts(z)
        F = p.operator.scores(W, b)
        energy = p.energy(W)
        values = [
            t * t * energy + p.loss.total(p.violations(p.raised(t * F)), p.penalty)
            for t in MULTIPLES
        ]
        multiple: Array = MULTIPLES[int(np.argmin(values))] * z
        return multiple

    def final_stage(self, stretch: float = 1.0) -> Rounded:
        """Return the loss with its cap stretched and its kink at zero rounded."""
        stage = super().final_stage(stretch)
        return replace(stage, width=stage.width / self.sharpness)

    def sharpen(self, z: Array) -> Array:
        """Go down from z with all that is rounded rounded less and less, close to a minimum.

        On little data Newton steps are as good. On more, samples that are far on the safe side or
        far beyond the cap are left out, unless that leads upwards.
        """
        stages = SHARPER if self.large else SHARPER[:1]
        near = self._near(z) if self.large else self
        lower = near._sharpened(z, stages)
        if near is not self and not self.objective(lower) < self.objective(z):
            lower = self._sharpened(z, stages)
        self.sharpness = stages[-1][0]
        return lower

    def _sharpened(self, z: Array, stages: tuple[tuple[float, int], ...]) -> Array:
        for self.sharpness, steps in stages:
            z = self.descend(z, self.final_stage(), int(steps / STEPS_SHARE), FINER)
        return z

    def _near(self, z: Array) -> MulticlassTerrain:
        """Return this with the samples alone that feel the loss at z or close to it."""
        q = self.violations(z)
        rows = np.flatnonzero((q > -NEAR) & (q < self.loss.cap + NEAR))
        if len(rows) > MOST_NEAR * len(q):
            return self
        near = MulticlassTerrain(self.problem.take(rows))
        near._rough = None if self._rough is None else self._rough[rows]
        near._inverses = self._inverses
        near.convex_share = self.convex_share
        return near

    def separates(self, z: Array) -> bool:
        """Return whether a multiple of z is lower than z and truncates no sample."""
        p = self.problem
        W, b = self.parts(z)
        F, energy = p.operator.scores(W, b), p.energy(W)
        violations = [p.violations(p.raised(t * F)) for t in LARGER]
        values = [
            t * t * energy + p.loss.total(q, p.penalty)
            for t, q in zip(LARGER, violations, strict=True)
        ]
        best = int(np.argmin(values))
        largest = float(violations[best].max(initial=0.0, where=p.penalty > 0.0))
        return best > 0 and largest <= p.loss.curved_interval[0]

    def descend(self, z: Array, stage: Stage, max_steps: int, tol: float) -> Array:
        """Return where a descent from z on a smooth loss ends."""
        self.stage = stage
        if isinstance(stage, Rounded) and np.isinf(stage.loss.cap):
            return self._convex(z, stage.width, max_steps, tol)
        return minimise(self, z, int(np.ceil(STEPS_SHARE * max_steps)), tol)[0]

    def _convex(self, z: Array, width: float, max_steps: int, tol: float) -> Array:
        """Return a solution of the convex problem, for a smaller C if that makes no difference.

        Where no multiplier is at its bound, the margin is hard, and all larger C have the same
        solution; but the larger C, the less do smoothed losses say about it.
        """
        own, strength = self.penalty, self._strength()
        share, there = min(1.0, STRONGEST / strength) if strength > 0.0 else 1.0, z
        try:
            while share < 1.0:
                self.penalty, self.convex_share = share * own, share
                there = minimise(self, there, ROUGH_STEPS, ROUGH)[0]
                if self.largest_violation(there) <= width:
                    return minimise(self, there, max_steps, tol)[0]
                share *= GROWTH
            # Not a hard margin, or not to be seen: rough points of smaller C lead astray.
            self.penalty, self.convex_share = own, 1.0
            return minimise(self, z, max_steps, tol)[0]
        finally:
            self.penalty = own

    def _strength(self) -> float:
        """Return C times the mean square of the rows over the regulariser."""
        p = self.problem
        total = float(p.penalty.sum()) or 1.0
        square = float(p.penalty @ p.operator.row_squares()) / total
        return float(p.C * square / (float(p.regularizer.diagonal().mean()) or 1.0))

    # ------------------------------------------------------------ what `minimise` asks for

    def precondition(self, z: Array) -> Array:
        """Return z times an estimate of the inverse of the Hessian."""
        k, n = self._shape
        V, whitening = np.empty((k, n + 1)), self._whitening
        V[:, :n], V[:, n] = z[: k * n].reshape(k, n), z[k * n :]
        if whitening.dtype == np.float32:
            V = single.product(V, whitening)
        else:
            V = V @ whitening if whitening.ndim == 2 else V * whitening
        return self._flat(V[:, :n], V[:, n] if self.problem.fit_intercept else 0.0)

    def _flat(self, W: Array, b: Array | float) -> Array:
        """Return weights and intercepts as one array."""
        k, n = self._shape
        z = np.empty(k * (n + 1))
        z[: k * n].reshape(k, n)[:] = W
        z[k * n :] = b
        return z

    def image(self, z: Array) -> Array:
        """Return the scores."""
        k, n = self._shape
        W, b, operator = z[: k * n].reshape(k, n), z[k * n :], self.problem.operator
        if self._rough is None:
            scored: Array = operator.scores(W, b)
            return scored
        operator.count(k)
        return single.scores(self._rough, W, b)

    def value_and_slopes(self, image: Array) -> tuple[float, Array]:
        """Return the total of the smooth loss, and its derivatives."""
        if isinstance(self.stage, Squares):
            rest = image.copy()
            rest[self._own] -= 1.0
            slopes = self.penalty[:, None] * rest
            return 0.5 * float(np.vdot(slopes, rest)), slopes
        out = np.empty_like(image)
        if self._known[0] is not self.stage:
            self._known = self.stage, _described(self.stage)
        kind, spread, shape = self._known[1]
        value = multiclass_kernels.active.smooth_losses(
            image, self.problem.labels, self.penalty, spread / self.sharpness, kind, shape, out
        )
        return float(value), out

    def pull(self, slopes: Array) -> Array:
        """Return the gradient of the loss."""
        totals = slopes.sum(axis=0) if self.problem.fit_intercept else 0.0
        operator = self.problem.operator
        if self._rough is None:
            return self._flat(operator.pull(slopes), totals)
        operator.count(slopes.shape[1])
        return self._flat(single.pull(self._rough, slopes), totals)

    def smooth(self, z: Array) -> Array:
        """Return the gradient of the regulariser."""
        k, n = self._shape
        return self._flat(self.problem.smooth(z[: k * n].reshape(k, n)), 0.0)


def _described(stage: Stage) -> tuple[int, float, Array]:
    """Return a smooth loss as the kernel takes it: kind, spread of the maximum, shape."""
    if isinstance(stage, Sigmoid):
        return 1, WIDE, np.array([stage.height, stage.centre, stage.width])
    assert isinstance(stage, Rounded)
    loss = stage.loss
    top, knee = float(loss.profile_slope(0.0)), float(loss.curved_interval[0])
    return 0, NARROW, np.array([top, knee, loss.cap, stage.width])
