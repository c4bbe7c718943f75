"""Small samples with several views."""

from __future__ import annotations

import numpy as np


def two_views(m=160, seed=0, wrong=0.1):
    """Return two views of 4 and 6 columns, and labels of which some are wrong."""
    rng = np.random.default_rng(seed)
    y = np.arange(m) % 2
    first = rng.normal(size=(m, 4)) + 1.2 * y[:, None]
    second = rng.normal(size=(m, 6)) + 0.8 * y[:, None]
    flipped = rng.random(m) < wrong
    return [first, second], np.where(flipped, 1 - y, y)


def three_classes(m=150, seed=0):
    """Return two views and labels of three classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(m) % 3
    centres = 3.0 * rng.normal(size=(3, 5)), 2.0 * rng.normal(size=(3, 3))
    return [rng.normal(size=(m, len(c[0]))) + c[y] for c in centres], y


def noisy_classes(m=90, seed=0, share=0.2, apart=0.5):
    """Three classes that overlap, in two views, with some labels moved to the next class."""
    views, y = three_classes(m, seed)
    rng = np.random.default_rng(seed)
    moved = rng.random(m) < share
    shifted = [apart * X + (1.0 - apart) * rng.normal(size=X.shape) for X in views]
    return shifted, np.where(moved, (y + 1) % 3, y)


def golden():
    """Return the two views of a fixed set of 30 samples, and its labels."""
    i = np.arange(1.0, 31.0)
    clean = np.where(i % 2 == 1, 1.0, -1.0)
    first = np.column_stack([np.sin(1.7 * i) + 0.6 * clean, np.cos(2.3 * i) - 0.4 * clean])
    second = np.column_stack(
        [np.sin(0.9 * i) + 0.5 * clean, np.cos(1.1 * i) + 0.3 * clean, np.sin(2.9 * i)]
    )
    return [first, second], np.where(np.isin(i, (3, 14, 25)), -clean, clean).astype(int)
