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

HINGE_SUPPORT = 17

# Pinball SVM, C = 1, by tau: objective, coef, intercept. Every sample is a support vector.
PINBALL = {
    0.5: (16.629367, np.array([0.752046, -0.629756]), -0.175320),
    1.0: (17.778628, np.array([0.539175, -0.506541]), -0.225419),
}
# Least squares SVM, gamma = 1 (C = 1/2).
LEAST_SQUARES = (8.864098, np.array([0.506453, -0.356956]), -0.074581)
# Ramp SVM, C = 1, by ceiling, from the hinge solution: and the number of support vectors.
RAMP = {
    1.0: (8.936313, np.array([1.286334, -1.283169]), -0.047448, 7),
    2.0: (11.621543, np.array([1.365505, -1.095640]), -0.261270, 12),
}


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
