"""How fast the algorithms converge: residual against iterations and passes over the data."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from htsvm import HTSVC
from htsvm.solvers import ADMM, Newton
from htsvm_paper.experiments.blocks import Block, Entry, Picture, Table, Words
from htsvm_paper.experiments.figures import COLOURS, legend_below
from htsvm_paper.experiments.isolation import DONE
from htsvm_paper.experiments.results import Results
from htsvm_paper.experiments.splits import make_split
from htsvm_paper.experiments.tasks import CLEAN, Experiment, Metrics, Profile, Row, Task, as_setting
from htsvm_paper.svg import drawing

NAME, TRACE = "rates", "trace"
SETS = ("australian", "breast-cancer", "wine-red", "a1a", "w5a")
TOL, MAX_ITER = 1e-8, 1000
SOLVERS: dict[str, Any] = {
    "Newton (default)": Newton(),
    "ADMM with safeguards": ADMM(),
    "ADMM as printed, ξ = 1": ADMM(penalty=1.0, safeguards=()),
}
LEVELS = (1e-2, 1e-3, 1e-4, 1e-6, 1e-8)
LAST = 5


def _sets(profile: Profile) -> tuple[str, ...]:
    return SETS[:1] if profile.quick else SETS


def tasks(profile: Profile) -> list[Task]:
    """Return a cell per set and solver."""
    setting = as_setting(C=1.0, tol=TOL, max_iter=MAX_ITER)
    return [
        Task(NAME, TRACE, name, CLEAN, solver, 0, profile.seed, setting)
        for name in _sets(profile)
        for solver in SOLVERS
    ]


def run(task: Task) -> Iterator[Row]:
    """Fit once to a tight tolerance; yield a row per iteration."""
    split, options = make_split(task), task.settings
    model = HTSVC(
        options["C"], solver=SOLVERS[task.method], tol=options["tol"],
        max_iter=options["max_iter"], random_state=task.seed,
    )  # fmt: skip
    with warnings.catch_warnings():
        # What becomes of each solver is the result.
        warnings.simplefilter("ignore")
        model.fit(split.X, split.y)
    history = model.history_
    active = history["working_set"] if "working_set" in history else history["active"]
    for i, residual in enumerate(history["residual"]):
        metrics = {"residual": float(residual), "active": float(active[i])}
        if "passes" in history:
            metrics["passes"] = float(history["passes"][i])
        yield Row({"iteration": i + 1}, metrics)


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return the curves, and a table of iterations and passes to each residual."""
    traces = {
        (name, solver): [row.metrics for row in cell.rows]
        for name in _sets(profile)
        for solver in SOLVERS
        for task in results.place(TRACE, name, CLEAN, solver)
        if (cell := results.cells.get(task)) is not None and cell.status == DONE
    }
    words = Words(
        (
            f"C = 1, tolerance {TOL:g}, at most {MAX_ITER} iterations. What can be proved, and "
            "under which conditions, is on the page “The rate of convergence”.",
        )
    )
    if not traces:
        return [words, Words(("Not computed.",))]
    rows = [
        (f"{name}, {solver}", [_first_below(trace, level) for level in LEVELS]
         + [Entry(100.0 * _factor(trace))])
        for (name, solver), trace in traces.items()
    ]  # fmt: skip
    table = Table(
        "Iterations until the residual is below …, and what one of the last leaves of it",
        "set, solver",
        [f"{level:g}" for level in LEVELS] + ["kept (%)"],
        rows,
        better="",
        decimals=0,
        note=f"Kept: what an iteration leaves of the residual, the mean of the last {LAST}.",
    )
    return [words, Picture(_curves(traces, _sets(profile)), "Residual against iterations."), table]


def _first_below(trace: list[Metrics], level: float) -> Entry:
    for i, metrics in enumerate(trace):
        if metrics["residual"] < level:
            return Entry(float(i + 1))
    return Entry(mark="never")


def _factor(trace: list[Metrics]) -> float:
    """Return by how much the residual falls in one of the last iterations, on average."""
    found = [m["residual"] for m in trace if m["residual"] > 0.0][-LAST - 1 :]
    return (found[-1] / found[0]) ** (1.0 / LAST) if len(found) > LAST else math.nan


def _curves(traces: dict[tuple[str, str], list[Metrics]], sets: tuple[str, ...]) -> str:
    columns = min(3, len(sets))
    rows = -(-len(sets) // columns)
    with drawing(2.6 * rows + 0.6, width=8.0, nrows=rows, ncols=columns, squeeze=False) as (
        axes, finish,
    ):  # fmt: skip
        for ax, name in zip(axes.flat, sets, strict=False):
            for i, solver in enumerate(SOLVERS):
                values = [m["residual"] for m in traces.get((name, solver), [])]
                ax.plot(np.arange(1, len(values) + 1), values, color=COLOURS[i], label=solver)
            ax.set(title=name, xscale="log", yscale="log", ylim=(1e-9, 10.0))
            ax.grid()
        for ax in list(axes.flat)[len(sets) :]:
            ax.set_axis_off()
        legend_below(axes[0][0], 3)
    return finish("Residual against iterations on several sets")


EXPERIMENT = Experiment(
    NAME, "how fast the algorithms converge, on five sets", "future work of the paper",
    tasks, run, sections,
)  # fmt: skip
