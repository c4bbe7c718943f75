"""Blocks of rows of a problem of two classes; see `block.py`."""

from __future__ import annotations

from dataclasses import astuple, replace
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.distributed.block import Block, Entry, shallow
from htsvm.distributed.protocol import Reads, joined, question
from htsvm.linalg import kernels
from htsvm.linalg.positive import Gram
from htsvm.linalg.row_system import ActiveRows
from htsvm.losses import Loss
from htsvm.optimality.point import Point
from htsvm.optimality.samples import Summary, summarise
from htsvm.optimality.second_order import CriticalSamples
from htsvm.solvers import Problem
from htsvm.solvers.newton.rounded import shape_of, value_and_slope
from htsvm.solvers.newton.rows import LocalRows, set_ramp
from htsvm.solvers.newton.state import close_round, violated

# A violation of at most this size counts as zero in a certificate.
ON_MARGIN = 1e-9
# Numbers between pull and Gram matrix in the sums of a gradient.
SCALARS = 5


class BinaryPart:
    """The rows of a block that a round looks at, with their violations where it is."""

    def __init__(self, block: BinaryBlock, entry: Entry) -> None:
        it, relevant = block.it, block.relevant(entry.reach)
        self.xi, self.whole, self.seen = entry.xi, entry.whole, [len(relevant)]
        self.problem = block.problem if entry.whole else block.problem.take(relevant)
        vectors = (it.q, it.alpha, it.weights)
        self.q, self.alpha, self.c = vectors if entry.whole else (v[relevant] for v in vectors)
        self.delta = np.empty(0)
        self.gram: Gram | None = None
        self.chosen: ActiveRows | None = None

    def __getstate__(self) -> dict[str, Any]:
        left_out = {"gram": None, "chosen": None} | ({"problem": None} if self.whole else {})
        return vars(self) | left_out

    def set_out(self, dw: Array, db: float) -> None:
        """Choose a direction."""
        self.delta = np.empty(len(self.q))
        self.problem.operator.signed_dot(self.problem.y, dw, db, self.delta)

    def advance(self, t: float) -> None:
        """Take a step `t` along the direction."""
        self.q, self.chosen = self.q - t * self.delta, None

    def attempt(self, t: float) -> tuple[Any, BinaryPart]:
        """Return the two terms of the line search after a step `t`, and the part there."""
        terms = kernels.active.line_terms(
            self.q, self.alpha, self.c, self.problem.penalty, self.delta, self.xi, t
        )
        after = shallow(self)
        after.advance(t)
        return terms, after

    def flat_sums(self, with_gram: bool) -> Array:
        """Return the sums that gradient and Hessian need."""
        problem, (s, active, interior, support) = self.problem, self._clipped()
        pull, total = problem.operator.signed_tdot(problem.y, s, support / max(len(s), 1))
        scalars = [total, float(s.sum()), interior, support, violated(self.q, self.c)]
        if not with_gram:
            return np.append(pull, scalars)
        if self.gram is None:
            self.gram = Gram(problem.operator, problem.penalty)
        return np.concatenate([pull, scalars, self.gram.at(np.flatnonzero(active)).ravel()])

    def _clipped(self) -> tuple[Array, Array, int, int]:
        """Return the multipliers, which are inside their bounds, and how many are where."""
        s, active = np.empty(len(self.q)), np.empty(len(self.q), dtype=np.uint8)
        counts = kernels.active.clip_step(
            self.q, self.alpha, self.c, self.problem.penalty, self.xi, s, active
        )
        return s, active, *counts

    def active_rows(self) -> Problem:
        """Return the problem on the rows whose multiplier is inside its bounds."""
        return self.problem.take(np.flatnonzero(self._clipped()[1]))

    @property
    def hessian(self) -> ActiveRows:
        """What these rows add to the Hessian, by its products."""
        if self.chosen is None:
            some = self.active_rows()
            self.chosen = ActiveRows(some.operator, self.xi * some.penalty)
        return self.chosen


