"""HingeSVC and LeastSquaresSVC against interior points, SVC and Ridge."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.svm import SVC

from htsvm import certify
from htsvm.baselines import HingeSVC, LeastSquaresSVC
from htsvm.linalg import Quadratic, as_operator
from htsvm.losses import Hinge, HybridTruncated, LeastSquares
from htsvm.solvers import ADMM, LinearSystem, Problem
from tests.baselines.data import noisy, objective, words
from tests.oracles import golden
from tests.oracles.convex import solve_hinge, solve_least_squares

X_GOLDEN, Y_GOLDEN = golden.view_a(), golden.labels()


def hinge(q):
    return np.maximum(q, 0.0)


# --------------------------------------------------------------------------------- golden values


def assert_golden(clf, objective, coef, intercept):
    assert clf.objective_[0] == pytest.approx(objective, abs=1e-4)
    np.testing.assert_allclose(clf.coef_[0], coef, atol=1e-3)
    assert clf.intercept_[0] == pytest.approx(intercept, abs=1e-3)


def test_golden_hinge():
    clf = HingeSVC(tol=1e-6).fit(X_GOLDEN, Y_GOLDEN)
    assert_golden(clf, golden.HINGE_OBJECTIVE, golden.HINGE_COEF, golden.HINGE_INTERCEPT)
    assert clf.n_support_.sum() == golden.HINGE_SUPPORT


def test_golden_least_squares():
    clf = LeastSquaresSVC(C=0.5).fit(X_GOLDEN, Y_GOLDEN)
    assert_golden(clf, *golden.LEAST_SQUARES)
    assert clf.n_support_.sum() == len(Y_GOLDEN)


# ----------------------------------------------------------------------------------------- hinge


@pytest.mark.parametrize("C", [0.02, 1.0, 50.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_hinge_has_the_objective_of_svc_and_of_an_interior_point(seed, C):
    X, y = noisy(m=120, seed=seed)
    clf = HingeSVC(C=C, tol=1e-5).fit(X, y)
    reached = objective(clf, X, y, C, hinge)
    assert reached == pytest.approx(clf.objective_[0], rel=1e-12)
    assert reached == pytest.approx(solve_hinge(X, y, C=C).objective, rel=1e-5)
    svc = SVC(C=C, kernel="linear", tol=1e-6).fit(X, y)
    assert reached <= objective(svc, X, y, C, hinge) * (1 + 1e-5)


def test_every_sample_twice_is_twice_the_penalty():
    X, y = noisy()
    twice = HingeSVC(tol=1e-7).fit(np.vstack([X, X]), np.append(y, y))
    double = HingeSVC(C=2.0, tol=1e-7).fit(X, y)
    np.testing.assert_allclose(twice.coef_, double.coef_, atol=1e-5)


def make_problem(X, y, loss, C=1.0):
    operator = as_operator(np.asarray(X))
    y = np.asarray(y, dtype=np.int8)
    return Problem(operator, y, np.full(len(y), C), loss, Quadratic(None, X.shape[1]), C)


def test_admm_agrees_on_least_squares():
    X, y = noisy(seed=8)
    problem = make_problem(X, y, LeastSquares())
    by_admm = ADMM(tol=1e-5, max_iter=5000).solve(problem)
    assert by_admm.objective == pytest.approx(LinearSystem().solve(problem).objective, rel=1e-4)


# --------------------------------------------------------------------------------- least squares


@pytest.mark.parametrize("shape", [(100, 5), (20, 60)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_least_squares_is_ridge_regression(shape, fit_intercept):
    X, y = noisy(*shape, seed=9)
    X = X + 3.0
    weight = np.random.default_rng(1).uniform(0.0, 2.0, size=len(y)) * (np.arange(len(y)) % 5 > 0)
    for w in (None, weight):
        clf = LeastSquaresSVC(C=0.7, fit_intercept=fit_intercept).fit(X, y, sample_weight=w)
        peer = Ridge(alpha=1 / 1.4, fit_intercept=fit_intercept).fit(X, y, sample_weight=w)
        np.testing.assert_allclose(clf.coef_[0], peer.coef_, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(clf.intercept_[0], peer.intercept_, rtol=1e-8, atol=1e-10)
        exact = solve_least_squares(X, y, C=0.7, sample_weight=w, fit_intercept=fit_intercept)
        assert clf.objective_[0] == pytest.approx(exact.objective, rel=1e-7)


def test_least_squares_system_of_the_article():
    """The (m + 1) x (m + 1) system in (b, alpha), and alpha = gamma e."""
    X, y = noisy(m=40, seed=10)
    gamma = 3.0
    N = y[:, None] * X
    system = np.zeros((41, 41))
    system[0, 1:] = system[1:, 0] = y
    system[1:, 1:] = N @ N.T + np.eye(40) / gamma
    solution = np.linalg.solve(system, np.append(0.0, np.ones(40)))
    clf = LeastSquaresSVC(C=gamma / 2).fit(X, y)
    assert clf.intercept_[0] == pytest.approx(solution[0], abs=1e-10)
    np.testing.assert_allclose(clf.dual_coef_[0] * y, solution[1:], atol=1e-9)


def test_least_squares_far_from_the_origin():
    X, y = noisy(m=200, seed=11)
    clf = LeastSquaresSVC().fit(X + 1e5, y)
    peer = LeastSquaresSVC().fit(X, y)
    np.testing.assert_allclose(clf.coef_, peer.coef_, rtol=1e-4)
    assert clf.certificate_[0].certified


@pytest.mark.parametrize("shape", [(1500, 2500), (2500, 1500)])
def test_least_squares_by_conjugate_gradients(shape):
    X, y = words(*shape)
    clf = LeastSquaresSVC(tol=1e-8).fit(X, y)
    peer = Ridge(alpha=0.5, tol=1e-10, solver="sparse_cg").fit(X, y)
    np.testing.assert_allclose(clf.coef_[0], peer.coef_, atol=1e-5)
    assert clf.certificate_[0].relative_duality_gap < 1e-6


def test_least_squares_limit_of_no_penalty():
    X, y = noisy(seed=12)
    clf = LeastSquaresSVC(C=1e-9).fit(X, y)
    np.testing.assert_allclose(clf.coef_, 0.0, atol=1e-6)
    assert clf.intercept_[0] == pytest.approx(y.mean(), abs=1e-6)


def test_least_squares_forms_no_matrix_over_samples():
    """A million entries of an m x m matrix would not fit the time, nor 40 GB the memory."""
    X, y = noisy(m=70_000, n=3, seed=13)
    assert LeastSquaresSVC().fit(X, y).certificate_[0].certified


def test_linear_system_refuses_other_losses():
    X, y = noisy()
    with pytest.raises(TypeError, match=r"LeastSquares.*Hinge"):
        LinearSystem().solve(make_problem(X, y, Hinge()))


# -------------------------------------------------------------------------------- the duality gap


@pytest.mark.parametrize(
    ("model", "loss", "exact"),
    [
        (HingeSVC, Hinge(), lambda X, y: solve_hinge(X, y)),
        (LeastSquaresSVC, LeastSquares(), lambda X, y: solve_least_squares(X, y)),
    ],
)
def test_the_gap_bounds_the_distance_to_the_minimum(model, loss, exact):
    X, y = noisy(seed=14)
    minimum = exact(X, y).objective
    clf = model().fit(X, y)
    psi = np.zeros(len(y))
    psi[clf.support_] = -clf.dual_coef_[0] * y[clf.support_]
    rng = np.random.default_rng(0)
    for noise in (0.0, 1e-4, 1e-2, 1.0):
        w = clf.coef_[0] + noise * rng.normal(size=4)
        p = psi + noise * rng.normal(size=len(y))
        point = certify(X, y, w, clf.intercept_[0], p, C=1.0, loss=loss)
        assert point.objective - point.duality_gap <= minimum * (1 + 1e-8)
        assert point.duality_gap >= 0.0
    assert clf.certificate_[0].relative_duality_gap < 1e-4
    assert "duality gap" in str(clf.certificate_[0])


def test_a_loss_that_is_not_convex_has_the_gap_of_the_convex_problem_that_touches_it():
    X, y = noisy()
    point = certify(X, y, np.zeros(4), 1.0, np.zeros(len(y)), C=1.0, loss=HybridTruncated())
    # At the constant classifier the samples of the other class are ignored: nothing is to gain.
    assert not point.convex
    assert point.duality_gap == 0.0
    assert point.local_minimizer == "yes"
