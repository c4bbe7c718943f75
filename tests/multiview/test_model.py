"""The multi-view model: is it the paper's problem, and is it solved?"""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np
import pytest

from htsvm import HTSVC, certify
from htsvm.exceptions import DroppedViewWarning, IgnoredClassWarning
from htsvm.linalg import Quadratic, as_operator
from htsvm.linalg.simplex import project_to_simplex
from htsvm.losses import HybridTruncated
from htsvm.multiview import MultiViewHTSVC
from htsvm.multiview.alternation import best_weights
from htsvm.multiview.structure import find_structure
from htsvm.solvers import ADMM, Problem
from tests.multiview.data import golden, two_views


def sigmas(views, codes):
    return find_structure(views, codes, None).covariances


def objective(model, views, y, covariances, *, C=1.0, eta=0.0):
    """The paper's objective, term by term, from what the fit tells."""
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    theta, loss = model.view_weights_, HybridTruncated()
    total = 0.5 * model.weight_smoothness_[0] * np.sum(theta**2) if len(views) > 1 else 0.0
    for v, X in enumerate(views):
        w, b = model.view_coef_[v], model.view_intercept_[v]
        total += 0.5 * theta[v] * w @ w + C * loss.value(1.0 - signs * (X @ w + b)).sum()
        if eta:
            sigma = sum(t * s for t, s in zip(theta, covariances[v], strict=True))
            total += 0.5 * eta * w @ sigma @ w
    return total


@pytest.mark.parametrize("eta", [0.0, 0.3])
@pytest.mark.parametrize("weights", ["learned", "uniform", [0.3, 0.7]])
def test_the_objective_is_that_of_the_paper(eta, weights):
    views, y = two_views()
    model = MultiViewHTSVC(C=0.7, structure=eta, view_weights=weights).fit(views, y)
    assert model.objective_[0] == pytest.approx(
        objective(model, views, y, sigmas(views, y), C=0.7, eta=eta)
    )
    assert model.history_["objective"][-1] == pytest.approx(model.objective_[0])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("eta", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("alpha", [0.1, 3.0, "auto"])
def test_the_objective_never_increases_and_every_view_that_counts_is_certified(seed, eta, alpha):
    views, y = two_views(seed=seed)
    model = MultiViewHTSVC(C=2.0, structure=eta, weight_smoothness=alpha)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedViewWarning)
        model.fit(views, y)
    assert np.all(np.diff(model.history_["objective"]) <= 0.0)
    for weight, certificate in zip(model.view_weights_, model.certificate_, strict=True):
        assert certificate.certified or weight == 0.0


def test_the_weights_are_the_best_for_the_classifiers():
    views, y = two_views()
    eta, alpha = 0.2, 40.0
    model = MultiViewHTSVC(structure=eta, weight_smoothness=alpha, tol=1e-6).fit(views, y)
    covariances = sigmas(views, y)
    pi = [w @ w for w in model.view_coef_]
    rho = [sum(w @ covariances[u][v] @ w for u, w in enumerate(model.view_coef_)) for v in range(2)]
    expected = project_to_simplex(-(np.array(pi) + eta * np.array(rho)) / (2.0 * alpha))
    np.testing.assert_allclose(model.view_weights_, expected, atol=2e-6)


def test_each_classifier_is_stationary_in_the_problem_for_the_weights():
    views, y = two_views()
    eta = 0.3
    model = MultiViewHTSVC(structure=eta, tol=1e-6).fit(views, y)
    covariances = sigmas(views, y)
    signs = np.where(y == 1, 1, -1)
    for v, X in enumerate(views):
        R = eta * sum(t * s for t, s in zip(model.view_weights_, covariances[v], strict=True))
        R = R + model.view_weights_[v] * np.eye(X.shape[1])
        w, b = model.view_coef_[v], model.view_intercept_[v]
        psi = np.zeros(len(y))
        psi[model.support_[v]] = -model.dual_coef_[v][0] * signs[model.support_[v]]
        certificate = certify(
            X, signs, w, b, psi, C=1.0, loss=HybridTruncated(), regularizer=R, tol=1e-6
        )
        assert certificate.certified
        assert certificate.objective == pytest.approx(model.certificate_[v].objective, rel=1e-9)


def _problem(X, signs, R):
    return Problem(
        as_operator(X), signs.astype(np.int8), np.ones(len(signs)), HybridTruncated(),
        Quadratic(R, X.shape[1]),
    )  # fmt: skip


def test_without_a_cap_the_classifiers_are_those_of_a_convex_program():
    views, y = golden()
    eta, theta = 0.4, np.array([0.3, 0.7])
    model = MultiViewHTSVC(
        cap=np.inf, structure=eta, view_weights=theta, weight_smoothness=1.0, tol=1e-7
    ).fit(views, y)
    covariances = sigmas(views, (y > 0).astype(int))
    terms = [0.5 * float(theta @ theta)]
    for v, X in enumerate(views):
        w, b = cp.Variable(X.shape[1]), cp.Variable()
        R = theta[v] * np.eye(X.shape[1])
        R += eta * sum(t * s for t, s in zip(theta, covariances[v], strict=True))
        hinge = cp.sum(cp.pos(1.0 - cp.multiply(y, X @ w + b)))
        # The truncated loss rises with slope 6/5; without a cap it is that much of the hinge.
        terms.append(0.5 * cp.quad_form(w, cp.psd_wrap(R)) + 1.2 * hinge)
    exact = cp.Problem(cp.Minimize(sum(terms))).solve(solver=cp.CLARABEL)
    assert model.objective_[0] == pytest.approx(exact, rel=1e-6)


# --------------------------------------------------------------------------- special cases


