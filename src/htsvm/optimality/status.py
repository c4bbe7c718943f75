"""Where each sample stands, in plain words."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.losses import Loss


class SampleStatus(IntEnum):
    """What the model makes of a sample, by its violation q = 1 - y f(x)."""

    SAFE = 0
    """Beyond the margin, q < 0: no loss, no pull."""
    ON_MARGIN = 1
    """q = 0: holds the margin in place."""
    INSIDE_MARGIN = 2
    """On the straight part of the loss: pulls with full weight."""
    TRANSITION = 3
    """On the parabola: pulls the less the further out it is."""
    IGNORED = 4
    """At or beyond the cap: taken for an outlier, no pull."""


def sample_status(q: Any, loss: Loss, tol: float = 1e-9) -> Array:
    """Return the `SampleStatus` of each sample.

    Parameters
    ----------
    q : array
        Violations 1 - y f(x).
    loss : Loss
        The loss; a convex one has neither transition zone nor ignored samples.
    tol : float, default=1e-9
        A violation of at most this size counts as zero.

    Returns
    -------
    ndarray of int8
        Of the shape of `q`.
    """
    q = np.asarray(q)
    bend, cap = loss.curved_interval
    status = np.full(q.shape, int(SampleStatus.SAFE), dtype=np.int8)
    status[q >= -tol] = SampleStatus.ON_MARGIN
    status[q > tol] = SampleStatus.INSIDE_MARGIN
    if np.isfinite(cap):
        status[q > max(bend, tol)] = SampleStatus.TRANSITION
        status[(q >= cap) & (q > tol)] = SampleStatus.IGNORED
    return status
