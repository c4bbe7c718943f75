"""Cells: the smallest pieces of work that are computed, stored and shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

CLEAN = "none"
# One seed per axis: all methods see the same folds and the same noise.
AXES = ("folds", "noise", "inner folds", "method", "draw")

Metrics = dict[str, float]


@dataclass(frozen=True)
class Row:
    """What one fit gave.

    Attributes
    ----------
    params : dict
        The hyper-parameters.
    metrics : dict of str to float
        Scores, sizes and seconds.
    """

    params: dict[str, Any]
    metrics: Metrics


@dataclass(frozen=True, order=True)
class Task:
    """One cell: what is computed in one process and stored at once.

    Attributes
    ----------
    experiment, protocol, dataset, noise, method : str
        The place of the cell. `dataset` may have parts, as ``"stl10:bird:cat"``; `noise` is
        ``"none"`` or kind and rate, as ``"per-class:0.1"``.
    fold : int
        The fold, or the number of the draw.
    quick : bool
        Whether it belongs to the quick version of the experiment.
    seed : int
        The seed of the whole run; see `seed_of`.
    """

    experiment: str
    protocol: str
    dataset: str
    noise: str
    method: str
    fold: int = 0
    quick: bool = False
    seed: int = 0

    def seed_of(self, axis: str) -> int:
        """Return the seed of one axis; only draws of data depend on the fold."""
        parts = [self.seed, AXES.index(axis), self.fold if axis == "draw" else 0]
        return int(np.random.SeedSequence(parts).generate_state(1)[0] >> 1)

    def __str__(self) -> str:
        parts = [self.experiment, self.dataset, self.method, self.protocol]
        parts += [] if self.noise == CLEAN else [self.noise]
        return " · ".join([*parts, f"fold {self.fold}"])


@dataclass(frozen=True)
class Profile:
    """How much to compute.

    Attributes
    ----------
    quick : bool
        A small version of everything, in minutes.
    seed : int
        The seed of everything.
    """

    quick: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Experiment:
    """A table or figure, or several that come from the same fits.

    Attributes
    ----------
    name : str
        What ``htsvm reproduce`` calls it.
    title : str
        One line on what it shows.
    shows : str
        The tables and figures of the paper.
    tasks : callable
        Returns the cells of a profile.
    run : callable
        Computes a cell; yields its rows.
    sections : callable
        Returns what the report shows, from the results and the profile.
    """

    name: str
    title: str
    shows: str
    tasks: Callable[[Profile], list[Task]]
    run: Callable[[Task], Iterator[Row]]
    sections: Callable[[Any, Profile], list[Any]]


def cells(
    experiment: str,
    profile: Profile,
    *,
    datasets: Iterable[str],
    methods: Iterable[str],
    noises: Iterable[str] = (CLEAN,),
    folds: Callable[[str, bool], int],
    protocols: Iterable[str] | None = None,
) -> list[Task]:
    """Return the product of the axes, without protocols that a method takes no part in."""
    from htsvm.experiments.methods import get

    noises, methods = list(noises), list(methods)
    return [
        Task(experiment, protocol, dataset, noise, method, fold, profile.quick, profile.seed)
        for dataset in datasets
        for noise in noises
        for method in methods
        for protocol in get(method).protocols
        if protocols is None or protocol in protocols
        for fold in range(folds(dataset, profile.quick))
    ]
