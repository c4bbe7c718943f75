"""What was tried where our numbers on several views differ from the paper's.

Folds drawn anew say how far a score moves by chance, features that are not scaled what the scaling
does, and the whole grid what other choices would have given. A method whose features have another
scale, or whose intercept is found in another way, ends elsewhere on its curve of precision and
recall: whether that explains a difference is a question about all four printed scores at once.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from htsvm_paper._typing import Array
from htsvm_paper.datasets import Dataset, Preparation, PrincipalViews, describe, load
from htsvm_paper.experiments import stl10, two_view
from htsvm_paper.experiments.blocks import Block, Entry, about
from htsvm_paper.experiments.evaluate import scores
from htsvm_paper.experiments.methods import MULTI, PAPER, Params, get, of_kind
from htsvm_paper.experiments.models import predict
from htsvm_paper.experiments.results import Results, paper_number
from htsvm_paper.experiments.splits import make_split
from htsvm_paper.experiments.tables import per_method
from htsvm_paper.experiments.tasks import (
    CLEAN,
    FOLDS,
    Experiment,
    Grid,
    Metrics,
    Profile,
    Row,
    Task,
    as_setting,
    points,
    powers,
)  # fmt: skip

AGAIN, NEAREST = "retests", "nearest"
METRICS = ("accuracy", "precision", "recall", "f1")
# In the place of a protocol: what is done to the cell of the comparison.
OTHER_FOLDS, UNSCALED = "other folds", "unscaled"
DRAWS = 10
# The middle of the paper's grid for all trade-offs; its ends and its middle.
MIDDLE = 1.0
GRID = Grid(powers((-4, 0, 4)), quick=(MIDDLE,))
# What a table holds; with a metric, the name by which its numbers are found.
MOVES, LOWEST, HIGHEST = "moves by", "lowest", "highest"
# The middle of the paper's grids, and values below their ends, where the features are larger.
PENALTIES, QUICK_PENALTIES = powers((-14, -10, -6, 0)), powers((-6, 0))
# Shares of the test samples that are called positive by another intercept.
SHARES = tuple(k / 20 for k in range(1, 20))
SHARE = "share called positive"
SMALLER, MOVED = "smaller C", "smaller C and another intercept"
DISTANCE = "standard deviations"


def _fit(task: Task, point: Params, X: Any, y: Array, widths: tuple[int, ...]) -> Any:
    model = get(task.method).make(
        point, seed=task.seed_of("method"), view_widths=widths, n_samples=len(y)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def again_tasks(profile: Profile) -> list[Task]:
    """Return the cells; those on scaled features are the same as in the comparison."""
    methods = of_kind(MULTI)
    draws = profile.pick(2, DRAWS, DRAWS)
    found = []
    for dataset in two_view.set_names(profile.quick):
        for name in methods[-1:] if profile.quick else methods:
            again = as_setting(draws=draws, grid=get(name).axes((MIDDLE,)))
            settings = {OTHER_FOLDS: again, UNSCALED: GRID.of(profile).setting(name, PAPER)}
            found += [Task(AGAIN, kind, dataset, CLEAN, name, 0, profile.seed, setting)
                      for kind, setting in settings.items()]  # fmt: skip
    compared = [t for t in two_view.tasks(profile) if t.protocol == PAPER and t.method in methods]
    return found + compared


def run_again(task: Task) -> Iterator[Row]:
    """Yield the mean scores over five folds: of every draw of the folds, or point of the grid."""
    data = load(task.dataset)
    if task.protocol == OTHER_FOLDS:
        for k in range(task.settings["draws"]):
            yield Row({"folds": k}, _mean_scores(task, data, k, points(task)[0], scaled=True))
        return
    for point in points(task):
        yield Row(point, _mean_scores(task, data, 0, point, scaled=False))


def _mean_scores(task: Task, data: Dataset, k: int, point: Params, *, scaled: bool) -> Metrics:
    found = []
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=k).split(data.X, data.y):
        ready: Any = Preparation(pca_view=True)
        if not scaled:
            ready = make_pipeline(SimpleImputer(strategy="median"), PrincipalViews())
        X, X_test = ready.fit_transform(data.X[train]), ready.transform(data.X[test])
        views = (ready.steps_ if scaled else ready)[-1].views_.values()
        widths = tuple(view.stop - view.start for view in views)
        model = _fit(task, point, X, data.y[train], widths)
        found.append(scores(data.y[test], predict(model, X_test)))
    return {name: float(np.mean([one[name] for one in found])) for name in METRICS}


def again_sections(results: Results, profile: Profile) -> list[Block]:
    """Return how far scores move, and from where to where they reach over grids."""
    methods, lines = of_kind(MULTI), [(name, name) for name in two_view.set_names(profile.quick)]
    blocks: list[Block] = [about(AGAIN, draws=profile.pick(2, DRAWS, DRAWS))]

    def moves(values: list[float]) -> float:
        return float(np.std(values, ddof=1))

    ways: tuple[tuple[str, str, Callable[[list[float]], float], str], ...] = (
        (OTHER_FOLDS, MOVES, moves, ": standard deviation over draws of the folds (points)"),
        *((kind, end, taken, f" (%), {end} over the grid, {what}")
          for kind, what in ((UNSCALED, "features as they are"), (PAPER, "scaled to [-1, 1]"))
          for end, taken in ((LOWEST, min), (HIGHEST, max))),
    )  # fmt: skip
    for metric, (kind, what, taken, title) in product(METRICS, ways):

        def entry(
            dataset: str, name: str, kind: str = kind, metric: str = metric,
            taken: Callable[[list[float]], float] = taken,
        ) -> Entry:  # fmt: skip
            values = [value for _, value in results.points(kind, dataset, name, metric)]
            mark = results.find(kind, dataset, name, metric).mark or "—"
            return Entry(100.0 * taken(values)) if values else Entry(mark=mark)

        title = f"{metric.capitalize()}{title}"
        what = f"{what} {metric}"
        blocks.append(per_method(title, lines, methods, entry, protocol=kind, metric=what))
    return blocks


def nearest_tasks(profile: Profile) -> list[Task]:
    """Return a cell for each set or pair and method; in hours the slowest on few pairs."""
    values = QUICK_PENALTIES if profile.quick else PENALTIES
    methods = of_kind(MULTI)[-1:] if profile.quick else of_kind(MULTI)
    pairs = stl10.PAIRS[: profile.pick(0, len(stl10.PAIRS), len(stl10.PAIRS))]
    few = stl10.PAIRS[: profile.pick(0, stl10.FEW, len(stl10.PAIRS))]
    where = [*product(two_view.set_names(profile.quick), methods),
             *((stl10.dataset(pair), name) for pair, name in product(pairs, methods)
               if name not in stl10.SLOWEST or pair in few)]  # fmt: skip
    found = []
    for dataset, name in where:
        grid = get(name).axes((1.0,)) | {"C": list(values)}
        other = stl10.GRID.fixed.get(name, {}) if _images(dataset) else {}
        fixed = {**get(name).fixed, **other}
        setting = as_setting(grid=grid, **({"fixed": fixed} if fixed else {}))
        found.append(Task(NEAREST, PAPER, dataset, CLEAN, name, 0, profile.seed, setting))
    return found


def _images(dataset: str) -> bool:
    return dataset.startswith("stl10")


def run_nearest(task: Task) -> Iterator[Row]:
    """Yield the scores of every penalty with its own intercept, then with others."""
    folds = range(1 if _images(task.dataset) else FOLDS)
    splits = [make_split(replace(task, fold=k), pca_view=not _images(task.dataset)) for k in folds]
    truth = np.concatenate([split.y_test for split in splits])
    for point in points(task):
        params = task.settings.get("fixed", {}) | point
        models = [_fit(task, params, split.X, split.y, split.view_widths) for split in splits]
        found = np.concatenate(
            [np.asarray(model.decision_function(split.X_test))
             for model, split in zip(models, splits, strict=True)]
        )  # fmt: skip
        # The sign is a share of -1.
        for share in (-1.0, *SHARES):
            threshold = 0.0 if share < 0.0 else float(np.quantile(found, 1.0 - share))
            yield Row({**point, SHARE: share}, scores(truth, np.where(found > threshold, 1, -1)))


def nearest_sections(results: Results, profile: Profile) -> list[Block]:
    """Return how far the nearest classifier is from all four printed scores."""
    blocks: list[Block] = [
        about(NEAREST, first=100 * SHARES[0], second=200 * SHARES[0], last=100 * SHARES[-1])
    ]
    methods, lines = (
        of_kind(MULTI),
        [
            (name, (name, two_view.paper_name(name), "mv-uci"))
            for name in two_view.set_names(profile.quick)
        ],
    )
    lines += [
        (" vs ".join(pair), (stl10.dataset(pair), stl10.paper_name(pair), "stl10"))
        for pair in (() if profile.quick else stl10.PAIRS)
    ]
    for kind in (SMALLER, MOVED):

        def entry(where: tuple[str, str, str], name: str, kind: str = kind) -> Entry:
            return _nearest(results, kind, name, *where)

        title = f"Distance to the printed scores: {kind}"
        blocks.append(per_method(title, lines, methods, entry, protocol=kind, metric=DISTANCE))
    return blocks


def _nearest(
    results: Results, kind: str, method: str, dataset: str, row: str, tables: str
) -> Entry:
    """Return the distance of the nearest classifier of a kind."""
    tried = [results.points(PAPER, dataset, method, metric) for metric in METRICS]
    if not tried[0]:
        return Entry(mark=results.find(PAPER, dataset, method, "accuracy").mark or "—")
    printed = [paper_number(measure.paper, row, get(method).label)
               for measure in two_view.score_measures(tables)]  # fmt: skip
    values = np.asarray([[100.0 * value for _, value in points] for points in tried])
    own = np.asarray([point[SHARE] < 0.0 for point, _ in tried[0]])
    # One over the samples here, and one over those in print.
    parts = 1.0 / stl10.OUR_IMAGES + 1.0 / stl10.THEIR_IMAGES
    away = distance(
        values, np.asarray(printed), parts if _images(dataset) else 1.0 / describe(dataset).rows
    )
    return Entry(float(np.min(away[own] if kind == SMALLER else away)))


def distance(values: Array, printed: Array, parts: float) -> Array:
    """Return how many standard deviations classifiers are from print, each by its farthest score.

    The rows are accuracy, precision, recall and F1 (%); what is not a number in print does not
    count. The variance of a share is that of one sample times `parts`, twice that for shares of one
    class of two.
    """
    share = np.clip((values + printed[:, None]) / 200.0, 0.01, 0.99)
    classes = np.asarray([1.0, 2.0, 2.0, 2.0])[:, None]
    deviation = 100.0 * np.sqrt(share * (1.0 - share) * parts * classes)
    away = np.abs(values - printed[:, None]) / deviation
    known = ~np.isnan(printed)
    result: Array = away[known].max(axis=0) if known.any() else np.full(values.shape[1], math.inf)
    return result


EXPERIMENT = Experiment(AGAIN, again_tasks, run_again, again_sections)
NEAREST_SCORES = Experiment(NEAREST, nearest_tasks, run_nearest, nearest_sections)
