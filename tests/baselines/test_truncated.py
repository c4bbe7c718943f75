"""RampSVC and ZeroOneSVC: the textbook procedure, global optima, limits and safeguards."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import SVC

from htsvm import IgnoredClassWarning, SampleStatus, certify
from htsvm.baselines import HingeSVC, RampSVC, ZeroOneSVC
from htsvm.losses import Hinge, Ramp, ZeroOne
from htsvm.solvers import ZeroOneSolver
from tests import oracles
from tests.baselines.data import noisy, objective, violations
from tests.baselines.test_convex import make_problem
from tests.oracles import golden
from tests.oracles.dc import solve_dc
from tests.oracles.tiny import COUNT, tiny

X_GOLDEN, Y_GOLDEN = golden.view_a(), golden.labels()


def optima(name):
    return json.loads((Path(oracles.__file__).parent / "global_optima.json").read_text())[name]


def share_of_optima_reached(name, make):
    reached = []
    for seed, optimum in enumerate(optima(name)):
        X, y, C = tiny(seed)
        value = make(C).fit(X, y).objective_[0]
        assert value >= optimum["bound"] - 1e-6 * (1.0 + abs(optimum["bound"]))
        reached.append(value <= optimum["objective"] * (1.0 + 1e-4) + 1e-6)
    assert len(reached) == COUNT
    return np.mean(reached)


# ------------------------------------------------------------------------------------------ ramp


@pytest.mark.parametrize("ceiling", golden.RAMP)
def test_golden_ramp(ceiling):
    value, coef, intercept, support = golden.RAMP[ceiling]
    reference = solve_dc(X_GOLDEN, Y_GOLDEN, loss=Ramp(ceiling))
    assert reference.objective == pytest.approx(value, abs=1e-4)
    clf = RampSVC(ceiling=ceiling, tol=1e-6).fit(X_GOLDEN, Y_GOLDEN)
    assert clf.objective_[0] == pytest.approx(value, abs=1e-4)
    np.testing.assert_allclose(clf.coef_[0], coef, atol=1e-3)
    assert clf.intercept_[0] == pytest.approx(intercept, abs=1e-3)
    assert clf.n_support_.sum() == support


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ceiling", [1.0, 2.0])
def test_ramp_beside_the_textbook_procedure(seed, ceiling):
    """Both end at stationary points; the textbook's is certified too, and seldom lower."""
    X, y = noisy(m=60, n=3, seed=seed, flip=0.2)
    reference = solve_dc(X, y, loss=Ramp(ceiling))
    assert np.all(np.diff(reference.objectives) <= 1e-7)
    point = certify(
        X, y, reference.coef, reference.intercept, reference.multipliers, C=1.0,
        loss=Ramp(ceiling), tol=1e-5,
    )  # fmt: skip
    assert point.certified
    clf = RampSVC(ceiling=ceiling, tol=1e-5).fit(X, y)
    assert clf.certificate_[0].certified
    assert clf.objective_[0] <= 1.1 * reference.objective


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(6))
def test_ramp_is_never_above_the_hinge_start(seed, C):
    X, y = noisy(m=80, n=3, seed=seed, flip=0.25)
    hinge = HingeSVC(C=C, tol=1e-6).fit(X, y)
    for ceiling in (0.5, 1.0, 2.0, 4.0):
        ramp = RampSVC(C=C, ceiling=ceiling).fit(X, y)
        assert ramp.certificate_[0].certified
        at_hinge = objective(hinge, X, y, C, Ramp(ceiling).value)
        assert ramp.objective_[0] <= at_hinge * (1 + 1e-3)
        assert ramp.objective_[0] == pytest.approx(objective(ramp, X, y, C, Ramp(ceiling).value))


@pytest.mark.parametrize("ceiling", [1e3, np.inf])
def test_a_high_ceiling_is_the_hinge_svm(ceiling):
    X, y = noisy(seed=3)
    ramp = RampSVC(ceiling=ceiling, tol=1e-7).fit(X, y)
    hinge = HingeSVC(tol=1e-7).fit(X, y)
    np.testing.assert_allclose(ramp.coef_, hinge.coef_, atol=1e-5)
    assert len(ramp.ignored_) == 0


