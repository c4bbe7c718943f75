"""The algorithms iteration by iteration: on w5a (figure 3), and how fast they are on five sets."""

import math
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from htsvm import HTSVC, solvers
from htsvm_paper.experiments.blocks import Block, Entry, Picture, Table, about, said
from htsvm_paper.experiments.figures import COLOURS, convergence_panels, drawing, legend_below
from htsvm_paper.experiments.results import Results
from htsvm_paper.experiments.splits import Split, make_split
from htsvm_paper.experiments.tasks import CLEAN, Experiment, Metrics, Profile, Row, Task, as_setting

NAME, RATES, TRACE = "convergence", "rates", "trace"
MAX_ITER = 1000
PENALTIES = (0.25, 1.0, 4.0)
NEWTON, ADMM, PRINTED = "Newton (default)", "ADMM with safeguards", "ADMM as printed"
PLAIN: dict[str, Any] = {NEWTON: solvers.Newton(), ADMM: solvers.ADMM()}
AS_PRINTED: dict[str, Any] = {
    f"{PRINTED}, ξ = {xi:g}": solvers.ADMM(penalty=xi, safeguards=()) for xi in PENALTIES
}
SOLVERS = [*AS_PRINTED, ADMM, NEWTON]
RATE_SOLVERS = [NEWTON, ADMM, f"{PRINTED}, ξ = 1"]
SETTING = as_setting(C=1.0, max_iter=MAX_ITER)
# More rows than this say nothing new in a drawing.
SHOWN = 300
SETS = ("australian", "breast-cancer", "wine-red", "a1a", "w5a")
TOL = 1e-8
RATE_SETTING = as_setting(C=1.0, tol=TOL, max_iter=MAX_ITER)
LEVELS = (1e-2, 1e-3, 1e-4, 1e-6, 1e-8)
LAST = 5


def _tasks(name: str, sets: tuple[str, ...], used: list[str], profile: Profile, setting: str) -> (
    list[Task]
):  # fmt: skip
    return [
        Task(name, TRACE, dataset, CLEAN, solver, 0, profile.seed, setting)
        for dataset in sets
        for solver in used
    ]


def _fit(task: Task, **options: Any) -> tuple[HTSVC, Split, Mapping[str, Any]]:
    """Fit once with C = 1; return the model, its data, and its history."""
    split = make_split(task)
    model = HTSVC(
        solver=(PLAIN | AS_PRINTED)[task.method], max_iter=MAX_ITER, random_state=task.seed,
        **options,
    )  # fmt: skip
    with warnings.catch_warnings():
        # What becomes of each solver is the result.
        warnings.simplefilter("ignore")
        model.fit(split.X, split.y)
    history = dict(model.history_)
    history["active"] = history.get("working_set", history.get("active"))
    return model, split, history


def _set(profile: Profile) -> str:
    return "a1a" if profile.quick else "w5a"


def tasks(profile: Profile) -> list[Task]:
    """Return a cell per solver."""
    return _tasks(NAME, (_set(profile),), SOLVERS, profile, SETTING)


def run(task: Task) -> Iterator[Row]:
    """Yield a row per iteration, and a last one on the result."""
    model, split, history = _fit(task)
    seconds = history["seconds"]
    for i in range(min(len(history["iteration"]), SHOWN)):
        metrics = {
            "residual": float(history["residual"][i]),
            "active": _active(history, i) / len(split.y),
            "seconds": float(seconds[i] - (seconds[i - 1] if i else 0.0)),
        }
        if "train_accuracy" in history:
            metrics["train_accuracy"] = float(history["train_accuracy"][i])
        yield Row({"iteration": int(history["iteration"][i])}, metrics)
    yield Row(
        {"iteration": 0},
        {
            "accuracy": float(model.score(split.X_test, split.y_test)),
            "constant": float(not np.any(np.abs(model.coef_) > 1e-12)),
            "iterations": float(model.n_iter_),
            "certified": float(model.certificate_[0].certified),
            "objective": float(model.objective_[0]),
            "nsv": float(model.n_support_.sum()),
        },
    )


