"""Operators and the quadratic regulariser against plain NumPy, with either set of kernels."""

import numpy as np
import pytest
import scipy.sparse as sp

from htsvm.linalg import (
    CSROperator,
    DenseOperator,
    Operator,
    Quadratic,
    as_operator,
)


class Plain(Operator):
    """The least that an operator can be: all else follows from these four."""

    block_rows = 17

    def __init__(self, X):
        super().__init__()
        self.values, self.shape = X, X.shape

    @property
    def stored(self):
        return self.values.size

    def block(self, rows):
        return self.values[rows]

    def _taken(self, rows):
        return Plain(self.values[rows])


class PlainSparse(Plain):
    """The same with blocks that are sparse."""

    def block(self, rows):
        return sp.csr_matrix(self.values[rows])

    def _taken(self, rows):
        return PlainSparse(self.values[rows])


@pytest.fixture(params=["dense", "csr", "dense32", "csr64", "plain", "plain_sparse"])
def pair(request):
    """Return an operator and the dense float64 matrix it stands for."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 7)) * (rng.random((60, 7)) < 0.5)
    if request.param == "dense32":
        X = X.astype(np.float32)
    plain = X.astype(np.float64)
    if request.param.startswith("plain"):
        return (Plain if request.param == "plain" else PlainSparse)(X), plain
    if request.param.startswith("csr"):
        matrix = sp.csr_matrix(X)
        if request.param == "csr64":
            matrix.indptr, matrix.indices = (
                matrix.indptr.astype(np.int64),
                matrix.indices.astype(np.int64),
            )
        return as_operator(matrix), plain
    return as_operator(X), plain


def signs(m):
    return np.where(np.arange(m) % 3 == 0, 1, -1).astype(np.int8)


def test_products(pair, backend):
    operator, X = pair
    rng = np.random.default_rng(1)
    y, w, v = signs(60), rng.normal(size=7), rng.normal(size=60)
    out = np.empty(60)
    assert operator.signed_dot(y, w, 0.2, out) is out
    np.testing.assert_allclose(out, y * (X @ w + 0.2), atol=1e-12)
    product, total = operator.signed_tdot(y, v, share=0.25)
    np.testing.assert_allclose(product, X.T @ (y * v), atol=1e-12)
    assert total == pytest.approx(float(y @ v))
    assert operator.passes == 1.25
    assert operator.shape == (60, 7)


def test_gram_added_and_taken_away(pair, backend):
    operator, X = pair
    bordered = np.hstack([X, np.ones((60, 1))])
    out, low = np.zeros((8, 8)), np.tril_indices(8)
    operator.add_gram(np.arange(40, dtype=np.intp), 1.0, out)
    operator.add_gram(np.arange(10, 25, dtype=np.intp), -1.0, out)
    kept = np.r_[0:10, 25:40]
    np.testing.assert_allclose(out[low], (bordered[kept].T @ bordered[kept])[low], atol=1e-10)
    operator.add_gram(np.zeros(0, dtype=np.intp), 1.0, out)
    np.testing.assert_allclose(out[low], (bordered[kept].T @ bordered[kept])[low], atol=1e-10)


def test_gram_with_weights(pair, backend):
    operator, X = pair
    bordered = np.hstack([X, np.ones((60, 1))])
    weights = np.linspace(0.0, 2.0, 60)
    out, low = np.zeros((8, 8)), np.tril_indices(8)
    some = np.arange(10, 25, dtype=np.intp)
    operator.add_gram(np.arange(60, dtype=np.intp), 1.0, out, weights)
    operator.add_gram(some, -1.0, out, weights[some])
    kept = weights.copy()
    kept[some] = 0.0
    expected = (bordered * kept[:, None]).T @ bordered
    np.testing.assert_allclose(out[low], expected[low], atol=1e-6)
    operator.add_gram(np.zeros(0, dtype=np.intp), 1.0, out, np.zeros(0))
    np.testing.assert_allclose(out[low], expected[low], atol=1e-6)


def test_take_and_kernel(pair, backend):
    operator, X = pair
    rows, scale = np.array([3, 50, 3, 7]), np.linspace(0.5, 2.0, 7)
    part = operator.take(rows)
    assert type(part) is type(operator)
    np.testing.assert_allclose(part.kernel(scale), (X[rows] * scale) @ X[rows].T, atol=1e-12)
    out = np.empty(4)
    part.signed_dot(signs(4), np.ones(7), 0.0, out)
    np.testing.assert_allclose(out, signs(4) * X[rows].sum(axis=1), atol=1e-12)


def test_products_with_several_columns(pair, backend):
    operator, X = pair
    rng = np.random.default_rng(4)
    W, b, B = rng.normal(size=(3, 7)), rng.normal(size=3), rng.normal(size=(60, 2))
    np.testing.assert_allclose(operator.scores(W, b), X @ W.T + b, atol=1e-12)
    np.testing.assert_allclose(operator.pull(B), B.T @ X, atol=1e-12)
    np.testing.assert_allclose(operator.squared_pull(B), B.T @ X**2, atol=1e-12)
    assert operator.passes == 3.0 + 2.0 + 2.0


def test_work_on_copies_of_rows_counts_for_their_share(pair, backend):
    operator, _ = pair
    part = operator.take(np.arange(20))
    share = part.stored / operator.stored
    assert 0.0 < share < 1.0
    part.signed_tdot(signs(20), np.ones(20), share=0.5)
    part.take(np.arange(10)).scores(np.ones((3, 7)), np.zeros(3))
    smaller = part.take(np.arange(10)).stored / operator.stored
    assert operator.passes == pytest.approx(1.5 * share + 5.0 * smaller)
    assert part.passes == operator.passes


def test_as_operator_picks_the_kind():
    X = np.eye(3)
    assert isinstance(as_operator(X), DenseOperator)
    for form in (sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.coo_matrix):
        assert isinstance(as_operator(form(X)), CSROperator)
    operator = as_operator(X)
    assert as_operator(operator) is operator
    assert operator.stored == 9
    assert as_operator(sp.csr_matrix(X)).stored == 3


def test_unsorted_duplicate_indices_are_summed_in_a_copy(backend):
    data, indices, indptr = np.array([1.0, 2.0, 3.0, 4.0]), [2, 0, 2, 1], [0, 3, 4]
    X = sp.csr_matrix((data, np.array(indices), np.array(indptr)), shape=(2, 3))
    operator = as_operator(X)
    out = np.zeros((4, 4))
    operator.add_gram(np.array([0, 1], dtype=np.intp), 1.0, out)
    plain = np.array([[2.0, 0.0, 4.0, 1.0], [0.0, 4.0, 0.0, 1.0]])
    low = np.tril_indices(4)
    np.testing.assert_allclose(out[low], (plain.T @ plain)[low])
    assert X.nnz == 4


@pytest.mark.parametrize("form", ["none", "number", "diagonal", "matrix"])
def test_quadratic(form):
    rng = np.random.default_rng(2)
    root = rng.normal(size=(4, 4))
    R = {"none": None, "number": 2.5, "diagonal": np.arange(1.0, 5.0), "matrix": root @ root.T}[
        form
    ]
    full = {"none": np.eye(4), "number": 2.5 * np.eye(4), "diagonal": np.diag(np.arange(1.0, 5.0))}
    full = full.get(form, R)
    quadratic, w = Quadratic(R, 4), rng.normal(size=4)
    np.testing.assert_allclose(quadratic.dot(w), full @ w)
    assert quadratic.energy(w) == pytest.approx(0.5 * w @ full @ w)
    np.testing.assert_allclose(quadratic.diagonal(), np.diagonal(full))
    H = np.ones((5, 5))
    quadratic.add_to(H)
    expected = np.ones((5, 5))
    expected[:4, :4] += full
    np.testing.assert_allclose(H, expected)
    assert quadratic.positive == (form != "matrix")


@pytest.mark.parametrize(
    "R", [np.ones(3), np.ones((2, 3)), -1.0, np.nan, [[1.0, 2.0], [0.0, 1.0]], np.ones((2, 2, 2))]
)
def test_bad_quadratic(R):
    with pytest.raises(ValueError, match="regularizer"):
        Quadratic(R, 2)
