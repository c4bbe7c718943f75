"""Slow, exact references for the multi-class problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class MulticlassSolution:
    """A minimiser of the convex problem, or of the truncated one."""

    coef: np.ndarray
    intercept: np.ndarray
    objective: float


def violations(X, labels, coef, intercept):
    """Return 1 + max over the other classes of f_j - f_y, one sample at a time."""
    q = []
    for x, y in zip(np.asarray(X, dtype=float), labels, strict=True):
        f = coef @ x + intercept
        q.append(1.0 + max(f[j] for j in range(len(f)) if j != y) - f[y])
    return np.array(q)


def solve_crammer_singer(X, labels, n_classes, penalty, *, fit_intercept=True):
    """Minimise ||W||²/2 + sum_i penalty_i max(0, violation_i) by an interior point."""
    import cvxpy as cp

    X = np.asarray(X, dtype=float)
    W, b = cp.Variable((n_classes, X.shape[1])), cp.Variable(n_classes)
    excess = cp.Variable(len(X), nonneg=True)
    F = X @ W.T + np.ones((len(X), 1)) @ cp.reshape(b, (1, n_classes), order="C")
    own = np.eye(n_classes)[labels]
    mine = cp.sum(cp.multiply(F, own), axis=1, keepdims=True) @ np.ones((1, n_classes))
    spread = cp.reshape(excess, (len(X), 1), order="C") @ np.ones((1, n_classes))
    bounds = [spread >= 1.0 - own + F - mine]
    bounds.append(cp.sum(b) == 0 if fit_intercept else b == 0)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(W) + penalty @ excess), bounds)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    q = np.maximum(violations(X, labels, W.value, b.value), 0.0)
    return MulticlassSolution(
        W.value, b.value, float(0.5 * np.sum(W.value**2) + np.asarray(penalty) @ q)
    )


def solve_multiclass_globally(X, labels, n_classes, *, C=1.0, loss, seconds=60.0):
    """Return (best objective, proven bound) of the truncated multi-class problem, by SCIP.

    Each sample chooses a piece of the loss (safe, straight, parabola, ignored) for an excess that
    is at least its violation; more excess never pays, because the profile does not fall.
    """
    from pyscipopt import Model, quicksum

    X = np.asarray(X, dtype=float)
    m, n = X.shape
    counts = np.bincount(labels, minlength=n_classes)
    ceiling = C * float(loss.profile(2.0)) * (m - counts.max())
    ceiling = min(ceiling, C * float(loss.profile(1.0)) * m)
    radius = np.sqrt(2.0 * ceiling) + 1e-6
    reach = 2.0 * radius * np.linalg.norm(X, axis=1).max()
    highest = 2.0 * (1.0 + reach + loss.cap)
    knee, cap = loss.knee, loss.cap
    pieces = [(0.0, 0.0), (0.0, knee * cap), (knee * cap, cap), (cap, highest)]
    model = Model("joint")
    model.hideOutput()
    model.setParam("limits/time", seconds)
    model.setParam("limits/gap", 1e-6)
    w = [[model.addVar(f"w{j}{f}", lb=-radius, ub=radius) for f in range(n)]
         for j in range(n_classes)]  # fmt: skip
    b = [model.addVar(f"b{j}", lb=-highest, ub=highest) for j in range(n_classes)]
    model.addCons(quicksum(b) == 0)
    energy = model.addVar("energy", lb=0.0)
    model.addCons(energy >= quicksum(0.5 * v * v for row in w for v in row))
    losses = []
    for i in range(m):
        f = [quicksum(X[i, t] * w[j][t] for t in range(n)) + b[j] for j in range(n_classes)]
        choice = [model.addVar(f"z{i}{p}", vtype="B") for p in range(4)]
        part = [model.addVar(f"h{i}{p}", lb=0.0, ub=highest) for p in range(4)]
        model.addCons(quicksum(choice) == 1)
        for z, h, (low, high) in zip(choice, part, pieces, strict=True):
            model.addCons(h >= low * z)
            model.addCons(h <= high * z)
        for j in range(n_classes):
            if j != labels[i]:
                model.addCons(quicksum(part) >= 1.0 + f[j] - f[labels[i]])
        curved = model.addVar(f"t{i}", lb=0.0, ub=cap)
        gap = choice[2] - part[2] / cap
        model.addCons(curved >= cap * (choice[2] - gap * gap / (1.0 - knee**2)))
        losses.append(C * (loss.slope * part[1] + curved + cap * choice[3]))
    model.setObjective(energy + quicksum(losses), "minimize")
    model.optimize()
    solution = model.getBestSol()
    coef = np.array([[solution[v] for v in row] for row in w])
    intercept = np.array([solution[v] for v in b])
    h = np.maximum(violations(X, labels, coef, intercept), 0.0)
    objective = float(0.5 * np.sum(coef**2) + C * loss.profile(h).sum())
    return objective, float(model.getDualbound())
