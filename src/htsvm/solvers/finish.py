"""The end of a fit: multipliers by shifts of the kink, until the residuals are below a tolerance.

The augmented Lagrangian of the paper with q eliminated by its prox is the smooth function whose
kink of sample i is moved by a shift; the multiplier update is ``shift <- shift + q``, kept within
the width of the kink (Bertsekas, Constrained Optimization and Lagrange Multiplier Methods, 1982,
chapter 2). What differs from Algorithm 1 is that w and b are found together, by Newton's method.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from htsvm._typing import Array
from htsvm.losses.rounded import rounded
from htsvm.optimality.residuals import balance, complementarity, of_gradient, violation
from htsvm.problems.binary import Problem
from htsvm.solvers import wide
from htsvm.solvers.rows import Descent

# How far the kink is rounded, in units of the loss: on the way to the end, and at the end.
NARROWING, WIDTH = 0.05, 0.015
# ... where first multipliers are guessed from a point.
ROUGH_WIDTH = 0.15
# A narrow kink has told nothing of the multipliers where the gradient residual is above this.
HARD = 0.5
# Samples at such a distance may come to lie on the margin.
CLOSE = 0.1
# The kink is narrowed to the second share where multipliers have not come near by the first.
LAGS, NARROWER = 0.25, 0.25
# Rounds of multipliers, or of weights.
ROUNDS = 30
# Newton steps in a round, and the share of the tolerance to which it is solved.
MOST_STEPS, INNER = 50, 0.1


@dataclass
class End:
    """Where a fit ends.

    Attributes
    ----------
    z : ndarray of shape (n + 1,)
        The point (w, b).
    psi : ndarray of shape (m,)
        Its multipliers.
    residual : float
        The largest residual there.
    objective : float
        The objective there.
    """

    z: Array
    psi: Array
    residual: float
    objective: float


Record = Callable[..., None]


def unit_of(problem: Problem) -> float:
    """Return the unit of the widths of kinks: the cap, but at most one."""
    return min(problem.loss.cap, 1.0)


def finish(
    descent: Descent, z: Array, psi: Array | None, *, tol: float, most: int, record: Record
) -> End:
    """Return the stationary point near z.

    Parameters
    ----------
    descent : Descent
        Newton's method on the problem.
    z, psi : ndarray
        The point (w, b), and its multipliers if they are known.
    tol : float
        What the residuals are to be below.
    most : int
        The most rounds.
    record : callable
        Is told of each round.
    """
    problem, loss = descent.problem, descent.problem.loss
    width = WIDTH * unit_of(problem)
    if wide.suits(problem) and 0.0 <= loss.weak_convexity < math.inf:
        found = _swept(descent, z, psi, tol, most, record)
        if found.residual <= tol:
            return found
        z, psi = found.z, None
    # 1. A convex loss has one minimum, at whatever width.
    if loss.weak_convexity == 0.0:
        q = problem.violations(z[:-1].copy(), float(z[-1]))
        share = np.sign(q) if psi is None else _shares(problem, psi)
        return _rounds(descent, z, share, _first_width(problem, z), tol, most, record)
    q = problem.violations(z[:-1].copy(), float(z[-1]))
    start = End(z, np.zeros(len(q)), math.inf, descent.objective(z, q))
    # 2. The loss itself, where its slope is known and does not jump.
    if loss.slope_line is not None:
        if psi is None:
            stage = rounded(loss, NARROWING * unit_of(problem))
            z = descent.run(z, stage, gain=1e-5, most=30, tol=INNER * tol, bending=True)
        share = np.zeros(len(q)) if psi is None else _shares(problem, psi)
        end = _rounds(descent, z, share, width, tol, most, record)
        if end.residual <= tol and end.objective <= (1.0 + tol) * start.objective:
            return end
        start = min(start, end, key=lambda one: one.objective)
    # 3. Weighted hinge problems that touch the loss, also where margins are hard or kinks fall.
    return _weighted_rounds(descent, start, tol, most, record)


def _swept(
    descent: Descent, z: Array, psi: Array | None, tol: float, most: int, record: Record
) -> End:
    """Return where coordinate descent in the dual leads."""
    problem = descent.problem
    if psi is None:
        stage = rounded(problem.loss, ROUGH_WIDTH * unit_of(problem))
        q = problem.violations(z[:-1].copy(), float(z[-1]))
        psi = -problem.penalty * np.maximum(stage.value_slope(q)[1], 0.0)
    sweeps = wide.Sweeps(problem, descent.rest, z, -psi)
    residuals: list[float] = []
    end = End(z, psi, math.inf, math.inf)
    for _ in range(most):
        sweeps.round()
        z, psi = np.append(sweeps.w, sweeps.b), -sweeps.alpha.copy()
        residual = max(residual_of(descent, z, sweeps.q, psi), sweeps.lag)
        end = End(z, psi, residual, sweeps.objective())
        record(width=0.0, objective=end.objective, residual=residual)
        residuals.append(residual)
        recent = residuals[-1 - wide.PATIENCE :]
        if residual <= tol or (len(recent) > wide.PATIENCE and min(recent[1:]) > 0.5 * recent[0]):
            break
    return end


def _shares(problem: Problem, psi: Array) -> Array:
    """Return the shifts, as shares of the width, that multipliers stand for."""
    stage = rounded(problem.loss, 1.0)
    slopes = np.divide(-psi, problem.penalty, out=np.zeros(len(psi)), where=problem.penalty > 0.0)
    shares: Array = np.clip(2.0 * (slopes + stage.tilt) / stage.top - 1.0, -1.0, 1.0)
    return shares


def _rounds(
    descent: Descent,
    z: Array,
    share: Array,
    width: float,
    tol: float,
    most: int,
    record: Record,
) -> End:
    """Return where Newton's method and updates of the shifts lead in turn, while it converges."""
    problem, p = descent.problem, descent.problem.penalty
    convex = problem.loss.weak_convexity == 0.0
    last, end = math.inf, End(z, np.zeros(len(p)), math.inf, math.inf)
    for _ in range(min(most, ROUNDS)):
        # 1. Minimise with the shifts as they are.
        steps = descent.steps
        stage, shift = rounded(problem.loss, width), share * width
        z = descent.run(
            z, stage, gain=0.0, most=MOST_STEPS, tol=INNER * tol, shift=shift, bending=not convex
        )
        # 2. Their slopes are the multipliers; what the shifts would change is complementarity.
        q = problem.violations(z[:-1].copy(), float(z[-1]))
        moved = np.clip(shift + q, -width, width)
        off = violation(float(p @ np.square(moved - shift)), float(p @ (1.0 + q * q)))
        psi = -p * stage.value_slope(q, shift)[1]
        objective = descent.objective(z, q)
        residual = max(off, descent.residual)
        if convex:
            # The other part of the duality gap, which certificates of convex problems look at.
            slack = stage.top * p * np.maximum(q, 0.0) + (psi - stage.tilt * p) * q
            residual = max(residual, complementarity(float(slack.sum()), objective))
        record(width=width, objective=objective, residual=residual, steps=descent.steps)
        end = End(z, psi, residual, objective)
        too_slow = not convex and descent.steps - steps >= MOST_STEPS
        if residual <= tol or descent.budget.spent or too_slow:
            break
        # 3. Move the shifts; narrow the kink where they lag.
        share = moved / stage.width
        if (descent.residual <= tol or descent.steps == steps) and off > LAGS * last:
            width *= NARROWER
        last = off
    return end


