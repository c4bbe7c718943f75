"""Exact kernels: hinge problems that touch the loss, each solved by pairs of samples.

Majorisation (CCCP) as in `finish.py`; its convex problems are those of a kernel SVM with a weight
per sample, and are solved by sequential minimal optimisation with second-order working sets (Fan,
Chen and Lin, JMLR 2005). Rows that cannot matter are left out; all are looked at afterwards.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import kernels
from htsvm.optimality.residuals import complementarity
from htsvm.problems.binary import Problem, Start
from htsvm.solvers.finish import End, Record, residual_of
from htsvm.solvers.rows import Descent
from htsvm.solvers.wide import SAFE

# The loop over pairs of samples; None where nothing was compiled.
compiled = kernels.optional("solvers._pairs")
# Pairs per sample and round, and at least so many.
PAIRS_PER_ROW, FEWEST_PAIRS = 100, 5000
# A round ends where what complementarity lacks is at most this share of tolerance and objective;
# all rounds, where the objective falls by less than this share of the tolerance.
SLACK = 0.3


def solve_pairs(problem: Problem, options: Any, start: Start | None, record: Record) -> End:
    """Return a stationary point of the problem of a kernel matrix, going down from a start.

    Parameters
    ----------
    problem : Problem
        Its operator is a `KernelOperator`, and its intercept is free.
    options : Newton
        Tolerance and rounds.
    start : (w, b, psi) or None
        Where to begin; with zeros by default.
    record : callable
        Is told of each round.
    """
    m, tol = problem.n_samples, options.tol
    w, b, psi = start or (np.zeros(m), 0.0, np.zeros(m))
    alpha = np.zeros(m) if psi is None else np.maximum(-psi, 0.0)
    q = problem.violations(w, b)
    weights, descent = np.empty(m), Descent(problem)
    given = np.append(w, b), problem.objective(w, q)
    # The point that the multipliers say, and its residuals.
    w = w if psi is None else problem.y * alpha
    q, z = problem.violations(w, b), np.append(w, b)
    first = End(z, -alpha, residual_of(descent, z, q, -alpha), problem.objective(w, q))
    if given[1] < (1.0 - tol) * first.objective:
        first = End(given[0], -alpha, math.inf, given[1])
    end = first
    for number in range(options.max_iter):
        # 1. The hinge losses that touch the loss.
        problem.loss.slopes(q, problem.penalty, weights)
        # 2. Solve that problem, on the rows that may matter.
        alpha, b, lag = _weighted(problem, alpha, weights, q, b, tol)
        # 3. The point that the multipliers say, and its residuals.
        w = problem.y * alpha
        q = problem.violations(w, b)
        z, before = np.append(w, b), end
        residual = max(residual_of(descent, z, q, -alpha), lag)
        end = End(z, -alpha, residual, problem.objective(w, q))
        record(width=0.0, objective=end.objective, residual=residual, steps=number + 1)
        gain = before.objective - end.objective
        settled = residual <= tol and gain <= SLACK * tol * abs(end.objective)
        if settled or np.array_equal(z, before.z):
            break
    lower = first.objective < (1.0 - tol) * end.objective
    return first if lower or first.residual <= tol < end.residual else end


def _weighted(
    problem: Problem, alpha: Array, weights: Array, q: Array, b: float, tol: float
) -> tuple[Array, float, float]:
    """Return multipliers and intercept of a weighted hinge problem, and what is lacking."""
    operator: Any = problem.operator
    m = problem.n_samples
    rows = np.flatnonzero((alpha > 0.0) | ((weights > 0.0) & (q > -SAFE)))
    y, c = problem.y[rows], weights[rows]
    s = _balanced(np.minimum(alpha[rows], c), y)
    w = np.zeros(m)
    w[rows] = y * s
    F = y - operator.product(w)[rows]
    most, goal, steps = max(PAIRS_PER_ROW * len(rows), FEWEST_PAIRS), 10.0 * tol, 0
    while True:
        more, b = compiled.solve_pairs(operator.K, rows, y, c, s, F, b, goal, most - steps)
        steps += more
        left = y * (F - b)
        hinge = float(np.maximum(left, 0.0) @ c)
        slack, energy = hinge - float(left @ s), 0.5 * float((y * s) @ (y - F))
        # Where margins are hard, small violations cost much: the slack counts, not they.
        if slack <= SLACK * tol * (hinge + energy) or steps >= most or goal < 1e-3 * tol:
            break
        goal *= 0.1
    operator.count(2.0 * steps * len(rows) / m**2)
    out = np.zeros(m)
    out[rows] = s
    return out, b, complementarity(slack, hinge + energy)


def _balanced(s: Array, y: Array) -> Array:
    """Return multipliers with the same sum in both classes, those of the larger sum shrunk."""
    sums = float(s[y > 0].sum()), float(s[y < 0].sum())
    least, most = min(sums), max(sums)
    if least == most:
        return s
    larger = (y > 0) == (sums[0] > sums[1])
    shrunk: Array = np.where(larger, s * (least / most), s)
    return shrunk
