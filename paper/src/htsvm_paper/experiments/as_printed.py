"""The paper's model by the paper's own algorithm, to see where its numbers come from."""

from __future__ import annotations

import numpy as np

from htsvm import HTSVC
from htsvm.datasets import describe, names
from htsvm.solvers import ADMM
from htsvm_paper.experiments.blocks import Block, Entry, Table, Words
from htsvm_paper.experiments.evaluate import run_cell
from htsvm_paper.experiments.methods import AS_PRINTED, PAPER, Method, get, register
from htsvm_paper.experiments.results import Results
from htsvm_paper.experiments.score_tables import Line, Measure, score_table, support
from htsvm_paper.experiments.single_view import clean_tasks, collections, grid
from htsvm_paper.experiments.splits import FOLDS, folds
from htsvm_paper.experiments.tasks import CLEAN, Experiment, Profile, Row, Task, cells

NAME = "as-printed"
QUICK_SETS = ("australian",)
# There are 81 runs of up to 1,000 iterations for each fold, so fewer sets where time is short.
MOST_ROWS = 10_000
OURS = "ht"
# The prox has another form in each: κ = C / ξ (the cap is 1).
REGIONS = {
    "κ < 5/18": (0.0, 5.0 / 18.0),
    "5/18 ≤ κ < 25/18": (5.0 / 18.0, 25.0 / 18.0),
    "κ ≥ 25/18": (25.0 / 18.0, float("inf")),
}
RUNS = {
    "ht-printed": Method(
        "ht-printed", "Algorithm 1 as printed", "htsvm_paper.experiments.as_printed:printed",
        AS_PRINTED, penalties=("C", "xi"), protocols=(PAPER,), in_paper=False,
    ),
    "ht-safeguarded": Method(
        "ht-safeguarded", "Algorithm 1 with safeguards",
        "htsvm_paper.experiments.as_printed:safeguarded",
        AS_PRINTED, protocols=(PAPER,), in_paper=False,
    ),
}  # fmt: skip


def printed(C: float, xi: float) -> HTSVC:
    """Return the model with Algorithm 1 to the letter; the paper's tolerance and iterations."""
    return HTSVC(C=C, solver=ADMM(penalty=xi, safeguards=()), tol=1e-3, max_iter=1000)


def safeguarded(C: float) -> HTSVC:
    """Return the model with Algorithm 1 as repaired here."""
    return HTSVC(C=C, solver=ADMM(), tol=1e-3, max_iter=1000)


def _sets(profile: Profile) -> list[str]:
    every = sorted(names("single-view"), key=lambda name: describe(name).rows)
    small = [name for name in every if describe(name).rows <= MOST_ROWS]
    return profile.pick(list(QUICK_SETS), small, every)


def _methods() -> list[str]:
    return [*RUNS, OURS]


def tasks(profile: Profile) -> list[Task]:
    """Return the cells; those of the default solver are the same as among the single-view sets."""
    every = clean_tasks(profile, _sets(profile), [OURS]) + cells(
        NAME, profile, datasets=_sets(profile), methods=list(RUNS), setting=grid(profile).setting,
        folds=folds(profile),
    )  # fmt: skip
    most = profile.pick(FOLDS, 1, FOLDS)
    return [task for task in every if task.protocol == PAPER and task.fold < most]


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return accuracy and support vectors beside the paper's, and how many runs ended well."""
    blocks: list[Block] = [
        Words(
            (
                "The same model by three solvers: the paper's Algorithm 1 to the letter (ξ and C "
                "from 1/16 to 16 each, 81 runs; start, tolerance and iterations as in the paper, "
                "dual step 1), the same algorithm with the safeguards of this library (nine "
                "values of C), and the default solver. A run of the printed algorithm that does "
                "not converge still gives a classifier, and is counted. "
                f"{profile.pick('', 'Of UCI sets one fold of five is computed.', '')}",
            )
        )
    ]
    for key, (title, members) in collections(_sets(profile)).items():
        lines = [Line(name, name) for name in members]
        measures = (Measure("accuracy", "Accuracy (%)", f"{key}-acc"), support(f"{key}-nsv"))
        blocks += [
            score_table(
                results, PAPER, measure, lines, _methods(), title=f"{measure.title}, {title}",
                paper_column=get(OURS).label,
            )
            for measure in measures
            if lines
        ]  # fmt: skip
    return [*blocks, _ended_well(results, _sets(profile)), *_by_region(results, _sets(profile))]


def _ended_well(results: Results, sets: list[str]) -> Table:
    """Return the share of the runs that ended at a certified point, constant classifiers apart."""
    return Table(
        title="Runs that ended at a certified point other than a constant classifier (%), over "
        "the whole grid",
        corner="data set",
        columns=[get(method).label for method in _methods()],
        rows=[(name, [_share(results, name, method) for method in _methods()]) for name in sets],
        decimals=0,
    )


def _share(results: Results, name: str, method: str) -> Entry:
    found = results.find(PAPER, name, method, "unconverged")
    if found.mark:
        return Entry(mark=found.mark)
    tasks = results.place(PAPER, name, CLEAN, method)
    ends = [row.metrics for task in tasks for row in results.cells[task].rows]
    # Without support vectors the weights are zero.
    well = [end["unconverged"] == 0.0 and end["nsv"] > 0.0 for end in ends]
    return Entry(100.0 * sum(well) / len(well))


def _by_region(results: Results, sets: list[str]) -> list[Table]:
    """Return the share of good runs of the printed algorithm, and their times, by C / ξ."""
    tables = []
    for title, value, decimals in (
        ("Runs as printed that ended at a certified classifier (%), by κ = νC = C / ξ", _good, 0),
        ("Median seconds of a run as printed, by κ = νC = C / ξ", _seconds, 3),
    ):
        rows = []
        for name in sets:
            if mark := results.find(PAPER, name, "ht-printed", "unconverged").mark:
                rows.append((name, [Entry(mark=mark)] * len(REGIONS)))
                continue
            fits = [row for task in results.place(PAPER, name, CLEAN, "ht-printed")
                    for row in results.cells[task].rows]  # fmt: skip
            rows.append((name, [value(_within(fits, *region)) for region in REGIONS.values()]))
        tables.append(Table(title, "data set", list(REGIONS), rows, better="", decimals=decimals))
    return tables


def _within(fits: list[Row], low: float, high: float) -> list[Row]:
    return [row for row in fits if low <= row.params["C"] / row.params["xi"] < high]


def _good(fits: list[Row]) -> Entry:
    well = [row.metrics["unconverged"] == 0.0 and row.metrics["nsv"] > 0.0 for row in fits]
    return Entry(100.0 * sum(well) / len(well)) if well else Entry(mark="no runs")


def _seconds(fits: list[Row]) -> Entry:
    if not fits or "seconds" not in fits[0].metrics:
        return Entry(mark="no runs")
    return Entry(float(np.median([row.metrics["seconds"] for row in fits])))


EXPERIMENT = Experiment(
    NAME,
    "L_ht-SVM by the paper's algorithm to the letter",
    "the L_ht column of tables 3-6",
    tasks,
    run_cell,
    sections,
)
for _run in RUNS.values():
    register(_run)
