"""The fits of a grid, and the directions they start from."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.linear_model import Ridge

from htsvm.losses import HybridTruncated
from htsvm.problems.build import stated_problems
from htsvm.solvers import Newton
from htsvm.solvers.certified import certify_result
from htsvm.svm.grid import Grid, shrunk

CAPS, CS = np.array([np.inf, 4.0, 2.0, 1.0]), np.array([0.1, 10.0, 1.0])


def loss_at(cap):
    return HybridTruncated(cap=cap)


def problem_of(X, y, weights=None):
    options = {"C": 1.0, "loss": HybridTruncated(), "fit_intercept": True}
    k = int(y.max()) + 1
    return stated_problems(X, y, weights, None, np.arange(k), multiclass=k > 2, **options)[0]


def noisy(m=200, k=2, seed=0):
    return make_classification(
        m, 6, n_informative=4, n_classes=k, flip_y=0.3, random_state=seed, n_clusters_per_class=1
    )


def test_every_point_is_stationary():
    X, y = noisy()
    problem = problem_of(X, y)
    points = Grid(problem, CS, CAPS, loss_at, Newton(tol=1e-3, max_iter=1000)).solve()
    assert [len(row) for row in points] == [3, 3, 3, 3]
    for i, cap in enumerate(CAPS):
        for j, C in enumerate(CS):
            point = points[i][j]
            stated = replace(problem, loss=loss_at(cap)).scaled(C)
            assert certify_result(stated, point.result, 1e-2).certified, (cap, C)


def test_every_point_of_several_classes_is_near_a_minimum():
    X, y = noisy(k=3)
    problem = problem_of(X, y)
    points = Grid(problem, CS, CAPS, loss_at, Newton()).solve()
    for i, cap in enumerate(CAPS):
        for j, C in enumerate(CS):
            result = points[i][j].result
            stated = replace(problem, loss=loss_at(cap)).scaled(C)
            solver = Newton(tol=1e-4)
            start = (result.coef, result.intercept, result.multipliers)
            exact = solver.solve(stated, start=start)
            assert exact.objective <= result.objective <= 1.02 * exact.objective, (cap, C)
            if np.isinf(cap):
                cold = solver.solve(stated).objective
                assert result.objective <= 1.02 * cold, C


def test_a_point_alone_is_that_of_the_whole_grid():
    X, y = noisy()
    solver = Newton(tol=1e-3)
    whole = Grid(problem_of(X, y), CS, CAPS, loss_at, solver).solve()
    for i, cap in enumerate(CAPS):
        alone = Grid(problem_of(X, y), CS, CAPS, loss_at, solver)
        w, b, _ = alone.start_at(float(cap), 1.0)
        np.testing.assert_allclose(w, whole[i][2].result.coef)
        assert b == pytest.approx(whole[i][2].result.intercept)


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_matrix])
def test_directions_are_those_of_ridge_regression(wrap):
    X, y = noisy(150)
    X = X + 1.0
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 150)
    for strength in (0.5, 20.0):
        found = shrunk(problem_of(wrap(X), y, weights), strength, np.random.default_rng(0))
        alpha = strength * np.square(X).mean() * weights.sum()
        ridge = Ridge(alpha=alpha).fit(X, 2.0 * y - 1.0, sample_weight=weights).coef_
        np.testing.assert_allclose(found.W[0], ridge / np.linalg.norm(ridge), atol=0.02)
