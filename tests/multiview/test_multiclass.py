"""Several classes as one multi-view problem: is it the problem stated, and is it solved?"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from htsvm import SampleStatus
from htsvm.exceptions import DroppedViewWarning
from htsvm.linalg import Quadratic, as_operator
from htsvm.losses import HybridTruncated
from htsvm.multiview import MultiViewHTSVC
from htsvm.multiview.alternation import Alternation
from htsvm.multiview.structure import find_structure
from htsvm.multiview.view_classifiers import ViewClassifiers
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers import ADMM, Newton
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
    solver = Newton(tol=tol, max_iter=1000)
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


# ---------------------------------------------------------------------------- special cases


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
