"""The weights of the views: projection onto the simplex."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from htsvm.multiview.weights import (
    balanced_smoothness,
    best_weights,
    project_to_simplex,
)

POINTS = arrays(np.float64, st.integers(1, 6), elements=st.floats(-1e3, 1e3))


@given(POINTS)
def test_the_projection_is_on_the_simplex_and_nothing_on_it_is_nearer(point):
    theta = project_to_simplex(point)
    assert np.all(theta >= 0.0)
    assert theta.sum() == pytest.approx(1.0, abs=1e-9)
    # The simplex is the hull of its corners, so it is enough to look at them.
    slopes = theta - point
    assert np.all(slopes - slopes @ theta >= -1e-6 * (1.0 + np.abs(point).max()))


def test_the_projection_of_a_point_on_the_simplex_is_the_point():
    np.testing.assert_allclose(project_to_simplex([0.2, 0.5, 0.3]), [0.2, 0.5, 0.3], atol=1e-15)


def test_huge_coordinates_lose_no_precision():
    np.testing.assert_array_equal(project_to_simplex([1e12, 1e12 + 0.5]), [0.25, 0.75])


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
