"""Several classes as one multi-view problem: is it the problem stated, and is it solved?"""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from htsvm import HTSVC, SampleStatus, certify
from htsvm.exceptions import DroppedViewWarning
from htsvm.linalg import Quadratic, as_operator
from htsvm.linalg.simplex import project_to_simplex
from htsvm.losses import HybridTruncated
from htsvm.multiview import MultiViewHTSVC, stack_views
from htsvm.multiview.alternation import Alternation
from htsvm.multiview.structure import find_structure
from htsvm.multiview.view_classifiers import ViewClassifiers
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers import ADMM
from htsvm.solvers.multiclass.solver import MulticlassNewton
from tests.multiview.data import noisy_classes, two_views
from tests.oracles.multiclass import solve_crammer_singer, violations


def sigmas(views, y):
    return find_structure(views, y, None).covariances


def regulariser(v, theta, eta, covariances):
    R = theta[v] * np.eye(len(covariances[v][v]))
    return R + eta * sum(t * s for t, s in zip(theta, covariances[v], strict=True))


def objective(views, y, theta, coefs, intercepts, *, C, alpha, eta, covariances, loss=None):
    """The objective of the docstring, term by term."""
    loss = HybridTruncated() if loss is None else loss
    total = 0.5 * alpha * np.sum(theta**2)
    for v, X in enumerate(views):
        for w in coefs[v]:
            total += 0.5 * w @ regulariser(v, theta, eta, covariances) @ w
        h = np.maximum(violations(X, y, coefs[v], intercepts[:, v]), 0.0)
        total += C * loss.profile(h).sum()
    return total


@pytest.mark.parametrize("eta", [0.0, 0.3])
@pytest.mark.parametrize("weights", ["learned", "uniform", [0.3, 0.7]])
def test_the_objective_is_the_one_stated(eta, weights):
    views, y = noisy_classes()
    model = MultiViewHTSVC(C=0.7, structure=eta, view_weights=weights).fit(views, y)
    expected = objective(
        views, y, model.view_weights_, model.view_coef_, model.view_intercept_, C=0.7,
        alpha=model.weight_smoothness_[0], eta=eta, covariances=sigmas(views, y),
    )  # fmt: skip
    assert model.objective_ == pytest.approx([expected])
    assert model.history_["objective"][-1] == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("eta", [0.0, 0.1])
@pytest.mark.parametrize("alpha", [0.3, 10.0, "auto"])
def test_the_objective_never_increases_and_all_is_stationary(seed, eta, alpha):
    views, y = noisy_classes(seed=seed)
    model = MultiViewHTSVC(C=2.0, structure=eta, weight_smoothness=alpha)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedViewWarning)
        model.fit(views, y)
    assert np.all(np.diff(model.history_["objective"]) <= 0.0)
    assert model.weight_residual_[0] <= model.tol
    for weight, certificate in zip(model.view_weights_, model.certificate_, strict=True):
        assert certificate.certified or weight == 0.0


@pytest.mark.parametrize("eta", [0.0, 0.4])
def test_without_a_cap_the_classifiers_are_those_of_a_convex_program(eta):
    views, y = noisy_classes(60)
    theta, C = np.array([0.3, 0.7]), 0.5
    weight = np.random.default_rng(0).random(len(y))
    model = MultiViewHTSVC(
        C, cap=np.inf, structure=eta, view_weights=theta, weight_smoothness=1.0, tol=1e-7
    ).fit(views, y, sample_weight=weight)
    covariances = find_structure(views, y, weight).covariances
    exact = 0.5 * float(theta @ theta)
    for v, X in enumerate(views):
        # With R = L L' and V = W L the problem has R = I, and rows L^-1 x. The truncated loss rises
        # with slope 6/5; without a cap it is that much of the hinge.
        L = np.linalg.cholesky(regulariser(v, theta, eta, covariances))
        rows = np.linalg.solve(L, X.T).T
        found = solve_crammer_singer(rows, y, 3, 1.2 * C * weight)
        exact += found.objective
        np.testing.assert_allclose(model.view_coef_[v], found.coef @ np.linalg.inv(L), atol=2e-3)
    assert model.objective_[0] == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("eta", [0.0, 0.3])
def test_no_direction_leads_down(eta):
    views, y = noisy_classes(45)
    alpha = 60.0
    model = MultiViewHTSVC(structure=eta, weight_smoothness=alpha, tol=1e-8).fit(views, y)
    theta, coefs, intercepts = model.view_weights_, model.view_coef_, model.view_intercept_
    assert theta.min() > 0.0
    covariances = sigmas(views, y)

    def value(theta, coefs, intercepts):
        return objective(
            views, y, theta, coefs, intercepts, C=1.0, alpha=alpha, eta=eta, covariances=covariances
        )

    rng = np.random.default_rng(0)
    here = value(theta, coefs, intercepts)
    for trial in range(60):
        step = 1e-5
        moved = [c + step * (trial % 3 != 0) * rng.normal(size=c.shape) for c in coefs]
        shifted = intercepts + step * (trial % 3 != 1) * rng.normal(size=intercepts.shape)
        weights = project_to_simplex(theta + step * (trial % 3 != 2) * rng.normal(size=2))
        assert (value(weights, moved, shifted) - here) / step >= -1e-3


