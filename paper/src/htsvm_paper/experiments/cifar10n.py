"""CIFAR-10N: labels by people, some of them wrong; beyond the paper."""

from htsvm_paper.experiments.blocks import Block, about
from htsvm_paper.experiments.evaluate import run_cell
from htsvm_paper.experiments.methods import NESTED
from htsvm_paper.experiments.results import Results
from htsvm_paper.experiments.splits import HUMAN
from htsvm_paper.experiments.tables import Line, Measure, score_table
from htsvm_paper.experiments.tasks import CLEAN, Experiment, Grid, Profile, Task, cells, powers

NAME = "cifar10n"
LABELS = {
    "clean": CLEAN,
    "aggregate (9 % wrong)": f"{HUMAN}:aggre",
    "random (17 % wrong)": f"{HUMAN}:random1",
    "worst (40 % wrong)": f"{HUMAN}:worse",
}
# One formulation per comparison: each class against the rest, or all classes in one problem.
OVR, ONE = "each class against the rest", "all classes in one problem"
FORMULATIONS = {
    OVR: ("hinge-ours", "ls", "pin", "ramp", "zero-one", "ht-ovr", "linear-svc"),
    ONE: ("hinge-one", "logistic", "ht", "ht-cap", "mvht-c", "boosting"),
}
# A minute per fit, however few the rows; and what takes longest on all of them.
NOT_QUICK = ("boosting",)
LONG = ("boosting", "ht-cap", "mvht-c", "pin", "zero-one", "ramp")
INNER_FOLDS = 2


# The features are many and small, so small penalties matter.
GRID = Grid(
    powers((-12, -10, -8, -6, -4)), inner_folds=INNER_FOLDS, quick=(2.0**-6,), quick_rows=300
)


def _set(quick: bool) -> str:
    return "cifar10n-small" if quick else "cifar10n"


def _labels(profile: Profile) -> dict[str, str]:
    some = (CLEAN, f"{HUMAN}:worse")
    return {k: v for k, v in LABELS.items() if profile.pick(False, False, True) or v in some}


def _methods(profile: Profile) -> list[str]:
    every = [name for names in FORMULATIONS.values() for name in names]
    left_out = profile.pick(NOT_QUICK, LONG, ())
    return [name for name in every if name not in left_out]


def tasks(profile: Profile) -> list[Task]:
    """Return the cells."""
    return cells(
        NAME, profile, datasets=[_set(profile.quick)], methods=_methods(profile),
        setting=GRID.of(profile).setting, noises=_labels(profile).values(), folds=lambda _: 1,
        protocols=[NESTED],
    )  # fmt: skip


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return accuracy on clean test labels, support vectors and time."""
    lines = [Line(label, _set(profile.quick), noise) for label, noise in _labels(profile).items()]
    shown = set(_methods(profile))
    tables = [
        score_table(
            results, NESTED, measure, lines, [name for name in names if name in shown],
            corner="training labels", title=f"{measure.title}, {formulation}",
        )
        for measure in (
            Measure("accuracy", "Accuracy on clean test labels (%)"),
            Measure("seconds", "Training time (s)", None, "low", 1.0, 2),
        )
        for formulation, names in FORMULATIONS.items()
    ]  # fmt: skip
    return [about(NAME, inner=INNER_FOLDS), *tables]


EXPERIMENT = Experiment(NAME, tasks, run_cell, sections)
