"""One round on the weighted multi-class problem: Newton steps, then new multipliers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import multiclass_kernels
from htsvm.optimality import residuals
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers.line_search import slope_root
from htsvm.solvers.multiclass.system import MulticlassSystem, UndecidedRows

# A round works on a copy of the rows that matter if these are at most this share of all.
COPY_SHARE = 0.7
# From this many samples on a round leaves out those that are far on the safe side.
SELECT_FROM = 1000
# A round is run again with all rows if those left out are this share of a rise of the objective.
MISSED_SHARE = 0.1
# A step is accepted when the slope along it has fallen to this share of that at its start.
SLOPE_SHARE = 0.1
MOST_TRIALS = 12
# Conjugate gradients reduce the residual to this share: the next step will have other rows.
CG_ACCURACY = 0.1
ROUNDING = 1e-12


@dataclass
class MulticlassIterate:
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

    def majorised_loss(self) -> float:
        """Return the loss of the weighted convex problem."""
        return float(self.weights @ np.maximum(self.q, 0.0))


@dataclass
class MulticlassReport:
    """What a round did."""

    steps: int = 0
    sweeps: int = 0
    cg_steps: int = 0
    rows: int = 0
    active: int = 0
    support: int = 0
    stationarity: float = math.inf
    balance: float = math.inf
    finished: bool = False
    penalised: bool = True
    crossed: bool = False


class RoundOptions(NamedTuple):
    """How a round is run: its penalty xi, tolerance, most steps, and the reach of its rows."""

    xi: float
    tol: float
    max_steps: int
    reach: float


class MulticlassRounds:
    """Semismooth Newton on the augmented Lagrangian of the weighted problem.

    With multipliers alpha and ``sigma_i = xi * penalty_i`` a round minimises over (W, b)

    ``energy(W) + sum_i max_a [a'u_i - c_i u_iy - |a - alpha_i|² / (2 sigma_i)]``,

    a over the simplex of size c_i. The maximiser, a projection, is the new multiplier.
    """

    def __init__(self, problem: MulticlassProblem) -> None:
        self.problem = problem
        self.system = MulticlassSystem.of(problem)

    def run(self, it: MulticlassIterate, options: RoundOptions) -> MulticlassReport:
        """Run a round on the samples whose violation is above ``-reach``."""
        problem = self.problem
        xi, tol, max_steps, reach = options
        kept = relevant(it, problem.labels, reach if len(it.q) >= SELECT_FROM else math.inf)
        before = it.W, it.b, self._majoriser(it)
        share = int(np.count_nonzero(kept)) / len(kept)
        part = MulticlassPart(problem, it, kept, xi, share > COPY_SHARE)
        steps = LocalSteps(problem, it.W, it.b, xi, part, self.system)
        report = MulticlassReport(rows=part.problem.n_samples)
        steps.minimise(report, tol, max_steps)
        it.W, it.b = steps.W, steps.b
        if part.whole:
            it.q = problem.violations(it.U)
        else:
            go_to(it, problem, it.W, it.b)
            rise = self._majoriser(it) - before[2]
            missed = float(it.weights @ np.where(kept, 0.0, np.maximum(it.q, 0.0)))
            if rise > 0.0 and missed > MISSED_SHARE * rise and math.isfinite(reach):
                # The rows that were left out say no: again, with all of them.
                go_to(it, problem, before[0], before[1])
                return self.run(it, options._replace(reach=math.inf))
        report.crossed = part.close(it, problem.labels)
        return report

    def _majoriser(self, it: MulticlassIterate) -> float:
        """Return the objective of the weighted convex problem."""
        return self.problem.energy(it.W) + it.majorised_loss()


def relevant(it: MulticlassIterate, labels: Array, reach: float) -> Array:
    """Return which samples a round looks at: with weight, and within reach or with a pull."""
    kept: Array = it.weights > 0.0
    if math.isfinite(reach):
        own = it.alpha[np.arange(len(it.q)), labels]
        pulls = own < (1.0 - ROUNDING) * it.alpha.sum(axis=1)
        kept &= (it.q > -reach) | pulls
    return kept


def go_to(it: MulticlassIterate, problem: MulticlassProblem, W: Array, b: Array) -> None:
    """Go to (W, b) and compute the levels and violations there."""
    it.W, it.b = W, b
    it.U = problem.levels(W, b)
    it.q = problem.violations(it.U)


@dataclass
class MulticlassSums:
    """Sums over the rows of a round, at its projected multipliers.

    Attributes
    ----------
    pull, totals : ndarray of shape (k, n) and (k,)
        ``B' X`` and the column sums of B.
    gross : float
        The sum of the sizes of B.
    support, active : int
        Their number, and that of the undecided samples.
    """

    pull: Array
    totals: Array
    gross: float
    support: int
    active: int


@dataclass
class MulticlassSteps(ABC):
    """Newton's method for the function of a round, given sums over rows that others compute."""

    problem: MulticlassProblem
    W: Array
    b: Array
    xi: float

    @abstractmethod
    def _sums(self) -> MulticlassSums:
        """Return what is known of the multipliers, summed over all rows."""

    @abstractmethod
    def _direction(
        self, gradient: tuple[Array, Array], accuracy: float
    ) -> tuple[Array, Array, int]:
        """Return (dW, db), and the number of steps of conjugate gradients."""

    @abstractmethod
    def _set_out(self, dW: Array, db: Array) -> float:
        """Choose a direction; return ``sum_i c_i`` times the change of the own score."""

    @abstractmethod
    def _trial(self, t: float) -> float:
        """Return ``sum(projected * D)`` after a step `t` along the direction D."""

    @abstractmethod
    def _move(self, t: float) -> None:
        """Move by `t` along the direction and project."""

    def minimise(self, report: MulticlassReport, tol: float, max_steps: int) -> None:
        """Take Newton steps until both gradient residuals are below `tol`."""
        while True:
            gradient = self._gradient(report)
            size = max(report.stationarity, report.balance)
            report.finished = size <= tol
            if report.finished or report.steps >= max_steps:
                return
            dW, db, steps = self._direction(gradient, CG_ACCURACY)
            report.cg_steps += steps
            if not self._search(dW, db, gradient):
                return
            report.steps += 1

    def _gradient(self, report: MulticlassReport) -> tuple[Array, Array]:
        sums = self._sums()
        own = self.problem.smooth(self.W)
        gW = own - sums.pull
        gb = -sums.totals if self.problem.fit_intercept else np.zeros(len(self.b))
        # Where no sample pulls, W = 0 is the solution.
        unit = residuals.pull_of(self.problem.trivial_objective, self.problem.regularizer)
        gross = max(sums.gross * self.problem.operator.row_length, unit)
        report.stationarity = residuals.of_gradient(own, sums.pull, gross)
        report.balance = residuals.balance(float(np.linalg.norm(gb)), sums.gross)
        report.support, report.active = sums.support, sums.active
        return gW, gb

    def _search(self, dW: Array, db: Array, gradient: tuple[Array, Array]) -> bool:
        """Move along (dW, db) to where the slope is small; False if it does not descend."""
        gW, gb = gradient
        slope = float(np.vdot(gW, dW)) + float(gb @ db)
        if not slope < 0.0:
            return False
        fixed = float(np.vdot(self.problem.smooth(self.W), dW)) - self._set_out(dW, db)
        bend = 2.0 * self.problem.energy(dW)

        def slopes(t: float) -> tuple[float, float]:
            return fixed + t * bend + self._trial(t), 0.0

        t = slope_root(slopes, slope, reduction=SLOPE_SHARE, most_trials=MOST_TRIALS)
        self.W = self.W + t * dW
        self.b = self.b + t * db
        self._move(t)
        return True


class MulticlassPart:
    """The rows of a round: their levels, multipliers and projections."""

    def __init__(
        self, problem: MulticlassProblem, it: MulticlassIterate, kept: Array, xi: float, whole: bool
    ) -> None:
        self.whole, self.kept, self.xi = whole, kept, xi
        sizes = np.where(kept, it.weights, 0.0)
        rows = np.flatnonzero(kept)
        self.problem = problem if whole else problem.take(rows)
        self.U = it.U if whole else it.U[rows]
        self.c = sizes if whole else sizes[rows]
        self.alpha = resized(it.alpha if whole else it.alpha[rows], self.c)
        self.sigma = xi * self.problem.penalty
        self.projected = np.empty_like(self.U)
        self.counts = np.empty(len(self.U), dtype=np.intc)
        self._places = np.arange(len(self.U))
        self.project(self.U, 0.0)

    def project(self, D: Array, t: float) -> float:
        """Project at the levels U + t D; return ``sum(projected * D)``."""
        return float(
            multiclass_kernels.active.simplex_step(
                self.alpha, self.U, D, t, self.sigma, self.c, self.projected, self.counts
            )
        )

    def sums(self) -> MulticlassSums:
        """Return the sums that the gradient and its measures need."""
        B = self.problem.own(self.projected.copy())
        own = self.projected[self._places, self.problem.labels]
        pulls = (self.counts > 1) | ((self.counts == 1) & (own == 0.0))
        return MulticlassSums(
            self.problem.pull(B), B.sum(axis=0), float(np.abs(B).sum()),
            int(np.count_nonzero(pulls)), int(np.count_nonzero(self.counts > 1)),
        )  # fmt: skip

    def undecided(self) -> UndecidedRows:
        """Return the rows that make up the Hessian."""
        return UndecidedRows(self.problem, self.xi, self.projected, self.counts)

    def set_out(self, dW: Array, db: Array) -> float:
        """Choose a direction; return ``sum_i c_i`` times the change of the own score."""
        self.D = self.problem.operator.scores(dW, db)
        return float(self.c @ self.D[self._places, self.problem.labels])

    def move(self, t: float) -> None:
        """Move by `t` along the direction and project."""
        self.U += t * self.D
        self.project(self.U, 0.0)

    def close(self, it: MulticlassIterate, labels: Array) -> bool:
        """Hand over the multipliers; return whether samples that were left out are violated."""
        it.alpha[:] = 0.0
        it.alpha[np.arange(len(self.kept)), labels] = it.weights
        it.alpha[self.kept] = self.projected[self.kept] if self.whole else self.projected
        return bool(np.any(~self.kept & (it.weights > 0.0) & (it.q > 0.0)))


@dataclass
class LocalSteps(MulticlassSteps):
    """The steps of a round on rows in this process."""

    part: MulticlassPart
    system: MulticlassSystem

    def _sums(self) -> MulticlassSums:
        return self.part.sums()

    def _direction(
        self, gradient: tuple[Array, Array], accuracy: float
    ) -> tuple[Array, Array, int]:
        dW, db = self.system.direction(self.part.undecided(), self.xi, gradient, accuracy)
        return dW, db, self.system.steps

    def _set_out(self, dW: Array, db: Array) -> float:
        return self.part.set_out(dW, db)

    def _trial(self, t: float) -> float:
        return self.part.project(self.part.D, t)

    def _move(self, t: float) -> None:
        self.part.move(t)


def resized(alpha: Array, sizes: Array) -> Array:
    """Return multipliers scaled to simplices of other sizes."""
    old = alpha.sum(axis=1)
    factor = np.zeros(len(old))
    np.divide(sizes, old, out=factor, where=old > 0.0)
    scaled: Array = alpha * factor[:, None]
    return scaled


class MultiplierSums(NamedTuple):
    """How far multipliers are from the levels they belong to, summed over samples.

    Zero if each alpha_i lies on the face of its simplex where the level is highest.

    Attributes
    ----------
    square_errors, square_size, slack : float
        What `residuals.violation` and `residuals.complementarity` take.
    """

    square_errors: float
    square_size: float
    slack: float

    def residual(self, unit: float) -> float:
        """Return the larger of the two, with `unit` as the unit of the objective."""
        errors = residuals.violation(self.square_errors, self.square_size)
        return max(errors, residuals.complementarity(self.slack, unit))


def multiplier_sums(
    it: MulticlassIterate, problem: MulticlassProblem, curvature: float, knee: float = math.inf
) -> MultiplierSums:
    """Return the sums at an iterate.

    Beyond `knee`, where the loss bends, the convex problem of the slack is the one that touches it
    where the multipliers are its slopes, as in the certificate.
    """
    nu = 0.5 / curvature if 0.0 < curvature < math.inf else 1.0
    places, labels = np.arange(len(it.q)), problem.labels
    held = it.alpha.copy()
    held[places, labels] = 0.0
    held[places, labels] = it.weights - held.sum(axis=1)
    target, counts = np.empty_like(held), np.empty(len(held), dtype=np.intc)
    multiclass_kernels.active.simplex_step(
        held, it.U, it.U, 0.0, problem.penalty / nu, it.weights, target, counts
    )
    target -= held
    errors = np.square(target).sum(axis=1)
    kept = problem.penalty > 0.0
    np.abs(held, out=held)
    bent = np.flatnonzero(it.q > knee)
    held[bent, labels[bent]] = 0.0
    below = it.U.max(axis=1)[:, None] - it.U
    return MultiplierSums(
        nu * nu * float(np.sum(errors[kept] / problem.penalty[kept])),
        float(problem.penalty @ (1.0 + np.square(it.q))),
        float(np.einsum("ij,ij,i->", held, below, kept.astype(np.float64))),
    )
