"""Positive definite systems against dense NumPy, singular ones included."""

import numpy as np
import pytest

from htsvm.linalg.positive import Cholesky, cholesky_factor, conjugate_gradients


def spd(n, seed=0):
    root = np.random.default_rng(seed).normal(size=(n, n))
    return root @ root.T + 0.1 * np.eye(n)


def test_cholesky_reads_the_lower_triangle():
    H, rhs = spd(6), np.random.default_rng(1).normal(size=(6, 2))
    solved = Cholesky(np.tril(H) + np.triu(np.full((6, 6), np.nan), 1)).solve(rhs)
    np.testing.assert_allclose(H @ solved, rhs, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_a_singular_matrix_gets_a_ridge(scale):
    v = np.array([1.0, 2.0, -1.0])
    H = scale * np.outer(v, v)
    H[0, 0] *= 1.0 - 1e-15
    assert cholesky_factor(H) is None
    x = Cholesky(H).solve(scale * v)
    # One of the solutions, up to the ridge.
    assert v @ x == pytest.approx(1.0, rel=1e-3)


def test_overflow_is_an_error_that_names_a_remedy():
    with pytest.raises(np.linalg.LinAlgError, match="Scale the features"):
        Cholesky(np.full((2, 2), np.inf)).solve(np.ones(2))


def test_conjugate_gradients_on_vectors_of_any_shape():
    H, rhs = spd(12), np.random.default_rng(3).normal(size=(3, 4))
    exact = np.linalg.solve(H, rhs.ravel()).reshape(3, 4)

    def apply(V):
        return (H @ V.ravel()).reshape(3, 4)

    options = {"tolerance": 1e-12, "most_steps": 100}
    x, steps = conjugate_gradients(apply, rhs, lambda V: V, **options)
    np.testing.assert_allclose(x, exact, atol=1e-8)
    assert 1 <= steps < 40
    again, none = conjugate_gradients(apply, rhs, lambda V: V, start=exact, **options)
    assert none == 0
    np.testing.assert_array_equal(again, exact)


def test_a_flat_direction_is_returned_as_it_is():
    rhs = np.array([1.0, -2.0])
    x, _ = conjugate_gradients(np.zeros_like, rhs, lambda v: v, tolerance=0.1, most_steps=9)
    np.testing.assert_array_equal(x, rhs)


def test_conjugate_gradients_on_numbers_whose_squares_vanish():
    A, rhs = 1e30 * spd(6), 1e-158 * np.random.default_rng(5).normal(size=6)
    x, _ = conjugate_gradients(
        lambda v: A @ v, rhs, lambda v: 1e-10 * v, tolerance=1e-8, most_steps=50
    )
    # A direction of descent, which is all that such numbers allow.
    assert (x * 1e158) @ (rhs * 1e158) > 0.0
