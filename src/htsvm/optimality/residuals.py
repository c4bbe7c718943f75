r"""The unit of every residual: the one place that says what "small" means.

All solvers stop by these numbers and all certificates report them. None changes when the data is
stated in other units, that is under X -> aX, C -> C/a² (then w -> w/a), nor when the weights are
multiplied by k and C is divided by it. None accepts a point for being small: there is no
``1 + ||w||``, which at small C lets anything pass.

Write psi for the multipliers, ``p = -N' psi`` for what they pull, q for the violations and c for
the weights of the hinge losses that touch the loss at q. If psi is balanced and within its bounds,

.. math:: \text{objective} - \text{dual bound} = \tfrac12 \|R w - p\|^2_{R^{-1}}
          + \sum_i (c_i \max(q_i, 0) + \psi_i q_i)

for the convex problem that touches this one here, so `stationarity` and `complementarity` are the
two parts of a duality gap, and `balance` is the share by which multipliers have to be changed
before that holds.
"""

from __future__ import annotations

import math

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import Quadratic

# The machine epsilon: what one rounding costs.
EPS = float(np.finfo(np.float64).eps)
# Sums of m terms are known up to a few roundings of the sum of their sizes.
SUM_ROUNDING = 4.0 * EPS
# Multipliers may cancel and leave w = 0. The unit of the gradient is then this share of what they
# would pull if none cancelled.
GROSS_SHARE = 1e-6
# A constant classifier is the solution up to this share of its objective: some rounding errors of
# a sum over a million samples.
LEAST_GAIN = 1e-9
# Rounding excuses a residual of up to this, a thousandth of the default tol; a point whose rounding
# errors may be larger cannot be certified.
LARGEST_FLOOR = 1e-6


def stationarity(gradient: float, own: float, pull: float, gross: float) -> float:
    """Return ``||Rw - p||`` relative to its two parts.

    Parameters
    ----------
    gradient, own, pull : float
        The lengths of ``Rw - p``, of ``Rw`` and of ``p``.
    gross : float
        What the multipliers would pull if none cancelled: the sum of their sizes times the length
        of a typical row.
    """
    unit = max(own + pull, GROSS_SHARE * gross)
    return max(gradient - SUM_ROUNDING * gross, 0.0) / unit if unit > 0.0 else 0.0


def of_gradient(own: Array, pull: Array, gross: float, R: Quadratic | None = None) -> float:
    """Return the `stationarity` of the two vectors Rw and p, by the lengths that R defines."""
    length = _length if R is None else R.length
    return stationarity(length(own - pull), length(own), length(pull), gross)


def _length(v: Array) -> float:
    return math.sqrt(float(np.vdot(v, v)))


def pull_of(objective: float, R: Quadratic) -> float:
    """Return the pull that goes with an objective: that of the w whose energy it is.

    Where no sample pulls, w = 0 is the solution, and this says how near to zero is near enough.
    """
    diagonal = R.diagonal()
    if objective <= 0.0 or len(diagonal) == 0:
        return 0.0
    return math.sqrt(2.0 * objective * float(diagonal.mean()))


def balance(total: float, gross: float) -> float:
    """Return ``|y' psi|`` (or the length of the sums over several classes) over ``sum |psi|``."""
    return max(abs(total) - SUM_ROUNDING * gross, 0.0) / gross if gross > 0.0 else 0.0


def violation(square_errors: float, square_size: float) -> float:
    """Return the length of errors of the violations, relative to that of the violations.

    Parameters
    ----------
    square_errors : float
        ``sum_i penalty_i e_i²``.
    square_size : float
        ``sum_i penalty_i (1 + q_i²)``: the violation of a sample on the decision boundary is one.
    """
    return math.sqrt(square_errors / square_size) if square_size > 0.0 else 0.0


def complementarity(slack: float, objective: float) -> float:
    """Return ``sum_i |c_i [q_i > 0] + psi_i| |q_i|`` over the objective, or another unit of it."""
    return slack / objective if objective > 0.0 else slack


def informative_part(objective: float, trivial: float, energy: float) -> float:
    """Return the part of the objective that the classifier decides on.

    At small C nearly all of the objective is that of the constant classifier, and says nothing of
    w. What w is worth is the gain over the constant, about as much as its energy ``w'Rw``.
    """
    gain = max(trivial - objective, 2.0 * energy)
    return min(objective, max(gain, LEAST_GAIN * objective))


def rounding_floor(
    terms: int, pulled: float, unit: float, size: float, class_penalty: Array, square_size: float,
    gross: float, objective: float,
) -> float:  # fmt: skip
    """Estimate the residual that rounding alone causes.

    Of a sum of k terms about (8 + sqrt(k)) eps times the sum of their sizes is not known: that
    is applied to N' psi (`pulled`, of so many `terms`), and to the violations, of which prox
    residual and duality gap are made (`size` is that of a typical score).
    """
    off, mass = 8.0 * EPS * size, float(class_penalty.sum())
    return max(
        (8.0 + math.sqrt(terms)) * EPS * pulled / unit if unit > 0.0 else 0.0,
        violation(mass * off * off, square_size),
        complementarity(off * gross, objective),
    )
