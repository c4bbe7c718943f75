"""The two-view UCI sets with RBF kernels: the comparison that the paper leaves to future work."""

from htsvm_paper.datasets import describe
from htsvm_paper.experiments.blocks import Block, Entry, Table, about
from htsvm_paper.experiments.evaluate import run_with_views
from htsvm_paper.experiments.methods import KERNEL, NESTED, PAPER, get, of_kind
from htsvm_paper.experiments.results import ACCURACY, Results
from htsvm_paper.experiments.tables import Line, Measure, per_method, score_table, significance
from htsvm_paper.experiments.tasks import FOLDS, Experiment, Grid, Profile, Task, cells, powers
from htsvm_paper.experiments.two_view import CONTROL, INNER_FOLDS, collapse_table, set_names
from htsvm_paper.experiments.two_view import tasks as linear_tasks

NAME = "two-view-rbf"
# german has 1,000 samples, the others 576 at most: a fit to it takes as long as to all of them.
LARGEST = "german"
# The values of the linear comparison where it chooses by cross-validation: C, one trade-off and
# gamma are 27 points for every method.
GRID = Grid(powers((-4, 0, 4)), inner_folds=INNER_FOLDS, quick=(1.0,))


def tasks(profile: Profile) -> list[Task]:
    """Return the cells, larger sets first, and those of the same methods with linear kernels."""
    sets = _sets(profile)
    wanted = profile.pick(1, 2, FOLDS)
    own = cells(
        NAME, profile, datasets=sorted(sets, key=lambda name: -describe(name).rows),
        methods=of_kind(KERNEL), setting=GRID.of(profile).setting, folds=lambda _: wanted,
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
    parts, are = profile.pick(("One part", "is"), ("Two parts", "are"), ("Each part", "is"))
    control = get("ht-rbf").label
    blocks: list[Block] = [
        about(NAME, control=control, folds=FOLDS, inner=INNER_FOLDS, parts=parts, are=are)
    ]
    blocks.append(collapse_table(results, [line.dataset for line in lines], weighted))
    for protocol in (PAPER, NESTED):
        measures = (Measure.accuracy(None), Measure.support(None), Measure.seconds(None))
        tables = [score_table(results, protocol, one, lines, names) for one in measures]
        blocks += tables
        blocks += significance(tables[0], name=f"two-view RBF accuracy, {protocol} protocol")
    blocks.append(_change(results, lines))
    return blocks


def _change(results: Results, lines: list[Line]) -> Table:
    """Return the accuracy with RBF kernels less that with linear ones, on the same folds."""
    linear = [name.removesuffix("-rbf") for name in of_kind(KERNEL)]

    def entry(dataset: str, name: str) -> Entry:
        one, other = (results.find(NESTED, dataset, n, ACCURACY) for n in (f"{name}-rbf", name))
        return Entry(100.0 * (one.mean - other.mean), mark=one.mark or other.mark)

    return per_method(
        "Accuracy with RBF kernels less that with linear ones (points), grid point chosen by "
        "cross-validation on the training part",
        [(line.label, line.dataset) for line in lines], linear, entry,
        protocol=NESTED, metric="change",
        note="The same folds, but not the same grids: γ adds points (and caps for "
        f"{get(CONTROL).label}, 3 points without a kernel), and α is tuned with linear kernels. "
        f"{get(CONTROL).label} sees both views side by side.",
    )  # fmt: skip


EXPERIMENT = Experiment(NAME, tasks, run_with_views, sections)
