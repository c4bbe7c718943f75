"""Classifiers for fixed view weights, weights for fixed classifiers, by turns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.simplex import project_to_simplex
from htsvm.solvers.result import History

# The least weight that a view has in its own problem. A view of weight zero would otherwise have no
# regularisation but that of its structure, and its classifier might not exist.
LEAST_WEIGHT = 1e-6
# How often an alpha that is chosen here is doubled where a view loses its weight.
MOST_DOUBLINGS = 4
# How far weights may go beyond the best ones for the present classifiers, as a multiple of the way
# there. Below 2 the objective falls in any case, for it is a parabola along this way; after longer
# steps it is looked at.
SURE_STEP, LONGEST_STEP = 1.9, 4.0

Point = TypeVar("Point")


class Classifiers(ABC, Generic[Point]):
    """How to find the classifiers of all views for given weights."""

    @abstractmethod
    def solve(self, weights: Array, before: Point | None, gain: float) -> Point:
        """Return classifiers for the weights.

        Their objective is not to be higher than that of those `before`, if there are any, but by
        half of the `gain`: how much the last change of the weights has lowered it.
        """

    @abstractmethod
    def costs(self, point: Point) -> Array:
        """Return twice the slope of the objective in each weight: the paper's pi + eta rho."""

    @abstractmethod
    def objective(self, point: Point, weights: Array) -> float:
        """Return the objective, without the term of the weights alone."""

    def settle(self, point: Point, weights: Array) -> Point:
        """Return what is to be kept of classifiers that seem to be the last: by default, all."""
        return point

    def constant(self, point: Point) -> Array:
        """Return which views have a constant classifier; none by default."""
        return np.zeros(len(self.costs(point)), dtype=bool)

    def leave_out(self, point: Point, views: Array) -> None:
        """Keep the classifiers that some views (a mask) have at a point from now on."""

    def diagnostics(self, point: Point) -> dict[str, float]:
        """Return further columns of the history."""
        return {}


@dataclass(frozen=True)
class Outcome(Generic[Point]):
    """What an alternation ends with.

    Attributes
    ----------
    point : Point
        The classifiers.
    weights : ndarray of shape (n_views,)
        The view weights that they were found for.
    smoothness : float
        The alpha that was used.
    objective : float
        The objective at the end.
    change : float
        How far the weights are from those that suit the classifiers best.
    smoothness_needed : float or None
        If a view lost its weight, `balanced_smoothness` of the costs when it first did.
    left_out : ndarray of bool
        The views that were left out because their classifiers are constant.
    history : dict of lists
        One entry per round in each column.
    """

    point: Point
    weights: Array
    smoothness: float
    objective: float
    change: float
    smoothness_needed: float | None
    left_out: Array
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
    fixed : ndarray of shape (n_views,) or None
        The view weights; None learns them, beginning with equal ones.
    view_names : list
        What the views are called in the history.
    tol : float
        Stop when no weight would change by more.
    max_rounds : int
        The most rounds.
    begin_again : bool
        Whether learned weights begin again without views whose classifiers are constant, and with
        twice an alpha that was chosen here where a view loses its weight.
    callback : callable, optional
        Called after each round with its row of the history.
    first : ndarray of shape (n_views,), optional
        Where learned weights begin, if alpha is given: the solution of a similar problem.
    longest_step : float
        How far to go at most, as a multiple of the way to the best weights.
    """

    classifiers: Classifiers[Point]
    smoothness: Any
    fixed: Array | None
    view_names: list[Hashable]
    tol: float
    max_rounds: int
    begin_again: bool = False
    callback: Callable[[dict[str, Any]], None] | None = None
    first: Array | None = None
    longest_step: float = LONGEST_STEP

    def run(self) -> Outcome[Point]:
        """Alternate until the weights stay as they are, and begin anew where that ends badly.

        A view whose classifier ends up constant costs nothing, so that learned weights would trust
        it most, although it tells nothing but its intercept: such views are left out. Where alpha
        is to be chosen here and a view loses its weight, alpha is doubled.
        """
        self.active = np.ones(len(self.view_names), dtype=bool)
        self.doublings = 0
        outcome = self._alternate(self._first_weights())
        while self.begin_again and self.fixed is None:
            constant = self.active & self.classifiers.constant(outcome.point)
            if constant.any() and not np.array_equal(constant, self.active):
                self.active &= ~constant
                self.classifiers.leave_out(outcome.point, ~self.active)
            elif self._too_small(outcome.weights):
                self.doublings += 1
            else:
                break
            outcome = self._alternate(self.active / self.active.sum())
        return outcome

    def _too_small(self, weights: Array) -> bool:
        """Return whether a view has lost its weight to an alpha that may still be doubled."""
        ours = self.begin_again and self.fixed is None and self.smoothness == "auto"
        return bool(
            ours and self.doublings < MOST_DOUBLINGS and np.any(weights[self.active] == 0.0)
        )

    def _first_weights(self) -> Array:
        if self.fixed is not None:
            return self.fixed
        if self.first is not None and self.smoothness != "auto":
            return self.first
        equal: Array = self.active / self.active.sum()
        return equal

    def _alternate(self, weights: Array) -> Outcome[Point]:
        """Run the rounds."""
        history = History(self.callback)
        self.alpha = None if self.smoothness == "auto" else float(self.smoothness)
        point: Point | None = None
        needed, gain, way = None, 0.0, _Way(self.longest_step)
        for number in range(1, self.max_rounds + 1):
            found = self.classifiers.solve(weights, point, gain)
            # A longer step that has led up is taken back to where the objective does fall.
            if (
                point is not None
                and way.step > SURE_STEP
                and self._objective(weights, found) > self._objective(way.start, point)
            ):
                weights = way.sure()
                found = self.classifiers.solve(weights, point, gain)
            point = found
            wanted, change = self._wanted(weights, point)
            last = change <= self.tol or number == self.max_rounds
            if last:
                point = self.classifiers.settle(point, weights)
                wanted, change = self._wanted(weights, point)
                last = change <= self.tol or number == self.max_rounds
            self._record(history, weights, point, change)
            if last:
                break
            if needed is None and np.any((wanted == 0.0) & (weights > 0.0)):
                needed = balanced_smoothness(self.classifiers.costs(point)[self.active])
            there = way.beyond(weights, wanted)
            gain = self._objective(weights, point) - self._objective(way.sure(), point)
            weights = there
            if self._too_small(weights):
                # What is lost does not come back: nobody looks at this alpha any longer.
                break
        assert point is not None
        return Outcome(
            point, weights, self._alpha(point), self._objective(weights, point), change, needed,
            ~self.active, history.columns,
        )  # fmt: skip

    # --------------------------------------------------------------------------- the weights

    def _wanted(self, weights: Array, point: Point) -> tuple[Array, float]:
        """Return the best weights for the classifiers, and the largest change to them."""
        if self.fixed is not None:
            return weights, 0.0
        wanted = np.zeros(len(weights))
        costs = self.classifiers.costs(point)[self.active]
        wanted[self.active] = best_weights(costs, self._alpha(point))
        return wanted, float(np.abs(wanted - weights).max())

    def _alpha(self, point: Point) -> float:
        if self.alpha is None:
            costs = self.classifiers.costs(point)[self.active]
            self.alpha = 2.0**self.doublings * balanced_smoothness(costs)
        return self.alpha

    def _objective(self, weights: Array, point: Point) -> float:
        """Return the objective; the term of a single view's weight, a constant, is left out."""
        total = self.classifiers.objective(point, weights)
        if len(weights) > 1:
            total += 0.5 * self._alpha(point) * float(weights @ weights)
        return float(total)

    def _record(self, history: History, weights: Array, point: Point, change: float) -> None:
        by_view = zip(self.view_names, weights.tolist(), strict=True)
        history.add(
            objective=self._objective(weights, point),
            change=change,
            **self.classifiers.diagnostics(point),
            **{f"weight_{name}": weight for name, weight in by_view},
        )


