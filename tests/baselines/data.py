"""Data that the tests of several baselines share."""

import numpy as np


def noisy(m=80, n=4, seed=0, flip=0.1):
    """Return a noisy linear rule with labels in {-1, +1}, some of them flipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    y = np.where(X @ rng.normal(size=n) + 0.4 * rng.normal(size=m) + 0.3 > 0.0, 1, -1)
    return X, np.where(rng.random(m) < flip, -y, y)


def words(m=300, n=2500, seed=0):
    """Return sparse rows with very many columns, and noisy labels."""
    import scipy.sparse as sp

    rng = np.random.default_rng(seed)
    X = sp.random(m, n, density=0.01, format="csr", random_state=rng)
    y = np.where(X @ rng.normal(size=n) > 0.0, 1, -1)
    return X, np.where(rng.random(m) < 0.1, -y, y)


def violations(clf, X, y):
    return 1.0 - y * clf.decision_function(X)


def objective(clf, X, y, C, loss):
    """Return the objective by its formula, from the public attributes alone."""
    energy = 0.5 * float(np.sum(clf.coef_**2))
    return energy + C * float(np.sum(loss(violations(clf, X, y))))
