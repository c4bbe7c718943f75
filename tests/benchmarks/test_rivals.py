"""Every adapter must pass C on: a forgotten C makes a benchmark worthless."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from benchmarks.rivals import DEFAULT, HINGE, LOGISTIC, OURS, RIVALS, SGD
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC


@pytest.fixture
def separable():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.where(X @ [1.0, -2.0, 0.5] + 0.3 > 0, 1, -1)
    return X, y


@pytest.fixture
def noisy(separable):
    X, y = separable
    return X, np.where(np.random.default_rng(1).random(len(y)) < 0.1, -y, y)


def quiet_fit(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def hinge_objective(model, X, y, C):
    violations = np.maximum(0.0, 1.0 - y * model.decision_function(X))
    return 0.5 * float(np.sum(model.coef_**2)) + C * float(violations.sum())


def test_keys_are_unique():
    assert len({rival.key for rival in RIVALS}) == len(RIVALS)


@pytest.mark.parametrize(
    ("rival", "direct"),
    [
        (DEFAULT, lambda C: LinearSVC(C=C, random_state=0)),
        (HINGE, lambda C: LinearSVC(C=C, loss="hinge", random_state=0)),
        (LOGISTIC, lambda C: LogisticRegression(C=C)),
    ],
)
@pytest.mark.parametrize("C", [0.0625, 16.0])
def test_same_as_a_direct_call(rival, direct, C, separable):
    X, y = separable
    ours = quiet_fit(rival.make(C, len(y)), X, y)
    theirs = quiet_fit(direct(C), X, y)
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6)


@pytest.mark.parametrize("rival", RIVALS, ids=lambda rival: rival.key)
def test_larger_c_means_longer_weights(rival, noisy):
    X, y = noisy
    lengths = [
        np.linalg.norm(quiet_fit(rival.make(C, len(y)), X, y).coef_) for C in (2.0**-8, 2.0**-4)
    ]
    assert lengths[1] > 1.2 * lengths[0]


def test_sgd_alpha():
    assert_allclose(SGD.make(4.0, 500).alpha, 1.0 / 2000.0)


def test_sgd_minimises_the_same_hinge_objective(noisy):
    """With the right alpha SGD comes near the optimum of the hinge SVM at C; else it would not."""
    X, y = noisy
    C = 0.125
    exact = LinearSVC(C=C, loss="hinge", intercept_scaling=100.0, tol=1e-8, max_iter=10**6)
    best = hinge_objective(quiet_fit(exact, X, y), X, y, C)
    model = SGD.make(C, len(y)).set_params(max_iter=5000, tol=None, average=True)
    assert hinge_objective(quiet_fit(model, X, y), X, y, C) < 1.02 * best


def test_ours_without_truncation_is_the_hinge_svm_at_six_fifths_of_c(noisy):
    """The convex case of our own adapter: cap = inf is the hinge SVM with slope 6/5."""
    X, y = noisy
    C = 0.125
    ours = OURS.make(C, len(y)).set_params(cap=float("inf"), tol=1e-6).fit(X, y)
    peer = HINGE.make(1.2 * C, len(y)).set_params(intercept_scaling=100.0, tol=1e-8, max_iter=10**6)
    quiet_fit(peer, X, y)
    assert_allclose(
        hinge_objective(ours, X, y, 1.2 * C), hinge_objective(peer, X, y, 1.2 * C), rtol=1e-3
    )
