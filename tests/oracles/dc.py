"""The slow, exact reference: DC iterations, each a convex QP solved by an interior point."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from htsvm.losses import HybridTruncated


@dataclass
class Reference:
    """Where the DC iteration ended."""

    coef: np.ndarray
    intercept: float
    multipliers: np.ndarray
    objective: float
    objectives: list[float] = field(default_factory=list)


def solve_dc(
    X,
    y,
    *,
    C=1.0,
    loss=None,
    sample_weight=None,
    regularizer=None,
    fit_intercept=True,
    max_rounds=200,
) -> Reference:
    """Minimise w'Rw/2 + sum_i C weight_i loss(q_i) from the convex start (errata E16).

    The loss is a [s]_+ - h(s) with h convex; each round linearises h at the last violations. For
    the ramp loss this is the concave-convex procedure of Collobert et al. as they print it.
    """
    import cvxpy as cp

    loss = HybridTruncated() if loss is None else loss
    slope = float(loss.profile_slope(0.0))
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    m, n = X.shape
    penalty = C * (np.ones(m) if sample_weight is None else np.asarray(sample_weight, dtype=float))
    R = np.eye(n) if regularizer is None else np.asarray(regularizer, dtype=float)
    R = R * np.eye(n) if R.ndim < 2 else R
    root = np.linalg.cholesky(R).T
    w, b, excess = cp.Variable(n), cp.Variable(), cp.Variable(m, nonneg=True)
    tilt = cp.Parameter(m)
    violation = 1 - cp.multiply(y, X @ w + b)
    above = excess >= violation
    energy = 0.5 * cp.sum_squares(root @ w)
    problem = cp.Problem(
        cp.Minimize(energy + slope * (penalty @ excess) - tilt @ violation),
        [above] + ([] if fit_intercept else [b == 0]),
    )
    beta, objectives = np.zeros(m), []
    for _ in range(max_rounds):
        tilt.value = beta
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
        coef, intercept = w.value, float(b.value) if fit_intercept else 0.0
        q = 1.0 - y * (X @ coef + intercept)
        objectives.append(float(0.5 * coef @ R @ coef + penalty @ loss.value(q)))
        multipliers = beta - above.dual_value
        multipliers[np.abs(multipliers) < 1e-10 * C] = 0.0
        new = penalty * (slope - loss.profile_slope(np.maximum(q, 0.0)))
        if np.abs(new - beta).max() <= 1e-9 * C:
            break
        beta = new
    return Reference(coef, intercept, multipliers, objectives[-1], objectives)
