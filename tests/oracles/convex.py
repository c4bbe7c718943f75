"""Convex SVMs with weights, free intercept and general R, by an interior point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class ConvexSolution:
    """The minimiser; `multipliers` are the psi of this package, in [-penalty, tau * penalty]."""

    coef: np.ndarray
    intercept: float
    multipliers: np.ndarray
    objective: float


def solve_hinge(
    X, y, *, C=1.0, tau=0.0, sample_weight=None, regularizer=None, fit_intercept=True
) -> ConvexSolution:
    """Minimise w'Rw/2 + sum_i C weight_i max(q_i, -tau q_i), q_i = 1 - y_i (x_i'w + b).

    R is None (the identity), a number, a diagonal or a matrix, singular or not. tau = 0 is the
    hinge loss, otherwise it is the pinball loss.
    """
    import cvxpy as cp

    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    m, n = X.shape
    penalty = C * (np.ones(m) if sample_weight is None else np.asarray(sample_weight, dtype=float))
    R = np.asarray(1.0 if regularizer is None else regularizer, dtype=float)
    R = R * np.eye(n) if R.ndim < 2 else R
    values, vectors = np.linalg.eigh(R)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    w, b, excess = cp.Variable(n), cp.Variable(), cp.Variable(m)
    violation = 1 - cp.multiply(y, X @ w + b)
    above, below = excess >= violation, excess >= -tau * violation
    problem = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(root @ w) + penalty @ excess),
        [above, below] + ([] if fit_intercept else [b == 0]),
    )
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    coef, intercept = w.value, float(b.value) if fit_intercept else 0.0
    q = 1.0 - y * (X @ coef + intercept)
    objective = float(0.5 * coef @ R @ coef + penalty @ np.maximum(q, -tau * q))
    return ConvexSolution(coef, intercept, tau * below.dual_value - above.dual_value, objective)


def solve_least_squares(X, y, *, C=1.0, sample_weight=None, fit_intercept=True) -> ConvexSolution:
    """Minimise w'w/2 + sum_i C weight_i (1 - y_i (x_i'w + b))²."""
    import cvxpy as cp

    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    m, n = X.shape
    penalty = C * (np.ones(m) if sample_weight is None else np.asarray(sample_weight, dtype=float))
    w, b = cp.Variable(n), cp.Variable()
    violation = 1 - cp.multiply(y, X @ w + b)
    squares = cp.sum_squares(cp.multiply(np.sqrt(penalty), violation))
    problem = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(w) + squares), [] if fit_intercept else [b == 0]
    )
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    coef, intercept = w.value, float(b.value) if fit_intercept else 0.0
    q = 1.0 - y * (X @ coef + intercept)
    objective = float(0.5 * coef @ coef + penalty @ q**2)
    return ConvexSolution(coef, intercept, -2.0 * penalty * q, objective)