def test_the_weights_are_the_best_for_the_classifiers():
    views, y = noisy_classes()
    eta, alpha = 0.2, 60.0
    model = MultiViewHTSVC(structure=eta, weight_smoothness=alpha, tol=1e-6).fit(views, y)
    covariances = sigmas(views, y)
    cost = [
        np.sum(W**2)
        + eta * sum(np.trace(U @ covariances[u][v] @ U.T) for u, U in enumerate(model.view_coef_))
        for v, W in enumerate(model.view_coef_)
    ]
    expected = project_to_simplex(-np.array(cost) / (2.0 * alpha))
    np.testing.assert_allclose(model.view_weights_, expected, atol=2e-6)
    assert model.weight_residual_[0] == pytest.approx(
        np.abs(expected - model.view_weights_).max(), abs=1e-9
    )


# ------------------------------------------------------------------------------ two classes


def multiclass_descent(views, y, *, C, alpha, eta, loss, tol=1e-6):
    """Fit classes 0, 1, ... (also only two of them) as one problem."""
    problems = [
        MulticlassProblem(
            as_operator(X), y.astype(np.intp), int(y.max()) + 1, np.full(len(y), C), loss,
            Quadratic(None, X.shape[1]), C=C,
        )
        for X in views
    ]  # fmt: skip
    solver = MulticlassNewton(tol=tol, max_iter=1000)
    classifiers = ViewClassifiers(problems, solver, np.full(len(views), eta), sigmas(views, y))
    return Alternation(classifiers, alpha, None, list(range(len(views))), tol, 50, True).run()


@pytest.mark.parametrize("eta", [0.0, 0.2])
def test_two_classes_are_half_the_binary_problem_with_twice_C_and_alpha(eta):
    views, y = two_views(100)
    joint = multiclass_descent(
        views, y, C=0.4, alpha=15.0, eta=eta, loss=HybridTruncated(cap=np.inf)
    )
    binary = MultiViewHTSVC(
        0.8, cap=np.inf, structure=eta, weight_smoothness=30.0, tol=1e-6
    ).fit(views, y)  # fmt: skip
    assert joint.objective == pytest.approx(0.5 * binary.objective_[0], rel=1e-6)
    np.testing.assert_allclose(joint.weights, binary.view_weights_, atol=1e-5)
    for v, point in enumerate(joint.point.views):
        W, b = point.result.coef, point.result.intercept
        np.testing.assert_allclose(W[1] - W[0], binary.view_coef_[v], atol=1e-3)
        np.testing.assert_allclose(W[1] + W[0], 0.0, atol=1e-6)
        assert b[1] - b[0] == pytest.approx(binary.view_intercept_[v], abs=5e-3)


def test_a_truncated_fit_of_two_classes_is_stationary_in_the_binary_problem():
    views, y = two_views(100)
    eta, loss = 0.2, HybridTruncated()
    joint = multiclass_descent(views, y, C=0.4, alpha=15.0, eta=eta, loss=loss)
    signs = np.where(y == 1, 1, -1)
    total = 0.5 * 30.0 * joint.weights @ joint.weights
    cost = np.zeros(2)
    covariances = sigmas(views, y)
    for v, point in enumerate(joint.point.views):
        W, b = point.result.coef, point.result.intercept
        w = W[1] - W[0]
        certificate = certify(
            views[v], signs, w, b[1] - b[0], -2.0 * signs * point.result.multipliers[:, 1],
            C=0.8, loss=loss, regularizer=regulariser(v, joint.weights, eta, covariances), tol=1e-5,
        )  # fmt: skip
        assert certificate.certified
        total += certificate.objective
        cost[v] += w @ w
        cost += eta * np.array([w @ sigma @ w for sigma in covariances[v]])
    assert joint.objective == pytest.approx(0.5 * total, rel=1e-9)
    np.testing.assert_allclose(joint.weights, project_to_simplex(-cost / 60.0), atol=1e-5)


# ---------------------------------------------------------------------------- special cases


def test_one_view_is_htsvc():
    (X, _), y = noisy_classes()
    np.testing.assert_array_equal(MultiViewHTSVC(2.0).fit(X, y).coef_, HTSVC(2.0).fit(X, y).coef_)
    both = MultiViewHTSVC(2.0, multi_class="ovr"), HTSVC(2.0, multi_class="ovr")
    np.testing.assert_array_equal(*(model.fit(X, y).coef_ for model in both))


