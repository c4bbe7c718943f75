"""Small labelled data with known wrong labels."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs

from htsvm.datasets import flip_labels


def blobs(n=240, classes=3, rate=0.15, seed=0, spread=1.0):
    """Return samples, labels as given, labels as they are, and which are wrong."""
    centres = 5.0 * np.eye(classes, 4)
    X, y = make_blobs(n, centers=centres, cluster_std=spread, random_state=seed)
    noisy, wrong = flip_labels(y, rate, random_state=seed)
    return X, noisy, y, wrong
