"""The paper's model by the paper's own algorithm, to see where its numbers come from."""

from collections.abc import Callable

import numpy as np

from htsvm_paper.datasets import describe, names
from htsvm_paper.experiments.blocks import HIGH, Block, Entry, Table, about
from htsvm_paper.experiments.evaluate import run_cell, run_with_views
from htsvm_paper.experiments.figures import penalty_maps
from htsvm_paper.experiments.methods import PAPER, get
from htsvm_paper.experiments.results import ACCURACY, Results
from htsvm_paper.experiments.single_view import GRID, clean_tasks, collections
from htsvm_paper.experiments.splits import folds
from htsvm_paper.experiments.tables import Line, Measure, per_method, score_table
from htsvm_paper.experiments.tasks import FOLDS, Experiment, Grid, Profile, Row, Task, cells, powers
from htsvm_paper.experiments.two_view import paper_name, set_names

NAME = "as-printed"
QUICK_SETS = ("australian",)
# There are 81 runs of up to 1,000 iterations for each fold, so fewer sets where time is short.
MOST_ROWS = 10_000
OURS = "ht"
# The prox has another form in each: κ = C / ξ (the cap is 1).
REGIONS = {
    "κ < 5/18": (0.0, 5.0 / 18.0),
    "5/18 ≤ κ < 25/18": (5.0 / 18.0, 25.0 / 18.0),
    "κ ≥ 25/18": (25.0 / 18.0, float("inf")),
}
RUNS = ["ht-printed", "ht-safeguarded"]
METHODS = [*RUNS, OURS]


def _sets(profile: Profile) -> list[str]:
    every = sorted(names("single-view"), key=lambda name: describe(name).rows)
    small = [name for name in every if describe(name).rows <= MOST_ROWS]
    return profile.pick(list(QUICK_SETS), small, every)


def tasks(profile: Profile) -> list[Task]:
    """Return the cells; those of the default solver are the same as among the single-view sets."""
    every = clean_tasks(profile, _sets(profile), [OURS]) + cells(
        NAME, profile, datasets=_sets(profile), methods=RUNS, setting=GRID.of(profile).setting,
        folds=folds(profile),
    )  # fmt: skip
    most = profile.pick(FOLDS, 1, FOLDS)
    return [task for task in every if task.protocol == PAPER and task.fold < most]


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return accuracy and support vectors beside the paper's, and how many runs ended well."""
    blocks: list[Block] = [
        about(NAME, some=profile.pick("", "Of UCI sets one fold of five is computed.", ""))
    ]
    for key, (title, members) in collections(_sets(profile)).items():
        lines = [Line(name, name) for name in members]
        measures = (Measure.accuracy(key), Measure.support(key))
        blocks += [
            score_table(
                results, PAPER, measure, lines, METHODS, title=f"{measure.title}, {title}",
                paper_column=get(OURS).label,
            )
            for measure in measures
            if lines
        ]  # fmt: skip
    return [*blocks, *_ended(results, _sets(profile))]


def _ended(results: Results, sets: list[str]) -> list[Table]:
    """Return how many runs ended at a certified point, constant classifiers apart.

    Over the whole grid, and for the printed algorithm by C / ξ, with the times there.
    """
    lines = [(name, name) for name in sets]
    every = per_method(
        "Runs that ended at a certified point other than a constant classifier (%), over the whole "
        "grid",
        lines, METHODS, lambda name, method: _of_runs(results, name, method, _good),
        better=HIGH, decimals=0,
    )  # fmt: skip
    by_region = [
        Table(
            f"{title} by κ = νC = C / ξ", "data set", list(REGIONS),
            [(name, [_of_runs(results, name, RUNS[0], value, region)
                     for region in REGIONS.values()]) for name in sets],
            better="", decimals=decimals,
        )
        for title, value, decimals in (
            ("Runs as printed that ended at a certified classifier (%),", _good, 0),
            ("Median seconds of a run as printed,", _seconds, 3),
        )
    ]  # fmt: skip
    return [every, *by_region]


