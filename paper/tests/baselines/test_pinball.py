"""PinballSVC against an interior point, SVR and its limits, and what all baselines promise."""

import numpy as np
import pytest
from sklearn.svm import SVR
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.baselines.contract import *  # noqa: F403
from tests.baselines.contract import multipliers
from tests.baselines.data import noisy, words
from tests.baselines.test_convex import assert_golden, make_problem
from tests.oracles import golden
from tests.oracles.convex import solve_hinge

from htsvm import certify
from htsvm.baselines import HingeSVC
from htsvm.extend import ADMM, Newton
from htsvm_paper.baselines import PinballSVC
from htsvm_paper.losses import Pinball

BASELINES = [PinballSVC()]
X_GOLDEN, Y_GOLDEN = golden.view_a(), golden.labels()


@parametrize_with_checks(BASELINES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("tau", golden.PINBALL)
def test_golden_pinball(tau):
    clf = PinballSVC(tau=tau, tol=1e-6).fit(X_GOLDEN, Y_GOLDEN)
    assert_golden(clf, *golden.PINBALL[tau])
    assert clf.n_support_.sum() == len(Y_GOLDEN)


@pytest.mark.parametrize("tau", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.05, 3.0])
def test_pinball_against_an_interior_point(tau, fit_intercept, C):
    X, y = noisy(m=100, seed=2)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, size=100)
    clf = PinballSVC(C=C, tau=tau, fit_intercept=fit_intercept, tol=1e-7)
    clf.fit(X, y, sample_weight=weight)
    exact = solve_hinge(X, y, C=C, tau=tau, sample_weight=weight, fit_intercept=fit_intercept)
    assert clf.objective_[0] == pytest.approx(exact.objective, rel=1e-6)
    np.testing.assert_allclose(clf.coef_[0], exact.coef, atol=1e-4)
    multipliers = clf.dual_coef_[0] * y[clf.support_]
    bounds = C * weight[clf.support_]
    assert np.all(multipliers <= bounds * (1 + 1e-12))
    assert np.all(multipliers >= -tau * bounds * (1 + 1e-12))


def test_pinball_without_tau_is_the_hinge_svm():
    X, y = noisy(m=200, seed=3)
    a, b = PinballSVC(tau=0.0).fit(X, y), HingeSVC().fit(X, y)
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.support_, b.support_)


def test_pinball_with_tau_one_is_support_vector_regression():
    X, y = noisy(m=100, seed=4)
    clf = PinballSVC(C=0.5, tau=1.0, tol=1e-7).fit(X, y)
    peer = SVR(kernel="linear", C=0.5, epsilon=0.0, tol=1e-7).fit(X, y)
    np.testing.assert_allclose(clf.coef_, peer.coef_, atol=1e-3)
    residual = np.abs(y - peer.predict(X)).sum()
    theirs = 0.5 * float(np.sum(peer.coef_**2)) + 0.5 * residual
    assert clf.objective_[0] == pytest.approx(theirs, rel=1e-5)


@pytest.mark.parametrize("tau", [0.3, 1.0])
def test_pinball_on_wide_sparse_data(tau):
    """So many columns are left to dual coordinate descent."""
    X, y = words()
    clf = PinballSVC(C=5.0, tau=tau, tol=1e-6).fit(X, y)
    assert clf.certificate_[0].certified
    assert clf.certificate_[0].relative_duality_gap < 1e-5
    dense = PinballSVC(C=5.0, tau=tau, tol=1e-6).fit(X.toarray(), y)
    assert clf.objective_[0] == pytest.approx(dense.objective_[0], rel=1e-5)


def test_admm_agrees():
    X, y = noisy(seed=8)
    problem = make_problem(X, y, Pinball(0.5))
    by_admm = ADMM(tol=1e-5, max_iter=5000).solve(problem)
    assert by_admm.objective == pytest.approx(Newton(tol=1e-7).solve(problem).objective, rel=1e-4)


def test_the_gap_bounds_the_distance_to_the_minimum():
    X, y = noisy(seed=14)
    minimum = solve_hinge(X, y, tau=0.5).objective
    clf = PinballSVC().fit(X, y)
    rng = np.random.default_rng(0)
    for noise in (0.0, 1e-4, 1e-2, 1.0):
        w = clf.coef_[0] + noise * rng.normal(size=4)
        psi = multipliers(clf, y) + noise * rng.normal(size=len(y))
        point = certify(X, y, w, clf.intercept_[0], psi, C=1.0, loss=Pinball())
        assert point.objective - point.duality_gap <= minimum * (1 + 1e-8)
        assert point.duality_gap >= 0.0
    assert clf.certificate_[0].relative_duality_gap < 1e-4


@pytest.mark.parametrize("tau", [-0.1, 1.5])
def test_bad_tau_is_named(tau):
    with pytest.raises(ValueError, match="'tau' parameter of PinballSVC"):
        PinballSVC(tau=tau).fit(*noisy())
