"""What was tried where our numbers on two views differ from the paper's.

Folds drawn anew say how far a score moves by chance, features that are not scaled what the scaling
does, and the whole grid what other choices would have given.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from htsvm.datasets import Preparation, load
from htsvm.multiview import PrincipalViews
from htsvm_paper.experiments.blocks import Block, Entry, Table, Words
from htsvm_paper.experiments.evaluate import scores
from htsvm_paper.experiments.grids import Grid, points, powers
from htsvm_paper.experiments.methods import MULTI, PAPER, Params, get, of_kind
from htsvm_paper.experiments.predicting import predict
from htsvm_paper.experiments.results import Results
from htsvm_paper.experiments.splits import FOLDS
from htsvm_paper.experiments.tasks import CLEAN, Experiment, Metrics, Profile, Row, Task, as_setting
from htsvm_paper.experiments.two_view import set_names
from htsvm_paper.experiments.two_view import tasks as comparison

NAME = "retests"
# In the place of a protocol: what is done to the cell of the comparison.
OTHER_FOLDS, UNSCALED = "other folds", "unscaled"
DRAWS = 10
METRICS = ("accuracy", "precision", "recall", "f1")
# The middle of the paper's grid for all trade-offs; its ends and its middle.
MIDDLE, GRID = 1.0, Grid(powers((-4, 0, 4)))
# What a table of this experiment holds; with a metric, the name by which its numbers are found.
MOVES, LOWEST, HIGHEST = "moves by", "lowest", "highest"


def tasks(profile: Profile) -> list[Task]:
    """Return the cells; those on scaled features are the same as in the comparison."""
    sets, methods = set_names(profile.quick), of_kind(MULTI)
    draws = profile.pick(2, DRAWS, DRAWS)
    grid = GRID.quick(MIDDLE) if profile.quick else GRID
    found = []
    for dataset in sets:
        for name in methods[-1:] if profile.quick else methods:
            again = as_setting(draws=draws, grid=get(name).axes((MIDDLE,)))
            settings = {OTHER_FOLDS: again, UNSCALED: grid.setting(name, PAPER)}
            found += [Task(NAME, kind, dataset, CLEAN, name, 0, profile.seed, setting)
                      for kind, setting in settings.items()]  # fmt: skip
    return found + [
        task for task in comparison(profile) if task.protocol == PAPER and task.method in methods
    ]


def run(task: Task) -> Iterator[Row]:
    """Yield the mean scores over five folds: of every draw of the folds, or point of the grid."""
    data = load(task.dataset)
    if task.protocol == OTHER_FOLDS:
        for k in range(task.settings["draws"]):
            yield Row({"folds": k}, _mean_scores(task, data, k, points(task)[0], Preparation))
        return
    for point in points(task):
        yield Row(point, _mean_scores(task, data, 0, point, None))


def _mean_scores(
    task: Task, data: Any, k: int, point: Params, preparation: Callable[..., Any] | None
) -> Metrics:
    found = []
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=k).split(data.X, data.y):
        if preparation is not None:
            ready = preparation(pca_view=True)
            X, X_test = ready.fit_transform(data.X[train]), ready.transform(data.X[test])
            widths = ready.view_widths_
        else:
            ready = make_pipeline(SimpleImputer(strategy="median"), PrincipalViews())
            X, X_test = ready.fit_transform(data.X[train]), ready.transform(data.X[test])
            widths = tuple(v.stop - v.start for v in ready[-1].views_.values())
        model = get(task.method).make(
            point, seed=task.seed_of("method"), view_widths=widths, n_samples=len(train)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, data.y[train])
        found.append(scores(data.y[test], predict(model, X_test)))
    return {name: float(np.mean([one[name] for one in found])) for name in METRICS}


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return how far scores move, and from where to where they reach over grids."""
    sets = set_names(profile.quick)
    words = (
        f"Folds are drawn {profile.pick(2, DRAWS, DRAWS)} times anew, with all trade-offs at 1: "
        "the standard deviation of a mean over five folds is what two people who do the same may "
        "differ by. Then the grid of 1/16, 1 and 16 without scaling (principal components of the "
        "features as they are), and the paper's grid with scaling to [-1, 1]: the lowest and the "
        "highest score over the points.",
    )
    blocks: list[Block] = [Words(words)]
    for metric in METRICS:
        blocks.append(_table(
            f"{metric.capitalize()}: standard deviation over draws of the folds (points)", sets,
            results, OTHER_FOLDS, metric, {MOVES: lambda values: float(np.std(values, ddof=1))},
        ))  # fmt: skip
        for kind, what in ((UNSCALED, "features as they are"), (PAPER, "scaled to [-1, 1]")):
            ends = {LOWEST: min, HIGHEST: max}
            blocks += [_table(
                f"{metric.capitalize()} (%), {end} over the grid, {what}", sets, results, kind,
                metric, {end: taken},
            ) for end, taken in ends.items()]  # fmt: skip
    return blocks


def _table(
    title: str, sets: list[str], results: Results, kind: str, metric: str,
    taken: dict[str, Callable[[list[float]], float]],
) -> Table:  # fmt: skip
    methods = of_kind(MULTI)
    ((what, function),) = taken.items()
    rows = []
    for dataset in sets:
        entries = []
        for name in methods:
            values = [value for _, value in results.points(kind, dataset, name, metric)]
            mark = results.find(kind, dataset, name, metric).mark
            entries.append(Entry(100.0 * function(values)) if values else Entry(mark=mark or "—"))
        rows.append((dataset, entries))
    return Table(
        title, "data set", [get(name).label for name in methods], rows, better="",
        protocol=kind, metric=f"{what} {metric}",
    )  # fmt: skip


EXPERIMENT = Experiment(
    NAME, "what was tried where scores on two views differ from the paper's",
    "beside tables 15-18", tasks, run, sections,
)  # fmt: skip
