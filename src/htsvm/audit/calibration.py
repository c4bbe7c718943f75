"""From an order of suspicion to a trust that can be read as a share of right labels."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from htsvm._typing import Array
from htsvm.audit.scoring import Scores, violation

# Scores whose spread is below this are equal up to rounding.
LEAST_SPREAD = 1e-12


def doubt(scores: Scores, codes: Array, trusted: Array | None) -> Array:
    """Return for each sample a probability, of no particular order, that its label is wrong.

    The mean of two views of the matter. The noise model takes overlap of classes for their
    nature, and is the lower one. Disagreement with the out-of-sample prediction takes
    all of it for wrong labels, and is the upper one. Which is right cannot be seen from the labels.
    """
    rows = np.arange(len(codes))
    lower = 1.0 - scores.noise.posterior(scores.first, codes)[rows, codes]
    upper = violation(scores.first, codes) > 0.0
    found = (lower + upper) / 2.0
    if trusted is not None:
        found[trusted] = 0.0
    return np.asarray(found)


def calibrate(suspicion: Array, doubts: Array, weights: Array) -> Array:
    """Return the trust: a falling function of suspicion whose mean is that of ``1 - doubts``.

    A logistic curve is fitted to the doubts, which stand in for the truth.
    """
    spread = float(suspicion.std())
    if spread < LEAST_SPREAD or doubts.max() == doubts.min():
        return np.full(len(doubts), 1.0 - float(np.average(doubts, weights=weights)))
    standard = (suspicion - suspicion.mean()) / spread

    def objective(x: Array) -> tuple[float, Array]:
        line = x[0] + x[1] * standard
        value = weights @ (np.logaddexp(0.0, line) - doubts * line) + 0.5e-3 * x @ x
        slope = weights * (expit(line) - doubts)
        return float(value), np.array([slope.sum(), slope @ standard]) + 1e-3 * x

    share = float(np.clip(np.average(doubts, weights=weights), 1e-6, 1.0 - 1e-6))
    start = np.array([np.log(share / (1.0 - share)), 1.0])
    found = minimize(
        objective, start, jac=True, method="L-BFGS-B", bounds=[(None, None), (1e-3, None)]
    )
    return np.asarray(expit(-(found.x[0] + found.x[1] * standard)))
