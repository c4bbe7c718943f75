"""Warm starts after the data changed: no higher than a cold fit."""

import numpy as np
import pytest

from htsvm import HTSVC
from htsvm.baselines import RampSVC
from htsvm_paper.baselines import ZeroOneSVC

pytestmark = pytest.mark.filterwarnings("ignore::htsvm.exceptions.IgnoredClassWarning")


def changed(seed, m, n, classes=2):
    """Return data, and other data of the same shape with more wrong labels."""
    rng = np.random.default_rng(seed)
    for wrong in (0.1, 0.3):
        X = rng.normal(size=(m, n))
        y = (X @ rng.normal(size=(n, classes))).argmax(axis=1)
        some = rng.random(m) < wrong
        y[some] = rng.integers(classes, size=some.sum())
        yield X, y


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        HTSVC(C=100.0, cap=4.0),
        HTSVC(cap=1.0),
        HTSVC(C=10.0, cap=1.0, starts=["convex"]),
        RampSVC(ceiling=1.0),
        ZeroOneSVC(),
    ],
)
def test_no_higher_than_a_cold_fit(model, classes):
    """Seven times the cold objective, or a third above it: certified, and without a word."""
    for seed, (m, n) in enumerate([(50, 20), (100, 5), (400, 2), (60, 20)]):
        before, after = changed(seed, m, n, classes)
        cold = type(model)(**model.get_params()).fit(*after)
        warm = type(model)(**model.get_params()).set_params(warm_start=True)
        reached = warm.fit(*before).fit(*after).objective_
        assert np.all(reached <= (1.0 + 1e-4) * cold.objective_)


def test_a_warm_start_that_is_lower_is_kept():
    _, (X, y) = changed(1, 100, 5)
    model = HTSVC(C=10.0, cap=1.0, starts=["convex"], warm_start=True).fit(X, y)
    best = HTSVC(C=10.0, cap=1.0, n_restarts=20).fit(X, y)
    model.coef_, model.intercept_ = best.coef_.copy(), best.intercept_.copy()
    lower = model.fit(X, y)
    convex = HTSVC(C=10.0, cap=1.0, starts=["convex"]).fit(X, y)
    assert best.objective_[0] < 0.99 * convex.objective_[0]
    assert lower.start_ == ["warm"]
    assert lower.objective_[0] <= (1.0 + 1e-3) * best.objective_[0]