def _weighted_rounds(descent: Descent, start: End, tol: float, most: int, record: Record) -> End:
    """Return where weighted hinge problems that touch the loss lead (majorisation, CCCP).

    Weights and multipliers are updated in turn. Multipliers are those of the last weights: what
    they lack to the new ones is part of the residual.
    """
    problem = descent.problem
    z, best = start.z, start
    width, last = WIDTH * unit_of(problem), math.inf
    if descent.residual > HARD:
        hinge, _ = problem.majorised(z[:-1].copy(), float(z[-1]))
        z, share = _scaled_down(hinge, z)
        width = _first_width(problem, z)
    else:
        share = np.clip(problem.violations(z[:-1].copy(), float(z[-1])) / width, -1.0, 1.0)
    hinge, _ = problem.majorised(z[:-1].copy(), float(z[-1]))
    for _ in range(min(most, ROUNDS)):
        # 1. Newton's method on the hinge losses that touch the loss.
        part, stage = Descent(hinge, descent.rest, descent.budget), rounded(hinge.loss, width)
        shift, p = share * width, hinge.penalty
        z = part.run(z, stage, gain=0.0, most=MOST_STEPS, tol=INNER * tol, shift=shift)
        # 2. Multipliers, and what the shifts would change.
        q = problem.violations(z[:-1].copy(), float(z[-1]))
        moved = np.clip(shift + q, -width, width)
        off = violation(float(p @ np.square(moved - shift)), float(p @ (1.0 + q * q)))
        alpha = p * stage.value_slope(q, shift)[1]
        psi = problem.loss.tilt * problem.penalty - alpha
        reached, residual = descent.objective(z, q), residual_of(descent, z, q, psi)
        slack = float((p * np.maximum(q, 0.0) - alpha * q).sum())
        lag = complementarity(slack, part.objective(z, q))
        residual = max(residual, lag)
        record(width=width, objective=reached, residual=residual, steps=descent.steps)
        if reached <= (1.0 + tol) * best.objective:
            best = End(z, psi, residual, reached)
        if best.residual <= tol or descent.budget.spent:
            break
        # 3. Move the shifts; narrow the kink where they lag; weigh anew where they are near.
        share = moved / width
        if off > LAGS * last:
            width *= NARROWER
        last = off
        if lag <= wide.NEAR:
            hinge, _ = problem.majorised(z[:-1].copy(), float(z[-1]))
    return best


