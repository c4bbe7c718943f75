"""Where searches for a start of a binary problem take place."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.linalg.operators import dense, double
from htsvm.losses import HybridTruncated, Ramp
from htsvm.problems.binary import Problem
from htsvm.solvers.newton import valley
from htsvm.solvers.newton.ridge import is_cheap, ridge_point
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

# Searches in one call each; None where nothing was compiled.
compiled = kernels.optional("solvers.starts._smooth")
# Up to so many values least squares is also solved exactly; where rows are fewer than columns, up
# to so much work: values times rows.
LITTLE_DATA, WIDE_WORK = 3000, 5_000_000
# With these ridges, in units of the largest singular value squared.
RIDGES = np.array([1e-15, 1e-12, 1e-9, 1e-6, 1e-4, 1e-2, 1.0])
# From so many samples on, steps with the loss itself leave out those that are farther than `NEAR`
# caps from its bends; so many steps at a time, unless more than this share is near.
SHRUNK_FROM, NEAR, STEPS_NEAR, MOST_NEAR = 5000, 1.0, 12, 0.7
# From so many samples on, with up to so many columns, these are Newton steps: each is worth so many
# others, and runs go this far beyond the rows that they look at. On 142 fits to six such sets they
# end 0.2 % lower in the mean (from 0.8 % above to 5 % below), in 0.9 of the time.
NEWTON_FROM, NEWTON_COLUMNS, WORTH, STRIDE = 7500, 64, 2, 3.0
# From the convex solution they go by way of one stretched cap. On 60 fits to five such sets that
# ends 0.2 % lower in the mean than three (skin from 3.5 % above to 8 % below), in 0.9 of the time.
NEWTON_CAPS = (2.0,)
# Where they leave a gradient residual above this, they have not come near a minimum.
ASTRAY = 0.3


class BinaryTerrain(Terrain):
    """The rows of a binary problem."""

    def __init__(self, problem: Problem, wide: Terrain | None = None) -> None:
        super().__init__(problem, wide)
        self.scale: Array
        if isinstance(wide, BinaryTerrain):
            # The sample stands for all rows: its penalties add up to theirs.
            self.scale = wide.scale
        else:
            squares = problem.operator.squared_pull(problem.penalty[:, None])[0]
            total = float(problem.penalty.sum())
            self.scale = inverse(np.append(problem.regularizer.diagonal() + squares, total))
        self.stage: Stage = Squares()
        # The last point whose violations were asked for, and these: they are often asked for again.
        self._seen: tuple[Array, Array] | None = None
        self._kernel = self._compiled(problem)

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

    def least_squares(self, max_steps: int, balanced: bool = False) -> Array:
        """Return the least squares fit to the labels, with classes of equal weight if asked.

        On many rows it is solved at once: by steps their sums take longer than those of a matrix.
        """
        if self.wide is self or balanced or not is_cheap(self.problem):
            return super().least_squares(max_steps, balanced)
        return ridge_point(self.problem, self.penalty)

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
        if not S[0] ** 2 > 0.0:
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
        sides = kernels.active.side_totals(p.y, p.penalty)
        down, up = 0.5 * sides.sum() / np.maximum(sides, 1e-300)
        factors: Array = np.where(p.y > 0, up, down)
        return factors

    def parts(self, z: Array) -> tuple[Array, float]:
        """Return the weights and the intercept of a point."""
        return z[:-1].copy(), float(z[-1])

    def violations(self, z: Array) -> Array:
        """Return the violations at z, which are not to be changed."""
        if self._seen is None or not np.array_equal(self._seen[0], z):
            q = self.problem.violations(np.ascontiguousarray(z[:-1]), float(z[-1]))
            self._seen = z.copy(), q
        return self._seen[1]

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
        p = self.wide.problem
        values = p.loss.totals(self.wide.violations(z), p.penalty, MULTIPLES)
        values += MULTIPLES**2 * p.regularizer.energy(z[:-1])
        multiple: Array = MULTIPLES[int(np.argmin(values))] * z
        return multiple

    def descend(self, z: Array, stage: Stage, max_steps: int, tol: float) -> Array:
        """Return where a descent from z on a smooth loss ends."""
        if self._kernel is None or not _choose(self._kernel, stage):
            self.stage = stage
            return minimise(self, z, max_steps, tol)[0]
        if isinstance(stage, Rounded) and self.by_newton:
            return self._descend_by_newton(z, stage, max_steps, tol)
        if isinstance(stage, Rounded) and self.problem.n_samples >= SHRUNK_FROM:
            return self._descend_near(z, stage, max_steps, tol)
        end = np.array(z)
        self._run(self._kernel, self.problem, end, max_steps, tol)
        return end

    def caps(self, stretched: tuple[float, ...]) -> tuple[float, ...]:
        """Return some stretched caps, or one where steps are Newton's."""
        return NEWTON_CAPS if self.by_newton else stretched

    @staticmethod
    def _run(kernel: Any, problem: Problem, z: Array, max_steps: int, tol: float) -> int:
        """Go down from z, which becomes where that ends; return the number of steps."""
        before = kernel.steps
        kernel.minimise(z, max_steps, tol)
        steps: int = kernel.steps - before
        problem.operator.count(2.0 * (1 + steps))
        return steps

    @property
    def by_newton(self) -> bool:
        """Whether steps with the loss itself are Newton's: many rows, and few columns."""
        p = self.problem
        few = p.n_features <= NEWTON_COLUMNS and p.n_samples >= NEWTON_FROM
        return few and self._kernel is not None and valley.suits(p)

    def _descend_by_newton(self, z: Array, stage: Rounded, max_steps: int, tol: float) -> Array:
        """Go down with the loss itself by Newton steps, on the rows near its bends.

        Where no row is near they know of no curvature: then other steps go on.
        """
        problem = self.problem
        if self.penalty is not problem.penalty:
            problem = replace(problem, penalty=self.penalty)
        way = valley.Valley(problem, stride=STRIDE)
        w, b = way.descend(
            z[:-1], float(z[-1]), stage.loss, stage.width, tol=ROUGH, gain=tol,
            max_steps=max(max_steps // WORTH, 2),
        )  # fmt: skip
        end = np.append(w, b)
        if way.residual <= ASTRAY:
            return end
        return self._descend_near(end, stage, max_steps, tol)

    def _descend_near(self, z: Array, stage: Rounded, max_steps: int, tol: float) -> Array:
        """Go down with the loss itself on the rows near its bends, which are looked up again.

        Where those that were left out are in the way, all of them take part.
        """
        end, before, some, settled = np.array(z), math.inf, True, False
        reach, best = NEAR * self.loss.cap, end
        while True:
            value, rows = self._near(end, stage, reach)
            if value > (1.0 + ROUGH) * before:
                end, some, settled = best.copy(), False, False
            else:
                best, before = end.copy(), value
            if settled or max_steps <= 0:
                return best
            part, kernel, steps = self.problem, self._kernel, max_steps
            if some and 0 < len(rows) <= MOST_NEAR * len(self.penalty):
                part, steps = self.problem.take(rows), min(max_steps, STEPS_NEAR)
                kernel = self._compiled(replace(part, penalty=self.penalty[rows]))
                _choose(kernel, stage)
            taken = self._run(kernel, part, end, steps, tol)
            max_steps -= max(taken, 1)
            settled = taken < steps
            if part is self.problem:
                return end

    def _near(self, z: Array, stage: Rounded, reach: float) -> tuple[float, Array]:
        """Return the objective at z, and the rows within `reach` of where the loss bends."""
        q = self.violations(z)
        value = self.problem.energy(z[:-1]) + stage.loss.total(q, self.penalty)
        near = kernels.active.rows_between(
            q, self.penalty, -stage.width - reach, stage.loss.cap + reach
        )
        return value, near

    def _compiled(self, problem: Problem) -> Any:
        """Return the compiled search on a problem, or None where there is none."""
        rows = problem.operator.compiled_rows
        if compiled is None or rows is None or problem.n_samples == 0:
            return None
        R, n = problem.regularizer, problem.n_features
        matrix = np.ascontiguousarray(R.values) if R.is_matrix else np.zeros((0, 0))
        diagonal = np.ascontiguousarray(R.diagonal())
        return compiled.Smooth(
            rows, problem.y, problem.penalty, diagonal.reshape(n), matrix, self.scale,
            problem.fit_intercept,
        )  # fmt: skip

    # ------------------------------------------------------------ what `minimise` asks for

    def precondition(self, z: Array) -> Array:
        """Return z times an estimate of the inverse of the diagonal of the Hessian."""
        scaled: Array = self.scale * z
        return scaled

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
