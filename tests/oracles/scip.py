"""The global optimum of tiny problems, by branch and bound (SCIP).

``python -m tests.oracles.scip`` solves the problems of `tiny` anew and stores their optima.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from htsvm.losses import HybridTruncated, Ramp
from htsvm_paper.losses import ZeroOne
from tests.oracles.tiny import COUNT, tiny


@dataclass
class GlobalOptimum:
    """The best point found and a proven lower bound of the objective."""

    coef: np.ndarray
    intercept: float
    objective: float
    bound: float


class Piece(NamedTuple):
    """A part of a loss: slope * q + height on [low, high], or a parabola."""

    low: float
    high: float
    slope: float = 0.0
    height: float = 0.0
    curved: bool = False


def _pieces(loss, highest) -> list[Piece]:
    safe = Piece(-highest, 0.0)
    if isinstance(loss, ZeroOne):
        return [safe, Piece(0.0, highest, height=1.0)]
    ignored = Piece(loss.cap, highest, height=loss.cap)
    if isinstance(loss, Ramp):
        return [safe, Piece(0.0, loss.cap, slope=1.0), ignored]
    bend = loss.knee * loss.cap
    return [safe, Piece(0.0, bend, loss.slope), Piece(bend, loss.cap, curved=True), ignored]


def solve_globally(
    X, y, *, C=1.0, loss=None, sample_weight=None, regularizer=None, seconds=30.0
) -> GlobalOptimum:
    """Minimise w'Rw/2 + sum_i C weight_i loss(q_i) over w and b, exactly.

    Each sample chooses one of the pieces of the loss (see `_pieces`) by a binary variable that
    switches the bounds of its share of q; on the parabola of the hybrid truncated loss

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
    losses = []
    for i in range(m):
        shares, total = [], []
        margin = quicksum(X[i, j] * w[j] for j in range(n)) + b
        for p, piece in enumerate(_pieces(loss, highest)):
            z = model.addVar(f"z{i}{p}", vtype="B")
            q = model.addVar(f"q{i}{p}", lb=-highest, ub=highest)
            model.addCons(q >= piece.low * z)
            model.addCons(q <= piece.high * z)
            shares.append((z, q))
            total.append(piece.slope * q + piece.height * z)
            if piece.curved:
                knee, cap = loss.knee, loss.cap
                bent = model.addVar(f"t{i}", lb=0.0, ub=cap)
                gap = z - q / cap
                model.addCons(bent >= cap * (z - gap * gap / (1.0 - knee**2)))
                total.append(bent)
        model.addCons(quicksum(z for z, _ in shares) == 1)
        model.addCons(quicksum(q for _, q in shares) == 1.0 - y[i] * margin)
        losses.append(penalty[i] * quicksum(total))
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


LOSSES = {"hybrid_truncated": HybridTruncated(), "ramp": Ramp(1.0), "zero_one": ZeroOne()}


def store_optima() -> None:
    """Write the optima of the tiny problems to `global_optima.json`."""
    optima = {}
    for name, loss in LOSSES.items():
        optima[name] = []
        for seed in range(COUNT):
            X, y, C = tiny(seed)
            best = solve_globally(X, y, C=C, loss=loss)
            optima[name].append({"objective": best.objective, "bound": best.bound})
    path = Path(__file__).with_name("global_optima.json")
    path.write_text(json.dumps(optima, indent=1) + "\n")


if __name__ == "__main__":
    store_optima()
