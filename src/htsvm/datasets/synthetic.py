"""The paper's synthetic data: two Gaussian classes in the plane."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtr
from sklearn.utils import check_scalar

from htsvm._seeds import generator_of
from htsvm._typing import Array

# The centre of class +1 (class -1 has the opposite one), and the variances that both share.
CENTRE = np.array([0.5, -3.0])
VARIANCE = np.array([0.2, 3.0])

# No classifier is right more often than this: half the Mahalanobis distance, sqrt(17) / 2.
BAYES_ACCURACY = float(ndtr(math.sqrt(float(np.sum(CENTRE**2 / VARIANCE)))))


def make_two_gaussians(n_per_class: int, *, random_state: Any = None) -> tuple[Array, Array]:
    """Draw samples of two Gaussian classes in the plane.

    Parameters
    ----------
    n_per_class : int
        Samples of each class.
    random_state : int, RandomState, Generator or None, default=None
        Drives the draw. None always takes the same seed; a generator goes on where it was.

    Returns
    -------
    X : ndarray of shape (2 * n_per_class, 2)
        Samples, those of class +1 first.
    y : ndarray of shape (2 * n_per_class,)
        Labels +1 and -1.

    Notes
    -----
    Class +1 has the centre (0.5, -3), class -1 the opposite one; both have the covariance
    diag(0.2, 3). `htsvm.datasets.BAYES_ACCURACY`, 98.0375 %, is the best that is possible.
    """
    check_scalar(n_per_class, "n_per_class", (int, np.integer), min_val=1)
    rng = generator_of(random_state)
    y = np.repeat([1, -1], n_per_class)
    noise = rng.standard_normal((2 * n_per_class, 2)) * np.sqrt(VARIANCE)
    return np.where(y[:, None] == 1, CENTRE, -CENTRE) + noise, y
