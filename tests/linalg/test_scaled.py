"""Rows seen in centred, scaled columns are the rows (x - mean) * scale."""

import numpy as np
import pytest
import scipy.sparse as sp

from htsvm.linalg import CSROperator, as_operator
from htsvm.linalg.kernels import optional
from htsvm.linalg.scaled import LIGHT, Scaled, in_columns, merged, moments
from htsvm.losses import HybridTruncated
from htsvm.losses.rounded import rounded

M, N = 60, 5


def rows(dtype=np.float64, offset=3.0):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(M, N)) * 10.0 ** rng.uniform(-2, 2, N) + offset).astype(dtype)


def scaled(X):
    """Return the operator, and the rows that it should show, in double precision."""
    wide = X.astype(np.float64)
    mean, scale = wide.mean(axis=0), 1.0 / wide.std(axis=0)
    return in_columns(as_operator(X), mean, scale), (wide - mean) * scale


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products(dtype):
    operator, Z = scaled(rows(dtype))
    rng = np.random.default_rng(1)
    y, w, v = rng.choice([-1, 1], M).astype(np.int8), rng.normal(size=N), rng.normal(size=M)
    W, b, B = rng.normal(size=(3, N)), rng.normal(size=3), rng.normal(size=(M, 3))
    close = {"rtol": 1e-4 if dtype == np.float32 else 1e-10, "atol": 1e-4}
    exact = {"rtol": 1e-9, "atol": 1e-9}
    dot = operator.signed_dot(y, w, 0.3, np.empty(M))
    np.testing.assert_allclose(dot, y * (Z @ w + 0.3), **exact)
    pull, total = operator.signed_tdot(y, v)
    np.testing.assert_allclose(pull, Z.T @ (y * v), **exact)
    assert total == pytest.approx(y @ v)
    np.testing.assert_allclose(operator.scores(W, b), Z @ W.T + b, **exact)
    np.testing.assert_allclose(operator.pull(B), B.T @ Z, **exact)
    np.testing.assert_allclose(operator.squared_pull(B), B.T @ Z**2, **close)
    np.testing.assert_allclose(operator.row_squares(), np.sum(Z**2, axis=1), **close)
    assert operator.square_sum == pytest.approx(np.sum(Z**2), rel=1e-4)
    for part in (operator.block(slice(3, 9)), operator.take(np.arange(3, 9)).block(slice(None))):
        assert part.dtype == dtype
        np.testing.assert_allclose(part, Z[3:9], **close)
    np.testing.assert_allclose(operator.copied().block(slice(None)), Z, **close)


def test_work_counts_as_work_on_the_rows():
    X = as_operator(rows())
    operator = in_columns(X, np.ones(N), np.ones(N))
    operator.scores(np.ones((4, N)), np.zeros(4))
    assert X.passes == operator.passes == 4.0


def test_rows_are_not_copied():
    X = rows()
    operator, _ = scaled(X)
    assert isinstance(operator, Scaled)
    assert np.shares_memory(operator.operator.X, X)


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
def test_gram_of_centred_rows(offset):
    """A correction of sums that are 1e16 times as large would leave nothing but rounding."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(M, N)) + offset
    mean = X.mean(axis=0)
    Z = np.column_stack([X - mean, np.ones(M)])
    out, some = np.zeros((N + 1, N + 1)), np.arange(0, M, 2)
    weights = rng.uniform(0.5, 2.0, len(some))
    in_columns(as_operator(X), mean, np.ones(N)).add_gram(some, 1.0, out, weights)
    expected = (Z[some] * weights[:, None]).T @ Z[some]
    np.testing.assert_allclose(np.tril(out), np.tril(expected), rtol=1e-10, atol=1e-10)


@pytest.mark.skipif(optional("solvers._steps") is None, reason="nothing was compiled")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_passes_see_the_same_rows(dtype):
    operator, Z = scaled(rows(dtype, offset=1e3))
    rng = np.random.default_rng(3)
    y, w = rng.choice([-1, 1], M).astype(np.int8), rng.normal(size=N)
    q, slopes, near = np.empty(M), np.empty(M), np.empty(M, dtype=np.uint8)
    stage = rounded(HybridTruncated(), 0.1)
    optional("solvers._steps").survey(
        operator.compiled_rows, y, w, 0.1, np.ones(M), stage, 1.0, np.zeros(M), q, slopes, near
    )
    np.testing.assert_allclose(q, 1.0 - y * (Z @ w + 0.1), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
def test_moments(sparse):
    X = rows()
    X[np.random.default_rng(0).random(X.shape) < 0.4] = 0.0
    weights = np.random.default_rng(1).integers(0, 4, M).astype(float)
    operator = as_operator(sp.csr_matrix(X) if sparse else X)
    found = moments(operator, weights, float(weights.max()))
    repeated = np.repeat(X, weights.astype(int), axis=0)
    np.testing.assert_allclose(found.mean, repeated.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(found.squares / found.mass, repeated.var(axis=0), rtol=1e-9)
    assert found.sparse == sparse
    parts = [
        moments(operator.take(some), weights[some], float(weights.max()))
        for some in np.array_split(np.arange(M), 4)
    ]
    np.testing.assert_allclose(merged(parts).squares, found.squares, rtol=1e-9)


def test_moments_of_columns_far_from_zero():
    X = np.random.default_rng(0).normal(size=(M, N))
    found = moments(as_operator(X + 1e8), np.ones(M), 1.0)
    np.testing.assert_allclose(found.squares / M, X.var(axis=0), rtol=1e-6)


def test_rows_of_next_to_no_weight_still_tell_of_the_spread():
    X = np.array([[0.0], [0.0], [1.0]])
    found = moments(as_operator(X), np.array([1e16, 1e16, 1.0]), 1e16)
    assert found.squares[0] / found.mass == pytest.approx(0.5 * LIGHT, rel=1e-5)


def test_sparse_columns_with_a_mean_are_stored_in_full():
    X = sp.random(M, N, density=0.5, format="csr", random_state=0)
    mean, scale = np.array([0.0, 0.5, 0.0, 0.0, 2.0]), np.arange(1.0, 6.0)
    operator = in_columns(as_operator(X), mean, scale)
    assert isinstance(operator, CSROperator)
    np.testing.assert_allclose(operator.X.toarray(), (X.toarray() - mean) * scale, atol=1e-15)
    light = [0, 2, 3]
    assert operator.X[:, light].nnz == X[:, light].nnz
    assert operator.X.has_sorted_indices
    narrow = in_columns(as_operator(X.astype(np.float32)), mean, scale)
    assert narrow.X.dtype == np.float32
