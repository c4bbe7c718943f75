"""Data that several of these tests share."""

from itertools import pairwise

import numpy as np
import scipy.sparse as sp


def noisy(m, n, classes=2, seed=0, flipped=0.15):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    y = (X @ rng.normal(size=(n, classes))).argmax(axis=1)
    wrong = rng.random(m) < flipped
    y[wrong] = rng.integers(classes, size=wrong.sum())
    return X, y


def thinned(X, seed=0):
    return sp.csr_matrix(X * (np.random.default_rng(seed).random(X.shape) < 0.3))


def cut(sizes, m):
    """Return chunk sizes that repeat `sizes` until they add up to m."""
    chunks = []
    while sum(chunks) < m:
        chunks.append(min(sizes[len(chunks) % len(sizes)], m - sum(chunks)))
    return tuple(chunks)


def as_dask(X, y, sizes=(170, 40, 333)):
    import dask
    import dask.array as da

    chunks = cut(sizes, X.shape[0])
    if not sp.issparse(X):
        return da.from_array(X, chunks=(chunks, -1)), da.from_array(y, chunks=(chunks,))
    edges = np.concatenate([[0], np.cumsum(chunks)])
    blocks = [
        da.from_delayed(
            dask.delayed(X[low:high]), (high - low, X.shape[1]), meta=sp.csr_matrix((0, 0))
        )
        for low, high in pairwise(edges)
    ]
    return da.concatenate(blocks), da.from_array(y, chunks=(chunks,))


def assert_same_fit(blocks, local, tol=1e-8):
    """The same objective, certificate and samples, up to rounding."""
    np.testing.assert_allclose(blocks.objective_, local.objective_, rtol=tol)
    np.testing.assert_allclose(blocks.coef_, local.coef_, rtol=tol, atol=tol)
    np.testing.assert_allclose(blocks.intercept_, local.intercept_, rtol=tol, atol=tol)
    np.testing.assert_array_equal(blocks.support_, local.support_)
    np.testing.assert_allclose(blocks.dual_coef_, local.dual_coef_, rtol=tol, atol=tol)
    np.testing.assert_array_equal(blocks.n_support_, local.n_support_)
    for ours, theirs in zip(blocks.certificate_, local.certificate_, strict=True):
        for name in ("stationarity", "balance", "prox_residual", "on_margin"):
            assert abs(getattr(ours, name) - getattr(theirs, name)) <= tol, name
        for name in ("objective", "trivial_objective", "convex_objective", "nu", "nu_max"):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=tol)
        assert ours.local_minimizer == theirs.local_minimizer
        assert ours.counts == theirs.counts
        assert ours.certified == theirs.certified


def on_workers(sample=2_000, driver=None):
    """Have rows in blocks: few values fit into the driver."""
    import dask

    chosen = {"htsvm.sample-values": sample}
    return dask.config.set(chosen if driver is None else {**chosen, "htsvm.driver-values": driver})


def assert_as_good(model, other, tol=2e-3):
    """Two certified fits of a convex problem: objectives differ by their gaps at most."""
    for one in (*model.certificate_, *other.certificate_):
        assert one.certified
    np.testing.assert_allclose(model.objective_, other.objective_, rtol=tol)