class BinaryBlock(Block, LocalRows):
    """Some of the rows of a problem of two classes."""

    problem: Problem
    given: Problem
    part_kind = BinaryPart

    # What rows in one process can be asked as well.
    start_at_zero = question(changes=True)(LocalRows.start_at_zero)
    largest_violation = question(reduce=max)(LocalRows.largest_violation)

    # ----------------------------------------------------------------------------- starts

    @question(Reads.DATA, changes=True)
    def start_at_point(self, w: Array, b: float, psi: tuple[Array, Array] | float | None) -> None:
        """Start from a point; `psi` holds rows of the block and their multipliers.

        Or it is a width: the multipliers are the slopes of the loss with its kink rounded over it.
        """
        self.start_at(w, b, self._dense(psi) if isinstance(psi, tuple) else None)
        if isinstance(psi, float):
            slopes = value_and_slope(shape_of(self.problem.loss, psi), self.it.q)[1]
            self.it.alpha = self.problem.penalty * slopes

    @question(Reads.DATA, changes=True)
    def move(self, w: Array, b: float) -> None:
        """Go to a point; the multipliers stay as they are."""
        self.own_arrays()
        super().move(w, b)

    @question(changes=True)
    def weigh(self, loss: Loss | None) -> None:
        """Set the weights of the hinge majoriser of `loss`; None stands for its convex start."""
        self.own_arrays()
        super().weigh(loss)

    @question(changes=True)
    def set_ramp(self, width: float) -> None:
        """Guess the multipliers from the violations."""
        self.own_arrays()
        set_ramp(self.it.q, self.it.alpha, self.problem, width)

    @question(changes=True)
    def scale_multipliers(self, factor: float) -> None:
        """Multiply all multipliers."""
        self.it.alpha = factor * self.it.alpha

    @question(Reads.DATA)
    def pull(self) -> Array:
        """Return the pull of the multipliers."""
        pull: Array = self.problem.operator.signed_tdot(self.problem.y, self.it.alpha)[0]
        return pull

    @question(changes=True)
    def restore_penalties(self) -> None:
        """Restore the penalties, and clip the multipliers to the bounds that they set."""
        self.own_arrays()
        self.problem = self.given
        self.adopt(self)

    # ----------------------------------------------------------------------------- questions

    @question(reduce=joined)
    def sampled_violations(self, stride: int) -> tuple[Array, float]:
        """Return violations of every `stride`-th of all rows, and the largest of all."""
        return self.it.q[-self.offset % stride :: stride].copy(), self.largest_violation()

    @question()
    def loss_total(self) -> float:
        """Return the total of the loss."""
        return self.problem.loss.total(self.it.q, self.problem.penalty)

    @question(reduce=joined)
    def support(self) -> tuple[Array, Array, Array]:
        """Return the rows with a multiplier, by their position among all, with psi and y."""
        rows = np.flatnonzero(self.it.alpha)
        return rows + self.offset, -self.it.alpha[rows], self.problem.y[rows]

    # ----------------------------------------------------------------------------- a round

    def relevant(self, reach: float) -> Array:
        """Return the rows that a round of that reach looks at."""
        it = self.it
        rows: Array = kernels.active.relevant_rows(it.q, it.alpha, it.weights, reach)
        return rows

    @question(Reads.DATA, reduce=joined)
    def relevant_rows(self, reach: float, most: float) -> tuple[int, Any]:
        """Return how many rows a round would look at; if at most that share, also their copies."""
        rows = self.relevant(reach)
        if len(rows) > most * self.problem.n_samples:
            return len(rows), None
        it, part = self.it, self.problem.take(rows)
        return len(rows), (*self._copies(part), it.q[rows], it.alpha[rows], it.weights[rows])

    @question(Reads.ROUND, reduce=joined)
    def active_rows(self) -> tuple[Any, Array, Array]:
        """Return copies of the rows whose multiplier is inside its bounds, y and penalties."""
        return self._copies(self.part.active_rows())

    @question(Reads.DATA, changes=True, reduce=joined)
    def end_round(
        self, entry: Entry, place: tuple[Array, float], stage: Loss | None, nu: float,
        refresh: bool, following: Loss | None, next_reach: float, most: float,
    ) -> tuple[Array, tuple[int, Any], Any]:  # fmt: skip
        """Take the multiplier step at the point where the round ended, and weigh for `stage`.

        Returns the numbers of `Closing`, and for the next round what `relevant_rows` returns, after
        the samples are weighed for the loss `following` of that round, if it is another one. Where
        rows come along, so does the support: the round may have been the last.
        """
        self.own_arrays()
        it, problem = self.it, self.problem
        rows = slice(None) if entry.whole else self.relevant(entry.reach)
        if refresh or self.part is None:
            problem.violations(*place, out=it.q)
        else:
            it.q = self.part.q.copy()
        q, alpha = it.q[rows], np.zeros(len(it.q))
        s, active = np.empty(len(q)), np.empty(len(q), dtype=np.uint8)
        kernels.active.clip_step(
            q, it.alpha[rows], it.weights[rows], problem.penalty[rows], entry.xi, s, active
        )
        alpha[rows] = s
        (it.w, it.b), it.alpha, self.part = place, alpha, None
        closing = close_round(problem, it, stage, nu, refresh=False)
        if following is not None:
            following.slopes(it.q, problem.penalty, it.weights)
        found = self.relevant_rows(next_reach, most)
        support = None if found[1] is None else self.support()
        return np.array(astuple(closing)), found, support

    # ----------------------------------------------------------------------------- any point

    @question(Reads.DATA, reduce=joined)
    def summary(
        self, w: Array, b: float, most: float, known: tuple[tuple[Array, Array], tuple[Array]]
    ) -> tuple[Summary, Array, tuple[Any, CriticalSamples] | None, Any]:
        """Return what a certificate needs of these rows, and the counts of `_ignored`.

        Also the samples that decide the second order, with copies of their rows, unless these are
        more than the share `most` of all; and copies of some rows. `known` are psi and these.
        """
        psi, (sampled,) = known
        summary, samples, status = summarise(self.point(w, b, psi), None, ON_MARGIN)
        found = samples.critical()
        few = len(found.rows) <= most * self.given.n_samples
        summary = replace(summary, support=summary.support + self.offset)
        critical = self._with_rows(found) if few else None
        return summary, self._ignored(status), critical, self.given.operator.block(sampled)

    @question(Reads.DATA, reduce=joined)
    def critical(self, w: Array, b: float, psi: tuple[Array, Array]) -> tuple[Any, CriticalSamples]:
        """Return the samples that decide the second order, with copies of their rows."""
        return self._with_rows(summarise(self.point(w, b, psi), None, ON_MARGIN)[1].critical())

    def _with_rows(self, found: CriticalSamples) -> tuple[Any, CriticalSamples]:
        return self.given.operator.block(found.rows), found

    def status(self, w: Array, b: float, psi: tuple[Array, Array]) -> Array:
        """Return what became of each sample."""
        return summarise(self.point(w, b, psi), None, ON_MARGIN)[2]

    @question(Reads.DATA, reduce=max)
    def largest_change(self, dw: Array, db: float) -> float:
        """Return the largest change of a violation along a direction, in size."""
        changes = np.empty(self.given.n_samples)
        self.given.operator.signed_dot(self.given.y, dw, db, changes)
        return float(np.abs(changes).max(initial=0.0))

    def point(self, w: Array, b: float, psi: tuple[Array, Array]) -> Point:
        """Return a point of the problem, with rows of the block and their multipliers."""
        p = self.given
        values = np.where(p.penalty > 0.0, self._dense(psi), 0.0)
        return Point(
            p.operator, p.y, w, b, values, p.penalty, p.C, p.loss, p.regularizer, p.fit_intercept
        )
