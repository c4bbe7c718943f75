"""What a loss is: the protocol that solvers and certificates rely on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeVar

import numpy as np

from htsvm._typing import Array

# The module with compiled sums over losses; set by `linalg` when that is imported.
kernels: Any = None


_REGISTERED: list[type[Loss]] = []

Kind = TypeVar("Kind", bound="type[Loss]")


def register(kind: Kind) -> Kind:
    """Make a loss known, so that errors can name it where another one lacks an ability."""
    if kind not in _REGISTERED:
        _REGISTERED.append(kind)
    return kind


def registered() -> tuple[type[Loss], ...]:
    """Return all losses that were made known, in the order in which that happened."""
    return tuple(_REGISTERED)


class Loss(ABC):
    """A function of the margin violation ``s = 1 - y * f(x)``.

    Every loss has a value and a subdifferential. More abilities are optional, and a solver that
    needs one says so in its ``requires`` (see `require`):

    - ``"prox"``: `prox`, `prox_bounds`, `largest_step` and `weak_convexity`;
    - ``"profile"``: the loss is ``g(max(s, 0)) - tilt * s`` with g concave, non-decreasing and
      g(0) = 0, and `profile`, `profile_slope` and `tilt` (mostly 0) give g, g' and the number.
      Such a loss lies below the weighted and tilted hinge loss that touches it at any point,
      which is what the default solver is built on;
    - ``"conjugate"``: the loss is convex and `conjugate` gives its conjugate, from which a
      duality gap is computed.

    Losses are immutable, hashable and comparable, made of floats only; their methods accept arrays
    of any shape and any float type.
    """

    abilities: frozenset[str] = frozenset()

    @abstractmethod
    def value(self, s: Any) -> Array:
        """Return the loss at `s`."""

    @abstractmethod
    def subdifferential(self, s: Any) -> tuple[Array, Array]:
        """Return the lower and upper end of the regular subdifferential at `s`."""

    def total(self, s: Array, penalty: Array) -> float:
        """Return ``sum(penalty * value(s))``."""
        return float(np.dot(penalty, self.value(s)))

    def totals(self, q: Array, penalty: Array, multiples: Array) -> Array:
        """Return the `total` at multiples of the point (w, b) that has the violations q."""
        return np.array([self.total(1.0 - t * (1.0 - q), penalty) for t in multiples])

    def prox(self, z: Any, step: Any) -> Array:
        """Return a minimiser over s of ``step * value(s) + (s - z) ** 2 / 2``.

        Where there are several, the smallest: the branch that keeps the sample in the model.
        """
        return self.prox_bounds(z, step)[0]

    def prox_bounds(self, z: Any, step: Any) -> tuple[Array, Array]:
        """Return the smallest and the largest minimiser of the prox problem."""
        raise self._lacks("prox")

    def prox_distance(self, s: Any, z: Any, step: Any) -> Array:
        """Return the distance from `s` to the set of minimisers of the prox problem at `z`."""
        low, high = self.prox_bounds(z, step)
        distance: Array = np.minimum(np.abs(s - low), np.abs(s - high))
        return distance

    def largest_step(self, s: Any, slope: Any) -> Array:
        """Return the largest step for which `s` solves the prox problem at ``s + step * slope``.

        `slope` must be a subgradient at `s`. This is the per-sample limit of nu * C up to which
        the point is P-stationary.
        """
        raise self._lacks("prox")

    @property
    def weak_convexity(self) -> float:
        """The smallest rho for which ``value(s) + rho * s ** 2 / 2`` is convex."""
        raise self._lacks("prox")

    @property
    def unit_step(self) -> float:
        """The step of the prox in tests of stationarity.

        Half of that up to which the prox is single-valued; 1 for a convex loss.
        """
        rho = self.weak_convexity
        return 0.5 / rho if rho > 0.0 else 1.0

    def reference_step(self, s: Any, slope: Any) -> Array:
        """Return the step at which to test whether `slope` is a subgradient at `s`.

        That is `unit_step`, but for losses whose prox jumps near `s` however small the step: these
        return a smaller one there.
        """
        return np.full(np.broadcast(as_floats(s), as_floats(slope)).shape, self.unit_step)

    def conjugate(self, slope: Any) -> Array:
        """Return the supremum over s of ``slope * s - value(s)``."""
        raise self._lacks("conjugate")

    def best_constant(self, positive: float, negative: float) -> tuple[float, float]:
        """Return the least total loss of a constant score, and that score.

        `positive` and `negative` are the total penalties of the two classes. Losses that never
        fall beyond the margin do best with the score 1 or -1.
        """
        at_two = float(self.value(2.0))
        return (negative * at_two, 1.0) if negative <= positive else (positive * at_two, -1.0)

    @property
    def tilt(self) -> float:
        """What is taken off ``g(max(s, 0))`` per unit of s; see ``"profile"``."""
        return 0.0

    def profile(self, h: Any) -> Array:
        """Return g at ``h >= 0``."""
        raise self._lacks("profile")

    def profile_slope(self, h: Any) -> Array:
        """Return g' at ``h >= 0`` (from the right)."""
        raise self._lacks("profile")

    def slopes(self, s: Array, penalty: Array, out: Array) -> None:
        """Set ``out = penalty * profile_slope(max(s, 0))``: the weights of the hinge majoriser."""
        np.multiply(penalty, self.profile_slope(np.maximum(s, 0.0)), out=out)

    @property
    def slope_line(self) -> tuple[float, float, float] | None:
        """(top, start, fall) if ``g'(h) = clip(start - fall * h, 0, top)``, else None.

        That is all the compiled kernels need to know of such a loss.
        """
        return None

    @property
    def cap(self) -> float:
        """The violation from which on a sample no longer pulls; infinite for a convex loss."""
        return float("inf")

    @property
    def curved_interval(self) -> tuple[float, float]:
        """The open interval where the loss bends down with curvature `weak_convexity`.

        ``(inf, inf)``, which is empty, for a convex loss. Elsewhere the loss is straight, with a
        convex kink at zero.
        """
        return float("inf"), float("inf")

    def stretched(self, factor: float) -> Loss | None:
        """Return ``factor * l(s / factor)``: the same slope at zero, truncated later.

        None where that is not defined or changes nothing; a solver may then not approach the
        truncation step by step.
        """
        return None

    def bent(self) -> tuple[Loss, float] | None:
        """Return a loss near this one that bends where it has a concave kink, and a factor for it.

        None where there is no kink, or nothing near it.
        """
        return None

    def _lacks(self, ability: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} has no {ability!r}")


