"""Ten UCI sets with principal components as the second view."""

import math

import numpy as np

from htsvm_paper.datasets import describe, names
from htsvm_paper.experiments.blocks import Block, Entry, Table, about, said
from htsvm_paper.experiments.evaluate import run_with_views
from htsvm_paper.experiments.figures import heat_maps
from htsvm_paper.experiments.methods import MULTI, NESTED, PAPER, get, of_kind
from htsvm_paper.experiments.results import ACCURACY, Results
from htsvm_paper.experiments.tables import Line, Measure, per_method, score_table, significance
from htsvm_paper.experiments.tasks import FOLDS, Experiment, Grid, Profile, Task, cells, powers

NAME = "two-view"
QUICK_SETS = ("heart",)
# Inner folds: five would take more than an hour for the ten sets.
INNER_FOLDS = 3
# HTSVC on both views side by side: what a second view has to beat.
CONTROL = "ht"
METHODS = [*of_kind(MULTI), CONTROL]
# The paper writes the names with capitals.
CAPITALS = {"bupa": "BUPA"}


# The paper's values for all trade-offs; every other one of them where the choice is nested.
GRID = Grid(
    powers(range(-4, 5, 2)), nested=powers((-4, 0, 4)), inner_folds=INNER_FOLDS,
    quick=powers((-2, 2)),
)  # fmt: skip


def score_measures(prefix: str) -> list[Measure]:
    """Return accuracy, precision, recall and F1 beside the tables of the paper."""
    parts = {"accuracy": "acc", "precision": "prec", "recall": "rec", "f1": "f1"}
    return [
        Measure(metric, f"{metric.capitalize()} (%)", f"{prefix}-{part}")
        for metric, part in parts.items()
    ]


def paper_name(name: str) -> str:
    """Return how the paper writes the name of a set."""
    return CAPITALS.get(name, name.capitalize())


def set_names(quick: bool) -> list[str]:
    """Return the names of the sets."""
    return list(QUICK_SETS) if quick else names("two-view")


def tasks(profile: Profile) -> list[Task]:
    """Return the cells, larger sets first."""
    sets = sorted(set_names(profile.quick), key=lambda name: -describe(name).rows)
    return cells(
        NAME, profile, datasets=sets, methods=METHODS, setting=GRID.of(profile).setting,
        folds=lambda _: profile.folds,
    )  # fmt: skip


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return the tables."""
    lines = [Line(name, name, paper=paper_name(name)) for name in set_names(profile.quick)]
    blocks: list[Block] = [about(NAME, inner=INNER_FOLDS, parts=profile.folds, folds=FOLDS)]
    blocks.append(collapse_table(results, [line.dataset for line in lines], METHODS))
    for protocol in (PAPER, NESTED):
        tables = [
            score_table(results, protocol, measure, lines, METHODS)
            for measure in (*score_measures("mv-uci"), Measure.seconds("mv-uci"))
        ]
        blocks += tables
        blocks += significance(tables[0], name=f"two-view accuracy, {protocol} protocol")
    return blocks


def collapse_table(results: Results, datasets: list[str], methods: list[str]) -> Table:
    """Return how often one view ended without weight, over all points of the paper's grid."""

    def entry(dataset: str, name: str) -> Entry:
        points = results.points(PAPER, dataset, name, "collapsed")
        values = [value for _, value in points if not math.isnan(value)]
        mark = results.find(PAPER, dataset, name, "collapsed").mark or "weights are fixed"
        return Entry(100.0 * float(np.mean(values))) if values else Entry(mark=mark)

    return per_method(
        "Fits in which one view ended without weight (%), over the whole grid by test score",
        [(dataset.replace(":", " "), dataset) for dataset in datasets],
        [name for name in methods if name not in (CONTROL, "svm-2k")], entry, corner="data",
        decimals=0,
        note="π + ηρ is of the order of the squared norms of the classifiers, often far above α.",
    )  # fmt: skip


EXPERIMENT = Experiment(NAME, tasks, run_with_views, sections)


SENSITIVE_SET, SENSITIVE = "heart", "mvht"
SYMBOLS = {"C": "C", "structure": "η (structure)", "weight_smoothness": "α (weight smoothness)"}


def sensitivity_tasks(profile: Profile) -> list[Task]:
    """Return the cells, every point of the grid in every fold, from the comparison of methods."""
    return [
        task for task in tasks(profile)
        if (task.protocol, task.dataset, task.method) == (PAPER, SENSITIVE_SET, SENSITIVE)
    ]  # fmt: skip


def sensitivity_sections(results: Results, profile: Profile) -> list[Block]:
    """Return a row of heat maps for each trade-off that is held fixed."""
    points = results.points(PAPER, SENSITIVE_SET, SENSITIVE, ACCURACY)
    if not points:
        found = results.find(PAPER, SENSITIVE_SET, SENSITIVE, ACCURACY)
        return [said(f"{get(SENSITIVE).label} on Heart: {found.mark}.")]
    values = [accuracy for _, accuracy in points]
    low, high = 100 * min(values), 100 * max(values)
    words = about("sensitivity", ours=get(SENSITIVE).label, count=len(points), low=low, high=high)
    return [words, *heat_maps(points, SYMBOLS)]


SENSITIVITY = Experiment("sensitivity", sensitivity_tasks, run_with_views, sensitivity_sections)
