"""Leave-one-out scores in closed form against fits without the sample."""

import numpy as np
import pytest
import scipy.sparse as sp

from htsvm.audit.kernel_scores import PENALTIES, LeaveOneOut, kernel_space, one_hot


def brute_force(Z, Y, weights, penalty):
    """Fit weighted ridge with a free intercept n times, each time without one sample."""
    scores = np.empty_like(Y)
    n, d = Z.shape
    for i in range(n):
        kept = np.arange(n) != i
        design = np.column_stack([Z[kept], np.ones(n - 1)])
        ridge = penalty * np.diag([1.0] * d + [0.0])
        normal = design.T @ (weights[kept, None] * design) + ridge
        coef = np.linalg.solve(normal, design.T @ (weights[kept, None] * Y[kept]))
        scores[i] = np.append(Z[i], 1.0) @ coef
    return scores


@pytest.mark.parametrize("penalty", [0.1, 10.0])
def test_leave_one_out_is_exact(penalty):
    rng = np.random.default_rng(0)
    Z, codes = rng.normal(size=(30, 4)), rng.integers(0, 3, 30)
    weights = rng.uniform(0.5, 2.0, 30)
    Y = one_hot(codes, 3)
    found = LeaveOneOut.of(Z, weights).scores(Y, penalty)
    np.testing.assert_allclose(found, brute_force(Z, Y, weights, penalty), rtol=1e-9)


def test_best_has_the_smallest_error():
    rng = np.random.default_rng(1)
    Z, codes = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    problem = LeaveOneOut.of(Z, np.ones(40))
    Y = one_hot(codes, 2)
    scores, penalty = problem.best(Y)
    for other in PENALTIES:
        worse = ((problem.scores(Y, other) - Y) ** 2).sum()
        assert ((scores - Y) ** 2).sum() <= worse + 1e-12
    assert penalty >= 10.0  # The labels are noise.


def test_features_reproduce_the_kernel_when_every_sample_is_a_landmark():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(25, 3))
    Z = kernel_space(X, 25, seed=0).features
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    squared /= np.median(squared)
    kernel = sum(np.exp(-width * squared) for width in (0.02, 0.5))
    centred = X - X.mean(axis=0)
    kernel += 9.0 * centred @ centred.T / np.mean(np.sum(centred**2, axis=1))
    np.testing.assert_allclose(Z @ Z.T, kernel, atol=1e-3)


def test_sparse_and_dense_agree():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 8)) * (rng.random((60, 8)) < 0.4)
    dense, sparse = (kernel_space(part, 60, seed=0) for part in (X, sp.csr_matrix(X)))
    np.testing.assert_allclose(dense.features @ dense.features.T,
                               sparse.features @ sparse.features.T, atol=1e-7)  # fmt: skip
    np.testing.assert_allclose(dense.isolation, sparse.isolation, atol=1e-9)


def test_isolation_is_the_distance_to_the_third_nearest_other_sample():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [40.0]])
    squared = (X - X.T) ** 2
    expected = np.sort(squared, axis=1)[:, 3] / np.median(squared)
    np.testing.assert_allclose(kernel_space(X, 5, seed=0).isolation, expected)


def test_few_columns_are_features_too():
    X = np.random.default_rng(0).normal(size=(150, 51)) * 7.0
    few, many = kernel_space(X[:, :4], 150, 0), kernel_space(X, 150, 0)
    assert few.features.shape[1] - many.features.shape[1] == 4
    columns = few.features[:, -4:]
    np.testing.assert_allclose(columns.mean(axis=0), 0.0, atol=1e-12)
    assert np.mean(np.sum(columns**2, axis=1)) == pytest.approx(9.0)
    assert np.all(kernel_space(np.ones((150, 2)), 150, 0).features[:, -2:] == 0.0)
