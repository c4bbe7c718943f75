"""Coupled views with convex losses, by an interior point."""

from __future__ import annotations

from itertools import combinations

import numpy as np


def solve_coupled_hinge(
    views, y, *, C=1.0, D=1.0, epsilon=0.1, theta=None, weight=None, fit_intercept=True
):
    """Minimise the SVM-2K or MvSVM-2C problem with fixed weights.

    Returns the objective, the coefficients and the intercepts.
    """
    import cvxpy as cp

    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    V = len(views)
    C, theta = np.broadcast_to(C, V), np.ones(V) if theta is None else theta
    w = [cp.Variable(X.shape[1]) for X in views]
    b = [cp.Variable() if fit_intercept else 0.0 for _ in views]
    f = [X @ one + shift for X, one, shift in zip(views, w, b, strict=True)]
    terms = [0.5 * theta[v] * cp.sum_squares(w[v]) for v in range(V)]
    terms += [C[v] * (weight @ cp.pos(1 - cp.multiply(y, f[v]))) for v in range(V)]
    terms += [
        D * (weight @ cp.pos(cp.abs(f[u] - f[v]) - epsilon)) for u, v in combinations(range(V), 2)
    ]
    value = _solved(cp, sum(terms))
    return value, [one.value for one in w], [float(s.value) if fit_intercept else 0.0 for s in b]


def solve_coupled_least_squares(
    views, y, *, C, D=0.0, weight=None, matrices=None, fit_intercept=True
):
    """Minimise sum_v w_v' A_v w_v / 2 + C/2 sum of squared errors + D/2 sum of squared differences.

    Returns the objective, the coefficients and the intercepts.
    """
    import cvxpy as cp

    root = np.sqrt(np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float))
    w = [cp.Variable(X.shape[1]) for X in views]
    b = [cp.Variable() if fit_intercept else 0.0 for _ in views]
    f = [X @ one + shift for X, one, shift in zip(views, w, b, strict=True)]
    terms = [0.5 * cp.quad_form(one, cp.psd_wrap(A)) for one, A in zip(w, matrices, strict=True)]
    terms += [0.5 * C * cp.sum_squares(cp.multiply(root, y - one)) for one in f]
    terms += [
        0.5 * D * cp.sum_squares(cp.multiply(root, f[u] - f[v]))
        for u, v in combinations(range(len(views)), 2)
    ]
    value = _solved(cp, sum(terms))
    return value, [one.value for one in w], [float(s.value) if fit_intercept else 0.0 for s in b]


def _solved(cp, objective):
    problem = cp.Problem(cp.Minimize(objective))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value)
