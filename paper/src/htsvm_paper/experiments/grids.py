"""What is tried in a cell, and by which protocol: the part of its key that says how."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from htsvm_paper.experiments.methods import NESTED, SWEEP, Params, get
from htsvm_paper.experiments.tasks import Task, as_setting

INNER_FOLDS = 5


@dataclass(frozen=True)
class Grid:
    """The values that the penalties of every method take, and how the nested protocol chooses.

    Attributes
    ----------
    values : tuple of float
        For each penalty of a method, in the protocol "paper".
    nested : tuple of float
        The same for the protocol "nested"; empty for `values`.
    inner_folds : int
        Folds of the inner cross-validation.
    shapes : bool
        Whether parameters with values of their own take all of these, or the first only.
    rows : int
        The number of training and of test rows that are used; 0 for all.
    fixed : Mapping of str to Mapping
        Parameters, by name of the method, that take other fixed values than elsewhere.
    sweep : bool
        Whether `MultiViewHTSVC` goes through the grid of the protocol "paper" with one preparation
        of the data, each point from its neighbour, instead of a cold fit for each.
    """

    values: tuple[float, ...]
    nested: tuple[float, ...] = ()
    inner_folds: int = INNER_FOLDS
    shapes: bool = True
    rows: int = 0
    fixed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    sweep: bool = False

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

    def quick(self, *values: float, rows: int = 0) -> Grid:
        """Return the small version of this grid."""
        return replace(self, values=values, nested=(), shapes=False, rows=rows)


def powers(exponents: Iterable[int]) -> tuple[float, ...]:
    """Return powers of two."""
    return tuple(2.0**k for k in exponents)


def points(task: Task) -> list[Params]:
    """Return the points of a cell's grid, in the order of growing penalties."""
    axes = task.settings.get("grid", {})
    return [dict(zip(axes, point, strict=True)) for point in product(*axes.values())]