def test_ramp_reaches_most_global_optima():
    assert share_of_optima_reached(
        "ramp", lambda C: RampSVC(C=C, ceiling=1.0, tol=1e-6, n_restarts=10)
    ) >= 0.8  # fmt: skip


def test_samples_beyond_the_ceiling_do_not_pull():
    X, y = noisy(m=200, seed=4, flip=0.2)
    clf = RampSVC(ceiling=1.5, tol=1e-6).fit(X, y)
    q = violations(clf, X, y)
    beyond = q > 1.5 + 1e-3
    assert beyond.any()
    assert not np.isin(np.flatnonzero(beyond), clf.support_).any()
    np.testing.assert_array_equal(clf.sample_status_[beyond], SampleStatus.IGNORED)
    assert len(clf.support_) < len(HingeSVC().fit(X, y).support_)


def test_samples_at_the_kink_do_not_keep_a_run_from_ending():
    """Many equal rows make whole groups of samples cross the ceiling together."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(3000, 8)).astype(float)
    y = np.where(X @ rng.normal(size=8) + rng.normal(size=3000) > 0.5, 1, -1)
    for C in (0.02, 0.5, 5.0):
        clf = RampSVC(C=C, max_iter=200).fit(X, y)
        assert clf.certificate_[0].certified


def test_verdict_at_the_kink():
    """Two samples exactly at the ceiling: nothing is known there; elsewhere the loss is convex."""
    X, y = np.array([[1.0], [-1.0]]), np.array([1, -1])
    at_kink = certify(X, y, [0.0], 0.0, [0.0, 0.0], C=1.0, loss=Ramp(1.0))
    assert at_kink.local_minimizer == "undecided"
    away = certify(X, y, [0.0], 0.0, [0.0, 0.0], C=1.0, loss=Ramp(0.5))
    assert (away.local_minimizer, away.nu_max) == ("yes", pytest.approx(1.0))


# ---------------------------------------------------------------------------------------- 0 or 1


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


def test_more_satisfied_samples_than_the_first_look():
    """The margin is sought among the nearest samples; the others must come out satisfied too."""
    X, y = noisy(m=4000, n=2, seed=8, flip=0.05)
    clf = ZeroOneSVC(C=1.0).fit(X, y)
    assert clf.certificate_[0].certified
    assert clf.objective_[0] == pytest.approx(objective(clf, X, y, 1.0, count_loss))


def test_restarts_of_the_zero_one_loss_never_hurt():
    X, y = noisy(m=80, seed=9, flip=0.2)
    once = ZeroOneSVC().fit(X, y).objective_[0]
    assert ZeroOneSVC(n_restarts=5, random_state=0).fit(X, y).objective_[0] <= once * (1 + 1e-3)


def test_restarts_need_newton():
    X, y = noisy()
    with pytest.raises(ValueError, match="n_restarts=2 needs solver='newton'"):
        ZeroOneSVC(solver="admm", n_restarts=2).fit(X, y)


def test_zero_one_solver_refuses_other_losses():
    X, y = noisy()
    with pytest.raises(TypeError, match=r"ZeroOne.*Hinge"):
        ZeroOneSolver().solve(make_problem(X, y, Hinge()))


@pytest.mark.parametrize("C", [0.05, 1.0])
@pytest.mark.parametrize("method", [RampSVC, ZeroOneSVC])
def test_many_rows_are_searched_by_way_of_a_loss_that_bends(method, C):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 6))
    y = np.where(X @ rng.normal(size=6) + 0.3 * rng.normal(size=9000) > 0.2, 1, -1)
    y[(X[:, 0] > 0.5) & (rng.random(9000) < 0.4)] *= -1
    found = method(C=C).fit(X, y)
    plain = method(C=C, starts=["convex"]).fit(X, y)
    assert found.certificate_[0].certified
    assert found.objective_[0] <= 1.002 * plain.objective_[0]
    # Both know the same convex solution.
    assert found.certificate_[0].convex_objective == pytest.approx(
        plain.certificate_[0].convex_objective, rel=0.02
    )