def _active(history: Any, i: int) -> float:
    """Return the size of a working set; not a number where a solver has none."""
    column = history["active"]
    return float("nan") if column is None else float(column[i])


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return the four panels, and what became of each solver in words."""
    name = _set(profile)
    traces, ends, lines = {}, {}, []
    for solver in SOLVERS:
        cell, mark = results.cell(TRACE, name, solver)
        if mark or cell is None or not cell.rows:
            lines.append(f"{solver}: {mark}.")
            continue
        *steps, last = cell.rows
        traces[solver] = [row.metrics for row in steps]
        ends[solver] = last.metrics
        lines.append(f"{solver}: {_in_words(last.metrics)}")
    if not traces:
        return [said(*lines)]
    printed = [ends[solver] for solver in AS_PRINTED if solver in ends]
    reached = [end for end in printed if end["certified"] and not end["constant"]]
    verdict = (
        f"The paper reports about 20 iterations to a P-stationary point and 98.3 % training "
        "accuracy on w5a, but neither ξ nor the dual step. As printed, with dual step 1, it "
        "stopped at a P-stationary point that is not a constant classifier for "
        f"{len(reached)} of the {len(printed)} values of ξ tried here."
    )
    return [*convergence_panels(traces, name), said(*lines), said(verdict)]


def _in_words(found: Metrics) -> str:
    certified = "certified" if found["certified"] else "not certified"
    text = (
        f"{found['iterations']:.0f} iterations, {certified}, objective {found['objective']:.4g}, "
        f"{found['nsv']:.0f} support vectors, test accuracy {100 * found['accuracy']:.2f} %"
    )
    return text + (": a constant classifier." if found["constant"] else ".")


EXPERIMENT = Experiment(NAME, tasks, run, sections)


def _sets(profile: Profile) -> tuple[str, ...]:
    return SETS[:1] if profile.quick else SETS


def rate_tasks(profile: Profile) -> list[Task]:
    """Return a cell per set and solver."""
    return _tasks(RATES, _sets(profile), RATE_SOLVERS, profile, RATE_SETTING)


def run_to_the_end(task: Task) -> Iterator[Row]:
    """Fit once to a tight tolerance; yield a row per iteration."""
    _, _, history = _fit(task, tol=TOL)
    for i, residual in enumerate(history["residual"]):
        metrics = {"residual": float(residual), "active": _active(history, i)}
        if "passes" in history:
            metrics["passes"] = float(history["passes"][i])
        yield Row({"iteration": i + 1}, metrics)


def rate_sections(results: Results, profile: Profile) -> list[Block]:
    """Return the curves, and a table of iterations to each residual."""
    traces = {
        (name, solver): [row.metrics["residual"] for row in cell.rows]
        for name in _sets(profile)
        for solver in RATE_SOLVERS
        for cell, mark in [results.cell(TRACE, name, solver)]
        if cell is not None and not mark
    }
    words = about(RATES, tol=TOL, most=MAX_ITER)
    if not traces:
        return [words, said("Not computed.")]
    rows = [
        (f"{name}, {solver}", [_first_below(trace, level) for level in LEVELS]
         + [Entry(100.0 * _factor(trace))])
        for (name, solver), trace in traces.items()
    ]  # fmt: skip
    table = Table(
        "Iterations until the residual is below …, and what one of the last leaves of it",
        "set, solver", [f"{level:g}" for level in LEVELS] + ["kept (%)"], rows,
        better="", decimals=0,
        note=f"Kept: what an iteration leaves of the residual, the mean of the last {LAST}.",
    )  # fmt: skip
    return [words, Picture(_curves(traces, _sets(profile)), "Residual against iterations."), table]


def _first_below(trace: list[float], level: float) -> Entry:
    first = next((i for i, residual in enumerate(trace) if residual < level), None)
    return Entry(mark="never") if first is None else Entry(float(first + 1))


def _factor(trace: list[float]) -> float:
    """Return by how much the residual falls in one of the last iterations, on average."""
    found = [residual for residual in trace if residual > 0.0][-LAST - 1 :]
    return (found[-1] / found[0]) ** (1.0 / LAST) if len(found) > LAST else math.nan


def _curves(traces: dict[tuple[str, str], list[float]], sets: tuple[str, ...]) -> str:
    columns = min(3, len(sets))
    rows = -(-len(sets) // columns)
    layout = {"nrows": rows, "ncols": columns, "squeeze": False}
    with drawing(2.6 * rows + 0.6, width=8.0, **layout) as (axes, finish):
        for ax, name in zip(axes.flat, sets, strict=False):
            for i, solver in enumerate(RATE_SOLVERS):
                values = traces.get((name, solver), [])
                ax.plot(np.arange(1, len(values) + 1), values, color=COLOURS[i], label=solver)
            ax.set(title=name, xscale="log", yscale="log", ylim=(1e-9, 10.0))
            ax.grid()
        for ax in list(axes.flat)[len(sets) :]:
            ax.set_axis_off()
        legend_below(axes[0][0], 3)
    return finish("Residual against iterations on several sets")


RATES_OF_SOLVERS = Experiment(RATES, rate_tasks, run_to_the_end, rate_sections)
