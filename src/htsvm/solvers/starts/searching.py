"""What a search for a start knows, what a start is, and the search through them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from htsvm._typing import Array
from htsvm.solvers.starts.terrain import Terrain

# Steps to the solution of least squares.
SQUARES_STEPS = 40
# A start that ends this share above the lowest is far behind; ways that end within that share
# of each other have met. Where sigmoids end this share above the lowest, they are of no use.
FAR_BEHIND, MET, USELESS = 0.02, 5e-3, 0.1


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
