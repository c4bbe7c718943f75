"""Accuracy, support vectors and time on 5 UCI and 10 LIBSVM sets."""

from collections.abc import Sequence

from htsvm import datasets
from htsvm_paper.datasets import describe, names
from htsvm_paper.experiments.blocks import Block, Entry, Table, about
from htsvm_paper.experiments.evaluate import run_cell
from htsvm_paper.experiments.methods import NESTED, PAPER, SINGLE, get, of_kind
from htsvm_paper.experiments.results import ACCURACY, Results
from htsvm_paper.experiments.splits import GAUSSIANS, folds
from htsvm_paper.experiments.tables import (
    IN_WORDS,
    Line,
    Measure,
    per_method,
    score_table,
    significance,
)
from htsvm_paper.experiments.tasks import CLEAN, Experiment, Grid, Profile, Task, cells, powers

NAME = "single-view"
QUICK_SETS = ("australian", "a1a")
# By test score the paper's grid; by cross-validation as many points over a wider range.
GRID = Grid(powers(range(-4, 5)), nested=powers(range(-10, 7, 2)), quick=powers((-4, 0, 4)))


def tasks(profile: Profile) -> list[Task]:
    """Return the cells; the largest sets first, so that no core is left waiting for them."""
    sets = (
        QUICK_SETS
        if profile.quick
        else sorted(names("single-view"), key=lambda s: -describe(s).rows)
    )
    return clean_tasks(profile, sets, of_kind(SINGLE))


def clean_tasks(profile: Profile, datasets: Sequence[str], methods: Sequence[str]) -> list[Task]:
    """Return the cells of some sets and methods; other experiments that show them share them."""
    found = cells(
        NAME, profile, datasets=datasets, methods=methods, setting=GRID.of(profile).setting,
        folds=folds(profile),
    )  # fmt: skip
    return [task for task in found if get(task.method).kind == SINGLE]


def collections(sets: Sequence[str]) -> dict[str, tuple[str, list[str]]]:
    """Return the two collections, as the paper's tables are called: a title, and their sets."""
    return {
        "uci": ("UCI, 5-fold cross-validation", [s for s in sets if not describe(s).test_rows]),
        "libsvm": ("LIBSVM, predefined test part", [s for s in sets if describe(s).test_rows]),
    }


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return the tables, by protocol and collection."""
    sets = QUICK_SETS if profile.quick else names("single-view")
    methods = of_kind(SINGLE)
    blocks: list[Block] = [about(NAME)]
    for protocol in (PAPER, NESTED):
        for key, (title, members) in collections(sets).items():
            lines = [Line(name, name) for name in members]
            blocks += [
                score_table(
                    results, protocol, measure, lines, methods, title=f"{measure.title}, {title}"
                )
                for measure in (Measure.accuracy(key), Measure.support(key), Measure.seconds(key))
            ]
        blocks.append(edge_table(results, protocol, list(sets), methods))
        every = score_table(
            results, protocol, Measure("accuracy", "Accuracy"), [Line(n, n) for n in sets], methods
        )
        blocks += significance(every, name=f"single-view accuracy, {protocol} protocol")
    return blocks


def edge_table(results: Results, protocol: str, sets: list[str], methods: list[str]) -> Table:
    """Return how often the chosen C is the smallest or the largest of the grid."""

    def entry(end: int, name: str) -> Entry:
        hits = [
            params["C"] == sorted(task.settings["grid"]["C"])[end]
            for dataset in sets
            for task in results.place(protocol, dataset, CLEAN, name)[:1]
            for params in results.find(protocol, dataset, name, ACCURACY).params
        ]
        return Entry(100.0 * sum(hits) / len(hits)) if hits else Entry(mark="—")

    shown = [name for name in methods if protocol in get(name).protocols]
    title = f"Choices at the edge of the grid (%): {IN_WORDS[protocol]}"
    ends = [("smallest C", 0), ("largest C", -1)]
    return per_method(title, ends, shown, entry, corner="C", decimals=0)


EXPERIMENT = Experiment(NAME, tasks, run_cell, sections)


SIZES, QUICK_SIZES = (5000, 10000, 15000, 20000, 25000, 30000), (1000,)


def _sizes(profile: Profile) -> tuple[int, ...]:
    return QUICK_SIZES if profile.quick else SIZES


def _draws(profile: Profile) -> int:
    return profile.pick(2, 3, 50)


def synthetic_tasks(profile: Profile) -> list[Task]:
    """Return the cells; a fold is a draw."""
    return cells(
        "synthetic", profile, datasets=[f"{GAUSSIANS}:{m}" for m in reversed(_sizes(profile))],
        methods=of_kind(SINGLE), setting=GRID.of(profile).setting, folds=lambda _: _draws(profile),
    )  # fmt: skip


def synthetic_sections(results: Results, profile: Profile) -> list[Block]:
    """Return the tables."""
    lines = [Line(str(m), f"{GAUSSIANS}:{m}") for m in _sizes(profile)]
    accuracy = Measure("accuracy", "Accuracy (%), two Gaussians", "syn-acc")
    tables = [
        score_table(results, protocol, measure, lines, of_kind(SINGLE), corner="m")
        for protocol in (PAPER, NESTED)
        for measure in (accuracy, Measure.support("syn"), Measure.seconds("syn"))
    ]
    words = about("synthetic", draws=_draws(profile), bayes=100 * datasets.BAYES_ACCURACY)
    return [words, *tables]


SYNTHETIC = Experiment("synthetic", synthetic_tasks, run_cell, synthetic_sections)
