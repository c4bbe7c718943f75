"""The truncated loss beside truncated logistic and modified Huber, under label noise."""

from __future__ import annotations

from htsvm.experiments.blocks import Block, Words
from htsvm.experiments.evaluate import run_cell
from htsvm.experiments.grids import Grid, powers
from htsvm.experiments.label_noise import CLEAN_ACCURACY, SETS, noise
from htsvm.experiments.methods import NESTED
from htsvm.experiments.results import Results
from htsvm.experiments.score_tables import Line, score_table
from htsvm.experiments.significance import significance
from htsvm.experiments.splits import folds
from htsvm.experiments.tasks import Experiment, Profile, Task, cells

NAME = "losses-between"
METHODS = ("ht", "ht-cap", "hinge-ours", "logistic", "truncated-logistic", "modified-huber")
KINDS = ("symmetric", "boundary")
GRID = Grid(powers(range(-10, 7, 2)), inner_folds=5)
QUICK_GRID = GRID.quick(0.25, 4.0)


def _rates(profile: Profile) -> tuple[float, ...]:
    return profile.pick((0.2,), (0.0, 0.2, 0.4), (0.0, 0.1, 0.2, 0.3, 0.4))


def _sets(profile: Profile) -> list[str]:
    return list(SETS)[:1] if profile.quick else list(SETS)


def _noises(profile: Profile) -> list[str]:
    kinds = KINDS[:1] if profile.quick else KINDS
    return list(dict.fromkeys(noise(kind, rate) for kind in kinds for rate in _rates(profile)))


def tasks(profile: Profile) -> list[Task]:
    """Return the cells."""
    return cells(
        NAME, profile, datasets=_sets(profile), methods=METHODS,
        setting=(QUICK_GRID if profile.quick else GRID).setting, noises=_noises(profile),
        folds=folds(profile), protocols=[NESTED],
    )  # fmt: skip


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return the accuracy on clean test labels, and whether it differs by more than chance."""
    there = set(_noises(profile))
    lines = [
        Line(f"{name}, {kind} {rate:.0%}" if rate else f"{name}, clean", name, noise(kind, rate))
        for name in _sets(profile)
        for kind in KINDS
        for rate in _rates(profile)
        if noise(kind, rate) in there and (rate or kind == KINDS[0])
    ]
    table = score_table(results, NESTED, CLEAN_ACCURACY, lines, METHODS, corner="training labels")
    words = (
        "The paper names logistic regression as future work. Truncated logistic regression ignores "
        "samples with a margin below -1; the modified Huber loss (scikit-learn's SGD) is quadratic "
        "near the margin and linear beyond -1, so that it is smooth but not bounded. C by 5-fold "
        "cross-validation on the noisy training part, test labels clean.",
    )
    return [Words(words), table, *significance(table, name="losses under label noise")]


EXPERIMENT = Experiment(
    NAME, "the truncated loss beside truncated logistic and modified Huber",
    "future work of the paper", tasks, run_cell, sections,
)  # fmt: skip
