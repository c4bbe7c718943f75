"""Learn how trust depends on evidence: the mean and covariance in `htsvm.audit.trust`.

``python -m benchmarks.audit_learn`` prints them, from the design sets with made noise alone.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from benchmarks.audit_data import DESIGN, KINDS, SHARES, made
from htsvm.audit import audit_labels

ROUNDS, STEPS = 5, 50
Pair = tuple[np.ndarray, np.ndarray]


def mode(rows: np.ndarray, right: np.ndarray, mean: np.ndarray, spread: np.ndarray) -> Pair:
    """Return the most likely coefficients of a set under a normal prior, and their covariance."""
    precision, b = np.linalg.inv(spread), mean.copy()
    hessian = precision
    for _ in range(STEPS):
        p = expit(rows @ b)
        hessian = (rows * np.maximum(p * (1.0 - p), 1e-6)[:, None]).T @ rows + precision
        step = np.linalg.solve(hessian, rows.T @ (right - p) - precision @ (b - mean))
        b = b + step * min(1.0, 2.0 / max(float(np.linalg.norm(step)), 1e-12))
    return b, np.linalg.inv(hessian)


def learned(sets: list[Pair]) -> Pair:
    """Return mean and covariance of the coefficients over sets."""
    mean, spread = np.array([0.7, 0.8, 1.5, 0.3]), np.diag([1.0, 0.5, 1.0, 0.5])
    for _ in range(ROUNDS):
        fits = [mode(rows, right, mean, spread) for rows, right in sets]
        every = np.array([b for b, _ in fits])
        mean = every.mean(axis=0)
        spread = np.cov(every.T) + np.mean([covariance for _, covariance in fits], axis=0)
    return mean, spread


def main() -> None:
    sets = []
    for name in DESIGN:
        for kind in KINDS:
            for share in SHARES:
                data = made(name, kind, share, 0)
                audit = audit_labels(data.X, data.y)
                sets.append((audit.evidence, (data.y == data.y_true).astype(float)))
    mean, spread = learned(sets)
    print(np.array2string(mean, precision=2, separator=", "))
    print(np.array2string(spread, precision=2, separator=", "))


if __name__ == "__main__":
    main()
