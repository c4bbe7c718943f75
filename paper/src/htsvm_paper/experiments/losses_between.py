"""The truncated loss beside truncated logistic and modified Huber, under label noise."""

from __future__ import annotations

from htsvm_paper.experiments.blocks import Block, Words
from htsvm_paper.experiments.evaluate import run_cell
from htsvm_paper.experiments.label_noise import CLEAN_ACCURACY, noise, paired, sets
from htsvm_paper.experiments.label_noise import NAME as LABEL_NOISE
from htsvm_paper.experiments.methods import NESTED
from htsvm_paper.experiments.results import Results
from htsvm_paper.experiments.score_tables import Line, score_table
from htsvm_paper.experiments.significance import significance
from htsvm_paper.experiments.single_view import clean_tasks
from htsvm_paper.experiments.tasks import CLEAN, Experiment, Profile, Task

NAME = "losses-between"
METHODS = ("ht", "ht-cap", "hinge-ours", "logistic", "truncated-logistic", "modified-huber")
KINDS = ("symmetric", "boundary")
# Cells of these are the same as in the experiment on label noise.
SHARED = ("ht", "ht-cap", "hinge-ours")


def _rates(profile: Profile) -> tuple[float, ...]:
    return profile.pick((0.2,), (0.0, 0.2, 0.4), (0.0, 0.1, 0.2, 0.3, 0.4))


def _noises(profile: Profile) -> list[str]:
    kinds = KINDS[:1] if profile.quick else KINDS
    return list(dict.fromkeys(noise(kind, rate) for kind in kinds for rate in _rates(profile)))


def tasks(profile: Profile) -> list[Task]:
    """Return the cells; in every profile each fold has a realisation of the noise of its own."""
    noises, own = _noises(profile), [name for name in METHODS if name not in SHARED]
    noisy = [noise for noise in noises if noise != CLEAN]
    found = paired(LABEL_NOISE, profile, noisy, list(SHARED)) + paired(NAME, profile, noises, own)
    if CLEAN in noises:
        found += clean_tasks(profile, sets(profile.quick), list(SHARED))
    return [task for task in found if task.protocol == NESTED]


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return the accuracy on clean test labels, and whether it differs by more than chance."""
    there = set(_noises(profile))
    lines = [
        Line(f"{name}, {kind} {rate:.0%}" if rate else f"{name}, clean", name, noise(kind, rate))
        for name in sets(profile.quick)
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
