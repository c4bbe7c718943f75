"""One block of rows, as a worker sees it: what it keeps per row, and what it can be asked.

All methods are deterministic, so that a block which was lost is had again by asking a fresh one
the same things; see `log` in `blocks.py`.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, field, replace
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import Operator, kernels
from htsvm.linalg.positive import Gram
from htsvm.linalg.row_system import ActiveRows
from htsvm.losses import Loss
from htsvm.optimality import SampleStatus
from htsvm.optimality.point import Point
from htsvm.optimality.second_order import CriticalSamples
from htsvm.optimality.summary import Summary, summarise
from htsvm.solvers import Problem
from htsvm.solvers.newton.rows import LocalRows, set_ramp
from htsvm.solvers.newton.state import violated

# A violation of at most this size counts as zero in a certificate.
ON_MARGIN = 1e-9
# Numbers between pull and Gram matrix in the sums of `differentiate`.
SCALARS = 7


@dataclass(eq=False)
class Part:
    """The rows of a block that a round looks at, and the inner function on them."""

    problem: Problem
    q: Array
    alpha: Array
    c: Array
    rows: Array | None
    s: Array = field(init=False)
    active: Array = field(init=False)
    delta: Array = field(init=False)
    gram: Gram | None = None
    chosen: ActiveRows | None = None

    def __post_init__(self) -> None:
        m = len(self.q)
        self.s, self.delta = np.zeros(m), np.zeros(m)
        self.active = np.zeros(m, dtype=np.uint8)

    @property
    def copied(self) -> bool:
        """Whether these are copies of some rows of the block."""
        return self.rows is not None

    def attach(self, operator: Any) -> None:
        """Set the rows themselves."""
        self.problem, self.chosen = replace(self.problem, operator=operator), None
        if self.gram is not None:
            self.gram.operator = operator


class HeldRows:
    """The rows of a block and those of its round, apart from the state that goes to disk."""

    problem: Any
    given: Any
    part: Any

    def attach(self, operator: Any) -> None:
        """Set the rows themselves; None before the state goes to disk without them."""
        if self.part is not None and not self.part.copied:
            self.part.attach(operator)
        self.problem = replace(self.problem, operator=operator)
        self.given = replace(self.given, operator=operator)

    @property
    def works_on_copy(self) -> bool:
        """Whether a round is under way that looks at a copy of some rows."""
        return self.part is not None and self.part.copied

    def copied_rows(self) -> Any:
        """Return the operator on that copy; None if there is none."""
        return self.part.problem.operator if self.works_on_copy else None

    def attach_copy(self, operator: Any) -> None:
        """Set the operator on that copy."""
        if self.works_on_copy:
            self.part.attach(operator)

    def vary_penalties(self, state: dict[str, Any]) -> None:
        """Multiply the penalties by random numbers, drawn from a generator in the given state."""
        bits = getattr(np.random, state["bit_generator"])()
        bits.state = state
        noise = np.random.Generator(bits).exponential(size=self.problem.n_samples)
        self.problem = replace(self.given, penalty=self.given.penalty * noise)


class Block(HeldRows, LocalRows):
    """Some of the rows of a problem; their rounds are run from elsewhere.

    Parameters
    ----------
    problem : Problem
        The problem on these rows.
    offset : int
        The position of the first of them among all.
    """

    problem: Problem
    given: Problem
    part: Part | None

    def __init__(self, problem: Problem, offset: int) -> None:
        self.problem = self.given = problem
        self.offset = offset
        self.part = None
        self.rounds: Any = None
        self.start_at_zero()

    # ----------------------------------------------------------------------------- starts

    def start_at_multipliers(self, w: Array, b: float, psi: tuple[Array, Array] | None) -> None:
        """Start from a point; `psi` holds rows of the block and their multipliers."""
        self.start_at(w, b, None if psi is None else self._dense(psi))

    def sampled_violations(self, stride: int) -> Array:
        """Return the violations of each `stride`-th of all rows, as far as they are here."""
        return self.it.q[-self.offset % stride :: stride].copy()

    def set_ramp(self, width: float) -> None:
        """Guess the multipliers from the violations."""
        set_ramp(self.it.q, self.it.alpha, self.problem, width)

    def restore_penalties(self) -> None:
        """Go back to the penalties as they were, and into the bounds that they set."""
        self.problem = self.given
        self.adopt(self)

    # ----------------------------------------------------------------------------- questions

    def loss_total(self) -> float:
        """Return the total of the loss."""
        return self.problem.loss.total(self.it.q, self.problem.penalty)

    def penalties(self) -> Array:
        """Return the sums of the penalties of the labels -1 and +1."""
        problem = self.problem
        return np.array([problem.penalty[problem.y == side].sum() for side in (-1, 1)])

    def largest_penalty(self) -> float:
        """Return the largest penalty."""
        return float(self.problem.penalty.max(initial=0.0))

    def support(self) -> tuple[Array, Array, Array]:
        """Return the rows with a multiplier, by their position among all, with psi and y."""
        rows = np.flatnonzero(self.it.alpha)
        return rows + self.offset, -self.it.alpha[rows], self.problem.y[rows]

    def rows_at(self, rows: Array) -> tuple[Any, Array, Array]:
        """Return copies of some rows, their labels and penalties."""
        part = self.problem.take(rows)
        return part.operator.block(slice(None)), part.y, part.penalty

    # ----------------------------------------------------------------------------- a round

    def count_relevant(self, reach: float) -> int:
        """Return how many rows a round of that reach would look at."""
        return len(self._relevant(reach))

    def _relevant(self, reach: float) -> Array:
        it = self.it
        rows: Array = kernels.active.relevant_rows(it.q, it.alpha, it.weights, reach)
        return rows

    def enter(self, reach: float, subset: bool) -> None:
        """Begin a round, on a copy of the relevant rows or on all."""
        it = self.it
        if not subset:
            self.part = Part(self.problem, it.q, it.alpha, it.weights, None)
            return
        rows = self._relevant(reach)
        part = self.problem.take(rows)
        self.part = Part(part, it.q[rows], it.alpha[rows], it.weights[rows], rows)

    def place(self, w: Array, b: float) -> None:
        """Compute the violations of the round at a point."""
        part = self._part()
        part.problem.violations(w, b, out=part.q)

    def enter_and_differentiate(
        self, reach: float, subset: bool, xi: float, with_gram: bool
    ) -> Array:
        """Begin a round and return the sums of its first gradient."""
        self.enter(reach, subset)
        return self.differentiate(xi, 0.0, with_gram)

    def differentiate(self, xi: float, t: float, with_gram: bool) -> Array:
        """Move by `t` along the direction; return the sums that gradient and Hessian need."""
        part = self._part()
        problem = part.problem
        if t != 0.0:
            kernels.active.add_scaled(part.q, part.delta, -t)
        interior, support, support_penalty = kernels.active.clip_step(
            part.q, part.alpha, part.c, problem.penalty, xi, part.s, part.active
        )
        part.chosen = None
        share = support / max(len(part.q), 1)
        pull, total = problem.operator.signed_tdot(problem.y, part.s, share)
        change = kernels.active.scaled_distance(part.s, part.alpha, problem.penalty)
        count = violated(part.q, part.c)
        sums = [total, float(part.s.sum()), interior, support, support_penalty, change, count]
        gram = self._gram(part) if with_gram else np.zeros(0)
        return np.concatenate([pull, sums, gram.ravel()])

    def _gram(self, part: Part) -> Array:
        if part.gram is None:
            part.gram = Gram(part.problem.operator, part.problem.penalty)
        return part.gram.at(np.flatnonzero(part.active))

    def active_rows(self) -> tuple[Any, Array, Array]:
        """Return copies of the rows whose multiplier is inside its bounds, y and penalties."""
        part = self._part()
        some = part.problem.take(np.flatnonzero(part.active))
        return some.operator.block(slice(None)), some.y, some.penalty

    def active_product(self, xi: float, v: Array) -> Array:
        """Return the part of the Hessian times v that comes from these rows."""
        return self._active(xi).product(v)

    def active_diagonal(self, xi: float) -> Array:
        """Return the diagonal of the Hessian as far as it comes from these rows."""
        return self._active(xi).diagonal()

    def _active(self, xi: float) -> ActiveRows:
        part = self._part()
        if part.chosen is None:
            some = part.problem.take(np.flatnonzero(part.active))
            part.chosen = ActiveRows(some.operator, xi * some.penalty)
        return part.chosen

    def set_out(self, xi: float, dw: Array, db: float) -> Array:
        """Choose a direction; return the terms of the line search for a step of one."""
        part = self._part()
        part.problem.operator.signed_dot(part.problem.y, dw, db, part.delta)
        return self.line_terms(xi, 1.0)

    def line_terms(self, xi: float, t: float) -> Array:
        """Return the two sums that the derivative along the direction needs."""
        part = self._part()
        return np.array(
            kernels.active.line_terms(
                part.q, part.alpha, part.c, part.problem.penalty, part.delta, xi, t
            )
        )

    def end_round(self, w: Array, b: float, stage: Loss | None, nu: float, refresh: bool) -> Array:
        """Take the multiplier step, weigh for `stage`, and return the sums of `Closing`."""
        part, it = self._part(), self.it
        if part.rows is None:
            it.alpha = part.s
        else:
            it.alpha.fill(0.0)
            it.alpha[part.rows] = part.s
        it.w, it.b = w, b
        self.part = None
        return np.array(astuple(self.close(stage, nu, refresh)), dtype=np.float64)

    def repeat_round(
        self, reach: float, subset: bool, xi: float, w: Array, b: float,
        stage: Loss | None, nu: float,
    ) -> None:  # fmt: skip
        """Do what a whole round did to the rows, given where it ended."""
        self.enter(reach, subset)
        self.place(w, b)
        part = self._part()
        kernels.active.clip_step(
            part.q, part.alpha, part.c, part.problem.penalty, xi, part.s, part.active
        )
        self.end_round(w, b, stage, nu, refresh=True)

    def _part(self) -> Part:
        assert self.part is not None, "a round was not begun"
        return self.part

    # ----------------------------------------------------------------------------- any point

    def summary(self, w: Array, b: float, psi: tuple[Array, Array]) -> Summary:
        """Return what a certificate needs of these rows."""
        summary, _, _ = summarise(self.point(w, b, psi), None, ON_MARGIN)
        return replace(summary, support=summary.support + self.offset)

    def critical(self, w: Array, b: float, psi: tuple[Array, Array]) -> tuple[Any, CriticalSamples]:
        """Return the samples that decide the second order, with copies of their rows."""
        _, samples, _ = summarise(self.point(w, b, psi), None, ON_MARGIN)
        found = samples.critical()
        return self.given.operator.block(found.rows), found

    def status(self, w: Array, b: float, psi: tuple[Array, Array]) -> Array:
        """Return what became of each sample."""
        return summarise(self.point(w, b, psi), None, ON_MARGIN)[2]

    def ignored(self, w: Array, b: float, psi: tuple[Array, Array]) -> Array:
        """Return how many samples of positive penalty have label -1 and +1, and are ignored."""
        status = self.status(w, b, psi)
        counts = self.given.penalty > 0.0
        positive = (self.given.y == 1)[counts]
        lost = (status == SampleStatus.IGNORED)[counts]
        return np.array([np.sum(~positive), np.sum(positive),
                         np.sum(lost & ~positive), np.sum(lost & positive)])  # fmt: skip

    def loss_at(self, w: Array, b: float) -> float:
        """Return the total of the loss at a point."""
        return self.given.loss.total(self.given.violations(w, b), self.given.penalty)

    def largest_change(self, dw: Array, db: float) -> float:
        """Return the largest change of a violation along a direction, in size."""
        return float(np.abs(self._changes(dw, db)).max(initial=0.0))

    def losses_along(self, w: Array, b: float, dw: Array, db: float, steps: Array) -> Array:
        """Return the total of the loss after each of `steps`."""
        q, delta = self.given.violations(w, b), self._changes(dw, db)
        total = self.given.loss.total
        return np.array([total(q - t * delta, self.given.penalty) for t in steps])

    def _changes(self, dw: Array, db: float) -> Array:
        operator: Operator = self.given.operator
        return operator.signed_dot(self.given.y, dw, db, np.empty(self.given.n_samples))

    def point(self, w: Array, b: float, psi: tuple[Array, Array]) -> Point:
        """Return a point of the problem, with rows of the block and their multipliers."""
        p = self.given
        values = np.where(p.penalty > 0.0, self._dense(psi), 0.0)
        return Point(
            p.operator, p.y, w, b, values, p.penalty, p.C, p.loss, p.regularizer, p.fit_intercept
        )

    def _dense(self, psi: tuple[Array, Array]) -> Array:
        values = np.zeros(self.given.n_samples)
        values[psi[0]] = psi[1]
        return values
