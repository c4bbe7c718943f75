from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from htsvm.datasets import flip_labels, make_two_gaussians
from htsvm_paper.experiments import demo
from htsvm_paper.experiments.methods import METHODS, get
from htsvm_paper.experiments.models import TruncatedLogistic


@pytest.fixture(scope="module")
def noisy():
    X, y = make_two_gaussians(100, random_state=0)
    return X, *flip_labels(y, 0.2, random_state=1)


def objective(model, X, y, C, ceiling):
    losses = np.logaddexp(0.0, -y * model.decision_function(X))
    w = getattr(model, "model_", model).coef_
    return 0.5 * float(np.sum(w**2)) + C * float(np.minimum(losses, ceiling).sum())


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_truncated_logistic_is_a_fixed_point_below_the_convex_start(noisy, C):
    X, y, _ = noisy
    model = TruncatedLogistic(C).fit(X, y)
    start = LogisticRegression(C=C, max_iter=1000).fit(X, y)
    assert objective(model, X, y, C, model.ceiling) <= objective(start, X, y, C, model.ceiling)
    kept = np.logaddexp(0.0, -y * model.decision_function(X)) < model.ceiling
    assert model.n_ignored_ == np.count_nonzero(~kept) > 0
    again = LogisticRegression(C=C, max_iter=1000).fit(X[kept], y[kept])
    np.testing.assert_allclose(again.coef_, model.model_.coef_, rtol=1e-3)


def test_truncated_logistic_without_a_ceiling_is_logistic_regression(noisy):
    X, y, _ = noisy
    model = TruncatedLogistic(ceiling=np.inf).fit(X, y)
    plain = LogisticRegression(max_iter=1000).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    assert model.n_ignored_ == 0


def test_penalties_of_rivals_are_stated_like_ours(noisy):
    assert get("sgd").make({"C": 4.0}, seed=0, n_samples=50).alpha == pytest.approx(1 / 200)
    assert get("modified-huber").make({"C": 1.0}, seed=0, n_samples=10).loss == "modified_huber"
    # C |y - f|² + |w|²/2, solved by hand on centred data.
    X, y, _ = noisy
    C, centred = 3.0, X - X.mean(axis=0)
    scatter = 2 * C * centred.T @ centred
    w = np.linalg.solve(scatter + np.eye(2), 2 * C * centred.T @ (y - y.mean()))
    ridge = get("ridge").make({"C": C}, seed=0).fit(X, y)
    np.testing.assert_allclose(ridge.coef_.ravel(), w, rtol=1e-6)


def test_a_seed_that_is_given_is_kept():
    assert get("ht").make({"C": 1.0}, seed=7).random_state == 7
    assert get("ht").make({"C": 1.0, "random_state": None}, seed=7).random_state is None


def test_the_demonstration_takes_its_methods_from_the_registry():
    assert set(demo.METHODS) <= set(METHODS)