class ConvexLoss(Loss):
    """A convex loss: its prox is single-valued for every step."""

    @property
    def slope_line(self) -> tuple[float, float, float] | None:
        """The slope of g, a straight line where the loss has a profile: g is concave as well."""
        if "profile" not in self.abilities:
            return None
        top = float(self.profile_slope(0.0))
        return top, top, 0.0

    @property
    def weak_convexity(self) -> float:
        """Zero: the loss is convex."""
        return 0.0

    def largest_step(self, s: Any, slope: Any) -> Array:
        """Return infinity: a convex loss sets no limit."""
        return np.full(np.broadcast(as_floats(s), as_floats(slope)).shape, np.inf)


def as_floats(values: Any) -> Array:
    """Return `values` as a float array, keeping float32."""
    array = np.asarray(values)
    return array if np.issubdtype(array.dtype, np.floating) else array.astype(np.float64)


def require(loss: Loss, abilities: tuple[str, ...], needed_by: str) -> None:
    """Raise an error that names what `loss` lacks for `needed_by` and which losses have it.

    Parameters
    ----------
    loss : Loss
        The loss given by the user.
    abilities : tuple of str
        What is needed, out of ``"prox"``, ``"profile"`` and ``"conjugate"``.
    needed_by : str
        The solver or function, for the message.
    """
    missing = [ability for ability in abilities if ability not in loss.abilities]
    if missing:
        known = sorted(kind.__name__ for kind in registered() if set(abilities) <= kind.abilities)
        raise TypeError(
            f"{needed_by} needs a loss with {', '.join(repr(a) for a in missing)}, "
            f"which {loss!r} does not have. Losses that have it: {', '.join(known)}."
        )
