"""Compiled rows against plain products, and each other kernel against its NumPy twin."""

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


def readonly(*arrays):
    for array in arrays:
        array.setflags(write=False)
    return arrays


def make_rows(form, size, real):
    """Return rows as they are compiled, and as the dense float64 array that they stand for."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=size).astype(real)
    if form == "dense":
        return _compiled.Rows(*readonly(X)), X.astype(np.float64)
    if form == "scaled":
        mean, scale = readonly(rng.normal(size=size[1]), rng.random(size[1]) + 0.5)
        return _compiled.Rows(X, mean, scale), (X - mean) * scale
    # Every fifth row is empty.
    X *= rng.random(size) < 0.6
    X[::5] = 0.0
    matrix = sp.csr_matrix(X)
    matrix.indptr, matrix.indices = matrix.indptr.astype(form), matrix.indices.astype(form)
    readonly(matrix.indptr, matrix.indices, matrix.data)
    return _compiled.Rows(matrix), X.astype(np.float64)


@pytest.fixture(params=["dense", "scaled", np.int32, np.int64])
def form(request):
    return request.param


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_products(size, real, form):
    rows, X = make_rows(form, size, real)
    rng = np.random.default_rng(1)
    y = np.where(rng.random(size[0]) < 0.5, 1, -1).astype(np.int8)
    v = rng.normal(size=size[0]) * (rng.random(size[0]) < 0.5)
    y, w, v = readonly(y, rng.normal(size=size[1]), v)
    dot, tdot = np.empty(size[0]), np.full(size[1], np.nan)
    rows.signed_dot(y, w, 0.3, dot)
    np.testing.assert_allclose(dot, y * (X @ w + 0.3), rtol=1e-10, atol=1e-12)
    assert rows.signed_tdot(y, v, tdot) == pytest.approx(float(y @ v), rel=1e-10)
    np.testing.assert_allclose(tdot, X.T @ (y * v), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_gram(size, real, form):
    rows, X = make_rows(form, size, real)
    rng = np.random.default_rng(2)
    some = rng.permutation(size[0])[: size[0] * 2 // 3].astype(np.intp)
    start = rng.normal(size=(size[1] + 1,) * 2)
    weights = rng.normal(size=len(some)) * (rng.random(len(some)) < 0.8)
    readonly(some, weights)
    out = start.copy()
    rows.gram(some, weights, out)
    bordered = np.hstack([X[some], np.ones((len(some), 1))])
    expected = start + (bordered * weights[:, None]).T @ bordered
    low = np.tril_indices(size[1] + 1)
    np.testing.assert_allclose(out[low], expected[low], rtol=1e-9, atol=1e-9)


def test_gram_of_no_rows_or_empty_rows():
    rows, _ = make_rows(np.int32, (10, 3), np.float64)
    out, expected = np.zeros((4, 4)), np.zeros((4, 4))
    rows.gram(np.zeros(0, np.intp), np.zeros(0), out)
    np.testing.assert_array_equal(out, 0.0)
    rows.gram(np.array([0, 5], dtype=np.intp), np.array([2.0, -0.5]), out)
    expected[3, 3] = 1.5
    np.testing.assert_array_equal(out, expected)


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


@pytest.mark.parametrize("kernels", [_compiled, _numpy])
@pytest.mark.parametrize("m", [3, 650_000])
def test_nan_is_never_swallowed(kernels, m):
    """A violation that is not a number must show in every sum made of it."""
    one = np.ones(m)
    q = np.full(m, 0.3)
    q[m // 2] = np.nan
    assert np.isnan(kernels.hybrid_totals(q, one, 2 / 3, 1.0, np.array([0.5, 1.0]))).all()


def test_threads_are_reported():
    assert _compiled.max_threads() >= 1
    assert _numpy.max_threads() == 1
    assert _compiled.has_openmp() in (True, False)
