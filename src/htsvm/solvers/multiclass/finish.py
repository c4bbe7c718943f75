"""The end of a fit of several classes: weights and multipliers in turn, until both are right.

A loss g(h) with concave g lies below the line that touches it, so that the problem is majorised by
one with the weights ``penalty g'(h)`` (the concave-convex procedure; Yuille and Rangarajan, Neural
Computation 15, 2003). That is convex: it does not lead out of the minimum a search has found, as
wide stand-ins of the loss itself would. Its multipliers are the shifts of an augmented Lagrangian;
see `newton`. A round takes a few Newton steps, then new shifts and new weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.optimality import residuals
from htsvm.optimality.multiclass import step_length
from htsvm.problems.binary import Rest
from htsvm.problems.multiclass import MulticlassProblem, MulticlassStart
from htsvm.solvers.multiclass.newton import Iterate, MulticlassSteps, RoundedMaximum
from htsvm.solvers.multiclass.sweeps import BlockSweeps, Suits
from htsvm.solvers.multiclass.system import NewtonSystem

# The first width for multipliers as large as their bounds, the least, and the widest that is tried
# before others, in units of the loss.
WIDTH, LEAST, WIDEST = 0.04, 0.05, 10.0
# Newton steps in a round; in all rounds.
STEPS, MOST_STEPS = 12, 400
# The shares of the tolerance and of the last residual to which a round is solved.
INNER, EARLY = 0.3, 0.1
# The width shrinks where shifts lag behind by more than the first share of the last lag, and by
# the second of the tolerance; it grows after so many rounds that ran out of steps.
LAGS, NARROWER, UNFINISHED, WIDER = (0.5, 0.3), 3.0, 2, 2.0
# How well the problem without a cap is solved where it leads the way.
ROUGH = 0.03
# The constant classifier is left as it is by no more than this share of its objective.
CLOSE = 1e-6
# Rounds without a step before the end.
IDLE = 10
# Sweeps are given up where so many rounds leave this share of the residual.
CRAWLING = (8, 0.8)
# No end is above its start by more than this share.
ABOVE = 3e-3
SUITS = Suits()

Record = Callable[..., None]


@dataclass
class MulticlassEnd:
    """Where a fit ends.

    Attributes
    ----------
    W, b : ndarray
        The point.
    pulls : ndarray of shape (m, k)
        Its multipliers B.
    residual, objective : float
        The largest residual there, and the objective.
    steps : int
        All Newton steps.
    reason : str
        Why rounds ended early.
    """

    W: Array
    b: Array
    pulls: Array
    residual: float = math.inf
    objective: float = math.inf
    steps: int = 0
    reason: str = ""

    def advice(self, tol: float) -> list[str]:
        """Return what a user could try where rounds ended early."""
        if self.residual <= tol or not self.reason:
            return []
        return [f"{self.reason}: scale the features, bring the weights closer, or lower C"]


def unit_of(problem: MulticlassProblem) -> float:
    """Return the unit of widths: the cap, but at most one."""
    return min(problem.loss.cap, 1.0)


def finish(
    problem: MulticlassProblem,
    start: MulticlassStart,
    *,
    tol: float,
    most: int,
    record: Record,
    rng: np.random.Generator,
    convex: bool = False,
    rest: Rest | None = None,
    system: NewtonSystem | None = None,
    sweeping: Suits | None = SUITS,
) -> MulticlassEnd:
    """Return the stationary point near a start.

    Parameters
    ----------
    problem : MulticlassProblem
        What to minimise.
    start : (W, b, B)
        The point, and its multipliers if they are known.
    tol : float
        What the residuals are to be below.
    most : int
        The most rounds.
    record : callable
        Is told of each round.
    rng : Generator
        Drives the order of sweeps.
    convex : bool, default=False
        Whether the problem without a cap is solved first, roughly.
    rest : Rest, optional
        What rows elsewhere add.
    system : NewtonSystem, optional
        Who solves for directions.
    sweeping : Suits or None
        Where sweeps take the place of Newton steps; None: nowhere.
    """
    system = system or NewtonSystem(problem)
    W, b, B = start
    before = problem.objective_at(W, b) + _elsewhere(rest, W, b)
    # The problem without a cap leads where it leads.
    most_allowed = math.inf if convex else before + ABOVE * abs(before)
    width = first_width(problem, W)

    def rounds(inner: MulticlassSteps | BlockSweeps, width: float) -> MulticlassEnd:
        return _rounds(problem, start, inner, width, rest, tol, most, record, convex)

    # 1. Sweeps, where they suit and lead somewhere.
    if rest is None and sweeping and sweeping(problem, system.formed, system.correlated):
        end = rounds(BlockSweeps(problem, rng), width)
        if end.residual <= tol and end.objective <= most_allowed:
            return end
    # 2. Newton's method; once more from another width, if that leads nowhere or up.
    newton, widest = MulticlassSteps(problem, system, rest), WIDEST * unit_of(problem)
    widths = (min(width, widest), width if width > widest else LEAST * unit_of(problem))
    ends: list[MulticlassEnd] = []
    for one in widths:
        ends.append(rounds(newton, one))
        if ends[-1].residual <= tol and ends[-1].objective <= most_allowed:
            return ends[-1]
    # 3. The lower end, one that has converged if possible; the start itself, if both lead up.
    best = min(
        ends, key=lambda one: (one.objective > most_allowed, one.residual > tol, one.objective)
    )
    if best.objective > most_allowed and B is not None:
        return MulticlassEnd(W, b, B, math.inf, before, best.steps, best.reason)
    return best


def _rounds(
    problem: MulticlassProblem,
    start: MulticlassStart,
    inner: MulticlassSteps | BlockSweeps,
    width: float,
    rest: Rest | None,
    tol: float,
    most: int,
    record: Record,
    convex: bool,
) -> MulticlassEnd:
    """Return where rounds lead."""
    W, b, B = start
    # 1. Weights and shifts at the start, and a width for multipliers of that size.
    at = Iterate(W.copy(), b.copy(), problem.levels(W, b), np.empty((problem.n_samples, len(b))))
    top = float(problem.loss.profile_slope(0.0)) * problem.penalty
    weights = top if convex else _weights(problem, problem.violations(at.U))
    shift = _shifts(problem, at, B, weights)
    end, pace = MulticlassEnd(W, b, np.zeros_like(at.U)), Pace(width)
    for _ in range(most):
        # 2. Newton's method, or sweeps, on the weighted problem with these shifts.
        asked = EARLY * min(end.residual, 1.0)
        if at.steps == 0:
            # A round without a step has only moved the multipliers.
            asked = min(asked, EARLY * at.gradient)
        asked = max(INNER * tol, asked)
        inner.minimise(at, RoundedMaximum(pace.width, shift, weights), tol=asked, most=STEPS)
        # 3. Its maximisers are the next shifts; how far off they are, with these weights and new.
        shift, alpha, q = at.a.copy(), weights[:, None] * at.a, problem.violations(at.U)
        objective = problem.objective(at.W, q) + _elsewhere(rest, at.W, at.b)
        energy, trivial = problem.energy(at.W), problem.trivial_objective
        unit = residuals.informative_part(objective, trivial, energy)
        if rest is not None or unit <= 2.0 * residuals.LEAST_GAIN * objective:
            # The solution is W = 0, and what is left of it says nothing; or others count as well.
            unit = objective
        lag = complementarity(problem, at.U, q, alpha, weights, unit)
        weights = top if convex else _weights(problem, q)
        off = complementarity(problem, at.U, q, alpha, weights, unit)
        residual = max(at.gradient, off)
        end = MulticlassEnd(
            at.W, at.b, problem.own(alpha), residual, objective, end.steps + at.steps
        )
        record(
            width=pace.width, objective=objective, residual=residual,
            steps=at.steps, sweeps=at.sweeps,
        )  # fmt: skip
        above = rest is None and CLOSE * trivial < objective - trivial < tol * trivial
        end.reason = pace.over(at, end)
        if (residual <= tol and not (convex or above)) or end.reason:
            break
        if convex and residual <= ROUGH:
            convex, weights = False, _weights(problem, q)
            pace.residuals.clear()
        # 4. A narrower width where shifts lag behind, a wider one where steps do not suffice.
        pace.adapt(lag, at.gradient <= asked, tol)
    return end


def _elsewhere(rest: Rest | None, W: Array, b: Array) -> float:
    """Return what rows elsewhere add to the objective."""
    if rest is None:
        return 0.0
    return rest.base + float(np.vdot(rest.linear, np.column_stack([W, b])))


class Pace:
    """The width from round to round, and the budget."""

    def __init__(self, width: float) -> None:
        self.first = self.width = width
        self.last, self.unfinished, self.idle = math.inf, 0, 0
        self.residuals: list[float] = []

    def adapt(self, lag: float, finished: bool, tol: float) -> None:
        """Take a width for the next round."""
        self.unfinished = 0 if finished else self.unfinished + 1
        if finished and lag > max(LAGS[0] * self.last, LAGS[1] * tol):
            self.width /= NARROWER
        elif self.unfinished >= UNFINISHED and self.width < self.first:
            self.width, self.unfinished = WIDER * self.width, 0
        self.last = lag

    def over(self, at: Iterate, end: MulticlassEnd) -> str:
        """Return why it is no use to go on; empty if it is."""
        self.residuals.append(end.residual)
        self.idle = self.idle + 1 if at.steps + at.sweeps == 0 else 0
        rounds, share = CRAWLING
        stuck = self.idle > IDLE
        if at.sweeps > 0 and len(self.residuals) >= 2 * rounds:
            before = min(self.residuals[-2 * rounds : -rounds])
            stuck |= min(self.residuals[-rounds:]) > share * before
        if end.steps > MOST_STEPS:
            return f"the budget of {MOST_STEPS} Newton steps was spent"
        return "the last rounds brought no progress" if stuck else ""


def _weights(problem: MulticlassProblem, q: Array) -> Array:
    """Return the weights of the majorant that touches the loss at the violations q."""
    weights = np.empty(len(q))
    problem.loss.slopes(q, problem.penalty, weights)
    return weights


def _shifts(problem: MulticlassProblem, at: Iterate, B: Array | None, weights: Array) -> Array:
    """Return the shifts that multipliers stand for, at the highest level where there are none."""
    rows, labels = np.arange(len(weights)), problem.labels
    shift = np.zeros_like(at.U)
    if B is None:
        shift[rows, at.U.argmax(axis=1)] = 1.0
        return shift
    np.maximum(-B, 0.0, out=shift)
    shift[rows, labels] = 0.0
    used = shift.sum(axis=1)
    bound = np.maximum(used, weights)
    np.divide(shift, bound[:, None], out=shift, where=bound[:, None] > 0.0)
    shift[rows, labels] = np.maximum(1.0 - shift.sum(axis=1), 0.0)
    ignored = np.flatnonzero(bound <= 0.0)
    shift[ignored, labels[ignored]] = 0.0
    shift[ignored, at.U[ignored].argmax(axis=1)] = 1.0
    return shift


def first_width(problem: MulticlassProblem, W: Array) -> float:
    """Return a width for multipliers of the size that goes with W.

    Without truncation the sum of all multipliers is about twice the energy. Where margins are hard
    that is little beside the penalties; a small change of shifts then moves W far, and the width
    must be as large as that share is small.
    """
    energy, top = problem.energy(W), float(problem.loss.profile_slope(0.0))
    if not energy > 0.0:
        return LEAST * unit_of(problem)
    # The bounds of as many multipliers as may be free.
    bounds = top * min(problem.C * W.size, float(problem.penalty.sum()))
    return max(WIDTH * bounds / (2.0 * energy), LEAST) * unit_of(problem)


def complementarity(
    problem: MulticlassProblem, U: Array, q: Array, alpha: Array, weights: Array, unit: float
) -> float:
    """Return how far multipliers are from the highest levels, in the units of the certificate.

    But slack is measured by what the classifier decides on: see `residuals.informative_part`.
    """
    loss, p, rows, labels = problem.loss, problem.penalty, np.arange(len(q)), problem.labels
    held = alpha.copy()
    held[rows, labels] = 0.0
    held[rows, labels] = weights - held.sum(axis=1)
    target, counts = np.empty_like(held), np.empty(len(held), dtype=np.intc)
    nu = step_length(loss)
    stepped = held + (p / nu)[:, None] * U
    kernels.active.simplex_step(stepped, weights, target, counts)
    errors = np.square(np.subtract(target, held, out=target)).sum(axis=1)
    kept = p > 0.0
    np.abs(held, out=held)
    # Beyond the knee the convex problem of the gap touches where the multipliers are its slopes.
    bent = np.flatnonzero(q > loss.curved_interval[0])
    held[bent, labels[bent]] = 0.0
    below = U.max(axis=1)[:, None] - U
    slack = float(np.einsum("ij,ij,i->", held, below, kept.astype(np.float64)))
    error = nu * nu * float(np.sum(errors[kept] / p[kept]))
    return max(
        residuals.violation(error, float(p @ (1.0 + np.square(q)))),
        residuals.complementarity(slack, unit),
    )
