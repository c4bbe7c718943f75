"""The experiment: fit every method under every noise and record what came out."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from htsvm._typing import Array
from htsvm.datasets import DataFileError
from htsvm_paper.experiments.blocks import Block, Words
from htsvm_paper.experiments.choosing import first_best
from htsvm_paper.experiments.demo.data import (
    BREAST_CANCER,
    DATASETS,
    NOISES,
    SYMMETRIC,
    Split,
    load,
    with_noise,
)
from htsvm_paper.experiments.demo.methods import BY_KEY, METHODS, Method
from htsvm_paper.experiments.methods import NESTED, Unavailable
from htsvm_paper.experiments.score_tables import Line, Measure, score_table
from htsvm_paper.experiments.tasks import CLEAN, Experiment, Profile, Row, Task, as_setting

NAME = "demo"
# Before the name of a warning among the metrics of a cell.
COMPLAINT = "warning "


@dataclass(frozen=True)
class Settings:
    """How much to compute.

    Attributes
    ----------
    datasets : tuple of str
        The data sets.
    rates : tuple of float
        Shares of flipped training labels.
    noises : tuple of str
        Kinds of noise.
    penalties : tuple of float
        The values of C that rivals choose from, in rising order.
    folds : int
        Folds of the cross-validation that chooses the C of rivals.
    repetitions : int
        Splits (or draws) per setting.
    seed : int
        The seed of everything.
    """

    datasets: tuple[str, ...] = DATASETS
    rates: tuple[float, ...] = (0.0, 0.3)
    noises: tuple[str, ...] = NOISES
    penalties: tuple[float, ...] = (2.0**-10, 2.0**-7, 2.0**-4, 2.0**-1, 4.0)
    folds: int = 5
    repetitions: int = 1
    seed: int = 0


FULL = Settings()
QUICK = Settings(
    datasets=(BREAST_CANCER,),
    rates=(0.0, 0.3),
    noises=(SYMMETRIC,),
    penalties=(2.0**-8, 2.0**-4, 1.0),
    repetitions=1,
)


@dataclass(frozen=True)
class Record:
    """One fit of one method.

    Attributes
    ----------
    dataset, noise, rate, repetition : str, str, float, int
        The setting; without flipped labels both kinds of noise are the same fit, recorded twice.
    method : str
        The name of the method.
    penalty : float
        The chosen C.
    accuracy : float
        On the clean test labels.
    support : int
        Training samples that pull at the model.
    seconds : float
        The CPU time of choosing and fitting.
    flipped_ignored, clean_ignored : float
        The share of the wrong and of the right labels that HTSVCCV ignored; NaN for other methods,
        and where there are no such labels.
    """

    dataset: str
    noise: str
    rate: float
    repetition: int
    method: str
    penalty: float
    accuracy: float
    support: int
    seconds: float
    flipped_ignored: float
    clean_ignored: float


@dataclass
class Results:
    """What the experiment found.

    Attributes
    ----------
    settings : Settings
        How it was run.
    records : list of Record
        One per fit.
    complaints : Counter
        How many fits with the chosen C gave which warning, by (method, warning).
    seconds : float
        How long it took.
    """

    settings: Settings
    records: list[Record] = field(default_factory=list)
    complaints: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: float = 0.0

    def add(self, task: Task, row: Row) -> None:
        """Add what one cell found: without flipped labels, once for each kind of noise."""
        found = row.metrics
        kind, _, rate = task.noise.partition(":")
        for noise in (kind,) if rate else self.settings.noises:
            self.records.append(
                Record(
                    dataset=task.dataset, noise=noise, rate=float(rate or 0.0),
                    repetition=task.fold, method=BY_KEY[task.method].name,
                    penalty=row.params["C"], accuracy=found["accuracy"],
                    support=int(found["nsv"]), seconds=found["seconds"],
                    flipped_ignored=found["flipped_ignored"], clean_ignored=found["clean_ignored"],
                )
            )  # fmt: skip
        self.complaints.update(
            {
                (BY_KEY[task.method].name, name.removeprefix(COMPLAINT)): int(count)
                for name, count in found.items()
                if name.startswith(COMPLAINT)
            }
        )

    def select(self, dataset: str, noise: str, method: str, rate: float) -> list[Record]:
        """Return the records of one setting, one per repetition."""
        wanted = (dataset, noise, method, rate)
        return [r for r in self.records if (r.dataset, r.noise, r.method, r.rate) == wanted]


def tasks(settings: Settings) -> list[Task]:
    """Return everything there is to do; without flipped labels, once for all kinds of noise."""
    setting = as_setting(penalties=settings.penalties, inner_folds=settings.folds)
    noises = [CLEAN if rate == 0.0 else f"{kind}:{rate:g}" for rate in settings.rates
              for kind in (settings.noises if rate else settings.noises[:1])]  # fmt: skip
    return [
        Task(NAME, NESTED, dataset, noise, method.key, repetition, settings.seed, setting)
        for dataset in settings.datasets
        for noise in noises
        for repetition in range(settings.repetitions)
        for method in METHODS
    ]


def run(settings: Settings, progress: Callable[[], None] = lambda: None) -> Results:
    """Run the experiment here and now, without a store; `progress` is called after each cell."""
    results = Results(settings)
    began = time.perf_counter()
    for task in tasks(settings):
        # On data this small threads only get in each other's way; one serves every method best.
        with threadpool_limits(1):
            (row,) = run_cell(task)
        results.add(task, row)
        progress()
    results.seconds = time.perf_counter() - began
    return results


def run_cell(task: Task) -> Iterator[Row]:
    """Choose C on the noisy training data and fit; yield what came out."""
    method, settings = BY_KEY[task.method], task.settings
    # One seed per axis: every method, and every rate, sees the same split and the same noise.
    seed = task.seed + 1000 * task.fold
    kind, _, rate = task.noise.partition(":")
    try:
        split = load(task.dataset, seed)
    except DataFileError as error:
        raise Unavailable(str(error)) from error
    if rate:
        split = with_noise(split, kind, float(rate), seed + 1)
    began = time.process_time()
    penalty = float("nan")
    if not method.chooses:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            penalty = _choose_penalty(method, split, settings, seed)
    model = method.make(penalty, len(split.y), seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(split.X, split.y)
    seconds = time.process_time() - began
    ignored = getattr(model, "ignored_", None)
    metrics = {
        "accuracy": float(model.score(split.X_test, split.y_test)),
        "nsv": float(method.count_support(model, split.X, split.y)),
        "seconds": seconds,
        "flipped_ignored": _share(ignored, split.flipped),
        "clean_ignored": _share(ignored, ~split.flipped),
    }
    complaints = Counter(f"{COMPLAINT}{w.category.__name__}" for w in caught)
    yield Row({"C": float(getattr(model, "C_", penalty))}, {**metrics, **complaints})


def _choose_penalty(method: Method, split: Split, settings: dict[str, Any], seed: int) -> float:
    """Return the C of the best cross-validated accuracy; of equally good ones the smallest."""
    folds = StratifiedKFold(settings["inner_folds"], shuffle=True, random_state=seed)
    parts = list(folds.split(split.X, split.y))
    penalties: list[float] = settings["penalties"]
    means = [
        float(
            np.mean(
                [
                    method.make(C, len(train), seed)
                    .fit(split.X[train], split.y[train])
                    .score(split.X[test], split.y[test])
                    for train, test in parts
                ]
            )
        )
        for C in penalties
    ]
    return penalties[first_best(means)]


def _share(ignored: Array | None, among: Array) -> float:
    """Return the share of some samples that was ignored."""
    if ignored is None or not among.any():
        return float("nan")
    return float(np.count_nonzero(among[ignored]) / np.count_nonzero(among))


# -------------------------------------------------------------------- as one of all experiments


def of_profile(profile: Profile) -> Settings:
    """Return how much a profile computes."""
    return replace(profile.pick(QUICK, FULL, FULL), seed=profile.seed)


def sections(results: Any, profile: Profile) -> list[Block]:
    """Return a table of accuracies for each data set and kind of noise."""
    settings = of_profile(profile)
    keys = [method.key for method in METHODS]
    blocks: list[Block] = [
        Words(
            (
                "What htsvm demo computes: HTSVCCV as it comes beside rivals whose C is chosen by "
                "cross-validation on the same noisy labels. Clean test labels.",
            )
        )
    ]
    for dataset in settings.datasets:
        for kind in settings.noises:
            lines = [
                Line(f"{rate:.0%}", dataset, f"{kind}:{rate:g}" if rate else CLEAN)
                for rate in settings.rates
            ]
            title = f"Accuracy (%), {dataset}, wrong labels in {kind}"
            measure = Measure("accuracy", "Accuracy (%)")
            blocks.append(score_table(results, NESTED, measure, lines, keys, title=title,
                                      corner="wrong labels"))  # fmt: skip
    return blocks


EXPERIMENT = Experiment(
    NAME, "HTSVCCV beside scikit-learn's classifiers on wrong labels", "beyond the paper",
    lambda profile: tasks(of_profile(profile)), run_cell, sections,
)  # fmt: skip
