"""Rounds of the default solver: choose the rows that matter, minimise, update the multipliers."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.linalg.positive import Gram
from htsvm.linalg.row_system import LARGEST_MATRIX, RowSystem
from htsvm.problems.binary import Problem
from htsvm.solvers.newton.inner import Inner
from htsvm.solvers.newton.state import Clock, Iterate, RoundReport, Updates, violated

# Work on a copy of the relevant rows only where it is at most this share of all of them.
SUBSET_SHARE = 0.5
# Of wide dense rows, which are coordinates of a kernel mostly, a copy is what takes memory.
WIDE, WIDE_SHARE = 256, 0.1
# Below this many samples copying is not worth the trouble.
SUBSET_FROM = 1000


@dataclass
class Rounds:
    """Runs rounds for one problem; keeps what is worth keeping between them."""

    problem: Problem
    clock: Clock = field(default_factory=Clock)

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
        return Inner(problem, it.w, it.b, self.clock, it.q, it.alpha, it.weights, self._whole)

    def _shared_gram(self) -> Gram | None:
        """Return a Gram matrix to keep from round to round, if it is small enough to be formed."""
        if self._gram is None and self.problem.n_features < LARGEST_MATRIX:
            self._gram = Gram(self.problem.operator, self.problem.penalty)
        return self._gram

    def _on_some_rows(self, it: Iterate, rows: Array) -> Inner:
        began = time.perf_counter()
        part = self.problem.take(rows)
        part.operator.row_length = self.problem.operator.row_length
        self.clock.passes += time.perf_counter() - began
        system = RowSystem(
            part.operator, part.penalty, part.regularizer, part.fit_intercept,
            gram=self._shared_gram(), rows=rows,
        )  # fmt: skip
        return Inner(
            part, it.w, it.b, self.clock, it.q[rows], it.alpha[rows], it.weights[rows], system
        )
