"""The starts themselves, each a small object with a name."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.solvers.descent import CAP_FACTORS
from htsvm.solvers.starts.terrain import FINE, ROUGH, Terrain

# Steps to the solution of least squares.
SQUARES_STEPS = 40
# A start that ends this share above the lowest is far behind; ways that end within that share
# of each other have met. Where sigmoids end this share above the lowest, they are of no use.
FAR_BEHIND, MET, USELESS = 0.02, 5e-3, 0.1
# Steps of a search: on a smooth stand-in for the loss, and on the loss itself at the end.
STEPS, LAST_STEPS = 15, 25
# Steps to the convex solution and to that of least squares, and with each stretched cap.
CONVEX_STEPS, STRETCHED_STEPS = 40, 6
# A convex solution below this share of the best constant's objective is a good fit.
GOOD_FIT = 0.5
# The stretched caps on many rows, where each costs a survey of all of them.
FEWER_CAPS = (4.0, 2.0, 1.4)
# How wide the sigmoids are, in caps: of one search, and of a ladder from nearly convex on.
WARM, LADDER, SHORT_LADDER = (0.5,), (4.0, 2.0, 1.0, 0.5, 0.25), (1.0, 0.5, 0.25)
# A push: so many steps at this width with random weights, then at that with those of the problem.
PUSH_STEPS, PUSH_WIDTH, AFTER_PUSH = 6, 0.7, 0.35
# How many searches of a kind there are, at most, and how much work they may be: samples times
# features, summed over all of them. On 360 problems of at most 500 rows 12 spread starts lead to
# within 0.5 % of the reference search in 89 % where without them it is 84 %; 24 in 90 %.
MOST_SEARCHES, LEAST_PUSHES, PUSH_WORK, SPREAD_WORK = 12, 2, 300_000, 100_000
# On a sample of the rows pushes may be this much work.
SAMPLE_PUSH_WORK = 100_000


@dataclass
class Search:
    """What a search knows so far.

    Attributes
    ----------
    terrain : Terrain
        Where it takes place.
    rng : Generator
        Drives all that is random.
    reached : dict
        The objective that each start led to, in the order in which they were tried; NaN for one
        that failed.
    points : dict
        The lowest point that each start led to.
    point, name : ndarray, str
        The lowest point of all, and the start that led to it.
    convex : ndarray or None
        The solution of the convex problem, if it was asked for.
    truncated : bool
        Whether truncation plays a part: samples lie where the loss bends, at the convex solution.
    failures : dict
        What went wrong in starts that failed.
    """

    terrain: Terrain
    rng: np.random.Generator
    reached: dict[str, float] = field(default_factory=dict)
    points: dict[str, Array] = field(default_factory=dict)
    point: Array | None = None
    name: str = ""
    convex: Array | None = None
    truncated: bool = True
    failures: dict[str, str] = field(default_factory=dict)
    _squares: Array | None = None

    @property
    def lowest(self) -> float:
        """The lowest objective so far."""
        return min((v for v in self.reached.values() if math.isfinite(v)), default=math.inf)

    @property
    def has_met(self) -> bool:
        """Whether the ways from the convex solution and from least squares end at one objective.

        Nothing else may have ended lower. Most ways that lead nowhere end near the best constant:
        that is no meeting. On 84 fits to seven sets with many rows sigmoids, pushes and all else
        that is left out then would have led 0.1 % lower at most.
        """
        ends = [self.reached.get(name, math.inf) for name in ("convex", "least_squares")]
        somewhere = self.lowest < (1.0 - FAR_BEHIND) * self.terrain.problem.trivial_objective
        return somewhere and all(end <= (1.0 + MET) * self.lowest for end in ends)

    @property
    def is_plain(self) -> bool:
        """Whether a sigmoid led far astray: then its relatives, and pushes, do so as well.

        That is so where one class is small and its samples are known by single columns (w8a).
        """
        return self.reached.get("annealed", 0.0) > (1.0 + USELESS) * self.lowest

    def least_squares(self) -> Array:
        """Return the rescaled least squares fit, found once."""
        if self._squares is None:
            rough = self.terrain.rescaled(self.terrain.least_squares(SQUARES_STEPS))
            exact = self.terrain.exact_least_squares()
            found = [rough] if exact is None else [rough, exact]
            self._squares = min(found, key=self.terrain.objective)
        return self._squares

    def add(self, name: str, z: Array) -> None:
        """Take note of a point that a start has led to."""
        objective = self.terrain.objective(z)
        if not math.isfinite(objective):
            raise FloatingPointError("the objective is not finite")
        before = self.lowest
        if not objective >= self.reached.get(name, math.inf):
            self.reached[name], self.points[name] = objective, z
        if objective < before:
            self.point, self.name = z, name


class SearchStart(ABC):
    """A way to a point from which the solver goes down."""

    name: str

    @abstractmethod
    def run(self, search: Search) -> None:
        """Find one or several points and add them to the search."""


def search(
    terrain: Terrain,
    starts: Iterable[SearchStart],
    rng: np.random.Generator,
    until_met: bool = False,
) -> Search:
    """Try the starts one after the other; those that fail are left out.

    Ends early where truncation turns out to play no part, and with `until_met` where the convex
    solution and least squares lead to the same point, or where what follows is of no use.
    """
    found = Search(terrain, rng)
    for start in starts:
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                start.run(found)
        except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
            found.reached.setdefault(start.name, math.nan)
            found.failures[start.name] = str(error)
        if not found.truncated or (until_met and (found.has_met or found.is_plain)):
            break
    return found


@dataclass(frozen=True)
class Convex(SearchStart):
    """The solution without truncation, then the loss with a cap that comes down step by step.

    Attributes
    ----------
    caps : tuple of float
        The stretched caps, in caps.
    steps, first_steps, last_steps : int
        Steps with each of them, to the convex solution, and with the loss itself.
    tol : float
        How exactly the first and the last are minimised.
    """

    caps: tuple[float, ...] = CAP_FACTORS
    steps: int = STRETCHED_STEPS
    first_steps: int = CONVEX_STEPS
    last_steps: int = LAST_STEPS
    tol: float = FINE
    name = "convex"

    def run(self, search: Search) -> None:
        """Minimise the convex problem; stop there if no sample feels the truncation."""
        terrain = search.terrain
        z = terrain.convex(self.first_steps, self.tol)
        search.convex = z
        bend = terrain.loss.curved_interval[0]
        good = terrain.objective(z) <= GOOD_FIT * float(terrain.problem.trivial_objective)
        if (good and terrain.largest_violation(z) <= bend) or terrain.separates(z):
            search.truncated = False
            search.add(self.name, z)
            return
        largest = terrain.largest_violation(z)
        for factor in terrain.caps(self.caps):
            if factor * bend < largest:
                z = terrain.settle(z, self.steps, stretch=factor, tol=ROUGH)
        search.add(self.name, terrain.settle(z, self.last_steps, tol=self.tol))


@dataclass(frozen=True)
class RescaledConvex(SearchStart):
    """The solution without truncation times the best number, truncated at once."""

    name = "convex"

    def run(self, search: Search) -> None:
        """Go down from there, if `Convex` came before."""
        terrain = search.terrain
        if search.convex is not None:
            z = terrain.rescaled(search.convex)
            search.add(self.name, terrain.settle(z, LAST_STEPS))


@dataclass(frozen=True)
class LeastSquaresStart(SearchStart):
    """The least squares fit times the best number, truncated at once."""

    name = "least_squares"

    def run(self, search: Search) -> None:
        """Go down from the rescaled least squares fit with the loss itself."""
        search.add(self.name, search.terrain.settle(search.least_squares(), LAST_STEPS))


@dataclass(frozen=True)
class Annealed(SearchStart):
    """From least squares by way of sigmoids that become steeper.

    Attributes
    ----------
    name : str
        The name.
    widths : tuple of float
        The widths of the sigmoids, in caps.
    balanced : bool
        Whether least squares gives all classes the same weight.
    like : str
        The name of a start before it: where that one is far behind, this one is left out.
    """

    name: str
    widths: tuple[float, ...]
    balanced: bool = False
    like: str = ""

    def run(self, search: Search) -> None:
        """Go down with one sigmoid after the other, then with the loss itself."""
        terrain = search.terrain
        if search.reached.get(self.like, 0.0) > (1.0 + FAR_BEHIND) * search.lowest:
            return
        if self.balanced:
            z = terrain.rescaled(terrain.wide.least_squares(CONVEX_STEPS, balanced=True))
        else:
            z = search.least_squares()
        for width in self.widths:
            z = terrain.wide.anneal(z, width, STEPS)
        search.add(self.name, terrain.settle(z, LAST_STEPS))


@dataclass(frozen=True)
class Spread(SearchStart):
    """Convex solutions with other sample weights, times the best number, truncated at once."""

    name = "spread"

    def run(self, search: Search) -> None:
        """Go down from one after the other; as often as the size of the data allows."""
        terrain = search.terrain
        for _ in range(affordable(terrain, SPREAD_WORK, 0)):
            terrain.weigh(terrain.wave(search.rng))
            try:
                z = terrain.settle(terrain.zero(), CONVEX_STEPS, stretch=math.inf, tol=ROUGH)
            finally:
                terrain.weigh(None)
            search.add(self.name, terrain.settle(terrain.rescaled(z), LAST_STEPS))


@dataclass(frozen=True)
class Pushed(SearchStart):
    """From the lowest point so far, pushed away by other sample weights, again and again.

    Attributes
    ----------
    work : int
        How much work all of it may be: samples times features.
    """

    work: int = PUSH_WORK
    name = "pushed"

    def run(self, search: Search) -> None:
        """Push, go down, keep the lowest; as often as the size of the data allows."""
        terrain, wide = search.terrain, search.terrain.wide
        for _ in range(affordable(terrain, self.work, LEAST_PUSHES)):
            z = search.least_squares() if search.point is None else search.point
            wide.weigh(wide.wave(search.rng))
            try:
                z = wide.anneal(z, PUSH_WIDTH, PUSH_STEPS)
            finally:
                wide.weigh(None)
            z = wide.anneal(z, AFTER_PUSH, STEPS)
            search.add(self.name, terrain.settle(z, LAST_STEPS))


def affordable(terrain: Terrain, work: int, least: int) -> int:
    """Return how many searches of a kind the size of the data allows."""
    each = terrain.problem.operator.stored + terrain.problem.n_samples
    classes = getattr(terrain.problem, "n_classes", 1)
    return int(np.clip(work / (each * classes), least, MOST_SEARCHES))


ALL: tuple[SearchStart, ...] = (
    Convex(),
    LeastSquaresStart(),
    Annealed("annealed", WARM),
    Annealed("ladder", LADDER),
    Annealed("balanced", WARM, balanced=True),
    Spread(),
    Pushed(),
)
NAMES = tuple(start.name for start in ALL)
# On a sample of the rows these find what all of them would: the others are for little data.
ON_A_SAMPLE: tuple[SearchStart, ...] = (ALL[0], *ALL[2:5], Pushed(SAMPLE_PUSH_WORK))
# With more columns than rows in the sample little is learned there: of 12 fits to reuters (four
# kinds of noise, three C) none was won by what a search had found.
ON_WIDE_ROWS: tuple[SearchStart, ...] = (ALL[0], ALL[2])
# On many rows: ladders that begin less wide, and more use of the convex solution, unless the first
# three meet.
ON_MANY_ROWS: tuple[SearchStart, ...] = (
    Convex(FEWER_CAPS, 2 * STRETCHED_STEPS),
    LeastSquaresStart(),
    Annealed("annealed", WARM),
    RescaledConvex(),
    Annealed("ladder", SHORT_LADDER, like="annealed"),
    Annealed("balanced", SHORT_LADDER, balanced=True, like="annealed"),
    Pushed(SAMPLE_PUSH_WORK),
)
# A rough point from which a few exact rounds go on.
QUICK = Convex(FEWER_CAPS, first_steps=20, last_steps=6, tol=ROUGH)


def chosen(names: Any) -> tuple[SearchStart, ...]:
    """Return the starts of the given names, in the order in which they are tried.

    Parameters
    ----------
    names : "auto" or iterable of str
        "auto" means all of them.
    """
    if isinstance(names, str):
        if names != "auto":
            raise ValueError(_unknown([names]))
        return ALL
    wanted = list(names)
    unknown = [name for name in wanted if name not in NAMES]
    if unknown or not wanted:
        raise ValueError(_unknown(unknown))
    return tuple(start for start in ALL if start.name in wanted)


def checked_names(names: Any) -> str | tuple[str, ...]:
    """Return the names of starts as solvers take them, or complain of those that do not exist."""
    chosen(names)
    return names if isinstance(names, str) else tuple(names)


def _unknown(names: list[Any]) -> str:
    known = ", ".join(map(repr, NAMES))
    what = f"starts names {names!r}" if names else "starts is empty"
    return f"{what}; give 'auto' or a list of some of {known}."