@pytest.mark.parametrize("C", [0.1, 1.0, 8.0])
def test_one_view_is_htsvc(C):
    (X, _), y = two_views()
    model, single = MultiViewHTSVC(C).fit(X, y), HTSVC(C).fit(X, y)
    np.testing.assert_array_equal(model.coef_, single.coef_)
    np.testing.assert_array_equal(model.intercept_, single.intercept_)
    np.testing.assert_allclose(model.objective_, single.objective_, rtol=1e-12)
    np.testing.assert_array_equal(model.view_weights_, [1.0])
    np.testing.assert_array_equal(model.ignored_, single.ignored_)
    np.testing.assert_array_equal(model.sample_status_[:, 0], single.sample_status_)


def test_views_in_another_order_give_the_same_in_that_order():
    views, y = two_views()
    there = MultiViewHTSVC(structure=0.1, C=[1.0, 2.0], tol=1e-6).fit(views, y)
    back = MultiViewHTSVC(structure=0.1, C=[2.0, 1.0], tol=1e-6).fit(views[::-1], y)
    np.testing.assert_allclose(there.view_weights_, back.view_weights_[::-1], atol=1e-7)
    np.testing.assert_allclose(there.view_coef_[0], back.view_coef_[1], atol=1e-6)
    np.testing.assert_allclose(
        there.decision_function(views), back.decision_function(views[::-1]), atol=1e-6
    )


@pytest.mark.parametrize("eta", [0.0, 0.1])
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_a_constant_view_is_left_out(eta, value):
    (X, _), y = two_views()
    model = MultiViewHTSVC(structure=eta)
    with pytest.warns(IgnoredClassWarning, match=r"views \[1\] are constant.*left out"):
        model.fit([X, np.full((len(y), 2), value)], y)
    np.testing.assert_array_equal(model.view_weights_, [1.0, 0.0])
    alone = MultiViewHTSVC(structure=eta).fit(X, y)
    np.testing.assert_allclose(model.decision_function([X, np.zeros((len(y), 2))]),
                               alone.decision_function(X), atol=1e-3)  # fmt: skip
    assert all(certificate.certified for certificate in model.certificate_)


def test_a_view_that_loses_its_weight_says_why_and_what_would_help():
    views, y = two_views()
    with pytest.warns(DroppedViewWarning, match="weight_smoothness=0.01 is small") as caught:
        model = MultiViewHTSVC(weight_smoothness=0.01).fit(views, y)
    dropped = int(model.view_weights_.argmin())
    assert sorted(model.view_weights_) == [0.0, 1.0]
    other = 1 - dropped
    np.testing.assert_allclose(
        model.decision_function(views),
        views[other] @ model.view_coef_[other] + model.view_intercept_[other],
    )
    assert not model.view_decision_function(views)[:, dropped].any()
    assert np.all(np.isfinite(model.view_coef_[dropped]))
    needed = float(str(caught[0].message).split("About ")[1].split(" ")[0])
    kept = MultiViewHTSVC(weight_smoothness=needed).fit(views, y)
    assert kept.view_weights_.min() > 0.0


def test_the_automatic_smoothness_grows_where_a_view_would_lose_its_weight():
    (good, _), y = two_views()
    poor = np.random.default_rng(0).normal(size=(len(y), 2)) + 0.3 * y[:, None]
    views = [0.02 * good, poor]
    model = MultiViewHTSVC(C=100.0).fit(views, y)
    assert model.view_weights_.min() > 0.0
    w = [point @ point for point in model.view_coef_]
    assert max(w) > 5.0 * min(w)


@pytest.mark.parametrize("per_class", [1, 2, 4])
def test_classes_too_small_for_the_l_method_are_one_cluster(per_class):
    views, y = two_views(2 * per_class, wrong=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MultiViewHTSVC(structure=1.0).fit(views, y)
    assert model.n_clusters_ == [2, 2]
    assert all(certificate.certified for certificate in model.certificate_)


# -------------------------------------------------------------------------------- algorithms


def test_admm_without_safeguards_is_the_printed_algorithm():
    views, y = golden()
    eta, alpha, rounds = 0.5, 10.0, 3
    model = MultiViewHTSVC(
        C=1.0,
        structure=eta,
        weight_smoothness=alpha,
        solver=ADMM(safeguards=()),
        max_rounds=rounds,
        max_iter=40,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(views, y)
    covariances = sigmas(views, (y > 0).astype(int))
    theta = np.array([0.5, 0.5])
    for number in range(rounds):
        points = []
        for v, X in enumerate(views):
            R = theta[v] * np.eye(X.shape[1])
            R += eta * sum(t * s for t, s in zip(theta, covariances[v], strict=True))
            points.append(
                ADMM(safeguards=(), max_iter=40).solve(_problem(X, y.astype(np.int8), R)).coef
            )
        cost = [
            points[v] @ points[v] + eta * sum(w @ covariances[u][v] @ w
                                              for u, w in enumerate(points))
            for v in range(2)
        ]  # fmt: skip
        if number < rounds - 1:
            theta = best_weights(np.array(cost), alpha)
    assert model.n_iter_ == rounds
    np.testing.assert_allclose(model.view_weights_, theta, atol=1e-9)
    np.testing.assert_allclose(model.view_coef_[0], points[0], atol=1e-9)
    np.testing.assert_allclose(model.view_coef_[1], points[1], atol=1e-9)


def test_admm_means_the_safeguarded_algorithm_and_goes_down():
    views, y = two_views()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        named, model = (
            MultiViewHTSVC(solver=solver, weight_smoothness=20.0).fit(views, y)
            for solver in ("admm", ADMM())
        )
    assert np.all(np.diff(model.history_["objective"]) <= 0.0)
    np.testing.assert_array_equal(named.coef_, model.coef_)
