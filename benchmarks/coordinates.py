"""What the coordinates of the solver are worth: ``python -m benchmarks.coordinates``.

Prints two tables: 60 problems with shifted and scaled columns against the best point known of each;
and the change of the objective under shifts and scales of columns, the penalty kept equivalent. Two
versions are compared by ``python -m benchmarks.compare``.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.datasets import make_classification

from htsvm import HTSVC

DRAWS = 1000
# Further seeds and restarts that look for the best point of each of the 60 problems.
PROBLEMS, SEEDS, RESTARTS = range(200, 260), 3, 4


def hostile(seed):
    """Return a problem whose columns have scales and offsets of 1e-4 to 1e4, and its C."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(150, 600)), int(rng.integers(4, 16))
    X, y = make_classification(m, n, n_informative=max(2, n // 2), n_redundant=0, random_state=seed)
    y = np.where(rng.random(m) < 0.2, 1 - y, y)
    scale = 10 ** rng.uniform(-4, 4, n)
    offset = scale * 10 ** rng.uniform(-4, 4, n) * rng.choice([-1, 1], n)
    return X * scale + offset, y, float(2.0 ** rng.uniform(-4, 4))


def fitted(X, y, C, **options):
    """Return objective, whether it is certified, and the CPU seconds of a fit."""
    began = time.process_time()
    model = HTSVC(C=C, **options).fit(X, y)
    seconds = time.process_time() - began
    return float(model.objective_[0]), bool(model.certificate_[0].certified), seconds


def change_of_objective(seed):
    """Return the objective on shifted, scaled columns over that on the columns, and certificates.

    The regulariser is scaled with the columns: the problem is the same.
    """
    from htsvm.linalg import Quadratic, as_operator
    from htsvm.losses import HybridTruncated
    from htsvm.problems import Problem
    from htsvm.solvers import Newton, solve_certified

    rng = np.random.default_rng(seed)
    m, n, C = int(rng.integers(150, 400)), int(rng.integers(3, 12)), float(2 ** rng.uniform(-4, 4))
    X, y = make_classification(
        m, n, n_informative=max(2, n // 2), n_redundant=0, n_clusters_per_class=1, random_state=seed
    )
    y = np.where((y == 1) ^ (rng.random(m) < 0.2), 1, -1).astype(np.int8)
    scale = 10 ** rng.uniform(-6, 6, n)
    shift = scale * X.std(axis=0) * 10 ** rng.uniform(-4, 6, n) * rng.choice([-1, 1], n)
    reached = []
    for rows, R in ((X, None), (X * scale + shift, scale**2)):
        problem = Problem(
            as_operator(rows), y, np.full(m, C), HybridTruncated(), Quadratic(R, n), C
        )
        reached.append(solve_certified(problem, Newton())[1])
    plain, moved = reached
    return moved.objective / plain.objective, plain.certified and moved.certified


def main():
    """Print the tables."""
    warnings.simplefilter("ignore")
    objective, certified, seconds = np.array([fitted(*hostile(seed)) for seed in PROBLEMS]).T
    others = [
        [fitted(*hostile(s), random_state=k, n_restarts=RESTARTS)[0] for s in PROBLEMS]
        for k in range(1, 1 + SEEDS)
    ]
    best = np.min([*others, objective], axis=0)
    print(f"{len(PROBLEMS)} problems: {np.mean(objective > 1.005 * best):.0%} above 0.5 %, mean "
          f"{np.mean(objective / best):.4f}, certified {certified.mean():.0%}, "
          f"{1e3 * np.median(seconds):.1f} ms")  # fmt: skip
    ratios, sure = np.array([change_of_objective(seed) for seed in range(DRAWS)]).T
    print(f"{DRAWS} shifts and scales: {np.mean(np.abs(ratios - 1.0) < 1e-3):.1%} change the "
          f"objective by less than 0.1 %; certified {sure.mean():.1%}")  # fmt: skip


if __name__ == "__main__":
    main()
