"""Cells: the smallest pieces of work that are computed, stored and shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, TypeVar

import numpy as np

from htsvm_paper._names import hint
from htsvm_paper.experiments.blocks import Block, texts
from htsvm_paper.experiments.methods import NESTED, SWEEP, Params, get

CLEAN = "none"
# One seed per axis: all methods see the same folds and the same noise.
AXES = ("folds", "noise", "inner folds", "method", "draw")
QUICK, HOURS, FULL = "quick", "hours", "full"
PROFILES = (QUICK, HOURS, FULL)
FOLDS, QUICK_FOLDS, INNER_FOLDS = 5, 2, 5

Metrics = dict[str, float]
T = TypeVar("T")


@dataclass(frozen=True)
class Row:
    """What one fit gave: its hyper-parameters; scores, sizes and seconds."""

    params: dict[str, Any]
    metrics: Metrics


@dataclass(frozen=True, order=True)
class Task:
    """One cell: what is computed in one process and stored at once.

    `dataset` may have parts, as ``"stl10:bird:cat"``. `noise` is ``"none"``, or kind and rate, as
    ``"per-class:0.1"``, and for a further realisation its number, as ``"per-class:0.1:2"``. `fold`
    is the fold, or the number of the draw, `seed` that of the whole run (see `seed_of`). `setting`
    is the grid, and all else that a change of would make this another cell, as JSON.
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
    """How much to compute: in minutes, in hours, or all of it.

    Cells that two profiles share are computed once: a larger profile adds to a smaller one.
    """

    name: str = FULL
    seed: int = 0

    def __post_init__(self) -> None:
        if self.name not in PROFILES:
            raise ValueError(f"Unknown profile {self.name!r}; {hint(self.name, PROFILES, most=1)}")

    @property
    def quick(self) -> bool:
        """Whether this is the small version."""
        return self.name == QUICK

    @property
    def folds(self) -> int:
        """How many of the five folds are computed."""
        return QUICK_FOLDS if self.quick else FOLDS

    def pick(self, quick: T, hours: T, full: T) -> T:
        """Return what belongs to this profile."""
        return {QUICK: quick, HOURS: hours, FULL: full}[self.name]


@dataclass(frozen=True)
class Experiment:
    """A table or figure, or several that come from the same fits.

    `name` is what ``htsvm-paper reproduce`` calls it. `tasks` returns the cells of a profile, `run`
    computes one and yields its rows, `sections` returns what the report shows, from the results
    and the profile.
    """

    name: str
    tasks: Callable[[Profile], list[Task]]
    run: Callable[[Task], Iterator[Row]]
    sections: Callable[[Any, Profile], list[Block]]

    @property
    def title(self) -> str:
        """One line on what it shows."""
        return str(texts(self.name)["title"])

    @property
    def shows(self) -> str:
        """The tables and figures of the paper."""
        return str(texts(self.name)["shows"])

    @property
    def heading(self) -> str:
        """The heading of its section in the report."""
        return f"{self.title[:1].upper()}{self.title[1:]} ({self.shows})"


def cells(
    experiment: str, profile: Profile, *, datasets: Iterable[str], methods: Iterable[str],
    setting: Callable[[str, str], str], folds: Callable[[str], int],
    noises: Iterable[str] = (CLEAN,), protocols: Iterable[str] | None = None,
) -> list[Task]:  # fmt: skip
    """Return the product of the axes, without protocols that a method takes no part in.

    `setting` gets the name of a method and a protocol.
    """
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


@dataclass(frozen=True)
class Grid:
    """The values that the penalties of every method take, and how the nested protocol chooses.

    `values` are for each penalty in the protocol "paper", `nested` for the other where it differs.
    Without `shapes` a parameter with values of its own takes the first only. `rows` limits the
    training and the test rows. `fixed` holds, by method, parameters that differ from elsewhere.
    With `sweep` `MultiViewHTSVC` goes through the grid of the protocol "paper" with one preparation
    of the data, each point from its neighbour, instead of a cold fit for each.
    """

    values: tuple[float, ...]
    nested: tuple[float, ...] = ()
    inner_folds: int = INNER_FOLDS
    shapes: bool = True
    rows: int = 0
    fixed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    sweep: bool = False
    quick: tuple[float, ...] = ()
    quick_rows: int = 0

    def setting(self, method: str, protocol: str) -> str:
        """Return the text that belongs to the key of a cell."""
        nested = protocol == NESTED
        values = self.nested if nested and self.nested else self.values
        found = get(method)
        content: dict[str, Any] = {"grid": found.axes(values, quick=not self.shapes)}
        if fixed := {**found.fixed, **self.fixed.get(method, {})}:
            content["fixed"] = fixed
        if nested:
            content |= {"inner_folds": self.inner_folds, "search": found.search}
        elif self.sweep and found.search == SWEEP:
            content["sweep"] = True
        if self.rows:
            content["rows"] = self.rows
        return as_setting(**content)

    def of(self, profile: Profile) -> Grid:
        """Return the grid of a profile: a quick one has few values, shapes and rows."""
        if not profile.quick:
            return self
        return replace(self, values=self.quick, nested=(), shapes=False, rows=self.quick_rows)


def powers(exponents: Iterable[int]) -> tuple[float, ...]:
    """Return powers of two."""
    return tuple(2.0**k for k in exponents)


def points(task: Task) -> list[Params]:
    """Return the points of a cell's grid, in the order of growing penalties."""
    axes = task.settings.get("grid", {})
    return [dict(zip(axes, point, strict=True)) for point in product(*axes.values())]
