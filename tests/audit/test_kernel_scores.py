"""Leave-one-out scores in closed form against fits without the sample."""

import numpy as np
import pytest
import scipy.sparse as sp

from htsvm.audit import kernel_scores
from htsvm.audit.kernel_scores import PENALTIES, LandmarkSpace, LeaveOneOut, one_hot


def features_of(space):
    return np.vstack([Z for _, Z in space.blocks()])


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
    Z = features_of(LandmarkSpace(X, 25, 0))
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    squared /= np.median(squared)
    kernel = sum(np.exp(-width * squared) for width in (0.02, 0.5))
    centred = X - X.mean(axis=0)
    kernel += 9.0 * centred @ centred.T / np.mean(np.sum(centred**2, axis=1))
    np.testing.assert_allclose(Z @ Z.T, kernel, atol=1e-3)


def test_sparse_and_dense_agree():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 8)) * (rng.random((60, 8)) < 0.4)
    dense, sparse = (LandmarkSpace(part, 60, 0) for part in (X, sp.csr_matrix(X)))
    one, other = features_of(dense), features_of(sparse)
    np.testing.assert_allclose(one @ one.T, other @ other.T, atol=1e-7)
    np.testing.assert_allclose(dense.isolation, sparse.isolation, atol=1e-9)


def test_isolation_is_the_distance_to_the_third_nearest_other_sample():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [40.0]])
    squared = (X - X.T) ** 2
    expected = np.sort(squared, axis=1)[:, 3] / np.median(squared)
    space = LandmarkSpace(X, 5, 0)
    features_of(space)
    np.testing.assert_allclose(space.isolation, expected)


def test_few_columns_are_features_too():
    X = np.random.default_rng(0).normal(size=(150, 51)) * 7.0
    few, many = features_of(LandmarkSpace(X[:, :4], 150, 0)), features_of(LandmarkSpace(X, 150, 0))
    assert few.shape[1] - many.shape[1] == 4
    columns = few[:, -4:]
    np.testing.assert_allclose(columns.mean(axis=0), 0.0, atol=1e-12)
    assert np.mean(np.sum(columns**2, axis=1)) == pytest.approx(9.0)
    assert np.all(features_of(LandmarkSpace(np.ones((150, 2)), 150, 0))[:, -2:] == 0.0)


@pytest.mark.parametrize("penalty", [0.1, 10.0])
def test_rows_of_a_fold_are_scored_without_all_of_it(penalty):
    rng = np.random.default_rng(4)
    Z, codes = rng.normal(size=(30, 4)), rng.integers(0, 3, 30)
    weights = rng.uniform(0.5, 2.0, 30)
    weights *= 30.0 / weights.sum()
    folds = np.repeat([0, -1, 1], 10)
    Y = one_hot(codes, 3)
    found = LeaveOneOut.of(Z, weights, folds).scores(Y, penalty)
    alone = brute_force(Z, Y, weights, penalty)
    np.testing.assert_allclose(found[folds < 0], alone[folds < 0], rtol=1e-9)
    for fold in (0, 1):
        out = folds == fold
        design = np.column_stack([Z[~out], np.ones(20)])
        normal = design.T @ (weights[~out, None] * design) + penalty * np.diag([1.0] * 4 + [0.0])
        coef = np.linalg.solve(normal, design.T @ (weights[~out, None] * Y[~out]))
        np.testing.assert_allclose(
            found[out], np.column_stack([Z[out], np.ones(10)]) @ coef, atol=1e-6
        )


def test_blocks_are_the_whole(monkeypatch):
    """Features that are made anew for each pass give the scores of features that are kept."""
    rng = np.random.default_rng(5)
    X, codes = rng.normal(size=(2500, 3)), rng.integers(0, 2, 2500)
    Y, weights = one_hot(codes, 2), np.ones(2500)
    whole = LeaveOneOut.of(LandmarkSpace(X, 2500, 0), weights).scores(Y, 1.0)
    monkeypatch.setattr(kernel_scores, "KEPT", 0)
    monkeypatch.setattr(kernel_scores, "BLOCK", 100_000)
    space = LandmarkSpace(X, 2500, 0)
    assert len(space.parts) >= 5
    np.testing.assert_allclose(LeaveOneOut.of(space, weights).scores(Y, 1.0), whole, atol=2e-3)
