"""Each compiled kernel against its NumPy twin."""

import numpy as np
import pytest
import scipy.sparse as sp

from htsvm.linalg import _numpy
from htsvm.linalg import kernels as built
from htsvm.losses import HybridTruncated

if not built.COMPILED:
    pytest.skip("the compiled kernels were not built", allow_module_level=True)
_compiled = built.active

# The second size is beyond the point from which on the kernels use several threads.
SIZES = [(40, 5), (100_000, 12)]
REALS = [np.float32, np.float64]
INDEXES = [np.int32, np.int64]


def readonly(*arrays):
    for array in arrays:
        array.setflags(write=False)
    return arrays


def make_csr(m, n, real, index, seed=0):
    """Return indptr, indices, data of a random matrix; every fifth row is empty."""
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.6)
    dense[::5] = 0.0
    X = sp.csr_matrix(dense.astype(real))
    parts = X.indptr.astype(index), X.indices.astype(index), X.data
    return readonly(*parts), dense.astype(real).astype(np.float64)


def make_vectors(m, n, seed=1):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(m) < 0.5, 1, -1).astype(np.int8)
    v = rng.normal(size=m) * (rng.random(m) < 0.5)
    return readonly(y, rng.normal(size=n), v)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("index", INDEXES)
def test_csr_products(size, real, index):
    (indptr, indices, data), dense = make_csr(*size, real, index)
    y, w, v = make_vectors(*size)
    ours, twin = np.empty(size[0]), np.empty(size[0])
    _compiled.csr_signed_dot(indptr, indices, data, y, w, 0.3, ours)
    _numpy.csr_signed_dot(indptr, indices, data, y, w, 0.3, twin)
    np.testing.assert_allclose(ours, twin, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours, y * (dense @ w + 0.3), rtol=1e-10, atol=1e-12)
    ours, twin = np.full(size[1], np.nan), np.full(size[1], np.nan)
    sums = (
        _compiled.csr_signed_tdot(indptr, indices, data, y, v, ours),
        _numpy.csr_signed_tdot(indptr, indices, data, y, v, twin),
    )
    assert sums[0] == pytest.approx(sums[1], rel=1e-10)
    np.testing.assert_allclose(ours, twin, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours, dense.T @ (y * v), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("index", INDEXES)
def test_csr_gram(size, real, index):
    (indptr, indices, data), dense = make_csr(*size, real, index)
    rows = np.random.default_rng(2).permutation(size[0])[: size[0] * 2 // 3].astype(np.intp)
    (rows,) = readonly(rows)
    rng = np.random.default_rng(3)
    start = rng.normal(size=(size[1] + 1,) * 2)
    ours, twin, total = start.copy(), start.copy(), np.zeros(len(rows))
    for _ in range(3):
        (weights,) = readonly(rng.normal(size=len(rows)) * (rng.random(len(rows)) < 0.8))
        _compiled.csr_add_gram(indptr, indices, data, rows, weights, ours)
        _numpy.csr_add_gram(indptr, indices, data, rows, weights, twin)
        total += weights
    bordered = np.hstack([dense[rows], np.ones((len(rows), 1))])
    expected = start + (bordered * total[:, None]).T @ bordered
    low = np.tril_indices(size[1] + 1)
    np.testing.assert_allclose(ours[low], twin[low], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours[low], expected[low], rtol=1e-9, atol=1e-9)


def test_csr_gram_of_no_rows_or_empty_rows():
    (indptr, indices, data), _ = make_csr(10, 3, np.float64, np.int32)
    for kernels in (_compiled, _numpy):
        out = np.zeros((4, 4))
        kernels.csr_add_gram(indptr, indices, data, np.zeros(0, np.intp), np.zeros(0), out)
        np.testing.assert_array_equal(out, 0.0)
        empty = np.array([0, 5], dtype=np.intp)
        kernels.csr_add_gram(indptr, indices, data, empty, np.array([2.0, -0.5]), out)
        expected = np.zeros((4, 4))
        expected[3, 3] = 1.5
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("real", REALS)
def test_dense_products(size, real):
    X = np.random.default_rng(4).normal(size=size).astype(real)
    readonly(X)
    y, w, v = make_vectors(*size)
    ours, twin = np.empty(size[0]), np.empty(size[0])
    _compiled.dense_signed_dot(X, y, w, -0.7, ours)
    _numpy.dense_signed_dot(X, y, w, -0.7, twin)
    np.testing.assert_allclose(ours, twin, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours, y * (X.astype(float) @ w - 0.7), rtol=1e-10, atol=1e-12)
    ours, twin = np.full(size[1], np.nan), np.full(size[1], np.nan)
    sums = (
        _compiled.dense_signed_tdot(X, y, v, ours),
        _numpy.dense_signed_tdot(X, y, v, twin),
    )
    assert sums[0] == pytest.approx(sums[1], rel=1e-10)
    np.testing.assert_allclose(ours, twin, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours, X.astype(float).T @ (y * v), rtol=1e-9, atol=1e-9)


def make_state(m):
    """Return q, multipliers, bounds, penalties (some of both zero) and a direction."""
    rng = np.random.default_rng(5)
    penalty = 3.0 * rng.random(m) * (rng.random(m) < 0.8)
    c = penalty * np.where(rng.random(m) < 0.3, 0.0, 1.2 * rng.random(m))
    return readonly(rng.normal(size=m), rng.random(m) * c, c, penalty, rng.normal(size=m))


LENGTHS = [0, 1, 50, 650_000]


@pytest.mark.parametrize("m", LENGTHS)
@pytest.mark.parametrize("knee_cap", [(2 / 3, 1.0), (0.2, 3.0)])
def test_loss_kernels(m, knee_cap):
    q, _, c, _, _ = make_state(m)
    s = q + 0.5
    multiples = np.array([0.1, 1.0, 30.0])
    totals = _compiled.hybrid_totals(s, c, *knee_cap, multiples)
    np.testing.assert_allclose(totals, _numpy.hybrid_totals(s, c, *knee_cap, multiples), rtol=1e-12)
    loss = HybridTruncated(*knee_cap)
    for multiple, total in zip(multiples, totals, strict=True):
        margins = multiple * (1.0 - s)
        assert total == pytest.approx(float(c @ loss.value(1.0 - margins)), rel=1e-12)
    ours, twin = np.empty(m), np.empty(m)
    _compiled.capped_slope(s, c, 1.2, 3.6, 3.6, ours)
    _numpy.capped_slope(s, c, 1.2, 3.6, 3.6, twin)
    np.testing.assert_allclose(ours, twin, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("m", LENGTHS)
@pytest.mark.parametrize("tilt", [0.0, 0.3])
def test_dual_sums(m, tilt):
    """The sums of a certificate: against the twin, and against what they are the sums of."""
    q, alpha, weights, penalty, delta = make_state(m)
    rng = np.random.default_rng(m)
    y = np.where(rng.random(m) < 0.4, 1, -1).astype(np.int8)
    bent = (rng.random(m) < 0.3).astype(np.uint8)
    psi = np.where(rng.random(m) < 0.5, -alpha, delta)
    found = []
    for kernels in (_compiled, _numpy):
        down, up = np.full(m, np.nan), np.full(m, np.nan)
        sums = kernels.dual_sums(q, psi, penalty, weights, bent, y, 1.2, tilt, down, up)
        found.append((sums, down, up))
    for ours, twin in zip(*found, strict=True):
        np.testing.assert_allclose(ours, twin, rtol=1e-9, atol=1e-9)
    sums, down, up = found[0]
    assert not np.any(down[y > 0])
    assert not np.any(up[y < 0])
    both, shift = down + up, tilt * penalty
    most = np.where(bent, 1.2 * penalty, weights)
    assert np.all((both >= -shift - 1e-15) & (both <= most - shift + 1e-15))
    inside = (-psi >= -shift) & (-psi <= most - shift)
    np.testing.assert_allclose(both[inside], -psi[inside])
    assert sums[5] == np.count_nonzero(both != -psi)
    assert sums[6] == np.count_nonzero(both)
    np.testing.assert_allclose(sums[:4], [down.sum(), up.sum(), down @ q, up @ q], atol=1e-9)


@pytest.mark.parametrize("m", LENGTHS)
def test_sums_of_penalties(m):
    q, _, _, penalty, _ = make_state(m)
    y = np.where(np.arange(m) % 3 == 0, 1, -1).astype(np.int8)
    for kernels in (_compiled, _numpy):
        sides = [penalty[y == side].sum() for side in (-1, 1)]
        np.testing.assert_allclose(kernels.side_totals(y, penalty), sides, rtol=1e-12)
        size = float(penalty.sum() + penalty @ np.square(q))
        assert kernels.square_size(q, penalty) == pytest.approx(size, rel=1e-12)


@pytest.mark.parametrize("kernels", [_compiled, _numpy])
@pytest.mark.parametrize("m", [3, 650_000])
def test_nan_is_never_swallowed(kernels, m):
    """A violation that is not a number must show in every sum made of it."""
    one = np.ones(m)
    q = np.full(m, 0.3)
    q[m // 2] = np.nan
    assert np.isnan(kernels.hybrid_totals(q, one, 2 / 3, 1.0, np.array([0.5, 1.0]))).all()
    assert np.isnan(kernels.square_size(q, one))
    out = np.empty(m)
    kernels.capped_slope(q, one, 1.2, 3.6, 3.6, out)
    assert np.isnan(out[m // 2])
    assert np.count_nonzero(np.isnan(out)) == 1
    X, y = q[:, None].copy(), np.ones(m, np.int8)
    kernels.dense_signed_dot(X, y, np.ones(1), 0.0, out)
    assert np.isnan(out[m // 2])


def test_threads_are_reported():
    assert _compiled.max_threads() >= 1
    assert _numpy.max_threads() == 1
    assert _compiled.has_openmp() in (True, False)
