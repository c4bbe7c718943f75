"""ZeroOneSVC: global optima, limits and safeguards, and what all baselines promise."""

import numpy as np
import pytest
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.baselines.contract import *  # noqa: F403
from tests.baselines.data import noisy, objective, violations
from tests.baselines.test_convex import make_problem
from tests.baselines.test_truncated import share_of_optima_reached
from tests.oracles.tiny import tiny

from htsvm import IgnoredClassWarning, SampleStatus, certify
from htsvm.baselines import HingeSVC
from htsvm.extend import Hinge
from htsvm_paper.baselines import ZeroOneSVC
from htsvm_paper.losses import ZeroOne
from htsvm_paper.solvers import ZeroOneSolver

BASELINES = [ZeroOneSVC()]


@parametrize_with_checks(BASELINES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([ZeroOneSVC(solver="admm")])
def test_scikit_learn_checks_with_admm(estimator, check):
    check(estimator)


def count_loss(q):
    return (q > 1e-6).astype(float)


@pytest.mark.parametrize("solver", ["newton", "admm"])
@pytest.mark.parametrize("C", [0.5, 2.0, 30.0])
@pytest.mark.parametrize("seed", range(3))
def test_zero_one_is_stationary_and_counted_exactly(seed, C, solver):
    X, y = noisy(m=70, n=3, seed=seed, flip=0.1)
    clf = ZeroOneSVC(C=C, solver=solver, max_iter=300).fit(X, y)
    certificate = clf.certificate_[0]
    assert certificate.certified
    assert clf.objective_[0] == pytest.approx(objective(clf, X, y, C, count_loss))
    q = violations(clf, X, y)
    # Nothing depends on the tolerance: no violation is near it.
    assert not np.any((q > 1e-9) & (q < 1e-5))
    np.testing.assert_allclose(q[clf.support_], 0.0, atol=1e-5)
    multipliers = clf.dual_coef_[0] * y[clf.support_]
    assert np.all(multipliers > 0.0)
    np.testing.assert_allclose(clf.dual_coef_ @ X[clf.support_], clf.coef_, atol=1e-4)
    assert clf.objective_[0] <= C * min(np.sum(y > 0), np.sum(y < 0))


@pytest.mark.parametrize("seed", range(8))
def test_zero_one_is_never_above_the_hinge_solution(seed):
    X, y = noisy(m=60, n=3, seed=seed, flip=0.2)
    for C in (0.3, 3.0):
        clf = ZeroOneSVC(C=C).fit(X, y)
        hinge = HingeSVC(C=C, tol=1e-7).fit(X, y)
        assert clf.objective_[0] <= clf.certificate_[0].convex_objective
        assert clf.objective_[0] <= objective(hinge, X, y, C, lambda q: q > 1e-4) * (1 + 1e-3)


def test_zero_one_reaches_most_global_optima():
    assert share_of_optima_reached("zero_one", lambda C: ZeroOneSVC(C=C, n_restarts=10)) >= 0.8


def test_zero_one_on_separable_data_is_the_hard_margin():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    y = np.where(X @ [1.0, 1.0] > 0, 1, -1)
    X += 0.5 * y[:, None]
    clf = ZeroOneSVC(C=1e3).fit(X, y)
    hard = SVC(C=1e6, kernel="linear", tol=1e-8).fit(X, y)
    assert clf.objective_[0] == pytest.approx(0.5 * float(np.sum(hard.coef_**2)), rel=1e-5)
    assert len(clf.ignored_) == 0


def test_a_constant_classifier_where_it_is_the_optimum():
    """The bound of the docstring: C k <= 2 / D² leaves nothing but w = 0."""
    X, y = noisy(m=40, n=2, seed=6)
    apart = max(np.linalg.norm(a - b) for a in X[y > 0] for b in X[y < 0])
    k = min(np.sum(y > 0), np.sum(y < 0))
    C = 0.99 * 2.0 / apart**2 / k
    with pytest.warns(IgnoredClassWarning, match="constant classifier"):
        clf = ZeroOneSVC(C=C).fit(X, y)
    assert not clf.coef_.any()
    assert clf.objective_[0] == pytest.approx(C * k)
    assert clf.certificate_[0].certified
    pytest.importorskip("pyscipopt", reason="the exact reference needs SCIP")
    from tests.oracles.scip import solve_globally

    X, y, C = tiny(4)
    apart = max(np.linalg.norm(a - b) for a in X[y > 0] for b in X[y < 0])
    k = min(np.sum(y > 0), np.sum(y < 0))
    C = 0.99 * 2.0 / apart**2 / k
    assert solve_globally(X, y, C=C, loss=ZeroOne()).bound == pytest.approx(C * k, rel=1e-5)


def test_status_of_the_zero_one_loss():
    X, y = noisy(m=100, seed=7)
    clf = ZeroOneSVC(C=2.0).fit(X, y)
    q = violations(clf, X, y)
    np.testing.assert_array_equal(clf.sample_status_[q > 1e-6], SampleStatus.IGNORED)
    np.testing.assert_array_equal(clf.sample_status_[q < -1e-6], SampleStatus.SAFE)
    np.testing.assert_array_equal(clf.sample_status_[clf.support_], SampleStatus.ON_MARGIN)


def test_large_multipliers_of_the_zero_one_loss_are_certified():
    """On the margin any multiplier is right; the larger it is, the smaller nu has to be."""
    X, y = np.array([[0.1], [-0.1]]), np.array([1, -1])
    point = certify(X, y, [10.0], 0.0, [-50.0, -50.0], C=1.0, loss=ZeroOne())
    assert point.certified
    assert point.nu_max == pytest.approx(2.0 / 50.0**2)
    inside = certify(X, y, [9.0], 0.0, [-45.0, -45.0], C=1.0, loss=ZeroOne())
    assert not inside.certified


def test_restarts_of_the_zero_one_loss_never_hurt():
    X, y = noisy(m=80, seed=9, flip=0.2)
    once = ZeroOneSVC().fit(X, y).objective_[0]
    assert ZeroOneSVC(n_restarts=5, random_state=0).fit(X, y).objective_[0] <= once * (1 + 1e-3)


def test_the_solver_refuses_other_losses():
    X, y = noisy()
    with pytest.raises(TypeError, match=r"ZeroOne.*Hinge"):
        ZeroOneSolver().solve(make_problem(X, y, Hinge()))


def test_a_warm_start_is_one_more_point():
    """From other data and a poor C it does not lead higher; its samples are looked at."""
    X, y = noisy(m=200, seed=3, flip=0.2)
    cold = ZeroOneSVC(2.0).fit(X, y)
    warm = ZeroOneSVC(0.05, warm_start=True).fit(X, y)
    warm.set_params(C=2.0).fit(X, y)
    assert warm.objective_[0] <= cold.objective_[0] * (1.0 + 1e-9)
    problem = make_problem(X, np.where(y > 0, 1, -1), ZeroOne(), C=2.0)
    psi = np.zeros(len(y))
    alone = ZeroOneSolver().solve(problem, start=(cold.coef_[0], cold.intercept_[0], psi))
    assert alone.objective == pytest.approx(cold.objective_[0], rel=1e-6)


def test_an_unknown_solver_is_named():
    with pytest.raises(ValueError, match="'solver' parameter of ZeroOneSVC"):
        ZeroOneSVC(solver="simplex").fit(*noisy())
