"""Of points that held-out samples hardly tell apart, the one with the fewest support vectors.

With a kernel every support vector costs time at each prediction. What this choice saves and costs
is in docs/developers/choosing-c-and-cap.md.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from htsvm._typing import Array
from htsvm.svm.choosing import Choice
from htsvm.svm.folds import Held, predicted

# By how many standard errors of the difference in accuracy a point may be worse than the best.
ERRORS = 2.0
# By how much its agreement may be lower, and in units of 1 - agreement^2, as errors of correlations
# are: where the best is nearly certain a little less is much.
MOST_LOWER, SHARE_LOWER = 0.05, 0.08


def slack(agreement: float) -> float:
    """Return by how much the agreement may be lower than that of the best point."""
    return min(MOST_LOWER, SHARE_LOWER * (1.0 - agreement**2))


def sparser(held: Held, agreement: Array, choice: Choice) -> Choice:
    """Return the point with the fewest support vectors of those hardly worse than the chosen one.

    Parameters
    ----------
    held : Held
        The decisions on the held-out samples, of two classes; of more the choice stays.
    agreement : ndarray of shape (n_caps, n_Cs)
        The agreement of each point.
    choice : Choice
        The best point.
    """
    constant = held.constant()
    if held.decisions.shape[-1] > 1 or held.support is None or constant[choice.place]:
        return choice
    named, accuracy = predicted(held.decisions), held.accuracy()
    changed = held.share(named != named[choice.place])
    error = np.sqrt(changed / held.size)
    able = accuracy >= accuracy[choice.place] - ERRORS * error - 1e-12
    best = float(agreement[choice.place])
    able &= (agreement >= best - slack(best)) & ~constant
    # Of as many support vectors, the higher agreement; agreements differ by at most two.
    cost = np.where(able, held.support - 0.1 * agreement, np.inf)
    i, j = np.unravel_index(int(cost.argmin()), cost.shape)
    place = int(i), int(j)
    if place == choice.place:
        return choice
    order = choice.order.copy()
    order[place] = order.max() + 1.0
    return replace(choice, place=place, order=order, remarks=())
