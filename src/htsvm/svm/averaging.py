"""An average of the points of a grid in the place of a choice.

Held-out labels that may be wrong tell two good points apart badly, and whoever takes the best one
pays for its luck: on a few hundred rows some two points of accuracy. The points that are as good as
the best within the error of the count err in different places; their mean is steadier than any.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from htsvm._typing import Array
from htsvm.svm.choosing import agreement, centred, predicted, root_mean_square

# Points whose accuracy is within so many standard errors of the best take part, weighted by this
# power of their agreement (robust-probabilities.md).
ERRORS, POWER = 1.0, 4
# Agreement below this, with labels that say nothing, weighs as much.
LEAST_AGREEMENT = 1e-3


class Average(NamedTuple):
    """What held-out samples say of points, and the weights of the points in the average.

    Attributes
    ----------
    shares, factors : ndarray of shape (n_points,)
        The share of each point, and what its coefficients are multiplied by: its share over its
        held-out size, so that points count alike however large their decision values are.
    accuracy, agreement, constant : ndarray of shape (n_points,)
        On all held-out samples; whether all of them get the same class.
    """

    shares: Array
    factors: Array
    accuracy: Array
    agreement: Array
    constant: Array


def averaged(decisions: Array, codes: Array, weights: Array) -> Average:
    """Return the average of points, from the decision values of held-out samples.

    Parameters
    ----------
    decisions : ndarray of shape (n_points, n_held, n_scores)
        Their scores; one per sample for two classes, else one per class.
    codes, weights : ndarray of shape (n_held,)
        The classes of the samples, and how often each counts.
    """
    mass, counted, share = float(weights.sum()), weights > 0.0, weights / weights.sum()
    rows = []
    for point in decisions:
        found = predicted(point)
        same = len(np.unique(found[counted])) == 1
        size = root_mean_square(centred(point), share)
        rows.append((weights @ (found == codes), agreement(point, codes, weights), same, size))
    accuracy, agreed, constant, size = np.array(rows).T
    accuracy, constant = accuracy / mass, constant > 0.0
    able = ~constant | constant.all()
    top = float(accuracy[able].max())
    error = np.sqrt(top * (1.0 - top) / mass)
    able &= accuracy >= top - ERRORS * error - 1e-12
    shares = np.where(able, np.maximum(agreed, LEAST_AGREEMENT) ** POWER, 0.0)
    shares /= shares.sum()
    factors = shares * float(shares @ size) / np.where(size > 0.0, size, 1.0)
    return Average(shares, factors, accuracy, agreed, constant)
