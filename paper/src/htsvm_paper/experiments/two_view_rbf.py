"""The two-view UCI sets with RBF kernels: the comparison that the paper leaves to future work."""

from __future__ import annotations

from htsvm_paper.datasets import describe
from htsvm_paper.experiments.blocks import Block, Entry, Table, Words
from htsvm_paper.experiments.evaluate import run_with_views
from htsvm_paper.experiments.methods import KERNEL, NESTED, PAPER, get, of_kind
from htsvm_paper.experiments.results import ACCURACY, Results
from htsvm_paper.experiments.score_tables import (
    Line,
    Measure,
    score_table,
    seconds,
    significance,
    support,
)
from htsvm_paper.experiments.tasks import FOLDS, Experiment, Grid, Profile, Task, cells, powers
from htsvm_paper.experiments.two_view import CONTROL, INNER_FOLDS, collapse_table, set_names
from htsvm_paper.experiments.two_view import tasks as linear_tasks

NAME = "two-view-rbf"
# german has 1,000 samples, the others 576 at most: a fit to it takes as long as to all of them.
LARGEST = "german"
# The values of the linear comparison where it chooses by cross-validation: C, one trade-off and
# gamma are 27 points for every method.
GRID = Grid(powers((-4, 0, 4)), inner_folds=INNER_FOLDS)
QUICK_GRID = GRID.quick(1.0)


def tasks(profile: Profile) -> list[Task]:
    """Return the cells, larger sets first, and those of the same methods with linear kernels."""
    sets = _sets(profile)
    wanted = profile.pick(1, 2, FOLDS)
    grid = QUICK_GRID if profile.quick else GRID
    own = cells(
        NAME, profile, datasets=sorted(sets, key=lambda name: -describe(name).rows),
        methods=of_kind(KERNEL), setting=grid.setting, folds=lambda _: wanted,
    )  # fmt: skip
    return own + [
        task for task in linear_tasks(profile)
        if task.protocol == NESTED and task.dataset in sets and task.fold < wanted
        and f"{task.method}-rbf" in of_kind(KERNEL)
    ]  # fmt: skip


def _sets(profile: Profile) -> list[str]:
    sets = set_names(profile.quick)
    return [name for name in sets if name != LARGEST or profile.pick(True, False, True)]


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return the tables: accuracy, support vectors, time, and what the kernel changes."""
    lines = [Line(name, name) for name in _sets(profile)]
    names = of_kind(KERNEL)
    weighted = [name for name in names if get(name).has_parameter("view_weights")]
    blocks: list[Block] = [Words((_about(profile),))]
    blocks.append(collapse_table(results, [line.dataset for line in lines], weighted))
    for protocol in (PAPER, NESTED):
        measures = (Measure(ACCURACY, "Accuracy (%)"), support(None), seconds(None))
        tables = [score_table(results, protocol, one, lines, names) for one in measures]
        blocks += tables
        blocks += significance(tables[0], name=f"two-view RBF accuracy, {protocol} protocol")
    blocks.append(_change(results, lines))
    return blocks


def _about(profile: Profile) -> str:
    parts = profile.pick("One part", "Two parts", "Each part")
    return (
        "The same views as with linear kernels, and an RBF kernel for each. C and the term that "
        "joins the views (D) or that follows their clusters (η) take 1/16, 1 and 16, γ takes "
        "1/16, 1 and 1 / (columns · variance): 27 points for every method; α is chosen by itself. "
        f"{get('ht-rbf').label} sees both views side by side, as a control, and takes three "
        f"caps where the others have a trade-off. {parts} of {FOLDS} "
        f"{profile.pick('is', 'are', 'is')} for testing; the nested protocol chooses by "
        f"cross-validation with {INNER_FOLDS} folds. Support vectors are counted in each view and "
        "added up. MvLSSVC-2C has no kernel."
    )


def _change(results: Results, lines: list[Line]) -> Table:
    """Return the accuracy with RBF kernels less that with linear ones, on the same folds."""
    pairs = {name.removesuffix("-rbf"): name for name in of_kind(KERNEL)}
    pairs = {linear: rbf for linear, rbf in pairs.items() if linear != rbf}
    rows = [
        (line.label, [_less(results, line.dataset, rbf, linear) for linear, rbf in pairs.items()])
        for line in lines
    ]
    return Table(
        "Accuracy with RBF kernels less that with linear ones (points), grid point chosen by "
        "cross-validation on the training part",
        "data set", [get(name).label for name in pairs], rows, better="",
        protocol=NESTED, metric="change",
        note="The same folds, but not the same grids: γ adds points (and caps for "
        f"{get(CONTROL).label}, 3 points without a kernel), and α is tuned with linear kernels. "
        f"{get(CONTROL).label} sees both views side by side.",
    )  # fmt: skip


def _less(results: Results, dataset: str, rbf: str, linear: str) -> Entry:
    one, other = (results.find(NESTED, dataset, name, ACCURACY) for name in (rbf, linear))
    return Entry(100.0 * (one.mean - other.mean), mark=one.mark or other.mark)


EXPERIMENT = Experiment(
    NAME, "two-view UCI sets with RBF kernels", "no table of the paper: its future work",
    tasks, run_with_views, sections,
)  # fmt: skip
