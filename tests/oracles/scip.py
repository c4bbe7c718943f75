"""The global optimum of tiny problems, by branch and bound (SCIP).

``python -m tests.oracles.scip`` solves the problems of `tiny` anew and stores their optima.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from htsvm.losses import HybridTruncated
from tests.oracles.tiny import COUNT, tiny


@dataclass
class GlobalOptimum:
    """The best point found and a proven lower bound of the objective."""

    coef: np.ndarray
    intercept: float
    objective: float
    bound: float


def solve_globally(
    X, y, *, C=1.0, loss=None, sample_weight=None, regularizer=None, seconds=30.0
) -> GlobalOptimum:
    """Minimise w'Rw/2 + sum_i C weight_i loss(q_i) over w and b, exactly.

    Each sample chooses one of the four pieces of the loss (safe, straight, parabola, ignored) by
    a binary variable that switches the bounds of its share of q; on the parabola

        t = cap * (z - (z - u)² / (1 - knee²)),   u = q / cap,   z the binary of that piece,

    so that z = u = 0 gives 0. This reverse convex constraint is what SCIP branches on in space.
    """
    from pyscipopt import Model, quicksum

    loss = HybridTruncated() if loss is None else loss
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    m, n = X.shape
    penalty = C * (np.ones(m) if sample_weight is None else np.asarray(sample_weight, dtype=float))
    R = np.eye(n) if regularizer is None else np.asarray(regularizer, dtype=float)
    # No better point has a larger norm than the constant classifier's objective allows.
    trivial = min(penalty[y > 0].sum(), penalty[y < 0].sum()) * float(loss.value(2.0))
    radius = np.sqrt(2.0 * trivial / np.linalg.eigvalsh(R)[0]) + 1e-6
    reach = radius * np.linalg.norm(X, axis=1).max()
    offset = reach + max(1.0, loss.cap - 1.0) + 1e-6
    highest = 1.0 + reach + offset

    model = Model("htsvm")
    model.hideOutput()
    model.setParam("limits/time", seconds)
    model.setParam("limits/gap", 1e-7)
    model.setParam("numerics/feastol", 1e-8)
    w = [model.addVar(f"w{j}", lb=-radius, ub=radius) for j in range(n)]
    b = model.addVar("b", lb=-offset, ub=offset)
    energy = model.addVar("energy", lb=0.0)
    pairs = [(j, k) for j in range(n) for k in range(n)]
    model.addCons(energy >= quicksum(0.5 * R[j, k] * w[j] * w[k] for j, k in pairs))
    knee, cap = loss.knee, loss.cap
    pieces = [(-highest, 0.0), (0.0, knee * cap), (knee * cap, cap), (cap, highest)]
    losses = []
    for i in range(m):
        choice = [model.addVar(f"z{i}{p}", vtype="B") for p in range(4)]
        part = [model.addVar(f"q{i}{p}", lb=-highest, ub=highest) for p in range(4)]
        model.addCons(quicksum(choice) == 1)
        margin = quicksum(X[i, j] * w[j] for j in range(n)) + b
        model.addCons(quicksum(part) == 1.0 - y[i] * margin)
        for z, q, (low, high) in zip(choice, part, pieces, strict=True):
            model.addCons(q >= low * z)
            model.addCons(q <= high * z)
        curved = model.addVar(f"t{i}", lb=0.0, ub=cap)
        gap = choice[2] - part[2] / cap
        model.addCons(curved >= cap * (choice[2] - gap * gap / (1.0 - knee**2)))
        losses.append(penalty[i] * (loss.slope * part[1] + curved + cap * choice[3]))
    model.setObjective(energy + quicksum(losses), "minimize")
    model.optimize()
    if model.getNSols() == 0:
        raise RuntimeError(f"SCIP found no point: {model.getStatus()}")
    solution = model.getBestSol()
    coef = np.array([solution[v] for v in w])
    intercept = float(solution[b])
    q = 1.0 - y * (X @ coef + intercept)
    objective = float(0.5 * coef @ R @ coef + penalty @ loss.value(q))
    return GlobalOptimum(coef, intercept, objective, float(model.getDualbound()))


def store_optima() -> None:
    """Write the optima of the tiny problems to `global_optima.json`."""
    optima = []
    for seed in range(COUNT):
        X, y, C = tiny(seed)
        best = solve_globally(X, y, C=C)
        optima.append({"objective": best.objective, "bound": best.bound})
    path = Path(__file__).with_name("global_optima.json")
    path.write_text(json.dumps(optima, indent=1) + "\n")


if __name__ == "__main__":
    store_optima()
