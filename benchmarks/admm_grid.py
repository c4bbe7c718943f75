"""The ADMM over the paper's 9 x 9 grid of (C, xi): as printed and with safeguards.

    HTSVM_DATA=/path/to/data python benchmarks/admm_grid.py --jobs 2

Prints a Markdown table, and writes it with one CSV row per run to benchmarks/results/. A run is
*certified* if the residuals recomputed from (w, b, psi) at q := 1 - Nw - by are below 1e-3, with
nu = 1/xi at the final penalty and, for the printed algorithm, at the printed one; *non-trivial* if
its objective is below that of the best constant classifier.
"""

from __future__ import annotations

import argparse
import csv
import os
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from htsvm.linalg import Quadratic, as_operator
from htsvm.losses import HybridTruncated
from htsvm.problems.binary import Problem
from htsvm.solvers.admm.safeguards import DEFAULT_SAFEGUARDS
from htsvm.solvers.admm.solver import ADMM
from htsvm.solvers.result import SolverResult

RESULTS = Path(__file__).parent / "results"
GRID = [2.0**k for k in range(-4, 5)]
TOL = 1e-3
SETS = ("gaussians", "a1a", "w5a", "a8a")
_data: dict[str, tuple[Any, np.ndarray]] = {}


def load(name: str) -> tuple[Any, np.ndarray]:
    """Return rows and labels, read once per process."""
    if name not in _data:
        _data[name] = gaussians() if name == "gaussians" else libsvm(name)
    return _data[name]


def gaussians(m: int = 10_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(m) < m // 2, 1, -1).astype(np.int8)
    centre = np.column_stack([0.5 * y, -3.0 * y])
    return centre + rng.normal(size=(m, 2)) * np.sqrt([0.2, 3.0]), y


def libsvm(name: str) -> tuple[Any, np.ndarray]:
    folder = os.environ.get("HTSVM_DATA")
    if folder is None:
        raise SystemExit("Set HTSVM_DATA to the folder that holds libsvm/, or use --sets gaussians")
    n_features = 123 if name.startswith("a") else 300
    path = Path(folder) / "libsvm" / f"{name}.bz2"
    X, y = load_svmlight_file(str(path), n_features=n_features)
    return X, y.astype(np.int8)


def certified_residual(problem: Problem, result: SolverResult, nu: float) -> float:
    """Return the largest of the three residuals at q := 1 - Nw - by, sharing no solver state."""
    X, y, psi, w = problem.operator.X, problem.y, result.multipliers, result.coef
    q = 1.0 - y * (X @ w + result.intercept)
    gap = problem.loss.prox_distance(q, q - nu * psi, nu * problem.C)
    norm = np.linalg.norm
    return float(
        max(
            norm(w + X.T @ (y * psi)) / (1.0 + norm(w)),
            abs(y @ psi) / (1.0 + np.count_nonzero(psi)),
            norm(gap) / (1.0 + norm(q)),
        )
    )


def run(task: tuple[str, str, tuple[str, ...], float, float, int]) -> dict[str, Any]:
    name, label, safeguards, C, xi, max_iter = task
    X, y = load(name)
    m, n = X.shape
    problem = Problem(as_operator(X), y, np.full(m, C), HybridTruncated(), Quadratic(None, n), C=C)
    solver = ADMM(penalty=xi, tol=TOL, max_iter=max_iter, safeguards=safeguards)
    result = solver.solve(problem)
    final = result.history["penalty"][-1]
    residual = certified_residual(problem, result, 1.0 / final)
    return {
        "set": name,
        "form": label,
        "C": C,
        "xi": xi,
        "met_rule": result.converged,
        "certified": residual < TOL,
        "non_trivial": result.objective < (1.0 - 1e-9) * problem.trivial()[0],
        "residual": residual,
        "objective": result.objective,
        "iterations": result.n_iter,
        "final_penalty": final,
        "support": int(np.count_nonzero(result.multipliers)),
        "train_accuracy": float(np.mean(y * (X @ result.coef + result.intercept) > 0.0)),
        "seconds": result.seconds["total"],
    }


def table(rows: list[dict[str, Any]]) -> str:
    best: dict[tuple[str, float], float] = {}
    for row in rows:
        key = (row["set"], row["C"])
        best[key] = min(best.get(key, np.inf), row["objective"])
    lines = [
        "| set | form | met the rule | certified, non-trivial | median iterations "
        "| median objective / best known | median seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, label in dict.fromkeys((row["set"], row["form"]) for row in rows):
        cells = [row for row in rows if (row["set"], row["form"]) == (name, label)]
        met = np.mean([row["met_rule"] for row in cells])
        good = np.mean(
            [row["met_rule"] and row["certified"] and row["non_trivial"] for row in cells]
        )
        ratio = np.median([row["objective"] / best[name, row["C"]] for row in cells])
        iterations = np.median([row["iterations"] for row in cells])
        seconds = np.median([row["seconds"] for row in cells])
        lines.append(
            f"| {name} | {label} | {met:.0%} | {good:.0%} | {iterations:.0f} "
            f"| {ratio:.3f} | {seconds:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument(
        "--safeguards", nargs="*", default=list(DEFAULT_SAFEGUARDS), help="of the safeguarded form"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--max-iter", type=int, default=1000, help="of the safeguarded form")
    parser.add_argument("--printed-max-iter", type=int, default=300, help="of the printed form")
    parser.add_argument("--output", type=Path, default=RESULTS / "admm-grid.csv")
    options = parser.parse_args()
    forms = (
        ("as printed", (), options.printed_max_iter),
        ("safeguarded", tuple(options.safeguards), options.max_iter),
    )
    tasks = [
        (name, label, safeguards, C, xi, max_iter)
        for name in options.sets
        for label, safeguards, max_iter in forms
        for C in GRID
        for xi in GRID
    ]
    with get_context("fork").Pool(options.jobs) as pool:
        rows = pool.map(run, tasks, chunksize=3)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with options.output.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    report = (
        f"{table(rows)}\n\n9 x 9 grid, C and xi in 2^-4 ... 2^4; tolerance {TOL:g}; at most "
        f"{options.printed_max_iter} iterations as printed, {options.max_iter} safeguarded "
        f"({', '.join(options.safeguards)}).\n"
    )
    options.output.with_suffix(".md").write_text(report)
    print(report)


if __name__ == "__main__":
    main()
