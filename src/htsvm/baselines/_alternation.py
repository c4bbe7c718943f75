"""Classifiers for fixed view weights, weights for fixed classifiers, by turns."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from htsvm._typing import Array
from htsvm.multiview.parameters import fixed_weights
from htsvm.multiview.weights import balanced_smoothness, best_weights

# The least weight that a view has where it is a divisor: without regularisation its classifier
# might not exist.
LEAST_WEIGHT = 1e-6

Point = TypeVar("Point")


class Classifiers(ABC, Generic[Point]):
    """How to find the classifiers of all views for given weights."""

    @abstractmethod
    def solve(self, weights: Array, before: Point | None) -> Point:
        """Return the best classifiers; `before` are those of the last round."""

    @abstractmethod
    def costs(self, point: Point) -> Array:
        """Return twice the slope of the objective in each weight."""

    @abstractmethod
    def objective(self, point: Point, weights: Array) -> float:
        """Return the objective, without the term of the weights alone."""


@dataclass(frozen=True)
class Ended(Generic[Point]):
    """What an alternation ends with.

    Attributes
    ----------
    point : Point
        The classifiers.
    weights : ndarray of shape (n_views,)
        The view weights that they are best for.
    smoothness, objective, change : float
        The alpha; the objective; how much another round would change the weights.
    history : dict of lists
        One entry per round in each column.
    """

    point: Point
    weights: Array
    smoothness: float
    objective: float
    change: float
    history: dict[str, list[Any]]


@dataclass
class Alternation(Generic[Point]):
    """Minimise over the classifiers and the weights by turns; the objective never increases.

    Parameters
    ----------
    classifiers : Classifiers
        How to find classifiers.
    smoothness : float or "auto"
        The alpha of the term alpha/2 ||theta||²; "auto" takes `balanced_smoothness` after the first
        round.
    view_weights : {"learned", "uniform"}, array-like or dict
        Whether to learn the weights, or which ones to keep.
    view_names : list
        What the views are called.
    tol : float
        Stop when no weight would change by more.
    max_rounds : int
        The most rounds.
    callback : callable, optional
        Called after each round with its row of the history.
    """

    classifiers: Classifiers[Point]
    smoothness: Any
    view_weights: Any
    view_names: list[Hashable]
    tol: float
    max_rounds: int
    callback: Callable[[dict[str, Any]], None] | None = None

    def run(self) -> Ended[Point]:
        """Alternate until the weights stay as they are."""
        began = time.perf_counter()
        V = len(self.view_names)
        fixed = fixed_weights(self.view_weights, self.view_names)
        weights = np.full(V, 1.0 / V) if fixed is None else fixed
        alpha = None if self.smoothness == "auto" else float(self.smoothness)
        point: Point | None = None
        history: dict[str, list[Any]] = {}
        for number in range(1, self.max_rounds + 1):
            point = self.classifiers.solve(weights, point)
            costs = self.classifiers.costs(point)
            alpha = balanced_smoothness(costs) if alpha is None else alpha
            wanted = weights if fixed is not None else best_weights(costs, alpha)
            change = float(np.abs(wanted - weights).max())
            objective = self.classifiers.objective(point, weights)
            # With one view the term of its weight is a constant.
            objective += 0.5 * alpha * float(weights @ weights) if V > 1 else 0.0
            row = {
                "iteration": number,
                "objective": objective,
                "residual": change,
                "seconds": time.perf_counter() - began,
                **{
                    f"weight_{name}": float(weight)
                    for name, weight in zip(self.view_names, weights, strict=True)
                },
            }
            for name, value in row.items():
                history.setdefault(name, []).append(value)
            if self.callback is not None:
                self.callback(row)
            if change <= self.tol:
                break
            if number < self.max_rounds:
                weights = wanted
        assert point is not None
        assert alpha is not None
        return Ended(point, weights, alpha, objective, change, history)
