"""SVM2K and MvSVM2C: golden values, an independent solver, and limits."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from paper.tests.baselines.coupled_oracle import solve_coupled_hinge
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from tests.multiview.data import golden, two_views

from htsvm.exceptions import DroppedViewWarning, IgnoredClassWarning
from htsvm_paper.baselines import SVM2K, MvSVM2C
from htsvm_paper.solvers import CoupledNewton, CoupledProblem
from htsvm_paper.solvers.views import ViewsProblem


def signs(y):
    return np.where(np.asarray(y) > 0, 1.0, -1.0)


def test_golden_svm_2k():
    views, y = golden()
    clf = SVM2K(D=0.5).fit(views, y)
    assert clf.objective_[0] == pytest.approx(43.698778, abs=1e-5)
    np.testing.assert_allclose(clf.view_coef_[0], [0.516347, -0.552006], atol=1e-5)
    np.testing.assert_allclose(clf.view_coef_[1], [0.682205, 0.611828, 0.156651], atol=1e-5)
    np.testing.assert_allclose(clf.view_intercept_, [-0.267102, -0.374042], atol=1e-5)


def test_golden_mv_svm_2c():
    views, y = golden()
    clf = MvSVM2C(D=0.5, weight_smoothness=1.0, tol=1e-6).fit(views, y)
    assert clf.objective_[0] == pytest.approx(43.575476, abs=1e-5)
    np.testing.assert_allclose(clf.view_weights_, [0.582112, 0.417888], atol=1e-4)


@pytest.mark.parametrize("C", [0.1, (2.0, 0.5), 20.0])
@pytest.mark.parametrize(("D", "epsilon"), [(0.3, 0.0), (1.0, 0.1), (30.0, 0.5)])
def test_svm_2k_agrees_with_an_interior_point(C, D, epsilon):
    views, y = two_views(80)
    weight = np.random.default_rng(1).uniform(0.2, 2.0, size=len(y))
    clf = SVM2K(C, D=D, epsilon=epsilon).fit(views, y, sample_weight=weight)
    value, coefs, _ = solve_coupled_hinge(views, signs(y), C=C, D=D, epsilon=epsilon, weight=weight)
    assert clf.objective_[0] == pytest.approx(value, rel=1e-7)
    for ours, theirs in zip(clf.view_coef_, coefs, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-4 * (1 + np.abs(theirs).max()))


def test_without_intercepts_and_with_three_views():
    views, y = two_views(60)
    views = [*views, views[0][:, :2] - views[1][:, :2]]
    clf = MvSVM2C(D=0.7, fit_intercept=False, view_weights=[0.2, 0.5, 0.3]).fit(views, y)
    value, coefs, _ = solve_coupled_hinge(
        views, signs(y), D=0.7, theta=[0.2, 0.5, 0.3], fit_intercept=False
    )
    smooth = 0.5 * clf.weight_smoothness_[0] * (0.04 + 0.25 + 0.09)
    assert clf.objective_[0] - smooth == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(np.concatenate(clf.view_coef_), np.concatenate(coefs), atol=1e-4)
    np.testing.assert_array_equal(clf.view_intercept_, 0.0)


@pytest.mark.parametrize("D", [0.0, 1.0, 100.0])
def test_equal_views_are_one_support_vector_machine(D):
    views, y = two_views(100)
    svc = SVC(C=0.7, kernel="linear", tol=1e-8).fit(views[0], y)
    for clf in (
        SVM2K(0.7, D=D).fit([views[0], views[0]], y),
        SVM2K(0.7, D=D).fit(views[0], y),
    ):
        np.testing.assert_allclose(clf.view_coef_[0], svc.coef_[0], atol=1e-4)
        np.testing.assert_allclose(clf.view_coef_[1], svc.coef_[0], atol=1e-4)
    np.testing.assert_allclose(
        clf.decision_function(views[0]), svc.decision_function(views[0]), atol=1e-3
    )


def test_disagreeing_views_collapse_where_agreement_is_dear():
    # Every labelling of the two views contradicts the other.
    X = np.array([[1.0], [-1.0]] * 10)
    y = np.tile([1, -1], 10)
    clf = SVM2K([1.0, 0.5], D=20.0, epsilon=0.0, fit_intercept=False)
    with pytest.warns(IgnoredClassWarning, match="are constant.*a smaller D"):
        clf.fit([X, 0.0 * X], y)
    np.testing.assert_allclose(clf.view_coef_[0], 0.0, atol=1e-6)
    assert clf.objective_[0] == pytest.approx(1.5 * 20, rel=1e-6)


@pytest.mark.parametrize("beta", [0.3, 3.0, "auto"])
def test_rounds_never_go_up_and_end_where_the_weights_are_best(beta):
    views, y = two_views(100, wrong=0.2)
    clf = MvSVM2C(4.0, weight_smoothness=beta, tol=1e-5).fit(views, y)
    assert np.all(np.diff(clf.history_["objective"]) <= 1e-12 * clf.objective_[0])
    assert clf.certificate_[0].certified
    costs = np.array([w @ w for w in clf.view_coef_])
    # On a line, the best weight is where the slope vanishes, or an end.
    free = 0.5 + (costs[1] - costs[0]) / (4.0 * clf.weight_smoothness_[0])
    assert clf.view_weights_[0] == pytest.approx(np.clip(free, 0.0, 1.0), abs=2e-5)


def test_the_bound_is_one():
    views, y = two_views(60)
    problem = CoupledProblem(
        views, signs(y), np.ones((2, 60)), np.full(60, 0.5), np.array([0.5, 2.0]), 0.1
    )
    optimum = CoupledNewton(1e-9).solve(problem)
    assert optimum.residual <= 1e-8
    rng = np.random.default_rng(0)
    for _ in range(20):
        alpha = rng.uniform(size=(2, 60))
        beta = rng.uniform(-0.5, 0.5, size=(1, 60))
        assert problem.bound(alpha, beta) <= optimum.objective


def test_the_newton_system_is_solved_in_all_forms():
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(30, 5)), rng.normal(size=(30, 7)), rng.normal(size=(30, 2))]
    scales = np.array([1.0, 0.5, 2.0])
    own = rng.uniform(size=(3, 30)) * (rng.random((3, 30)) < 0.4)
    shared = [(0, 1, rng.uniform(size=30)), (1, 2, np.zeros(30)), (0, 2, rng.uniform(size=30))]
    problem = ViewsProblem(views, np.ones(30), np.ones((3, 30)), np.ones(30), scales)
    rows = []
    for v in range(3):
        rows += [(own[v, i], {v: 1.0}, i) for i in range(30)]
    for u, v, one in shared:
        rows += [(one[i], {u: 1.0, v: -1.0}, i) for i in range(30)]
    edges = [0, 5, 12, 14]
    H = np.diag(np.append(np.repeat(scales, (5, 7, 2)), np.zeros(3)))
    for curvature, signs_of, i in rows:
        z = np.zeros(17)
        for v, sign in signs_of.items():
            z[edges[v] : edges[v + 1]] = sign * views[v][i]
            z[14 + v] = sign
        H += curvature * np.outer(z, z)
    np.testing.assert_allclose(problem.matrix(own, shared), H, atol=1e-10)
    gradient = np.random.default_rng(1).normal(size=17)
    expected = np.linalg.solve(H, -gradient)
    for form, atol in (("kernels", 1e-6), ("matrix", 1e-6), ("cg", 0.05)):
        found = problem.direction(own, shared, gradient, form)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=atol)


def test_kernels_are_those_of_scikit_learn():
    views, y = two_views(90)
    clf = SVM2K(D=0.0, kernel="rbf", gamma=[0.3, 0.1]).fit(views, y)
    fresh = two_views(40, seed=5)[0]
    scores = clf.view_decision_function(fresh, weighted=False)
    for v, gamma in enumerate((0.3, 0.1)):
        svc = SVC(kernel="rbf", gamma=gamma, tol=1e-8).fit(views[v], y)
        np.testing.assert_allclose(scores[:, v], svc.decision_function(fresh[v]), atol=1e-4)
    np.testing.assert_allclose(clf.decision_function(fresh), scores.mean(axis=1))
    assert not hasattr(clf, "coef_")
    svc = SVC(tol=1e-8).fit(views[0], y)
    scale = SVM2K(D=0.0, kernel="rbf").fit(views, y).view_decision_function(fresh, weighted=False)
    np.testing.assert_allclose(scale[:, 0], svc.decision_function(fresh[0]), atol=1e-4)


def test_a_wide_view_without_weight_still_has_a_classifier():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    views = [rng.normal(size=(80, 150)) + 0.2 * y[:, None], rng.uniform(-1, 1, size=(80, 120))]
    with pytest.warns(DroppedViewWarning):
        model = MvSVM2C(D=1.0, weight_smoothness=1e-3).fit(views, y)
    assert sorted(model.view_weights_) == [0.0, 1.0]
    assert model.certificate_[0].certified


def test_wide_sparse_views_stay_sparse():
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 40)
    views = [sp.random(80, n, 0.05, format="csr", random_state=1) for n in (3000, 5000)]
    views = [(X + sp.csr_matrix(np.outer(y, rng.random(X.shape[1]) < 0.01))).tocsr() for X in views]
    clf = SVM2K().fit(views, y)
    dense = SVM2K().fit([X.toarray() for X in views], y)
    np.testing.assert_allclose(
        clf.decision_function(views), dense.decision_function(views), atol=1e-4
    )


def test_support_vectors_are_those_that_matter():
    views, y = two_views(100)
    clf = SVM2K(0.5).fit(views, y)
    rows = np.union1d(*clf.support_)
    assert 0 < len(rows) < 100
    again = SVM2K(0.5).fit([X[rows] for X in views], y[rows])
    np.testing.assert_allclose(again.coef_, clf.coef_, atol=1e-4)


def test_too_few_steps_are_reported():
    views, y = two_views(100, wrong=0.3)
    with pytest.warns(ConvergenceWarning, match=r"relative duality gap is .* tol is 1.00e-06"):
        SVM2K(max_iter=2).fit(views, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVM2K().fit(views, y)


@pytest.mark.parametrize("number", [1, 3])
def test_svm_2k_wants_two_views(number):
    views, y = two_views(20)
    with pytest.raises(ValueError, match=f"SVM2K is defined for two views, got {number}"):
        SVM2K().fit([views[0]] * number, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "poly"}, "kernel of view 0 must be one of"),
        ({"kernel": ["rbf"]}, "kernel must be one for all views or one per view"),
        ({"kernel": {"a": "rbf", "b": "rbf"}}, "kernel must have one entry for each of the views"),
        ({"kernel": "rbf", "gamma": -1.0}, "gamma must be 'scale' or a positive number, got -1.0"),
        ({"kernel": "rbf", "gamma": "auto"}, "gamma must be 'scale' or a positive number"),
        ({"kernel": lambda X, Z: X}, "kernel must return a matrix of shape"),
        ({"kernel": lambda X, Z: -X @ Z.T}, "kernel is not positive semidefinite"),
        ({"C": [1.0, 2.0, 3.0]}, "C must be one number or one per view"),
        ({"D": -1.0}, "'D' parameter of SVM2K"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    views, y = two_views(20)
    with pytest.raises(ValueError, match=message):
        SVM2K(**parameters).fit(views, y)
