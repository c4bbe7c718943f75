"""The search for several classes: L-BFGS and its stand-ins, the starts, and which of them wins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.linear_model import Ridge

from htsvm.linalg import Quadratic, as_operator
from htsvm.losses import HybridTruncated
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers import Newton, lbfgs
from htsvm.solvers.multiclass import search as multiclass_search
from htsvm.solvers.multiclass.smoothed import Smoothed, SmoothMulticlass, rounded, sigmoid


def several(seed=0, m=90, k=3, C=1.0, cap=1.0, wrong=0.2, sparse=False, fit_intercept=True):
    rng = np.random.default_rng(seed)
    labels = np.arange(m) % k
    X = rng.normal(size=(m, 4)) + 2.0 * np.eye(k, 4)[labels]
    labels = np.where(rng.random(m) < wrong, rng.integers(k, size=m), labels)
    weight = 0.5 + rng.random(m)
    return MulticlassProblem(
        operator=as_operator(sp.csr_matrix(X) if sparse else X), labels=labels.astype(np.intp),
        n_classes=k, penalty=C * weight, loss=HybridTruncated(cap=cap),
        regularizer=Quadratic(None, 4), C=C, fit_intercept=fit_intercept,
    )  # fmt: skip


def stages(loss):
    return [rounded(loss), sigmoid(loss, 0.5), rounded(loss.stretched(np.inf))]


def value_gradient(smoothed, z, stage):
    smoothed.stage = stage
    value, slopes = smoothed.value_slopes(smoothed.image(z))
    own = smoothed.smooth(z)
    return value + 0.5 * float(np.vdot(z, own)), own + smoothed.pull(slopes)


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_gradient_of_a_stand_in_is_its_derivative(place, sparse, fit_intercept):
    smoothed = Smoothed(several(1, sparse=sparse, fit_intercept=fit_intercept))
    stage = stages(smoothed.problem.loss)[place]
    rng = np.random.default_rng(0)
    z = rng.normal(size=(3, 5))
    z[:, 4] *= fit_intercept
    _, gradient = value_gradient(smoothed, z, stage)
    for _ in range(5):
        d = rng.normal(size=(3, 5))
        d[:, 4] *= fit_intercept
        high, low = (value_gradient(smoothed, z + t * d, stage)[0] for t in (1e-6, -1e-6))
        assert float(np.vdot(gradient, d)) == pytest.approx((high - low) / 2e-6, rel=1e-4)


def test_lbfgs_ends_where_scipy_does():
    problem = several(2)
    smoothed, stage = Smoothed(problem), rounded(problem.loss.stretched(np.inf))

    def function(v):
        value, gradient = value_gradient(smoothed, v.reshape(3, 5), stage)
        return value, gradient.ravel()

    wanted = minimize(function, np.zeros(15), jac=True, tol=1e-10)
    smoothed.stage = stage
    z, slopes, steps = lbfgs.minimise(smoothed, np.zeros((3, 5)), 300, 0.0)
    assert steps > 3
    assert function(z.ravel())[0] == pytest.approx(wanted.fun, rel=1e-8)
    np.testing.assert_allclose(function(z.ravel())[1], 0.0, atol=1e-3)
    np.testing.assert_allclose(slopes, smoothed.value_slopes(smoothed.image(z))[1], atol=1e-12)


def test_least_squares_is_a_multiple_of_ridge():
    problem = several(3)
    z = Smoothed(problem).least_squares()
    ridge = Ridge(alpha=1.0)
    ridge.fit(problem.operator.X, np.eye(3)[problem.labels], sample_weight=problem.penalty)
    W = ridge.coef_ - ridge.coef_.mean(axis=0)
    factor = float(np.vdot(W, z[:, :-1]) / np.vdot(W, W))
    np.testing.assert_allclose(z[:, :-1], factor * W, atol=1e-6 * factor)
    values = [
        problem.objective_at(t * z[:, :-1], t * (z[:, -1] - z[:, -1].mean()))
        for t in (0.4, 1.0, 2.5)
    ]
    assert values[1] == min(values)


@pytest.mark.parametrize("names", [("convex",), ("annealed",), ("least_squares", "pushed")])
def test_starts_by_name_and_no_others(names):
    result = Newton(starts=names).solve(several(4, wrong=0.4))
    assert set(result.starts) == {"constant", *names}
    assert result.start in result.starts
    assert result.converged
    assert result.objective <= min(result.starts.values())


@pytest.mark.parametrize("seed", range(4))
def test_a_warm_start_is_one_more(seed):
    problem = several(seed, wrong=0.4, C=3.0)
    solver = Newton()
    cold = solver.solve(problem)
    rng = np.random.default_rng(seed)
    away = rng.normal(size=(3, 4)), rng.normal(size=3), None
    for compare in (True, "search"):
        warm = replace(solver, compare_warm=compare).solve(problem, start=away)
        assert warm.objective <= (1.0 + 1e-3) * cold.objective
    there = cold.coef, cold.intercept, cold.multipliers
    again = replace(solver, compare_warm=True).solve(problem, start=there)
    assert again.objective <= (1.0 + 1e-6) * cold.objective


def test_random_numbers_and_pushes_are_those_of_the_seed():
    problem = several(5, wrong=0.5, C=10.0)
    one, two = (Newton(n_restarts=3, random_state=7).solve(problem).coef for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_many_rows_are_searched_by_some_of_them(monkeypatch):
    problem = several(6, m=3000)
    whole = Newton().solve(problem)
    monkeypatch.setattr(multiclass_search, "VALUES", 300 * 4 * 3)
    some = Newton().solve(problem)
    assert some.converged
    assert some.objective == pytest.approx(whole.objective, rel=1e-2)
    assert some.passes < whole.passes


@pytest.mark.parametrize("C", [1.0, 1e6])
def test_a_hard_margin_is_that_of_a_smaller_C(C):
    """Without noise no multiplier is at its bound, and the solution does not depend on C."""
    rng = np.random.default_rng(0)
    X = np.repeat(10.0 * np.eye(3, 4), 20, axis=0) + rng.normal(size=(60, 4))
    labels = np.repeat(np.arange(3), 20).astype(np.intp)
    problem = replace(several(0), operator=as_operator(X), labels=labels, penalty=np.full(60, C))
    result = Newton(tol=1e-6).solve(replace(problem, C=C))
    q = problem.violations_at(result.coef, result.intercept)
    assert result.converged
    assert q.max() <= 1e-4
    assert problem.energy(result.coef) == pytest.approx(
        0.5 * -result.multipliers.clip(max=0).sum(), rel=1e-3
    )


def test_points_of_a_grid_come_near_the_solutions():
    problem = several(7, wrong=0.3)
    grid = SmoothMulticlass(problem)
    for C in (0.1, 1.0, 10.0):
        for cap in (1.0, np.inf):
            stated = replace(problem.scaled(C), loss=HybridTruncated(cap=cap))
            near = grid.solve(stated)
            exact = Newton().solve(stated)
            assert near.objective <= 1.1 * exact.objective
            assert near.objective >= exact.objective * (1.0 - 1e-3) or cap < np.inf
