"""What a descent keeps per row, and all that it asks of the rows.

`newton.py` decides what happens next and never looks at a single row; it talks to an object with
the methods of `LocalRows`. A problem whose rows are elsewhere brings its own (`Problem.rows`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.linalg.positive import Gram
from htsvm.linalg.row_system import LARGEST_MATRIX, RowSystem
from htsvm.losses import Loss
from htsvm.problems.binary import Problem
from htsvm.solvers.newton.dual_sweeps import DualSweeps, prefers_sweeps
from htsvm.solvers.newton.inner import Inner
from htsvm.solvers.newton.kernel_rounds import KernelRounds
from htsvm.solvers.newton.state import Closing, Iterate, RoundReport, Updates, close_round, violated

# Work on a copy of the relevant rows only where it is at most this share of all of them.
SUBSET_SHARE = 0.5
# Of wide dense rows, which are coordinates of a kernel mostly, a copy is what takes memory.
WIDE, WIDE_SHARE = 256, 0.1
# Below this many samples copying is not worth the trouble.
SUBSET_FROM = 1000
# Of this many rows the violations are looked at where a quantile of them is wanted.
QUANTILE_ROWS = 10_000


class LocalRows:
    """The rows of a problem in this process, with their violations, multipliers and weights."""

    # Instead of rounds, for as long as they do not crawl.
    sweeps: DualSweeps | None = None

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self.problem = problem
        self.rng = rng
        kind = KernelRounds if problem.operator.representers else Rounds
        self.rounds = kind(problem)
        if not problem.operator.representers and prefers_sweeps(problem):
            self.sweeps = DualSweeps(problem, rng)

    @property
    def w(self) -> Array:
        """The weights of the classifier."""
        return self.it.w

    @property
    def b(self) -> float:
        """Its intercept."""
        return self.it.b

    def traffic(self) -> dict[str, float]:
        """Return what went over a network, as further columns of the history: none here."""
        return {}

    # -------------------------------------------------------------------------- where to be

    def start_at_zero(self) -> None:
        """Start from w = 0, b = 0 and no multipliers."""
        m, n = self.problem.operator.shape
        self.it = Iterate(np.zeros(n), 0.0, np.ones(m), np.zeros(m), np.empty(m))

    def start_at(self, w: Array, b: float, psi: Array | None) -> None:
        """Start from a point, with its multipliers if there are any."""
        m = self.problem.n_samples
        w = np.array(w, dtype=np.float64)
        alpha = np.zeros(m) if psi is None else self._tilted(psi)
        np.maximum(alpha, 0.0, out=alpha)
        self.it = Iterate(w, float(b), self.problem.violations(w, b), alpha, np.empty(m))

    def state(self) -> tuple[Array, float, Array]:
        """Return the point and its multipliers as arrays that no round of Newton steps changes."""
        return self.it.w, self.it.b, self.it.alpha

    def return_to(self, w: Array, b: float, alpha: Array) -> None:
        """Go back to a state."""
        self.it = Iterate(w, b, self.problem.violations(w, b), alpha, np.empty(len(alpha)))

    def move(self, w: Array, b: float) -> None:
        """Go to a point; the multipliers stay as they are."""
        self.it.w, self.it.b = w, b
        self.problem.violations(w, b, out=self.it.q)

    def guess_multipliers(self, share: float) -> None:
        """Set the multipliers from q alone: a ramp as wide as the given share of all samples."""
        some = self.it.q[:: max(len(self.it.q) // QUANTILE_ROWS, 1)]
        self.guess_ramp(ramp_width(some, share))

    def guess_ramp(self, width: float) -> None:
        """Let the multipliers rise as q goes from -width to width, as far as they explain w."""
        it, problem = self.it, self.problem
        set_ramp(it.q, it.alpha, problem, width)
        if problem.linear is None:
            it.alpha *= problem.share_explained(it.w, it.alpha)

    def take(self, rows: Array) -> Problem:
        """Return the problem on a copy of some rows, in this process."""
        return self.problem.take(rows)

    # ------------------------------------------------------------------- with other penalties

    def with_random_penalties(self) -> LocalRows:
        """Return these rows with their penalties multiplied by exponential random numbers."""
        noise = self.rng.exponential(size=self.problem.n_samples)
        varied = replace(self.problem, penalty=self.problem.penalty * noise, linear=None)
        return LocalRows(varied, self.rng)

    def adopt(self, varied: LocalRows) -> None:
        """Go where these rows with other penalties have gone, within the bounds of the loss."""
        self.it = varied.it
        top = float(self.problem.loss.profile_slope(0.0))
        np.minimum(self.it.alpha, top * self.problem.penalty, out=self.it.alpha)

    # -------------------------------------------------------------------------- what is there

    def largest_violation(self) -> float:
        """Return the largest violation of a sample that counts, at least zero."""
        return float(self.it.q.max(initial=0.0, where=self.problem.penalty > 0.0))

    def objective(self) -> float:
        """Return the objective."""
        return self.problem.objective(self.it.w, self.it.q)

    def multipliers(self) -> Array:
        """Return psi."""
        return self._tilted(self.it.alpha)

    def final_objective(self) -> float:
        """Return the objective from violations that are computed anew, in the place of the old."""
        it = self.it
        return self.problem.objective(it.w, self.problem.violations(it.w, it.b, out=it.q))

    def _tilted(self, alpha: Array) -> Array:
        """Return psi for alpha, or alpha for psi: the linear part of the loss less the other."""
        tilt = self.problem.loss.tilt
        psi: Array = np.subtract(tilt * self.problem.penalty if tilt else 0.0, alpha)
        return psi

    # -------------------------------------------------------------------------- what to do

    def weigh(self, loss: Loss | None) -> None:
        """Set the weights of the hinge majoriser of `loss`; None stands for its convex start."""
        problem = self.problem
        if self.sweeps is not None:
            self.sweeps.momentum.weigh(loss)
        if loss is None:
            top = float(problem.loss.profile_slope(0.0))
            np.multiply(problem.penalty, top, out=self.it.weights)
        else:
            loss.slopes(self.it.q, problem.penalty, self.it.weights)

    def run(self, xi: float, *, tol: float, max_steps: int, reach: float) -> RoundReport:
        """Minimise the inner function approximately and take the multiplier step."""
        if self.sweeps is not None:
            return self.sweeps.run(self.it, reach)
        return self.rounds.run(self.it, xi, tol=tol, max_steps=max_steps, reach=reach)

    def close(
        self, stage: Loss | None, nu: float, refresh: bool, following: Loss | None = None
    ) -> Closing:
        """Weigh the samples for the loss `stage` and look at the result; see `close_round`.

        Nothing is prepared here for the loss `following` of the next round.
        """
        closing = close_round(self.problem, self.it, stage, nu, refresh)
        if self.sweeps is not None and self.sweeps.crawl(closing.lag):
            self.sweeps = None
        return closing

    def reweigh(self, loss: Loss, band: float, closing: Closing) -> Closing:
        """Set the weights to the slopes of a loss whose slope jumps; return how that leaves things.

        Samples within a narrow band around the jump keep the weight they have: either is right to
        within the width of the band, and inexact rounds would move them in and out for ever.
        """
        it, penalty = self.it, self.problem.penalty
        kept: Array = np.flatnonzero(np.abs(it.q - loss.cap) < band)
        before = it.weights[kept].copy()
        loss.slopes(it.q, penalty, it.weights)
        it.weights[kept] = before
        square_errors, square_size, _ = kernels.active.natural_residual(
            it.q, it.alpha, it.weights, penalty, loss.unit_step
        )
        return replace(closing, square_errors=square_errors, square_size=square_size)


def ramp_width(q: Array, share: float) -> float:
    """Return how large a violation is, in size, that the given share of all do not exceed."""
    return float(np.quantile(np.abs(q), min(share, 1.0))) + 1e-12


def set_ramp(q: Array, alpha: Array, problem: Problem, width: float) -> None:
    """Let the multipliers rise from zero to their bound as q goes from -width to width."""
    np.clip(0.5 + (0.5 / width) * q, 0.0, 1.0, out=alpha)
    alpha *= problem.penalty
    alpha *= float(problem.loss.profile_slope(0.0))


@dataclass
class Rounds:
    """Runs rounds for one problem; keeps what is worth keeping between them."""

    problem: Problem

    def __post_init__(self) -> None:
        self._whole: RowSystem | None = None
        self._gram: Gram | None = None
        self._updates = Updates()

    def run(
        self, it: Iterate, xi: float, *, tol: float, max_steps: int, reach: float
    ) -> RoundReport:
        """Minimise the inner function approximately and take the multiplier step.

        Only rows that can matter are looked at: those with weight, and within `reach` of the
        margin on the safe side or with a multiplier. The others are seen again after the round,
        when all violations are computed anew.
        """
        problem = self.problem
        rows = kernels.active.relevant_rows(it.q, it.alpha, it.weights, reach)
        m = problem.n_samples
        wide = problem.n_features >= WIDE and not problem.operator.sparse
        if m < SUBSET_FROM or len(rows) > (WIDE_SHARE if wide else SUBSET_SHARE) * m:
            inner = self._on_all_rows(it)
            report = inner.minimise(xi, tol, max_steps)
            it.alpha = inner.s
            report.stale = self._updates.lost_digits(report.steps)
        else:
            inner = self._on_some_rows(it, rows)
            report = inner.minimise(xi, tol, max_steps)
            it.alpha = np.zeros(m)
            it.alpha[rows] = inner.s
            report.stale = True
            report.violated = violated(inner.q, inner.c)
        it.w, it.b = inner.w, inner.b
        report.rows = len(rows)
        return report

    def _on_all_rows(self, it: Iterate) -> Inner:
        problem = self.problem
        if self._whole is None:
            self._whole = RowSystem(
                problem.operator, problem.penalty, problem.regularizer, problem.fit_intercept,
                gram=self._shared_gram(),
            )  # fmt: skip
        return Inner(problem, it.w, it.b, it.q, it.alpha, it.weights, self._whole)

    def _shared_gram(self) -> Gram | None:
        """Return a Gram matrix to keep from round to round, if it is small enough to be formed."""
        if self._gram is None and self.problem.n_features < LARGEST_MATRIX:
            self._gram = Gram(self.problem.operator, self.problem.penalty)
        return self._gram

    def _on_some_rows(self, it: Iterate, rows: Array) -> Inner:
        part = self.problem.take(rows)
        part.operator.row_length = self.problem.operator.row_length
        system = RowSystem(
            part.operator, part.penalty, part.regularizer, part.fit_intercept,
            gram=self._shared_gram(), rows=rows,
        )  # fmt: skip
        return Inner(part, it.w, it.b, it.q[rows], it.alpha[rows], it.weights[rows], system)
