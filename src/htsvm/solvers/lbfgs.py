"""Limited-memory BFGS for smooth functions of scores that are linear in the variables.

The two-loop recursion of Nocedal and Wright, Numerical Optimization (2006), algorithm 7.4, with a
preconditioner in the place of its first matrix.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from htsvm._typing import Array
from htsvm.solvers.newton import DECREASE, MOST_TRIALS

# The pairs of steps and changes of the gradient that are kept.
MEMORY = 8
# The share of the first slope to which it must fall: rougher than for Newton's method.
CURVATURE = 0.9

# A step, the change of the gradient along it, that times the preconditioner, and one over the
# product of the first two.
Pair = tuple[Array, Array, Array, float]


class Function(Protocol):
    """What is minimised: a quadratic form in z plus a smooth function of an image of z.

    The image is linear in z, so that a line search needs no further products with the data.
    """

    def precondition(self, z: Array) -> Array:
        """Return z times an estimate of the inverse of the Hessian, up to a factor."""

    def image(self, z: Array) -> Array:
        """Return the image of z."""

    def value_slopes(self, image: Array) -> tuple[float, Array]:
        """Return the function of the image, and its derivatives."""

    def pull(self, slopes: Array) -> Array:
        """Return the gradient in z, from the derivatives."""

    def smooth(self, z: Array) -> Array:
        """Return the gradient of the quadratic form."""

    def largest(self, image: Array) -> float:
        """Return the largest entry of the image of a direction, in size, that counts."""


def minimise(
    function: Function,
    z: Array,
    most: int,
    gain: float,
    enough: Callable[[Array], bool] | None = None,
) -> tuple[Array, Array, int]:
    """Go down from z; return where that ends, the derivatives there, and the number of steps.

    Stop after `most` steps, or when a step lowers the value by a share of less than `gain`, or when
    there is `enough`, by the gradient.
    """
    pairs: deque[Pair] = deque(maxlen=MEMORY)
    image, own = function.image(z), function.smooth(z)
    value, slopes = function.value_slopes(image)
    value += 0.5 * float(np.vdot(z, own))
    gradient = own + function.pull(slopes)
    scaled = function.precondition(gradient)
    for step in range(most):
        if enough is not None and enough(gradient):
            return z, slopes, step
        direction = _direction(gradient, scaled, pairs)
        if not np.vdot(direction, gradient) < 0.0:
            if not pairs:
                return z, slopes, step
            pairs.clear()
            continue
        change, smooth = function.image(direction), function.smooth(direction)
        line = _Line(
            image, change, float(np.vdot(gradient, direction)), 0.5 * float(np.vdot(z, own)),
            float(np.vdot(direction, own)), float(np.vdot(direction, smooth)), value,
        )  # fmt: skip
        t, lower, found = _line_search(function, line, slopes, first=not pairs)
        if not lower < value:
            if not pairs:
                return z, slopes, step
            pairs.clear()
            continue
        z, own, image, slopes = z + t * direction, own + t * smooth, image + t * change, found
        new = own + function.pull(slopes)
        difference, gradient = new - gradient, new
        new = function.precondition(gradient)
        change, scaled = new - scaled, new
        curvature = t * float(np.vdot(direction, difference))
        if curvature > 1e-10 * float(np.vdot(difference, difference)):
            pairs.append((t * direction, difference, change, 1.0 / curvature))
        before, value = value, lower
        if before - value <= gain * abs(before):
            return z, slopes, step + 1
    return z, slopes, most


def _direction(gradient: Array, scaled: Array, pairs: deque[Pair]) -> Array:
    """Return minus the gradient times the approximate inverse of the Hessian.

    `scaled` is the preconditioned gradient. Since the preconditioner is linear, one product with it
    per step will do: those with all that the gradient is combined with are known.
    """
    direction, scaled = -gradient, -scaled
    shares = []
    for step, difference, change, rho in reversed(pairs):
        shares.append(rho * float(np.vdot(step, direction)))
        direction = direction - shares[-1] * difference
        scaled = scaled - shares[-1] * change
    if pairs:
        _, difference, change, rho = pairs[-1]
        scaled = scaled / (rho * float(np.vdot(difference, change)))
    for (step, difference, _, rho), share in zip(pairs, reversed(shares), strict=True):
        scaled = scaled + (share - rho * float(np.vdot(difference, scaled))) * step
    return scaled


class _Line(NamedTuple):
    """A line: the image and its change, the first slope, the parts of the form, the value."""

    image: Array
    change: Array
    slope: float
    energy: float
    linear: float
    square: float
    start: float


def _line_search(
    function: Function, line: _Line, slopes: Array, first: bool
) -> tuple[float, float, Array]:
    """Find a step that satisfies the weak Wolfe conditions by doubling and halving."""
    image, change, slope, energy, linear, square, start = line
    t, low, high = 1.0, 0.0, 0.0
    if first:
        # No entry of the image changes by more than one.
        t = 1.0 / max(function.largest(change), 1e-300)
        if square > 0.0:
            t = min(t, -slope / square)
    best = (0.0, start, slopes)
    for _ in range(MOST_TRIALS):
        value, slopes = function.value_slopes(image + t * change)
        value += energy + t * linear + 0.5 * t * t * square
        along = float(np.vdot(slopes, change)) + linear + t * square
        if value < best[1]:
            best = (t, value, slopes)
        if not value <= start + DECREASE * t * slope:
            high = t
        elif along < CURVATURE * slope:
            low = t
        else:
            return t, value, slopes
        t = 0.5 * (low + high) if high > 0.0 else 2.0 * t
    return best
