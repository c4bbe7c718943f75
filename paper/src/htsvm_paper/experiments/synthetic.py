"""Two Gaussians in the plane, of growing size."""

from __future__ import annotations

from htsvm.datasets import BAYES_ACCURACY
from htsvm_paper.experiments.blocks import Block, Words
from htsvm_paper.experiments.evaluate import run_cell
from htsvm_paper.experiments.methods import NESTED, PAPER, SINGLE, of_kind
from htsvm_paper.experiments.results import Results
from htsvm_paper.experiments.score_tables import Line, Measure, score_table, seconds, support
from htsvm_paper.experiments.single_view import grid
from htsvm_paper.experiments.splits import GAUSSIANS
from htsvm_paper.experiments.tasks import Experiment, Profile, Task, cells

NAME = "synthetic"
SIZES = (5000, 10000, 15000, 20000, 25000, 30000)
QUICK_SIZES = (1000,)


def _sizes(profile: Profile) -> tuple[int, ...]:
    return QUICK_SIZES if profile.quick else SIZES


def _draws(profile: Profile) -> int:
    return profile.pick(2, 3, 50)


def tasks(profile: Profile) -> list[Task]:
    """Return the cells; a fold is a draw."""
    return cells(
        NAME,
        profile,
        datasets=[f"{GAUSSIANS}:{m}" for m in reversed(_sizes(profile))],
        methods=of_kind(SINGLE),
        setting=grid(profile).setting,
        folds=lambda _: _draws(profile),
    )


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return the tables."""
    lines = [Line(str(m), f"{GAUSSIANS}:{m}") for m in _sizes(profile)]
    blocks: list[Block] = [
        Words(
            (
                f"m samples to train and m to test on, {_draws(profile)} draws (the paper: "
                f"50). No classifier can be right more often than {100 * BAYES_ACCURACY:.2f} % in "
                "the long run; means above that are what choosing by test score gives.",
            )
        )
    ]
    for protocol in (PAPER, NESTED):
        blocks += [
            score_table(results, protocol, measure, lines, of_kind(SINGLE), corner="m")
            for measure in (
                Measure("accuracy", "Accuracy (%), two Gaussians", "syn-acc"),
                support("syn-nsv"),
                seconds("syn-time"),
            )
        ]
    return blocks


EXPERIMENT = Experiment(
    NAME, "two Gaussians, 5,000 to 30,000 samples", "tables 9-11", tasks, run_cell, sections
)