def _first_width(problem: Problem, z: Array) -> float:
    """Return a width of the kink that suits the multipliers of a weighted hinge problem.

    Where margins are hard, multipliers are far below the penalties, and the kink has to be wide.
    """
    p, w = problem.penalty, z[:-1].copy()
    q, energy = problem.violations(w, float(z[-1])), problem.energy(w)
    near = float(p.sum(where=np.abs(q) < CLOSE))
    top = rounded(problem.loss, 1.0).top
    return max(top * near / (4.0 * energy), WIDTH * unit_of(problem)) if energy > 0.0 else 1.0


def _scaled_down(hinge: Problem, z: Array) -> tuple[Array, Array]:
    """Return the multiple of z whose smallest margin is one, and first shares of shifts."""
    scores = 1.0 - hinge.violations(z[:-1].copy(), float(z[-1]))
    margin = float(scores[hinge.penalty > 0.0].min(initial=math.inf))
    if 1.0 < margin < math.inf:
        z, scores = z / margin, scores / margin
    return z, np.sign(1.0 - scores)


def residual_of(descent: Descent, z: Array, q: Array, psi: Array) -> float:
    """Return the largest residual of a point with its violations and multipliers."""
    problem, rest, p = descent.problem, descent.rest, descent.problem.penalty
    pull, total = problem.operator.signed_tdot(problem.y, -psi)
    own, gross = problem.regularizer.dot(z[:-1]), float(np.abs(psi).sum()) + rest.gross
    length = gross * problem.operator.row_length
    stationarity = of_gradient(own, pull - rest.linear[:-1], length, problem.regularizer)
    off = balance(total - float(rest.linear[-1]), gross) if problem.fit_intercept else 0.0
    slope = np.divide(-psi, p, out=np.zeros(len(psi)), where=p > 0.0)
    nu = problem.loss.reference_step(q, slope)
    error = problem.loss.prox_distance(q, q + nu * slope, nu)
    return max(stationarity, off, violation(float(p @ np.square(error)), float(p @ (1.0 + q * q))))
