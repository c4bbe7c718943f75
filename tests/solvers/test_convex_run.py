"""Convex losses: the least squares fit that descents start from, and how exactly they end."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC

from htsvm.baselines import HingeSVC
from htsvm.losses import Hinge
from htsvm.problems.build import stated_problems
from htsvm.solvers.newton.convex import ConvexRun
from htsvm.solvers.newton.ridge import ridge_point
from htsvm.solvers.newton.solver import Newton
from htsvm_paper.baselines import PinballSVC


def noisy(m, n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=m) > 0.2, 1, -1)
    return X, y


def stated(X, y, weights=None, C=1.0, fit_intercept=True):
    (problem,) = stated_problems(
        X, (y > 0).astype(int), weights, np.ones(2), C=C, loss=Hinge(),
        fit_intercept=fit_intercept, multiclass=False, balanced=False,
    )  # fmt: skip
    return problem


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_ridge_point_solves_the_normal_equations(sparse, intercept):
    X, y = noisy(80, 3)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=80)
    problem = stated(sp.csr_matrix(X) if sparse else X, y, weights, 0.7, intercept)
    found = ridge_point(problem, problem.penalty)
    columns = np.column_stack([X, np.ones(80)]) if intercept else X
    ridge = np.diag([1.0] * 3 + [0.0] * intercept)
    p = 0.7 * weights
    expected = np.linalg.solve(columns.T @ (p[:, None] * columns) + ridge, columns.T @ (p * y))
    np.testing.assert_allclose(found[: len(expected)], expected, rtol=1e-10)
    assert intercept or found[-1] == 0.0


@pytest.mark.parametrize("kind", [HingeSVC, PinballSVC])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_few_columns_are_solved_to_the_end(kind, C):
    X, y = noisy(3000, 4)
    clf = kind(C=C).fit(X, y)
    assert clf.certificate_[0].relative_duality_gap < 1e-6


def test_few_columns_end_no_higher_than_libsvm():
    X, y = noisy(1500, 2)
    ours, theirs = HingeSVC().fit(X, y), SVC(kernel="linear", tol=1e-6).fit(X, y)
    problem = stated(X, y)
    at = [problem.objective_at(f.coef_[0], float(f.intercept_[0])) for f in (ours, theirs)]
    assert at[0] <= (1.0 + 1e-8) * at[1]


def test_a_further_round_that_leads_away_is_taken_back(monkeypatch):
    X, y = noisy(1500, 2)
    problem, solver = stated(X, y), Newton(tol=1e-3)
    run = ConvexRun(problem, solver, np.random.default_rng(0))
    plain = ConvexRun._round
    misled = []

    def astray(self, loss, goal, *args, **kwargs):
        lag = plain(self, loss, goal, *args, **kwargs)
        if goal < self.options.tol:
            misled.append(self.residual)
            self.rows.move(5.0 * self.rows.w, self.rows.b)
            self.residual = 1.0
        return lag

    monkeypatch.setattr(ConvexRun, "_round", astray)
    result = run.run(None)
    assert len(misled) == 1
    assert result.converged
    assert result.residual <= solver.tol
    best = SVC(kernel="linear", tol=1e-6).fit(X, y)
    lowest = problem.objective_at(best.coef_[0], float(best.intercept_[0]))
    assert result.objective <= 1.01 * lowest
