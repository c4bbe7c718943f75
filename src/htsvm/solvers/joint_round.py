"""One round on the weighted multi-class problem: Newton steps, then new multipliers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import joint_kernels
from htsvm.linalg.products import scores
from htsvm.solvers.joint_problem import JointProblem
from htsvm.solvers.joint_system import JointSystem

# A round works on a copy of the rows that matter if these are at most this share of all.
COPY_SHARE = 0.7
# From this many samples on a round leaves out those that are far on the safe side.
SELECT_FROM = 1000
# A step is accepted when the slope along it has fallen to this share of that at its start.
SLOPE_SHARE = 0.3
MOST_TRIALS = 12
# Conjugate gradients reduce the residual at least to this share.
LEAST_ACCURACY = 0.1
ROUNDING = 1e-12


@dataclass
class JointIterate:
    """The state of a run.

    Attributes
    ----------
    W, b : ndarray
        The classifier.
    U : ndarray of shape (m, k)
        The levels at (W, b).
    q : ndarray of shape (m,)
        The violations at (W, b).
    alpha : ndarray of shape (m, k)
        Multipliers: a point of the simplex of size c_i for each sample, whose entry for the
        sample's own class is what the rivals leave.
    weights : ndarray of shape (m,)
        The sizes c_i.
    """

    W: Array
    b: Array
    U: Array
    q: Array
    alpha: Array
    weights: Array


@dataclass
class JointReport:
    """What a round did."""

    steps: int = 0
    cg_steps: int = 0
    rows: int = 0
    active: int = 0
    support: int = 0
    stationarity: float = math.inf
    balance: float = math.inf
    finished: bool = False
    crossed: bool = False


class JointRounds:
    """Semismooth Newton on the augmented Lagrangian of the weighted problem.

    With multipliers alpha and ``sigma_i = xi * penalty_i`` a round minimises over (W, b)

    ``energy(W) + sum_i max_a [a'u_i - c_i u_iy - |a - alpha_i|² / (2 sigma_i)]``,

    a over the simplex of size c_i. The maximiser, a projection, is the new multiplier.
    """

    def __init__(self, problem: JointProblem) -> None:
        self.problem = problem
        self.system = JointSystem(problem)

    def run(
        self, it: JointIterate, xi: float, *, tol: float, max_steps: int, reach: float
    ) -> JointReport:
        """Run a round on the samples whose violation is above ``-reach``."""
        problem = self.problem
        own = it.alpha[np.arange(len(it.q)), problem.labels]
        kept = it.weights > 0.0
        if len(kept) >= SELECT_FROM:
            pulls = own < (1.0 - ROUNDING) * it.alpha.sum(axis=1)
            kept &= (it.q > -reach) | pulls
        before = it.W, it.b, self._majoriser(it)
        share = np.count_nonzero(kept) / len(kept)
        whole = bool(share > COPY_SHARE)
        rows = np.arange(len(kept)) if whole else np.flatnonzero(kept)
        part = _Part(problem, it, rows, np.where(kept, it.weights, 0.0), xi, whole)
        report = JointReport(rows=len(rows))
        self._newton(part, it, report, tol, max_steps)
        if whole:
            it.q = problem.violations(it.U)
        else:
            problem.operator.passes += part.problem.operator.passes * share
            self._go_to(it, it.W, it.b)
            if self._majoriser(it) > before[2] and math.isfinite(reach):
                # The rows that were left out say no: again, with all of them.
                self._go_to(it, before[0], before[1])
                return self.run(it, xi, tol=tol, max_steps=max_steps, reach=math.inf)
        it.alpha[:] = 0.0
        it.alpha[np.arange(len(kept)), problem.labels] = it.weights
        it.alpha[kept] = part.projected[kept[rows]]
        report.crossed = bool(np.any(~kept & (it.weights > 0.0) & (it.q > 0.0)))
        return report

    def _go_to(self, it: JointIterate, W: Array, b: Array) -> None:
        it.W, it.b = W, b
        it.U = self.problem.levels(W, b)
        it.q = self.problem.violations(it.U)

    def _majoriser(self, it: JointIterate) -> float:
        """Return the objective of the weighted convex problem."""
        return self.problem.energy(it.W) + float(it.weights @ np.maximum(it.q, 0.0))

    def _newton(
        self, part: _Part, it: JointIterate, report: JointReport, tol: float, max_steps: int
    ) -> None:
        while True:
            gradient = part.gradient(it)
            self._measure(part, it, gradient, report)
            size = max(report.stationarity, report.balance)
            report.finished = size <= tol
            if report.finished or report.steps >= max_steps:
                return
            accuracy = min(LEAST_ACCURACY, max(0.3 * math.sqrt(size), 1e-3))
            dW, db = self.system.direction(
                part.problem, part.xi, part.projected, part.counts, gradient, accuracy
            )
            report.cg_steps += self.system.steps
            if not part.search(it, dW, db, gradient):
                return
            report.steps += 1

    def _measure(
        self, part: _Part, it: JointIterate, gradient: tuple[Array, Array], report: JointReport
    ) -> None:
        gW, gb = gradient
        support = part.support()
        mass = float(part.problem.penalty[support].sum()) / self.problem.C
        report.stationarity = float(np.linalg.norm(gW)) / (1.0 + float(np.linalg.norm(it.W)))
        report.balance = float(np.linalg.norm(gb)) / (1.0 + mass)
        report.support = int(np.count_nonzero(support))
        report.active = int(np.count_nonzero(part.counts > 1))


class _Part:
    """The rows of a round: their levels, multipliers and projections."""

    def __init__(
        self,
        problem: JointProblem,
        it: JointIterate,
        rows: Array,
        sizes: Array,
        xi: float,
        whole: bool,
    ) -> None:
        self.whole = whole
        self.problem = problem if whole else problem.take(rows)
        self.U = it.U if whole else it.U[rows]
        self.c = sizes if whole else sizes[rows]
        self.alpha = resized(it.alpha if whole else it.alpha[rows], self.c)
        self.xi = xi
        self.sigma = xi * self.problem.penalty
        self.projected = np.empty_like(self.U)
        self.counts = np.empty(len(self.U), dtype=np.intc)
        self._places = np.arange(len(self.U))
        self._project(self.U, 0.0)

    def _project(self, D: Array, t: float) -> float:
        """Project at the levels U + t D; return ``sum(projected * D)``."""
        return float(
            joint_kernels.active.simplex_step(
                self.alpha, self.U, D, t, self.sigma, self.c, self.projected, self.counts
            )
        )

    def support(self) -> Array:
        """Return which samples pull: those with a rival that has a multiplier."""
        own = self.projected[self._places, self.problem.labels]
        pulls: Array = (self.counts > 1) | ((self.counts == 1) & (own == 0.0))
        return pulls

    def gradient(self, it: JointIterate) -> tuple[Array, Array]:
        B = self.problem.own(self.projected.copy())
        gW = self.problem.smooth(it.W) - self.problem.pull(B)
        gb = -B.sum(axis=0) if self.problem.fit_intercept else np.zeros(len(it.b))
        return gW, gb

    def search(self, it: JointIterate, dW: Array, db: Array, gradient: tuple[Array, Array]) -> bool:
        """Move along (dW, db) to where the slope is small; False if it does not descend."""
        gW, gb = gradient
        slope = float(np.vdot(gW, dW)) + float(gb @ db)
        if not slope < 0.0:
            return False
        D = scores(self.problem.operator, dW, db)
        fixed = float(np.vdot(self.problem.smooth(it.W), dW))
        fixed -= float(self.c @ D[self._places, self.problem.labels])
        bend = 2.0 * self.problem.energy(dW)
        low, high, t = (0.0, slope), (math.inf, 0.0), 1.0
        for _ in range(MOST_TRIALS):
            value = fixed + t * bend + self._project(D, t)
            if abs(value) <= SLOPE_SHARE * abs(slope):
                break
            if value < 0.0:
                low = (t, value)
            else:
                high = (t, value)
            t = _next_trial(low, high)
        it.W = it.W + t * dW
        it.b = it.b + t * db
        self.U += t * D
        self._project(self.U, 0.0)
        return True


def _next_trial(low: tuple[float, float], high: tuple[float, float]) -> float:
    """Return a step between one that falls still and one that rises again."""
    (t0, s0), (t1, s1) = low, high
    if math.isinf(t1):
        return 4.0 * t0
    secant = t0 - s0 * (t1 - t0) / (s1 - s0)
    width = t1 - t0
    return min(max(secant, t0 + 0.1 * width), t1 - 0.1 * width)


def resized(alpha: Array, sizes: Array) -> Array:
    """Return multipliers scaled to simplices of other sizes."""
    old = alpha.sum(axis=1)
    factor = np.zeros(len(old))
    np.divide(sizes, old, out=factor, where=old > 0.0)
    scaled: Array = alpha * factor[:, None]
    return scaled


def natural_residual(it: JointIterate, problem: JointProblem, curvature: float) -> float:
    """Return how far the multipliers are from the levels they belong to.

    Zero if each alpha_i lies on the face of its simplex where the level is highest. The length is
    relative to that of the violations, and a sample of weight w counts w times.
    """
    nu = 0.5 / curvature if 0.0 < curvature < math.inf else 1.0
    places, labels = np.arange(len(it.q)), problem.labels
    held = it.alpha.copy()
    held[places, labels] = 0.0
    held[places, labels] = it.weights - held.sum(axis=1)
    target, counts = np.empty_like(held), np.empty(len(held), dtype=np.intc)
    joint_kernels.active.simplex_step(
        held, it.U, it.U, 0.0, problem.penalty / nu, it.weights, target, counts
    )
    target -= held
    errors = np.square(target).sum(axis=1)
    kept = problem.penalty > 0.0
    gap = nu * math.sqrt(float(np.sum(errors[kept] / problem.penalty[kept])))
    size = math.sqrt(float(problem.penalty @ np.square(it.q)))
    return gap / (math.sqrt(problem.C) + size)
