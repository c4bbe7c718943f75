from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from htsvm import HTSVC
from htsvm.linalg import as_operator, single
from htsvm.solvers.multiclass.finish import finish
from htsvm.solvers.multiclass.system import NewtonSystem


def moments(X):
    Z = np.column_stack([X, np.ones(len(X))])
    return np.tril(Z.T @ Z)


@pytest.mark.parametrize("scale", [1e-200, 1e-3, 1.0, 1e200])
def test_a_product_is_right_to_single_precision_at_any_scale(scale):
    rng = np.random.default_rng(0)
    A, B = scale * rng.normal(size=(3, 40)), rng.normal(size=(40, 7))
    found = single.product(A, B.astype(np.float32))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, A @ B, rtol=0.0, atol=1e-5 * scale)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_products_with_rows_are_right_to_single_precision(monkeypatch, scale):
    rng = np.random.default_rng(0)
    X, W, S = rng.normal(size=(50, 7)), rng.normal(size=(3, 7)), rng.normal(size=(50, 3))
    b, rough = scale * rng.normal(size=3), X.astype(np.float32)
    # Eight blocks, the last of them smaller.
    monkeypatch.setattr("htsvm.linalg.threads.BLOCK_ENTRIES", 49)
    scores, pull = single.scores(rough, scale * W, b), single.pull(rough, scale * S)
    np.testing.assert_allclose(scores, scale * X @ W.T + b, rtol=0.0, atol=1e-5 * scale)
    np.testing.assert_allclose(pull, scale * S.T @ X, rtol=0.0, atol=1e-4 * scale)


def test_a_product_with_zero_is_zero():
    assert not single.product(np.zeros((2, 3)), np.ones((3, 4), dtype=np.float32)).any()


def test_it_pays_for_much_dense_data_whose_columns_are_not_far_from_centred():
    X = np.random.default_rng(0).normal(size=(50, 40))

    def pays(form=np.asarray, columns=3, large=50 * 40 * 3):
        return single.pays(as_operator(form(X)), columns, moments(X), large=large)

    assert pays()
    assert not pays(columns=2)
    assert not pays(large=single.LARGE)
    assert not pays(sp.csr_matrix)
    for column in (X[:, 7] + 1000.0, 1.0):
        X[:, 7] = column
        assert not pays()


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_a_fit_by_rough_products_is_certified_and_as_low(monkeypatch, C):
    rng = np.random.default_rng(1)
    y = rng.integers(4, size=400)
    X = rng.normal(size=(400, 40)) + rng.normal(size=(4, 40))[y]
    y[rng.random(400) < 0.2] = 0
    exact = HTSVC(C=C).fit(X, y)
    monkeypatch.setattr(single, "pays", lambda *_: True)
    by_gradients = partial(NewtonSystem, formed=0, ties=0)
    monkeypatch.setattr("htsvm.solvers.multiclass.finish.NewtonSystem", by_gradients)
    newton = partial(finish, sweeping=None)
    monkeypatch.setattr("htsvm.solvers.multiclass.search.finish", newton)
    used, product = [], single.product
    monkeypatch.setattr(single, "product", lambda A, B: used.append(1) or product(A, B))
    rough = HTSVC(C=C).fit(X, y)
    assert used
    assert rough.certificate_[0].certified
    assert rough.objective_[0] <= 1.005 * exact.objective_[0]


def test_no_rows_pull_nothing():
    np.testing.assert_array_equal(single.pull(np.ones((0, 4), np.float32), np.ones((0, 3))), 0.0)
    assert single.pull(np.ones((0, 4), np.float32), np.ones((0, 3))).shape == (3, 4)
