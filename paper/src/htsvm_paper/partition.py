"""The index sets of the paper's three support-vector theorems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from htsvm.extend import Array, HybridTruncated, Loss


@dataclass(frozen=True, eq=False)
class Partition:
    """The sets G1..G5, I1..I4 or K1..K4 of the paper's three support-vector theorems.

    Attributes
    ----------
    letter : str
        ``"G"``, ``"I"`` or ``"K"``, by the size of nu * C; nu is a number of the algorithm, not of
        the model.
    set_number, support : ndarrays of int8 and of bool
        1 to 5 per sample; and the sets that the paper calls support vectors. That does not imply a
        non-zero multiplier: a sample with p = 0 is in set 2, and there psi = 0.
    """

    letter: str
    set_number: Array
    support: Array


def partition(q: Any, psi: Any, *, C: float, loss: Loss, nu: float) -> Partition:
    """Return the paper's partition of the samples at a P-stationary point.

    A tie p = beta-hat (to 1e-12) is settled by whether psi is zero, as printed.

    Parameters
    ----------
    q, psi : arrays of one shape
        Violations and multipliers.
    C : float
        The penalty of all samples: with weights the regime would differ from sample to sample.
    loss : Loss
        `HybridTruncated` of any knee and cap, or a multiple of the hinge loss (sets G1 to G3).
    nu : float
        The nu of p = q - nu * psi.
    """
    if not (np.ndim(C) == 0 and np.isfinite(C) and C > 0.0):
        raise ValueError(f"C must be one positive number for all samples, got {C!r}.")
    if not (np.isfinite(nu) and nu > 0.0):
        raise ValueError(f"nu must be positive and finite, got {nu!r}.")
    q, psi = np.asarray(q, dtype=np.float64), np.asarray(psi, dtype=np.float64)
    if q.shape != psi.shape:
        raise ValueError(f"q and psi must have one shape, got {q.shape} and {psi.shape}.")
    top = float(loss.subdifferential(0.0)[1])
    p, kappa = q - nu * psi, nu * C
    number = np.ones(p.shape, dtype=np.int8)
    number[p >= 0.0] = 2
    if loss.weak_convexity == 0.0 and "profile" in loss.abilities and loss.tilt == 0.0:
        number[p > top * kappa] = 3
        return Partition("G", number, number >= 2)
    if not isinstance(loss, HybridTruncated):
        raise TypeError(f"partition knows the sets of HybridTruncated, not of {loss!r}.")
    return _truncated_sets(p / loss.cap, psi != 0.0, kappa / loss.cap, loss, number)


def _truncated_sets(
    p: Array, pulls: Array, kappa: float, loss: HybridTruncated, number: Array
) -> Partition:
    """Fill `number` for the loss of cap 1."""
    a, curvature = loss.slope, loss.weak_convexity * loss.cap
    if kappa * curvature < 1.0:
        number[p > a * kappa] = 3
        number[p >= loss.knee + a * kappa] = 4
        number[p >= 1.0] = 5
        return Partition("G", number, (number >= 2) & (number <= 4))
    letter = "I" if kappa < 2.0 / a**2 else "K"
    jump = 1.0 / a + 0.5 * a * kappa if letter == "I" else np.sqrt(2.0 * kappa)
    tie = np.isclose(p, jump, rtol=1e-12, atol=0.0)
    if letter == "I":
        number[p > a * kappa] = 3
    number[p > jump] = 4
    number[tie & pulls] = 3
    number[tie & ~pulls] = 4
    return Partition(letter, number, (number == 2) | (number == 3))
