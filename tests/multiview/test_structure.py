"""Clusters, their number, and the covariances within them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score

from htsvm.multiview.clusters import cluster_rows, number_of_clusters, row_keys
from htsvm.multiview.structure import find_structure, within_covariance

X_AXIS = np.arange(2, 31)


def slow_number_of_clusters(graph, refine):
    """The L-method with a loop and NumPy's line fits; `graph` is y(2), y(3), ..."""

    def root_mean_square(x, y):
        fit = np.polyfit(x, y, 1) if len(x) > 1 else [0.0, y[0]]
        return np.sqrt(np.mean((np.polyval(fit, x) - y) ** 2))

    def bend(b):
        x, y = np.arange(2, b + 1), graph[: b - 1]
        errors = [
            (c - 1) / (b - 1) * root_mean_square(x[: c - 1], y[: c - 1])
            + (b - c) / (b - 1) * root_mean_square(x[c - 1 :], y[c - 1 :])
            for c in range(3, b - 1)
        ]
        return 3 + int(np.argmin(errors))

    points = len(graph) + 1
    current = bend(points)
    while refine:
        last, current = current, bend(min(2 * current, points))
        if current >= last:
            break
    return current


@pytest.mark.parametrize("refine", [True, False])
def test_two_straight_lines_meet_where_they_do(refine):
    graph = np.where(X_AXIS <= 6, 20.0 - 4.0 * (X_AXIS - 2), 3.8 - 0.1 * (X_AXIS - 6))
    assert number_of_clusters(graph[::-1], refine=refine) == 6


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("refine", [True, False])
def test_against_line_fits_one_by_one(seed, refine):
    rng = np.random.default_rng(seed)
    graph = np.sort(rng.exponential(size=rng.integers(4, 60)) ** 2)[::-1]
    assert number_of_clusters(graph[::-1], refine=refine) == slow_number_of_clusters(graph, refine)


@pytest.mark.parametrize("points", [1, 2, 3, 4])
def test_too_few_points_are_one_cluster(points):
    assert number_of_clusters(np.arange(points - 1.0)) == 1
    assert cluster_rows(np.arange(points * 2.0).reshape(points, 2)).tolist() == [0] * points


def test_known_numbers_of_clusters():
    iris, species = load_iris(return_X_y=True)
    wine, cultivar = load_wine(return_X_y=True)
    for rows, expected, unrefined in [
        (iris[species == 0], 3, 6),
        (iris[species != 0], 3, 6),
        (wine[cultivar == 0], 4, None),
        (wine[cultivar == 1], 3, None),
    ]:
        heights = linkage(rows, method="ward")[:, 2]
        assert number_of_clusters(heights) == expected
        assert cluster_rows(rows).max() + 1 == expected
        if unrefined is not None:
            assert number_of_clusters(heights, refine=False) == unrefined


def test_the_clusters_are_those_of_ward():
    X = np.random.default_rng(0).normal(size=(80, 3)) + np.repeat(10.0 * np.arange(4), 20)[:, None]
    tree = linkage(X, method="ward")
    expected = fcluster(tree, number_of_clusters(tree[:, 2]), criterion="maxclust")
    assert adjusted_rand_score(cluster_rows(X), expected) == 1.0
    assert adjusted_rand_score(cluster_rows(sp.csr_matrix(X)), expected) == 1.0


def test_a_summary_finds_clusters_that_are_far_apart():
    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(5), 80)
    X = rng.normal(size=(400, 4)) + 40.0 * rng.normal(size=(5, 4))[group]
    direct = cluster_rows(X)
    summary = cluster_rows(X, direct_rows=100, summary_rows=40)
    assert adjusted_rand_score(direct, summary) == 1.0
    assert adjusted_rand_score(direct, group) == 1.0


# ------------------------------------------------------------------------------- covariances


def slow_covariance(X, labels, weights):
    total = np.zeros((X.shape[1], X.shape[1]))
    for label in set(labels.tolist()) - {-1}:
        rows = labels == label
        total += np.atleast_2d(np.cov(X[rows].T, aweights=weights[rows], ddof=0))
    return total


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_covariances_are_added_up_cluster_by_cluster(form):
    rng = np.random.default_rng(3)
    X, weights = rng.normal(size=(40, 3)) + 5.0, rng.integers(1, 4, size=40).astype(float)
    labels = rng.integers(-1, 5, size=40)
    expected = slow_covariance(X, labels, weights)
    np.testing.assert_allclose(within_covariance(form(X), labels, weights), expected, atol=1e-12)


def test_a_sample_of_weight_k_is_k_samples():
    rng = np.random.default_rng(4)
    X, labels = rng.normal(size=(30, 4)), rng.integers(0, 3, size=30)
    weights = rng.integers(0, 4, size=30)
    kept = np.where(weights > 0, labels, -1)
    repeated = within_covariance(np.repeat(X, weights, axis=0), np.repeat(labels, weights))
    np.testing.assert_allclose(within_covariance(X, kept, weights), repeated, atol=1e-13)


def test_the_structure_crosses_the_views():
    rng = np.random.default_rng(5)
    views = [rng.normal(size=(50, 2)), rng.normal(size=(50, 3))]
    codes = np.repeat([0, 1], 25)
    structure = find_structure(views, codes, None)
    for u in range(2):
        labels = structure.labels[:, u]
        assert not set(labels[:25]) & set(labels[25:])
        assert structure.n_clusters[u] == len(set(labels))
        for v in range(2):
            expected = slow_covariance(views[v], labels, np.ones(50))
            np.testing.assert_allclose(structure.covariances[v][u], expected, atol=1e-12)


def test_samples_of_weight_zero_belong_to_no_cluster():
    X = np.random.default_rng(6).normal(size=(30, 2))
    weights = np.ones(30)
    weights[3] = 0.0
    structure = find_structure([X], np.zeros(30, dtype=int), weights)
    assert structure.labels[3, 0] == -1
    others = np.delete(X, 3, axis=0)
    alone = find_structure([others], np.zeros(29, dtype=int), None)
    np.testing.assert_allclose(structure.covariances[0][0], alone.covariances[0][0], atol=1e-13)


def test_equal_rows_have_equal_keys_dense_or_sparse():
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, size=(2_000, 6)).astype(float)
    keys = row_keys(X)
    np.testing.assert_array_equal(keys, row_keys(sp.csr_matrix(X)))
    np.testing.assert_array_equal(keys, row_keys(X.astype(np.float32)))
    _, place = np.unique(X, axis=0, return_inverse=True)
    _, of_keys = np.unique(keys, return_inverse=True)
    assert len({*zip(place.tolist(), of_keys.tolist(), strict=True)}) == place.max() + 1
    assert len(set(keys.tolist())) == place.max() + 1
    X[0], X[1] = 0.0, -0.0
    assert row_keys(X)[0] == row_keys(X)[1]
