"""The paper's multi-view model by the paper's own algorithm, and what its penalty does there."""

from __future__ import annotations

import numpy as np

from htsvm.datasets import names
from htsvm.multiview import MultiViewHTSVC
from htsvm.solvers import ADMM
from htsvm_paper.experiments.blocks import Block, Entry, Table, Words
from htsvm_paper.experiments.evaluate import run_with_views
from htsvm_paper.experiments.figures import penalty_maps
from htsvm_paper.experiments.grids import Grid, powers
from htsvm_paper.experiments.methods import AS_PRINTED, PAPER, TRADE_OFFS, Method, get, register
from htsvm_paper.experiments.results import ACCURACY, Results
from htsvm_paper.experiments.score_tables import Line, Measure, score_table, seconds
from htsvm_paper.experiments.splits import FOLDS, QUICK_FOLDS
from htsvm_paper.experiments.tasks import CLEAN, Experiment, Profile, Task, cells
from htsvm_paper.experiments.two_view import QUICK_SETS, paper_name

NAME, PRINTED, OURS, HEART = "as-printed-views", "mvht-printed", "mvht-same-grid", "heart"
GRID = Grid(powers((-4, 0, 4)))
QUICK_GRID = GRID.quick(1.0)


def printed(C: float, structure: float, weight_smoothness: float, xi: float, views: object) -> (
    MultiViewHTSVC
):  # fmt: skip
    """Return the model with Algorithm 2 to the letter."""
    return MultiViewHTSVC(
        C, structure=structure, weight_smoothness=weight_smoothness, views=views,
        solver=ADMM(penalty=xi, safeguards=()), tol=1e-3, max_iter=1000, max_rounds=20,
    )  # fmt: skip


def _sets(profile: Profile) -> list[str]:
    return list(QUICK_SETS) if profile.quick else names("two-view")


def _parts(profile: Profile) -> int:
    return profile.pick(QUICK_FOLDS, 1, FOLDS)


def tasks(profile: Profile) -> list[Task]:
    """Return the cells."""
    grid = QUICK_GRID if profile.quick else GRID
    return cells(
        NAME, profile, datasets=_sets(profile), methods=[PRINTED, OURS], setting=grid.setting,
        folds=lambda _: _parts(profile), protocols=[PAPER],
    )  # fmt: skip


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return accuracy and time of both, how many runs ended well, and the figure on ξ."""
    lines = [Line(name, name, paper=paper_name(name)) for name in _sets(profile)]
    blocks: list[Block] = [
        Words(
            (
                "C, η, α and ξ take 1/16, 1 and 16 each: 81 runs of Algorithm 2 to the letter (a "
                "new start in every round, 1,000 iterations for a view, at most 20 rounds), beside "
                f"27 fits of the same model by this library. {_parts(profile)} of {FOLDS} folds.",
            )
        )
    ]
    blocks += [
        score_table(results, PAPER, measure, lines, [PRINTED, OURS], paper_column=get("mvht").label)
        for measure in (Measure("accuracy", "Accuracy (%)", "mv-uci-acc"), seconds("mv-uci-time"))
    ]
    rows = [(line.label, [_share(results, line.dataset, m) for m in (PRINTED, OURS)])
            for line in lines]  # fmt: skip
    rows += [(f"{line.label}, one view without weight",
              [_share(results, line.dataset, m, "collapsed") for m in (PRINTED, OURS)])
             for line in lines]  # fmt: skip
    columns = [get(name).label for name in (PRINTED, OURS)]
    blocks.append(Table("Runs that converged, and that ended with one view alone (%)", "data set",
                        columns, rows, better="", decimals=0))  # fmt: skip
    blocks.append(support_by_trade_off(results, [line.dataset for line in lines]))
    points = results.points(PAPER, HEART, PRINTED, ACCURACY)
    if points:
        blocks += penalty_maps(points)
    return blocks


def support_by_trade_off(results: Results, sets: list[str]) -> Table:
    """Return the number of support vectors, by C and by α: medians over all else."""
    columns = {
        f"{symbol} = {value:g}": (name, value)
        for symbol, name in (("C", "C"), ("α", "weight_smoothness"))
        for value in powers((-4, 0, 4))
    }
    rows = []
    for dataset in sets:
        fits = [row for task in results.place(PAPER, dataset, CLEAN, OURS)
                if task in results.cells for row in results.cells[task].rows]  # fmt: skip
        mark = "" if fits else results.find(PAPER, dataset, OURS, "nsv").mark
        counts = [[row.metrics["nsv"] for row in fits if row.params[name] == value]
                  for name, value in columns.values()]  # fmt: skip
        rows.append(
            (dataset, [Entry(float(np.median(c))) if c else Entry(mark=mark or "—")
                       for c in counts])
        )  # fmt: skip
    return Table(
        f"Support vectors in both views together, {get(OURS).label}: median over the other "
        "trade-offs", "data set", list(columns), rows, better="", decimals=0,
        note="The paper says that C and α control their number.",
    )  # fmt: skip


def _share(results: Results, name: str, method: str, metric: str = "converged") -> Entry:
    """Return the share of a cell's runs that ended so."""
    if mark := results.find(PAPER, name, method, "unconverged").mark:
        return Entry(mark=mark)
    found = [row.metrics for task in results.place(PAPER, name, CLEAN, method)
             for row in results.cells[task].rows]  # fmt: skip
    values = [1.0 - m["unconverged"] if metric == "converged" else m[metric] for m in found]
    return Entry(100.0 * float(np.mean(values)))


EXPERIMENT = Experiment(
    NAME, "the multi-view model by the paper's algorithm to the letter",
    "Algorithm 2 and figure 8", tasks, run_with_views, sections,
)  # fmt: skip
register(
    Method(
        PRINTED, "Algorithm 2 as printed", "htsvm_paper.experiments.as_printed_views:printed",
        AS_PRINTED, penalties=(*TRADE_OFFS, "xi"), protocols=(PAPER,), in_paper=False,
    )
)  # fmt: skip
register(
    Method(
        OURS, "this library, same grid", "htsvm.multiview:MultiViewHTSVC",
        AS_PRINTED, penalties=TRADE_OFFS, protocols=(PAPER,), in_paper=False,
    )
)  # fmt: skip
