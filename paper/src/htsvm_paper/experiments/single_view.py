"""Accuracy, support vectors and time on 5 UCI and 10 LIBSVM sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from htsvm import datasets
from htsvm_paper.datasets import describe, names
from htsvm_paper.experiments.blocks import Block, Entry, Table, said
from htsvm_paper.experiments.evaluate import run_cell
from htsvm_paper.experiments.methods import NESTED, PAPER, SINGLE, get, of_kind
from htsvm_paper.experiments.results import ACCURACY, Results
from htsvm_paper.experiments.score_tables import (
    IN_WORDS,
    Line,
    Measure,
    score_table,
    seconds,
    significance,
    support,
)
from htsvm_paper.experiments.splits import GAUSSIANS, folds
from htsvm_paper.experiments.tasks import CLEAN, Experiment, Grid, Profile, Task, cells, powers

NAME = "single-view"
QUICK_SETS = ("australian", "a1a")
# By test score the paper's grid; by cross-validation as many points over a wider range.
GRID = Grid(powers(range(-4, 5)), nested=powers(range(-10, 7, 2)))
QUICK_GRID = GRID.quick(*powers((-4, 0, 4)))


def grid(profile: Profile) -> Grid:
    """Return the grid of C."""
    return QUICK_GRID if profile.quick else GRID


def tasks(profile: Profile) -> list[Task]:
    """Return the cells; the largest sets first, so that no core is left waiting for them."""
    sets = QUICK_SETS if profile.quick else sorted(names("single-view"), key=_rows, reverse=True)
    return clean_tasks(profile, sets, of_kind(SINGLE))


def clean_tasks(profile: Profile, datasets: Sequence[str], methods: Sequence[str]) -> list[Task]:
    """Return the cells of some sets and methods; other experiments that show them share them."""
    found = cells(
        NAME, profile, datasets=datasets, methods=methods, setting=grid(profile).setting,
        folds=folds(profile),
    )  # fmt: skip
    return [task for task in found if get(task.method).kind == SINGLE]


def _rows(name: str) -> int:
    return describe(name).rows


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
    blocks: list[Block] = [
        said(
            "Hinge-SVM is LIBSVM's SVC, as in the paper; ours solves the same problem. In the "
            "nested protocol its C is chosen along the path of that problem (both have the "
            "same optimum), then LIBSVM fits. Mushroom is one-hot coded: with the 22 numeric "
            "codes that the paper mentions no linear model comes near 100 %.",
            "By test score every method has the paper's nine values of C, with τ of the "
            "pinball loss 0.1 (not stated; of 0.1, 0.5 and 1 the only one that gives the "
            "paper's accuracies on a1a to a9a) and the ceiling of the ramp 2; the "
            "ramp with ceiling 1 is a control, since the hybrid truncated loss is at most 0.14 "
            "above it (E3). By cross-validation there are nine values from 2^-10 to 2^6, and "
            "columns in which τ, the ceiling or the cap are tuned too.",
            "Times are CPU seconds of one thread.",
            "NSV counts samples of the training fold; the paper's LS-SVM column counts all "
            "samples, its Pin-SVM column fewer than that model has.",
        )
    ]
    for protocol in (PAPER, NESTED):
        for key, (title, members) in collections(sets).items():
            lines = [Line(name, name) for name in members]
            blocks += [
                score_table(
                    results, protocol, measure, lines, methods, title=f"{measure.title}, {title}"
                )
                for measure in (
                    Measure("accuracy", "Accuracy (%)", f"{key}-acc"),
                    support(f"{key}-nsv"),
                    seconds(f"{key}-time"),
                )
            ]
        blocks.append(edge_table(results, protocol, list(sets), methods))
        every = score_table(
            results, protocol, Measure("accuracy", "Accuracy"), [Line(n, n) for n in sets], methods
        )
        blocks += significance(every, name=f"single-view accuracy, {protocol} protocol")
    return blocks


def edge_table(results: Results, protocol: str, sets: list[str], methods: list[str]) -> Table:
    """Return how often the chosen C is the smallest or the largest of the grid."""
    shown = [name for name in methods if protocol in get(name).protocols]
    rows = []
    for where, end in (("smallest C", 0), ("largest C", -1)):
        shares = []
        for name in shown:
            hits = [
                params["C"] == sorted(settings["grid"]["C"])[end]
                for dataset in sets
                for params, settings in _chosen(results, protocol, dataset, name)
            ]
            shares.append(Entry(100.0 * sum(hits) / len(hits)) if hits else Entry(mark="—"))
        rows.append((where, shares))
    return Table(
        f"Choices at the edge of the grid (%): {IN_WORDS[protocol]}", "C",
        [get(name).label for name in shown], rows, better="", decimals=0,
    )  # fmt: skip


def _chosen(
    results: Results, protocol: str, dataset: str, method: str
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    found = results.find(protocol, dataset, method, ACCURACY).params
    tasks = results.place(protocol, dataset, CLEAN, method)
    return [(params, tasks[0].settings) for params in found]


EXPERIMENT = Experiment(
    NAME, "accuracy, support vectors and time on 5 UCI and 10 LIBSVM sets", "tables 3-8",
    tasks, run_cell, sections,
)  # fmt: skip


# --------------------------------------------------- tables 9-11: two Gaussians, of growing size

SIZES, QUICK_SIZES = (5000, 10000, 15000, 20000, 25000, 30000), (1000,)


def _sizes(profile: Profile) -> tuple[int, ...]:
    return QUICK_SIZES if profile.quick else SIZES


def _draws(profile: Profile) -> int:
    return profile.pick(2, 3, 50)


def synthetic_tasks(profile: Profile) -> list[Task]:
    """Return the cells; a fold is a draw."""
    return cells(
        "synthetic", profile, datasets=[f"{GAUSSIANS}:{m}" for m in reversed(_sizes(profile))],
        methods=of_kind(SINGLE), setting=grid(profile).setting, folds=lambda _: _draws(profile),
    )  # fmt: skip


def synthetic_sections(results: Results, profile: Profile) -> list[Block]:
    """Return the tables."""
    lines = [Line(str(m), f"{GAUSSIANS}:{m}") for m in _sizes(profile)]
    words = (
        f"m samples to train and m to test on, {_draws(profile)} draws (the paper: 50). No "
        f"classifier can be right more often than {100 * datasets.BAYES_ACCURACY:.2f} % in the "
        "long run; means above that are what choosing by test score gives."
    )
    accuracy = Measure("accuracy", "Accuracy (%), two Gaussians", "syn-acc")
    tables = [
        score_table(results, protocol, measure, lines, of_kind(SINGLE), corner="m")
        for protocol in (PAPER, NESTED)
        for measure in (accuracy, support("syn-nsv"), seconds("syn-time"))
    ]
    return [said(words), *tables]


SYNTHETIC = Experiment(
    "synthetic", "two Gaussians, 5,000 to 30,000 samples", "tables 9-11",
    synthetic_tasks, run_cell, synthetic_sections,
)  # fmt: skip
