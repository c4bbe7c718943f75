"""The experiment: fit every method under every noise and record what came out."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from htsvm._typing import Array
from htsvm.demo.data import BREAST_CANCER, DATASETS, NOISES, SYMMETRIC, Split, load, with_noise
from htsvm.demo.methods import METHODS, Method


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
    rates: tuple[float, ...] = (0.0, 0.2, 0.4)
    noises: tuple[str, ...] = NOISES
    penalties: tuple[float, ...] = (2.0**-10, 2.0**-7, 2.0**-4, 2.0**-1, 4.0)
    folds: int = 5
    repetitions: int = 2
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


@dataclass(frozen=True)
class Task:
    """One data set with one noise: what all methods are fitted to, each in turn."""

    dataset: str
    noises: tuple[str, ...]
    rate: float
    repetition: int


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

    def select(self, dataset: str, noise: str, method: str, rate: float) -> list[Record]:
        """Return the records of one setting, one per repetition."""
        wanted = (dataset, noise, method, rate)
        return [r for r in self.records if (r.dataset, r.noise, r.method, r.rate) == wanted]


def tasks(settings: Settings) -> list[Task]:
    """Return everything there is to do; without flipped labels, once for all kinds of noise."""
    todo = []
    for dataset in settings.datasets:
        for rate in settings.rates:
            kinds = [settings.noises] if rate == 0.0 else [(noise,) for noise in settings.noises]
            todo += [
                Task(dataset, kind, rate, repetition)
                for kind in kinds
                for repetition in range(settings.repetitions)
            ]
    return todo


def run(settings: Settings, progress: Callable[[], None] = lambda: None) -> Results:
    """Run the experiment.

    Parameters
    ----------
    settings : Settings
        How much to compute.
    progress : callable, optional
        Called after each of the `tasks`.

    Returns
    -------
    Results
        What was found.
    """
    results = Results(settings)
    began = time.perf_counter()
    for task in tasks(settings):
        # One seed per axis: every method, and every rate, sees the same split and the same noise.
        seed = settings.seed + 1000 * task.repetition
        split = with_noise(load(task.dataset, seed), task.noises[0], task.rate, seed + 1)
        # On data this small threads only get in each other's way; one serves every method best.
        with threadpool_limits(1):
            for method in METHODS:
                _fit(results, task, method, split, seed)
        progress()
    results.seconds = time.perf_counter() - began
    return results


def _fit(results: Results, task: Task, method: Method, split: Split, seed: int) -> None:
    """Choose C on the noisy training data, fit, and add the records."""
    began = time.process_time()
    penalty = float("nan")
    if not method.chooses:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            penalty = _choose_penalty(results.settings, method, split, seed)
    model = method.make(penalty, len(split.y), seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(split.X, split.y)
    seconds = time.process_time() - began
    results.complaints.update((method.name, w.category.__name__) for w in caught)
    ignored = getattr(model, "ignored_", None)
    for noise in task.noises:
        results.records.append(
            Record(
                dataset=task.dataset,
                noise=noise,
                rate=task.rate,
                repetition=task.repetition,
                method=method.name,
                penalty=float(getattr(model, "C_", penalty)),
                accuracy=float(model.score(split.X_test, split.y_test)),
                support=method.count_support(model, split.X, split.y),
                seconds=seconds,
                flipped_ignored=_share(ignored, split.flipped),
                clean_ignored=_share(ignored, ~split.flipped),
            )
        )


def _choose_penalty(settings: Settings, method: Method, split: Split, seed: int) -> float:
    """Return the C of the best cross-validated accuracy; of equally good ones the smallest."""
    folds = StratifiedKFold(settings.folds, shuffle=True, random_state=seed)
    parts = list(folds.split(split.X, split.y))
    means = [
        np.mean(
            [
                method.make(C, len(train), seed)
                .fit(split.X[train], split.y[train])
                .score(split.X[test], split.y[test])
                for train, test in parts
            ]
        )
        for C in settings.penalties
    ]
    return settings.penalties[int(np.argmax(means))]


def _share(ignored: Array | None, among: Array) -> float:
    """Return the share of some samples that was ignored."""
    if ignored is None or not among.any():
        return float("nan")
    return float(np.count_nonzero(among[ignored]) / np.count_nonzero(among))
