"""MvLSSVC2C and MvSL01SVM: independent solutions, certificates, and limits."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from paper.tests.baselines.coupled_oracle import solve_coupled_least_squares
from sklearn.linear_model import Ridge
from tests.multiview.data import golden, two_views

from htsvm.baselines import LeastSquaresSVC
from htsvm.exceptions import DroppedViewWarning
from htsvm.multiview.structure import find_structure
from htsvm.optimality import SampleStatus
from htsvm_paper.baselines import MvLSSVC2C, MvSL01SVM, ZeroOneSVC


def signs(y):
    return np.where(np.asarray(y) > 0, 1.0, -1.0)


# ------------------------------------------------------------------------------- least squares


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("eta", "D"), [(0.0, 0.0), (0.3, 0.0), (0.3, 0.8)])
def test_classifiers_agree_with_an_interior_point(eta, D, fit_intercept):
    views, y = two_views(70)
    weight = np.random.default_rng(1).uniform(0.2, 2.0, size=len(y))
    theta = np.array([0.3, 0.7])
    clf = MvLSSVC2C(
        2.0, structure=eta, D=D, view_weights=theta, weight_smoothness=1.0,
        fit_intercept=fit_intercept,
    ).fit(views, y, sample_weight=weight)  # fmt: skip
    sigma = find_structure(views, y, weight).covariances
    matrices = [
        theta[v] * np.eye(X.shape[1]) + eta * (theta[0] * sigma[v][0] + theta[1] * sigma[v][1])
        for v, X in enumerate(views)
    ]
    value, coefs, intercepts = solve_coupled_least_squares(
        views, signs(y), C=2.0, D=D, weight=weight, matrices=matrices, fit_intercept=fit_intercept
    )
    assert clf.objective_[0] == pytest.approx(value + 0.5 * theta @ theta, rel=1e-8)
    np.testing.assert_allclose(np.concatenate(clf.view_coef_), np.concatenate(coefs), atol=1e-5)
    np.testing.assert_allclose(clf.view_intercept_, intercepts, atol=1e-5)
    assert clf.certificate_[0].residual < 1e-9


def test_frozen_weights_without_structure_are_ridge_regressions():
    views, y = golden()
    clf = MvLSSVC2C(1.5, structure=0.0, view_weights="uniform").fit(views, y)
    for v, X in enumerate(views):
        ridge = Ridge(alpha=1.0 / (2 * 1.5)).fit(X, y)
        np.testing.assert_allclose(clf.view_coef_[v], ridge.coef_, atol=1e-8)
        single = LeastSquaresSVC(1.5).fit(X, y)
        np.testing.assert_allclose(clf.view_coef_[v], single.coef_[0], atol=1e-6)


def test_one_view_is_the_golden_least_squares_classifier():
    views, y = golden()
    clf = MvLSSVC2C(1.0, structure=0.0).fit(views[0], y)
    assert clf.objective_[0] == pytest.approx(8.864098, abs=1e-5)
    np.testing.assert_allclose(clf.coef_[0], [0.506453, -0.356956], atol=1e-5)
    assert clf.intercept_[0] == pytest.approx(-0.074581, abs=1e-5)


@pytest.mark.parametrize("method", [MvLSSVC2C, MvSL01SVM])
@pytest.mark.parametrize("alpha", [3.0, "auto"])
def test_rounds_never_go_up_and_end_where_the_weights_are_best(method, alpha):
    views, y = two_views(120)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedViewWarning)
        clf = method(4.0, structure=0.5, weight_smoothness=alpha).fit(views, y)
    assert np.all(np.diff(clf.history_["objective"]) <= 1e-9 * abs(clf.objective_[0]))
    sigma = find_structure(views, y, None).covariances
    costs = [
        clf.view_coef_[u] @ clf.view_coef_[u]
        + 0.5 * sum(w @ sigma[v][u] @ w for v, w in enumerate(clf.view_coef_))
        for u in range(2)
    ]
    free = 0.5 + (costs[1] - costs[0]) / (4.0 * clf.weight_smoothness_[0])
    assert clf.view_weights_[0] == pytest.approx(np.clip(free, 0.0, 1.0), abs=2e-3)


def test_agreement_draws_the_views_together():
    views, y = two_views(100)

    def disagreement(D):
        clf = MvLSSVC2C(D=D, view_weights="uniform").fit(views, y)
        scores = clf.view_decision_function(views, weighted=False)
        return np.mean((scores[:, 0] - scores[:, 1]) ** 2)

    assert disagreement(0.0) > 2 * disagreement(1.0) > 4 * disagreement(10.0)


@pytest.mark.parametrize("D", [0.0, 0.5])
@pytest.mark.parametrize("eta", [0.0, 0.2])
def test_sparse_and_wide_views(eta, D):
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 30)
    counts = rng.poisson(0.1 + 0.2 * y[:, None], (60, 90)) * rng.uniform(0.5, 1.5, (60, 90))
    views = [rng.normal(size=(60, 4)) + y[:, None], counts]
    dense = MvLSSVC2C(structure=eta, D=D).fit(views, y)
    mixed = [views[0], sp.csr_matrix(counts)]
    sparse = MvLSSVC2C(structure=eta, D=D).fit(mixed, y)
    np.testing.assert_allclose(
        sparse.decision_function(mixed), dense.decision_function(mixed), atol=1e-8
    )


def test_too_many_columns_are_refused():
    views, y = two_views(20)
    wide = sp.csr_matrix((20, 10_001))
    with pytest.raises(ValueError, match=r"view 1 has 10001, more than 10000"):
        MvLSSVC2C(structure=0.0).fit([views[0], wide], y)


# --------------------------------------------------------------------------------------- 0/1


def test_one_view_without_structure_is_the_zero_one_machine():
    views, y = two_views(120)
    clf = MvSL01SVM(3.0, structure=0.0).fit(views[1], y)
    single = ZeroOneSVC(3.0).fit(views[1], y)
    np.testing.assert_allclose(clf.coef_, single.coef_, atol=1e-6)
    assert clf.objective_[0] == pytest.approx(single.objective_[0], rel=1e-9)


def test_frozen_weights_without_structure_are_zero_one_machines_with_v_times_the_penalty():
    views, y = two_views(120)
    clf = MvSL01SVM(2.0, structure=0.0, view_weights="uniform", weight_smoothness=1.0).fit(views, y)
    singles = [ZeroOneSVC(4.0).fit(X, y) for X in views]
    for v, single in enumerate(singles):
        np.testing.assert_allclose(clf.view_coef_[v], single.coef_[0], atol=1e-5)
    expected = 0.5 * sum(single.objective_[0] for single in singles) + 0.25
    assert clf.objective_[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("eta", [0.0, 0.3])
def test_every_view_is_certified_and_no_worse_than_constant(eta):
    views, y = two_views(150)
    clf = MvSL01SVM(5.0, structure=eta).fit(views, y)
    assert all(one.certified for one in clf.certificate_)
    constant = 5.0 * 2 * min(np.bincount(y))
    smooth = 0.5 * clf.weight_smoothness_[0] * clf.view_weights_ @ clf.view_weights_
    assert clf.objective_[0] - smooth <= constant
    # The objective, written out.
    sigma = find_structure(views, y, None).covariances
    theta, f = clf.view_weights_, clf.view_decision_function(views, weighted=False)
    violated = np.sum(signs(y)[:, None] * f < 1.0 - 1e-6)
    energy = sum(
        0.5 * theta[v] * w @ w
        + 0.5 * eta * sum(theta[u] * w @ sigma[v][u] @ w for u in range(2))
        for v, w in enumerate(clf.view_coef_)
    )  # fmt: skip
    assert clf.objective_[0] == pytest.approx(energy + 5.0 * violated + smooth, rel=1e-6)
    ignored = clf.sample_status_ == SampleStatus.IGNORED
    assert np.count_nonzero(ignored) == violated


def test_separable_views_are_hard_margin_machines():
    from sklearn.svm import SVC

    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 30)
    views = [rng.normal(size=(60, n)) * 0.3 + 3.0 * y[:, None] for n in (2, 3)]
    clf = MvSL01SVM(100.0, structure=0.0).fit(views, y)
    for v, X in enumerate(views):
        hard = SVC(C=1e6, kernel="linear", tol=1e-9).fit(X, y)
        np.testing.assert_allclose(clf.view_coef_[v], hard.coef_[0], atol=1e-3)


def test_progress_is_printed(capsys):
    views, y = two_views(60)
    MvSL01SVM(verbose=1).fit(views, y)
    assert "[MvSL01SVM] round   1" in capsys.readouterr().out
    MvLSSVC2C(verbose=1).fit(views, y)
    assert "[MvLSSVC2C] round   1" in capsys.readouterr().out
