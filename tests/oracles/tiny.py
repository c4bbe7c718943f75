"""Tiny random problems whose global optima are known (`global_optima.json`)."""

from __future__ import annotations

import numpy as np

COUNT = 24


def tiny(seed):
    """Return X, y in {-1, +1} and C: 4 to 10 samples, one or two features."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(4, 11)), 1 + seed % 2
    X = rng.normal(size=(m, n)) * rng.choice([0.5, 1.0, 3.0])
    y = np.where(rng.random(m) < 0.5, 1, -1)
    y[:2] = 1, -1
    X[:, 0] += 0.5 * y
    return X, y, [0.3, 1.0, 3.0][seed % 3]
