"""Linear systems: formed and by products, against the normal equations written out."""

import numpy as np
import pytest

from htsvm.solvers.system import RidgeSystem
from tests.solvers.test_admm import make_problem, noisy_data


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("R", [None, 2.0, "diagonal"])
@pytest.mark.parametrize("offset", [None, 1.0])
def test_both_forms_solve_the_normal_equations(fit_intercept, R, offset):
    X, y = noisy_data(20, 35, seed=6)
    R = np.linspace(0.5, 2.0, 35) if R == "diagonal" else R
    rng = np.random.default_rng(0)
    problem = make_problem(X, y, R=R, fit_intercept=fit_intercept)
    target, offset = rng.normal(size=20), None if offset is None else rng.normal(size=35)
    formed, by_products = RidgeSystem(problem), RidgeSystem(problem)
    by_products.formed = False
    for some in (np.arange(20), np.array([1, 4, 5, 17]), np.arange(20)):
        weights = np.zeros(20)
        weights[some] = rng.uniform(0.3, 2.0, len(some))
        N = np.column_stack([X, np.ones(20)]) * y[:, None]
        N = N if fit_intercept else N[:, :-1]
        H = (N.T * weights) @ N
        H[:35, :35] += np.diag(problem.regularizer.diagonal())
        rhs = (N.T * weights) @ target
        rhs[:35] -= 0.0 if offset is None else offset
        exact = np.linalg.solve(H, rhs)
        options = {"with_intercept": fit_intercept, "offset": offset}
        for system, accuracy in ((formed, 1e-8), (by_products, 1e-4)):
            for _ in range(2):
                z = system.solve(weights, target, **options)
                np.testing.assert_allclose(z[: len(exact)], exact, atol=accuracy)
                assert fit_intercept or z[-1] == 0.0


def test_samples_that_leave_take_their_rounding_with_them():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.where(rng.random(40) < 0.5, 1, -1)
    X[:5] *= 1e9
    system, target = RidgeSystem(make_problem(X, y)), rng.normal(size=40)
    for first in (0, 5, 7, 5, 31):
        weights = np.where(np.arange(40) >= first, 0.7, 0.0)
        z = system.solve(weights, target, with_intercept=True)
        fresh = RidgeSystem(make_problem(X, y)).solve(weights, target, with_intercept=True)
        np.testing.assert_array_equal(z, fresh)


def test_without_samples_nothing_moves_but_b_stays():
    X, y = noisy_data(20, 3, seed=6)
    system = RidgeSystem(make_problem(X, y))
    z = system.solve(np.zeros(20), np.ones(20), with_intercept=True, start=np.full(4, 2.0))
    np.testing.assert_array_equal(z, [0.0, 0.0, 0.0, 2.0])
