"""The projection onto the simplex."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from htsvm.linalg.simplex import project_to_simplex

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


def test_every_row_has_its_own_simplex():
    rng = np.random.default_rng(0)
    points, sizes = 3.0 * rng.normal(size=(40, 5)), rng.exponential(size=40)
    sizes[7] = 0.0
    projected = project_to_simplex(points, sizes)
    np.testing.assert_allclose(projected.sum(axis=1), sizes, atol=1e-12)
    assert not projected[7].any()
    for point, size, row in zip(points, sizes, projected, strict=True):
        if size > 0.0:
            np.testing.assert_allclose(row, size * project_to_simplex(point / size), atol=1e-12)


def test_a_tiny_simplex_has_a_positive_coordinate():
    projected = project_to_simplex(np.array([[1.0, 0.5], [2.0, 2.0]]), np.array([1e-30, 1e-30]))
    np.testing.assert_array_equal(projected, [[1e-30, 0.0], [5e-31, 5e-31]])
