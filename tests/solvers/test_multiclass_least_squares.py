from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from htsvm.linalg import Quadratic, as_operator, kernels
from htsvm.losses import HybridTruncated
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers import Newton, solve_certified
from htsvm.solvers.multiclass import search as multiclass_search
from htsvm.solvers.multiclass.finish import finish


def without_majority(m=1500, k=6, seed=0):
    """Return data whose label is right with probability 0.4, else any other class."""
    rng = np.random.default_rng(seed)
    true = rng.integers(k, size=m)
    X = rng.normal(size=(m, 8)) + 2.0 * rng.normal(size=(k, 8))[true]
    moved = (true + rng.integers(1, k, size=m)) % k
    return X, np.where(rng.random(m) < 0.4, true, moved).astype(np.intp), true


def stated(X, labels, *, C=0.01, cap=1.0, weight=None, fit_intercept=True, R=None):
    weight = np.ones(len(labels)) if weight is None else np.asarray(weight, dtype=float)
    return MulticlassProblem(
        as_operator(X), labels, int(labels.max()) + 1, C * weight, HybridTruncated(cap=cap),
        Quadratic(R, X.shape[1]), C=C, fit_intercept=fit_intercept,
    )  # fmt: skip


@pytest.mark.parametrize("sweeps", [False, True])
@pytest.mark.parametrize("cap", [1.0, 1.5])
def test_classes_are_found_where_none_has_a_majority(monkeypatch, cap, sweeps):
    if sweeps:
        if not kernels.COMPILED:
            pytest.skip("sweeps need the compiled kernels")
        everywhere = partial(finish, sweeping=lambda *_: True)
        monkeypatch.setattr(multiclass_search, "finish", everywhere)
    X, labels, true = without_majority()
    convex, _ = solve_certified(stated(X, labels, cap=np.inf), Newton())
    problem = stated(X, labels, cap=cap)
    at_convex = problem.violations(problem.levels(convex.coef, convex.intercept))
    assert abs(convex.objective / (1.2 * problem.penalty.sum()) - 1.0) < 0.01
    cold, certificate = solve_certified(problem, Newton())
    warm, _ = solve_certified(
        problem, Newton(), start=(convex.coef, convex.intercept, convex.multipliers)
    )
    assert certificate.certified
    for result in (cold, warm):
        assert result.objective < 0.95 * problem.objective(convex.coef, at_convex)
        guess = (X @ result.coef.T + result.intercept).argmax(axis=1)
        assert np.mean(guess == true) > 0.9


def test_projection_ends_where_rounding_brings_entries_back():
    """Equal levels but for the last digits used to make the compiled kernel go round forever."""
    rng = np.random.default_rng(0)
    m, k = 20_000, 6
    V = 1.0 + rng.integers(-4, 5, size=(m, k)) * np.finfo(float).eps
    V -= rng.choice([0.0, 1.0 / 3.0, 0.1], size=(m, k))
    c = rng.choice([0.1, 1.0 / 3.0, 0.3, 0.012], size=m)
    out, counts = np.empty_like(V), np.empty(m, dtype=np.intc)
    kernels.active.simplex_step(V, c, out, counts)
    np.testing.assert_allclose(out.sum(axis=1), c, rtol=1e-12)
    np.testing.assert_array_equal(np.count_nonzero(out, axis=1), counts)
