"""How near smaller penalties and other intercepts come to the printed scores of several views.

A method whose features have another scale, or whose intercept is found in another way, ends
elsewhere on its curve of precision and recall. Whether that is enough to explain a difference
is a question about all four printed scores at once: one classifier must be near them all.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from htsvm._typing import Array
from htsvm.datasets import describe
from htsvm_paper.experiments import stl10, two_view
from htsvm_paper.experiments.blocks import Block, Entry, Table, Words
from htsvm_paper.experiments.evaluate import scores
from htsvm_paper.experiments.grids import points, powers
from htsvm_paper.experiments.methods import MULTI, PAPER, get, of_kind
from htsvm_paper.experiments.paper_numbers import paper_number
from htsvm_paper.experiments.results import Results
from htsvm_paper.experiments.splits import FOLDS, make_split
from htsvm_paper.experiments.tasks import CLEAN, Experiment, Profile, Row, Task, as_setting

NAME = "nearest"
# The middle of the paper's grids, and values below their ends, where the features are larger.
PENALTIES, QUICK_PENALTIES = powers((-14, -10, -6, 0)), powers((-6, 0))
# Shares of the test samples that are called positive by another intercept.
SHARES = tuple(k / 20 for k in range(1, 20))
SHARE = "share called positive"
SMALLER, MOVED = "smaller C", "smaller C and another intercept"
METRIC = "standard deviations"
METRICS = ("accuracy", "precision", "recall", "f1")


def tasks(profile: Profile) -> list[Task]:
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
        setting = as_setting(grid=grid, **_fixed(dataset, name))
        found.append(Task(NAME, PAPER, dataset, CLEAN, name, 0, profile.seed, setting))
    return found


def _images(dataset: str) -> bool:
    return dataset.startswith("stl10")


def _fixed(dataset: str, method: str) -> dict[str, object]:
    fixed = {**get(method).fixed, **(stl10.GRID.fixed.get(method, {}) if _images(dataset) else {})}
    return {"fixed": fixed} if fixed else {}


def run(task: Task) -> Iterator[Row]:
    """Yield the scores of every penalty with its own intercept, then with others."""
    folds = range(1 if _images(task.dataset) else FOLDS)
    splits = [make_split(replace(task, fold=k), pca_view=not _images(task.dataset)) for k in folds]
    truth = np.concatenate([split.y_test for split in splits])
    for point in points(task):
        values = []
        for split in splits:
            model = get(task.method).make(
                task.settings.get("fixed", {}) | point, seed=task.seed_of("method"),
                view_widths=split.view_widths, n_samples=len(split.y),
            )  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(split.X, split.y)
            values.append(np.asarray(model.decision_function(split.X_test)))
        for share, predicted in _predictions(np.concatenate(values)):
            yield Row({**point, SHARE: share}, scores(truth, predicted))


def _predictions(values: Array) -> Iterator[tuple[float, Array]]:
    """Yield labels by the sign (as a share of -1), and by other thresholds."""
    for share in (-1.0, *SHARES):
        threshold = 0.0 if share < 0.0 else float(np.quantile(values, 1.0 - share))
        yield share, np.where(values > threshold, 1, -1)


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return how far the nearest classifier is from all four printed scores."""
    words = (
        "Each method again with all trade-offs at 1 and C at 1, 1/64, 1/1024 and 1/16384, which "
        "is what the paper's grid may be on features of another scale; then with other "
        f"intercepts, so that {100 * SHARES[0]:.0f}, {200 * SHARES[0]:.0f}, ... "
        f"{100 * SHARES[-1]:.0f} % of the test samples are called positive. A number is the "
        "distance to the printed classifier: of its accuracy, precision, recall and F1 the one "
        "farthest from print, in standard deviations of a share of as many samples, and of all "
        "classifiers tried the nearest. Below 2 the difference is explained by a smaller C, or "
        "by another intercept, as far as these samples can tell.",
    )
    blocks: list[Block] = [Words(words)]
    sets = [(name, name, two_view.paper_name(name), "mv-uci")
            for name in two_view.set_names(profile.quick)]  # fmt: skip
    pairs = [(" vs ".join(pair), stl10.dataset(pair), stl10.paper_name(pair), "stl10")
             for pair in (() if profile.quick else stl10.PAIRS)]  # fmt: skip
    for kind in (SMALLER, MOVED):
        rows = [
            (label, [_nearest(results, kind, dataset, name, printed, tables)
                     for name in of_kind(MULTI)])
            for label, dataset, printed, tables in (*sets, *pairs)
        ]  # fmt: skip
        blocks.append(Table(
            f"Distance to the printed scores: {kind}", "data set",
            [get(name).label for name in of_kind(MULTI)], rows, better="",
            protocol=kind, metric=METRIC,
        ))  # fmt: skip
    return blocks


def _nearest(
    results: Results, kind: str, dataset: str, method: str, row: str, tables: str
) -> Entry:
    """Return the distance of the nearest classifier of a kind."""
    tried = [results.points(PAPER, dataset, method, metric) for metric in METRICS]
    found = results.find(PAPER, dataset, method, "accuracy")
    if not tried[0]:
        return Entry(mark=found.mark or "—")
    printed = [paper_number(measure.paper, row, get(method).label)
               for measure in two_view.score_measures(tables)]  # fmt: skip
    values = np.asarray([[100.0 * value for _, value in points] for points in tried])
    own = np.asarray([point[SHARE] < 0.0 for point, _ in tried[0]])
    away = distance(values, np.asarray(printed), _parts(dataset))
    return Entry(float(np.min(away[own] if kind == SMALLER else away)))


def _parts(dataset: str) -> float:
    """Return the sum of one over the samples here and one over those in print."""
    if _images(dataset):
        return 1.0 / stl10.OUR_IMAGES + 1.0 / stl10.THEIR_IMAGES
    return 1.0 / describe(dataset).rows


def distance(values: Array, printed: Array, parts: float) -> Array:
    """Return how far classifiers are from printed scores, by the farthest score of each.

    Parameters
    ----------
    values : ndarray of shape (4, classifiers)
        Accuracy, precision, recall and F1 (%).
    printed : ndarray of shape (4,)
        The same in print; what is not a number does not count.
    parts : float
        The variance of a share is that of one sample times this; twice that for shares of one
        class of two.

    Returns
    -------
    ndarray of shape (classifiers,)
        In standard deviations.
    """
    share = np.clip((values + printed[:, None]) / 200.0, 0.01, 0.99)
    classes = np.asarray([1.0, 2.0, 2.0, 2.0])[:, None]
    deviation = 100.0 * np.sqrt(share * (1.0 - share) * parts * classes)
    away = np.abs(values - printed[:, None]) / deviation
    known = ~np.isnan(printed)
    result: Array = away[known].max(axis=0) if known.any() else np.full(values.shape[1], math.inf)
    return result


EXPERIMENT = Experiment(
    NAME, "how near a smaller C and other intercepts come to the printed scores",
    "beside tables 15-18 and 20-23", tasks, run, sections,
)  # fmt: skip