class _Way:
    """How far to go from some weights towards the best ones for their classifiers, and beyond.

    The classifiers follow the weights, so that the best weights move on. If what is left of the
    way shrinks by a factor rho per round, 1/(1 - rho) ways lead to the end.
    """

    def __init__(self, longest: float) -> None:
        self.step, self.last, self.start = 1.0, np.zeros(0), np.zeros(0)
        self.longest = longest

    def beyond(self, weights: Array, wanted: Array) -> Array:
        """Return the next weights, all of them positive where the wanted ones are."""
        way = wanted - weights
        lost = np.any((wanted == 0.0) & (weights > 0.0))
        falling = len(self.last) > 0 and not lost
        left = float(way @ self.last) / float(self.last @ self.last) if falling else 0.0
        # Of the last way, taken `step` times, the share `left` is still to go.
        rate = (1.0 - left) / self.step
        self.step = float(np.clip(1.0 / rate, 1.0, self.longest)) if rate > 0.0 else self.longest
        if not falling:
            self.step = 1.0
        shrinking = way < 0.0
        if self.step > 1.0 and shrinking.any():
            room = 0.5 * wanted[shrinking] / -way[shrinking]
            self.step = min(self.step, 1.0 + float(room.min()))
        self.start, self.last = weights, way
        there: Array = weights + self.step * way
        return there if self.step > 1.0 else wanted

    def sure(self) -> Array:
        """Return the weights, or those after a shorter step, for which the objective does fall."""
        there: Array = self.start + min(self.step, SURE_STEP) * self.last
        return there


def print_round(name: str, row: dict[str, Any]) -> None:
    """Print a row of the history of the estimator `name`."""
    weights = " ".join(f"{row[key]:.3f}" for key in row if key.startswith("weight_"))
    print(
        f"[{name}] round {row['iteration']:3d}  objective {row['objective']:.6g}  "
        f"view weights {weights}  change {row['change']:.1e}  {row['seconds']:.2f} s",
        flush=True,
    )


def best_weights(cost: Array, smoothness: float) -> Array:
    r"""Return the best weights for classifiers that cost so much per unit of weight.

    With the paper's :math:`g = \pi + \eta\rho` they minimise
    :math:`\tfrac12 g^\top\theta + \tfrac\alpha2\|\theta\|^2 = \tfrac\alpha2
    \|\theta + g/(2\alpha)\|^2 - \|g\|^2/(8\alpha)` on the simplex, and are the projection of
    :math:`-g/(2\alpha)`: a view that is cheaper, for instance because it separates the classes
    with a wider margin, gets more weight.
    """
    return project_to_simplex(-cost / (2.0 * smoothness))


def balanced_smoothness(cost: Array) -> float:
    r"""Return an alpha for which weights fall with a view's share of the cost, but not to zero.

    :math:`\alpha = V(V-1)\bar g` makes :math:`\theta_v` the mean of 1/V and
    :math:`(1 - g_v/\sum_u g_u)/(V-1)`, so at least 1/(2V). Half of that alpha would do for the
    first round, but a view with less weight is regularised less, costs more, and would lose still
    more of it in the next. (With all weights positive :math:`\theta_v = 1/V +
    (\bar g - g_v)/(2\alpha)`, and :math:`g_v \le V \bar g`.)
    """
    total = float(cost.sum())
    return (len(cost) - 1) * total if total > 0.0 and len(cost) > 1 else 1.0
