"""One fit of each multi-view method, and of SVM-2K's quadratic program by general solvers."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import partial
from statistics import mean
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.bars import Bar, Row, at_most, every
from benchmarks.multiview import _two_views
from benchmarks.multiview_sets import UCI_SETS, loaded
from benchmarks.plan import Plan
from benchmarks.report import markdown_table, number
from benchmarks.timing import Timings, interleaved
from htsvm.multiview import MultiViewHTSVC
from htsvm_paper.baselines import SVM2K, MvASYBX, MvLSSVC2C, MvSL01SVM, MvSVM2C, WaveMvSVM

# The methods with the paper's average seconds on the ten UCI sets.
METHODS: dict[str, tuple[Any, float]] = {
    "SVM-2K": (SVM2K(), 3.03),
    "MvSVM-2C": (MvSVM2C(), 38.95),
    "MvLSSVC-2C": (MvLSSVC2C(), 0.16),
    "Wave-MvSVM": (WaveMvSVM(), 11.64),
    "MVASY-BX": (MvASYBX(), 5.03),
    "MvSL0/1-SVM": (MvSL01SVM(), 1.82),
    "MvL_ht-SVM": (MultiViewHTSVC(structure=1.0), 1.48),
}
SHARE = 1.0 / 3.0
AVERAGE = "average of the UCI sets"


def run(plan: Plan) -> list[Row]:
    """Time every method on every set."""
    return measured(UCI_SETS, plan, plan.repeats, SOLVERS)


def measured(
    sets: Sequence[Any], plan: Plan, repeats: int, solvers: dict[str, Callable[..., float]]
) -> list[Row]:
    """Time every method, and solvers of the quadratic program, on some sets."""
    rows = []
    for one, samples, y in loaded(sets, plan):
        views = samples if isinstance(samples, list) else _two_views(samples)
        works: dict[str, Callable[[], Any]] = {
            name: partial(model.fit, views, y) for name, (model, _) in METHODS.items()
        }
        works |= {name: partial(solve, views, y.astype(float)) for name, solve in solvers.items()}
        timings = interleaved(works, repeats)
        rows.append(_row(one.name, views, timings))
        plan.say(f"{one.name}: " + ", ".join(_told(name, t) for name, t in timings.items()))
    return rows


def _told(name: str, timing: Timings) -> str:
    return f"{name} {number(timing.median)}" + ("!" if timing.unconverged else "")


def _row(name: str, views: list[np.ndarray], timings: dict[str, Timings]) -> Row:
    row: Row = {"set": name, "m": len(views[0]), "n1": views[0].shape[1], "n2": views[1].shape[1]}
    for key, timing in timings.items():
        row[key] = timing.median
        if key in METHODS and timing.error:
            raise RuntimeError(f"{key} failed on {name}: {timing.error}")
    row["unconverged"] = " ".join(key for key in METHODS if timings[key].unconverged)
    row["converged"] = not row["unconverged"]
    ours = timings["SVM-2K"].result.objective_[0]
    for key in SOLVERS:
        if key in timings and timings[key].result is not None:
            row[f"{key} excess"] = (timings[key].result - ours) / ours
    return row


# ---------------------------------------------------------------------- SVM-2K by QP solvers


def _quadratic_program(views: list[np.ndarray], y: np.ndarray) -> tuple[Any, ...]:
    """Return P, q, A, upper bounds (A x <= upper) of SVM-2K with the default parameters.

    The variables are w_A, b_A, w_B, b_B and the slacks xi_A, xi_B and eta.
    """
    model, m = SVM2K(), len(y)
    widths = [X.shape[1] for X in views]
    P = sp.diags(np.concatenate([[1.0] * widths[0], [0.0], [1.0] * widths[1], [0.0] * (1 + 3 * m)]))
    q = np.concatenate([np.zeros(sum(widths) + 2), np.full(2 * m, model.C), np.full(m, model.D)])
    Z = [np.hstack([X, np.ones((m, 1))]) for X in views]
    eye, Y = -sp.eye(m), sp.diags(-y)
    rows = [
        [Y @ Z[0], None, eye, None, None],
        [None, Y @ Z[1], None, eye, None],
        [Z[0], -Z[1], None, None, eye],
        [-Z[0], Z[1], None, None, eye],
    ]
    rows = [[None if part is None else sp.csc_matrix(part) for part in row] for row in rows]
    A = sp.vstack(
        [sp.bmat(rows), sp.hstack([sp.csc_matrix((3 * m, sum(widths) + 2)), -sp.eye(3 * m)])]
    )
    upper = np.concatenate([np.full(2 * m, -1.0), np.full(2 * m, model.epsilon), np.zeros(3 * m)])
    return sp.csc_matrix(P), q, sp.csc_matrix(A), upper


def _objective(x: np.ndarray, views: list[np.ndarray], y: np.ndarray) -> float:
    """Return the objective of SVM-2K at the classifiers in x."""
    model, first = SVM2K(), views[0].shape[1] + 1
    w = [x[:first], x[first : first + views[1].shape[1] + 1]]
    f = [X @ one[:-1] + one[-1] for X, one in zip(views, w, strict=True)]
    energy = sum(0.5 * one[:-1] @ one[:-1] for one in w)
    loss = sum(model.C * np.maximum(0.0, 1.0 - y * one).sum() for one in f)
    beyond = np.maximum(0.0, np.abs(f[0] - f[1]) - model.epsilon).sum()
    return float(energy + loss + model.D * beyond)


def _clarabel(views: list[np.ndarray], y: np.ndarray) -> float:
    clarabel = importlib.import_module("clarabel")
    P, q, A, upper = _quadratic_program(views, y)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        P, q, A, upper, [clarabel.NonnegativeConeT(len(upper))], settings
    )
    return _objective(np.array(solver.solve().x), views, y)


def _osqp(views: list[np.ndarray], y: np.ndarray) -> float:
    osqp = importlib.import_module("osqp")
    P, q, A, upper = _quadratic_program(views, y)
    solver = osqp.OSQP()
    solver.setup(P, q, A, np.full(len(upper), -np.inf), upper, verbose=False, eps_abs=1e-6,
                 eps_rel=1e-6, max_iter=20_000, time_limit=5.0)  # fmt: skip
    return _objective(np.array(solver.solve().x), views, y)


SOLVERS = {"Clarabel": _clarabel, "OSQP": _osqp}


# ----------------------------------------------------------------------------------- report


def bars(rows: list[Row]) -> list[Bar]:
    """Compare with what was promised."""
    averages = [{"set": AVERAGE, name: mean(row[name] for row in rows)} for name in METHODS]
    promised = [
        at_most(f"{name}: <= a third of the paper's {number(paper)} s on average", [row], name,
                SHARE * paper)
        for (name, (_, paper)), row in zip(METHODS.items(), averages, strict=True)
    ]  # fmt: skip
    return [*promised, every("every fit converged", rows, "converged")]


def tables(rows: list[Row]) -> str:
    """Render as Markdown."""
    cells = seconds_of(rows)
    averages = {name: number(mean(row[name] for row in rows)) for name in METHODS}
    cells.append({"set": AVERAGE, "samples": "", "columns": "", **averages})
    paper = {name: number(seconds) for name, (_, seconds) in METHODS.items()}
    cells.append({"set": "the paper's average", "samples": "", "columns": "", **paper})
    text = (
        "## Seconds per fit\n\nDefault settings (structure = 1 where there is one; clustering is "
        "part of the time). Columns scaled to [-1, 1], and their principal components. The "
        "paper's times are from another machine and other parameters, and show the order of "
        f"magnitude.\n\n{markdown_table(cells)}"
    )
    return f"{text}\n\n{solver_table(rows)}"


def seconds_of(rows: list[Row]) -> list[dict[str, str]]:
    """Return the cells of a table of times."""
    return [
        {
            "set": row["set"],
            "samples": str(row["m"]),
            "columns": f"{row['n1']} + {row['n2']}",
            **{name: number(row[name]) for name in METHODS},
        }
        for row in rows
    ]


def solver_table(rows: list[Row]) -> str:
    cells = [
        {
            "set": row["set"],
            "Newton (s)": number(row["SVM-2K"]),
            **{
                title: text
                for name in SOLVERS
                for title, text in (
                    (f"{name} (s)", number(row.get(name))),
                    (f"{name}, objective above Newton's", _small(row.get(f"{name} excess"))),
                )
            },
        }
        for row in rows
    ]
    return (
        "## The quadratic program of SVM-2K\n\nNewton's method of this package, as `SVM2K` runs "
        "it, beside general solvers on the primal program (Clarabel with its own tolerances, 1e-8; "
        "OSQP with 1e-6, at most 20,000 iterations and 5 s). The relative excess is that of the "
        f"true objective at their solution.\n\n{markdown_table(cells)}"
    )


def _small(value: Any) -> str:
    return "" if value is None else f"{value:.1e}"
