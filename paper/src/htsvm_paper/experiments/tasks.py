"""Cells: the smallest pieces of work that are computed, stored and shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeVar

import numpy as np

CLEAN = "none"
# One seed per axis: all methods see the same folds and the same noise.
AXES = ("folds", "noise", "inner folds", "method", "draw")
QUICK, HOURS, FULL = "quick", "hours", "full"
PROFILES = (QUICK, HOURS, FULL)

Metrics = dict[str, float]
T = TypeVar("T")


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
        ``"none"``, or kind and rate, as ``"per-class:0.1"``, and for a further realisation its
        number, as ``"per-class:0.1:2"``.
    fold : int
        The fold, or the number of the draw.
    seed : int
        The seed of the whole run; see `seed_of`.
    setting : str
        The grid, and all else that a change of would make this another cell, as JSON; see
        `Grid.setting`.
    """

    experiment: str
    protocol: str
    dataset: str
    noise: str
    method: str
    fold: int = 0
    seed: int = 0
    setting: str = "{}"

    def seed_of(self, axis: str) -> int:
        """Return the seed of one axis; only draws of data depend on the fold."""
        parts = [self.seed, AXES.index(axis), self.fold if axis == "draw" else 0]
        if axis == "noise" and self.noise.count(":") == 2:
            parts.append(int(self.noise.rpartition(":")[2]))
        return int(np.random.SeedSequence(parts).generate_state(1)[0] >> 1)

    @property
    def settings(self) -> dict[str, Any]:
        """What `setting` says."""
        found: dict[str, Any] = json.loads(self.setting)
        return found

    def __str__(self) -> str:
        parts = [self.experiment, self.dataset, self.method, self.protocol]
        parts += [] if self.noise == CLEAN else [self.noise]
        return " · ".join([*parts, f"fold {self.fold}"])


def as_setting(**content: Any) -> str:
    """Return a setting as the text that is part of the key of a cell."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True)
class Profile:
    """How much to compute.

    Cells that two profiles share are computed once: a larger profile adds to a smaller one.

    Attributes
    ----------
    name : {"quick", "hours", "full"}
        A small version of everything, in minutes; the tables with fewer repetitions; all of it.
    seed : int
        The seed of everything.
    """

    name: str = FULL
    seed: int = 0

    def __post_init__(self) -> None:
        if self.name not in PROFILES:
            near = get_close_matches(self.name, PROFILES, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(PROFILES)}."
            raise ValueError(f"Unknown profile {self.name!r}; {hint}")

    @property
    def quick(self) -> bool:
        """Whether this is the small version."""
        return self.name == QUICK

    def pick(self, quick: T, hours: T, full: T) -> T:
        """Return what belongs to this profile."""
        return {QUICK: quick, HOURS: hours, FULL: full}[self.name]


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

    @property
    def heading(self) -> str:
        """The heading of its section in the report."""
        return f"{self.title[:1].upper()}{self.title[1:]} ({self.shows})"


def cells(
    experiment: str,
    profile: Profile,
    *,
    datasets: Iterable[str],
    methods: Iterable[str],
    setting: Callable[[str, str], str],
    noises: Iterable[str] = (CLEAN,),
    folds: Callable[[str], int],
    protocols: Iterable[str] | None = None,
) -> list[Task]:
    """Return the product of the axes, without protocols that a method takes no part in.

    `setting` gets the name of a method and a protocol.
    """
    from htsvm_paper.experiments.methods import get

    noises, methods = list(noises), list(methods)
    return [
        Task(experiment, protocol, dataset, noise, method, fold, profile.seed,
             setting(method, protocol))
        for dataset in datasets
        for noise in noises
        for method in methods
        for protocol in get(method).protocols
        if protocols is None or protocol in protocols
        for fold in range(folds(dataset))
    ]  # fmt: skip
