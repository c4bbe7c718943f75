"""The paper's algorithm on w5a, iteration by iteration."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from htsvm import HTSVC
from htsvm.solvers import ADMM, Newton
from htsvm_paper.experiments.blocks import Block, Words
from htsvm_paper.experiments.figures import convergence_panels
from htsvm_paper.experiments.isolation import DONE
from htsvm_paper.experiments.results import Results
from htsvm_paper.experiments.splits import make_split
from htsvm_paper.experiments.tasks import CLEAN, Experiment, Profile, Row, Task, as_setting

NAME, TRACE = "convergence", "trace"
PENALTIES = (0.25, 1.0, 4.0)
PRINTED = "ADMM as printed"
SOLVERS: dict[str, Any] = {
    **{f"{PRINTED}, ξ = {xi:g}": ADMM(penalty=xi, safeguards=()) for xi in PENALTIES},
    "ADMM with safeguards": ADMM(),
    "Newton (default)": Newton(),
}
MAX_ITER = 1000
SETTING = as_setting(C=1.0, max_iter=MAX_ITER)
# More rows than this say nothing new in a drawing.
SHOWN = 300


def _set(quick: bool) -> str:
    return "a1a" if quick else "w5a"


def tasks(profile: Profile) -> list[Task]:
    """Return a cell per solver."""
    return [
        Task(NAME, TRACE, _set(profile.quick), CLEAN, solver, 0, profile.seed, SETTING)
        for solver in SOLVERS
    ]


def run(task: Task) -> Iterator[Row]:
    """Fit once with C = 1; yield a row per iteration, and a last one on the result."""
    split = make_split(task)
    model = HTSVC(solver=SOLVERS[task.method], max_iter=MAX_ITER, random_state=task.seed)
    with warnings.catch_warnings():
        # What becomes of each solver is part of the result.
        warnings.simplefilter("ignore")
        model.fit(split.X, split.y)
    history = model.history_
    for i in range(min(len(history["iteration"]), SHOWN)):
        yield Row({"iteration": int(history["iteration"][i])}, _metrics(history, i, len(split.y)))
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


def _metrics(history: dict[str, Any], i: int, n_samples: int) -> dict[str, float]:
    active = history["working_set"] if "working_set" in history else history["active"]
    metrics = {
        "residual": float(history["residual"][i]),
        "active": float(active[i]) / n_samples,
        "seconds": float(history["seconds"][i] - (history["seconds"][i - 1] if i else 0.0)),
    }
    if "train_accuracy" in history:
        metrics["train_accuracy"] = float(history["train_accuracy"][i])
    return metrics


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return the four panels, and what became of each solver in words."""
    name = _set(profile.quick)
    traces, ends, lines = {}, {}, []
    for solver in SOLVERS:
        cell = next((c for t in results.place(TRACE, name, CLEAN, solver)
                     if (c := results.cells.get(t)) is not None), None)  # fmt: skip
        if cell is None or cell.status != DONE or not cell.rows:
            reason = "not computed" if cell is None else f"{cell.status}: {cell.reason}"
            lines.append(f"{solver}: {reason}.")
            continue
        *steps, last = cell.rows
        traces[solver] = [row.metrics for row in steps]
        ends[solver] = last.metrics
        lines.append(f"{solver}: {_in_words(last.metrics)}")
    if not traces:
        return [Words(tuple(lines))]
    return [
        *convergence_panels(traces, name),
        Words(tuple(lines)),
        Words(
            (
                "The paper reports about 20 iterations to a P-stationary point and 98.3 % training "
                f"accuracy on w5a, but neither ξ nor the dual step. {_verdict(ends)}",
            )
        ),
    ]


def _verdict(ends: dict[str, dict[str, float]]) -> str:
    """Return for how many values of ξ the printed algorithm came to a classifier at all."""
    printed = [end for solver, end in ends.items() if solver.startswith(PRINTED)]
    reached = [end for end in printed if end["certified"] and not end["constant"]]
    return (
        f"As printed, with dual step 1, it stopped at a P-stationary point that is not a constant "
        f"classifier for {len(reached)} of the {len(printed)} values of ξ tried here."
    )


def _in_words(found: dict[str, float]) -> str:
    certified = "certified" if found["certified"] else "not certified"
    text = (
        f"{found['iterations']:.0f} iterations, {certified}, objective {found['objective']:.4g}, "
        f"{found['nsv']:.0f} support vectors, test accuracy {100 * found['accuracy']:.2f} %"
    )
    return text + (": a constant classifier." if found["constant"] else ".")


EXPERIMENT = Experiment(
    NAME, "convergence of the algorithms on w5a", "figure 3", tasks, run, sections
)
