"""The golden data set (baselines, section 0.2) and its known optima (section 4)."""

from __future__ import annotations

import numpy as np

# Objective of the hybrid truncated SVM, C = 1, reached by the DC solver from beta = 0.
HYBRID_TRUNCATED_OBJECTIVE = 9.201125
HYBRID_TRUNCATED_COEF = np.array([1.306232, -1.516825])
HYBRID_TRUNCATED_INTERCEPT = 0.056172

# Objective of the hinge SVM, C = 1.
HINGE_OBJECTIVE = 13.784450
HINGE_COEF = np.array([0.949606, -0.862294])
HINGE_INTERCEPT = -0.124568


def labels() -> np.ndarray:
    """Return the 30 labels, three of them flipped."""
    i = np.arange(1, 31)
    y = np.where(i % 2 == 1, 1, -1)
    y[[2, 13, 24]] *= -1
    return y


def view_a() -> np.ndarray:
    """Return view A: 30 x 2, the one of single-view methods."""
    i = np.arange(1, 31)
    clean = np.where(i % 2 == 1, 1, -1)
    return np.column_stack([np.sin(1.7 * i) + 0.6 * clean, np.cos(2.3 * i) - 0.4 * clean])


def view_b() -> np.ndarray:
    """Return view B: 30 x 3."""
    i = np.arange(1, 31)
    clean = np.where(i % 2 == 1, 1, -1)
    return np.column_stack(
        [np.sin(0.9 * i) + 0.5 * clean, np.cos(1.1 * i) + 0.3 * clean, np.sin(2.9 * i)]
    )