def _of_runs(
    results: Results, name: str, method: str, value: Callable[[list[Row]], Entry],
    region: tuple[float, float] | None = None,
) -> Entry:  # fmt: skip
    """Return a value of the runs of a method on a set, or of those in a region of C / ξ."""
    if mark := results.find(PAPER, name, method, "unconverged").mark:
        return Entry(mark=mark)
    fits = results.fits(PAPER, name, method)
    if region is not None:
        low, high = region
        fits = [row for row in fits if low <= row.params["C"] / row.params["xi"] < high]
    return value(fits) if fits else Entry(mark="no runs")


def _good(fits: list[Row]) -> Entry:
    # Without support vectors the weights are zero.
    well = [row.metrics["unconverged"] == 0.0 and row.metrics["nsv"] > 0.0 for row in fits]
    return Entry(100.0 * sum(well) / len(well))


def _seconds(fits: list[Row]) -> Entry:
    if "seconds" not in fits[0].metrics:
        return Entry(mark="no runs")
    return Entry(float(np.median([row.metrics["seconds"] for row in fits])))


EXPERIMENT = Experiment(NAME, tasks, run_cell, sections)


VIEWS, PRINTED, SAME_GRID, HEART = "as-printed-views", "mvht-printed", "mvht-same-grid", "heart"
BOTH = [PRINTED, SAME_GRID]
VIEWS_GRID = Grid(powers((-4, 0, 4)), quick=(1.0,))


def _parts(profile: Profile) -> int:
    return profile.pick(profile.folds, 1, FOLDS)


def view_tasks(profile: Profile) -> list[Task]:
    """Return the cells."""
    return cells(
        VIEWS, profile, datasets=set_names(profile.quick), methods=BOTH,
        setting=VIEWS_GRID.of(profile).setting, folds=lambda _: _parts(profile), protocols=[PAPER],
    )  # fmt: skip


def view_sections(results: Results, profile: Profile) -> list[Block]:
    """Return accuracy and time of both, how many runs ended well, and the figure on ξ."""
    sets = set_names(profile.quick)
    lines = [Line(name, name, paper=paper_name(name)) for name in sets]
    blocks: list[Block] = [about(VIEWS, parts=_parts(profile), folds=FOLDS)]
    blocks += [
        score_table(results, PAPER, measure, lines, BOTH, paper_column=get("mvht").label)
        for measure in (Measure.accuracy("mv-uci"), Measure.seconds("mv-uci"))
    ]
    ends = [(name, (name, _converged)) for name in sets]
    ends += [(f"{name}, one view without weight", (name, _collapsed)) for name in sets]
    blocks.append(per_method(
        "Runs that converged, and that ended with one view alone (%)", ends, BOTH,
        lambda where, method: _of_runs(results, where[0], method, where[1]), decimals=0,
    ))  # fmt: skip
    blocks.append(support_by_trade_off(results, sets))
    points = results.points(PAPER, HEART, PRINTED, ACCURACY)
    return [*blocks, *(penalty_maps(points) if points else [])]


def _converged(fits: list[Row]) -> Entry:
    return Entry(100.0 * float(np.mean([1.0 - row.metrics["unconverged"] for row in fits])))


def _collapsed(fits: list[Row]) -> Entry:
    return Entry(100.0 * float(np.mean([row.metrics["collapsed"] for row in fits])))


def support_by_trade_off(results: Results, sets: list[str]) -> Table:
    """Return the number of support vectors, by C and by α: medians over all else."""
    columns = {
        f"{symbol} = {value:g}": (name, value)
        for symbol, name in (("C", "C"), ("α", "weight_smoothness"))
        for value in powers((-4, 0, 4))
    }
    rows = []
    for dataset in sets:
        fits = results.fits(PAPER, dataset, SAME_GRID)
        mark = "" if fits else results.find(PAPER, dataset, SAME_GRID, "nsv").mark
        counts = [[row.metrics["nsv"] for row in fits if row.params[name] == value]
                  for name, value in columns.values()]  # fmt: skip
        rows.append((dataset, [Entry(float(np.median(c))) if c else Entry(mark=mark or "—")
                               for c in counts]))  # fmt: skip
    return Table(
        f"Support vectors in both views together, {get(SAME_GRID).label}: median over the other "
        "trade-offs", "data set", list(columns), rows, better="", decimals=0,
        note="The paper says that C and α control their number.",
    )  # fmt: skip


VIEWS_AS_PRINTED = Experiment(VIEWS, view_tasks, run_with_views, view_sections)