def test_equal_views_have_equal_weights_and_permuted_ones_permute():
    views, y = noisy_classes()
    equal = MultiViewHTSVC(structure=0.1).fit([views[0]] * 3, y)
    np.testing.assert_allclose(equal.view_weights_, np.full(3, 1.0 / 3.0), atol=1e-12)
    there = MultiViewHTSVC(structure=0.1, C=[1.0, 2.0], tol=1e-6).fit(views, y)
    back = MultiViewHTSVC(structure=0.1, C=[2.0, 1.0], tol=1e-6).fit(views[::-1], y)
    np.testing.assert_allclose(there.view_weights_, back.view_weights_[::-1], atol=1e-7)
    np.testing.assert_allclose(there.view_coef_[0], back.view_coef_[1], atol=1e-6)


def test_wide_and_sparse_views_are_what_they_are():
    views, y = noisy_classes(60)
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(200, 5)))[0]
    for eta in (0.0, 0.2):
        # Which of two starts leads lower may hang on rounding.
        model = MultiViewHTSVC(structure=eta, tol=1e-7, starts=["convex"])
        plain = clone(model).fit(views, y)
        wide = clone(model).fit([views[0] @ basis.T, views[1]], y)
        np.testing.assert_allclose(wide.view_coef_[0], plain.view_coef_[0] @ basis.T, atol=1e-4)
        mixed = clone(model).fit([views[0], sp.csr_matrix(views[1])], y)
        np.testing.assert_allclose(mixed.coef_, plain.coef_, atol=1e-5)


# -------------------------------------------------------------------------- what a user sees


def test_shapes_and_samples_counted_once():
    views, y = noisy_classes(150)
    labels = np.array(["ash", "birch", "oak"])[y]
    model = MultiViewHTSVC(structure=0.05, tol=1e-5).fit(views, labels)
    assert model.view_weights_.shape == (2,)
    assert [coef.shape for coef in model.view_coef_] == [(3, 5), (3, 3)]
    assert model.view_intercept_.shape == (3, 2)
    assert model.coef_.shape == (3, 8)
    assert model.sample_status_.shape == (150, 2)
    assert len(model.certificate_) == 2
    assert model.objective_.shape == model.weight_smoothness_.shape == (1,)
    scores = model.view_decision_function(views)
    assert scores.shape == (150, 2, 3)
    np.testing.assert_allclose(scores.sum(axis=1), model.decision_function(views))
    own = model.view_decision_function(views, weighted=False)
    np.testing.assert_allclose(scores, own * model.view_weights_[:, None])
    # A view ignores what lies beyond the cap in it; the model, what all its views ignore.
    beyond = np.column_stack([
        violations(X, y, coef, b) > 1.0
        for X, coef, b in zip(views, model.view_coef_, model.view_intercept_.T, strict=True)
    ])  # fmt: skip
    ignored = model.sample_status_ == SampleStatus.IGNORED
    assert (beyond != ignored).mean() < 0.01
    np.testing.assert_array_equal(model.ignored_, np.flatnonzero(ignored.all(axis=1)))
    assert len(model.ignored_) > 0
    np.testing.assert_allclose(
        model.margin_violation(views, labels), violations(np.hstack(views), y, model.coef_,
                                                          model.intercept_), atol=1e-9,
    )  # fmt: skip


def test_one_against_the_rest_is_still_there():
    views, y = noisy_classes(120)
    explicit = MultiViewHTSVC(multi_class="joint").fit(views, y)
    np.testing.assert_array_equal(explicit.coef_, MultiViewHTSVC().fit(views, y).coef_)
    ovr = MultiViewHTSVC(multi_class="ovr").fit(views, y)
    assert ovr.view_weights_.shape == (3, 2)
    assert ovr.weight_residual_.shape == (3,)
    assert ovr.weight_residual_.max() <= ovr.tol
    assert ovr.sample_status_.shape == (120, 2, 3)


def test_pickle_clone_and_grid_search():
    views, y = noisy_classes(120)
    X, widths = stack_views(views)
    model = MultiViewHTSVC(views=widths, structure=0.1).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    grid = {"multi_class": ["joint", "ovr"], "C": [0.1, 1.0]}
    search = GridSearchCV(clone(model), grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.5
    assert search.predict(X).shape == (120,)


def test_bad_values_are_named():
    views, y = noisy_classes(30)
    with pytest.raises(ValueError, match=r"multi_class.*among.*'joint'.*Got 'crammer' instead"):
        MultiViewHTSVC(multi_class="crammer").fit(views, y)
    with pytest.raises(ValueError, match=r"multi_class='joint' needs solver='newton'.*or .*'ovr'"):
        MultiViewHTSVC(multi_class="joint", solver="admm").fit(views, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_admm = MultiViewHTSVC(solver=ADMM(max_iter=5), max_iter=5, max_rounds=2).fit(views, y)
    assert by_admm.view_weights_.shape == (3, 2)


def test_a_view_that_tells_nothing_is_left_out():
    views, y = noisy_classes(90)
    with pytest.warns(Warning, match="constant"):
        model = MultiViewHTSVC().fit([views[0], np.ones((90, 1))], y)
    np.testing.assert_array_equal(model.view_weights_, [1.0, 0.0])
    alone = MultiViewHTSVC().fit(views[0], y)
    np.testing.assert_array_equal(
        model.predict([views[0], np.ones((90, 1))]), alone.predict(views[0])
    )
