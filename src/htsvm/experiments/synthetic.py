"""Two Gaussians in the plane, of growing size."""

from __future__ import annotations

from collections.abc import Iterator

from htsvm.datasets import BAYES_ACCURACY
from htsvm.experiments.blocks import Block, Words
from htsvm.experiments.evaluate import evaluate
from htsvm.experiments.methods import NESTED, PAPER, SINGLE, of_kind
from htsvm.experiments.results import Results
from htsvm.experiments.score_tables import Line, Measure, score_table, seconds, support
from htsvm.experiments.single_view import penalties
from htsvm.experiments.splits import GAUSSIANS, make_split
from htsvm.experiments.tasks import Experiment, Profile, Row, Task, cells

NAME = "synthetic"
SIZES = (5000, 10000, 15000, 20000, 25000, 30000)
# The paper draws 50 times; LIBSVM alone would need an hour for that.
DRAWS = 10
QUICK_SIZES, QUICK_DRAWS = (1000,), 2


def _sizes(quick: bool) -> tuple[int, ...]:
    return QUICK_SIZES if quick else SIZES


def _draws(quick: bool) -> int:
    return QUICK_DRAWS if quick else DRAWS


def tasks(profile: Profile) -> list[Task]:
    """Return the cells; a fold is a draw."""
    return cells(
        NAME,
        profile,
        datasets=[f"{GAUSSIANS}:{m}" for m in reversed(_sizes(profile.quick))],
        methods=of_kind(SINGLE),
        folds=lambda _, quick: _draws(quick),
    )


def run(task: Task) -> Iterator[Row]:
    """Compute a cell."""
    return evaluate(task, make_split(task), penalties(task.quick))


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return the tables."""
    lines = [Line(str(m), f"{GAUSSIANS}:{m}") for m in _sizes(profile.quick)]
    blocks: list[Block] = [
        Words(
            (
                f"m samples to train and m to test on, {_draws(profile.quick)} draws (the paper: "
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
    NAME, "two Gaussians, 5,000 to 30,000 samples", "tables 9-11", tasks, run, sections
)
