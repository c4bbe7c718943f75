"""The weights of the views."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from htsvm.multiview.alternation import balanced_smoothness, best_weights


@pytest.mark.parametrize("seed", range(20))
def test_best_weights_against_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    cost, alpha = rng.exponential(5.0, size=rng.integers(2, 6)), rng.exponential(2.0)

    def value(theta):
        return 0.5 * cost @ theta + 0.5 * alpha * theta @ theta

    theta = best_weights(cost, alpha)
    other = minimize(
        value,
        np.full(len(cost), 1.0 / len(cost)),
        bounds=[(0.0, 1.0)] * len(cost),
        constraints={"type": "eq", "fun": lambda t: t.sum() - 1.0},
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    assert value(theta) <= other.fun + 1e-10
    np.testing.assert_allclose(theta, other.x, atol=1e-5)


@pytest.mark.parametrize("cost", [(1.0, 3.0), (3.0, 1.0), (0.0, 9.0), (2.0, 2.0)])
def test_two_views_have_a_formula(cost):
    alpha = 1.7
    expected = np.clip(0.5 + (cost[1] - cost[0]) / (4.0 * alpha), 0.0, 1.0)
    assert best_weights(np.array(cost), alpha)[0] == pytest.approx(expected, abs=1e-15)


def test_the_balanced_smoothness_keeps_half_of_an_equal_share():
    cost = np.array([0.0, 0.0, 8.0])
    theta = best_weights(cost, balanced_smoothness(cost))
    shares = (1.0 - cost / cost.sum()) / 2.0
    np.testing.assert_allclose(theta, 0.5 * (shares + 1.0 / 3.0))
    assert balanced_smoothness(np.zeros(3)) == 1.0
    assert balanced_smoothness(np.array([4.0])) == 1.0
