"""Wide views in coordinates of their row space."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from htsvm import HTSVC
from htsvm.linalg.spaces import LARGEST_SIDE, row_space
from htsvm.multiview import MultiViewHTSVC
from htsvm.multiview.structure import within_covariance


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_coordinates_keep_lengths_products_and_covariances(form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 40)) * (rng.random((12, 40)) < 0.4)
    X[5] = X[4]
    space = row_space(form(X), None, True)
    Z = space.coordinates
    assert Z.shape[1] <= 11
    np.testing.assert_allclose(Z @ Z.T, X @ X.T, atol=1e-12)
    z = rng.normal(size=Z.shape[1])
    w = space.lift(z)
    np.testing.assert_allclose(X @ w, Z @ z, atol=1e-12)
    assert w @ w == pytest.approx(z @ z)
    labels = np.arange(12) // 4
    by_columns = w @ within_covariance(X, labels) @ w
    assert z @ within_covariance(Z, labels) @ z == pytest.approx(by_columns)


def test_narrow_views_and_sparse_ones_without_structure_stay_as_they_are():
    X = np.random.default_rng(1).normal(size=(30, 5))
    assert row_space(X, None, True).coordinates is X
    wide = sp.random(5, 1000, density=0.1, format="csr", random_state=0)
    assert row_space(wide, None, False).coordinates is wide


def test_an_empty_sparse_view_is_a_view():
    space = row_space(sp.csr_matrix((6, 9)), None, True)
    assert not space.coordinates.any()
    assert not space.lift(np.ones(1)).any()


def test_a_structure_that_cannot_be_held_is_refused():
    X = sp.identity(LARGEST_SIDE + 1, format="csr")
    with pytest.raises(ValueError, match="set structure=0"):
        row_space(X, None, True)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_wide_view_has_the_solution_that_it_has_without_coordinates(form):
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 300)) + 0.2 * y[:, None]
    wide = MultiViewHTSVC(tol=1e-7).fit(form(X), y)
    direct = HTSVC(tol=1e-7).fit(X, y)
    np.testing.assert_allclose(wide.objective_, direct.objective_, rtol=1e-9)
    np.testing.assert_allclose(wide.coef_, direct.coef_, atol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_structure_never_takes_a_matrix_of_the_columns(form):
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 15)
    X = rng.normal(size=(30, 6000)) * (rng.random((30, 6000)) < 0.1) + 0.1 * y[:, None]
    X = form(X)
    tracemalloc.start()
    model = MultiViewHTSVC(structure=0.5).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6000 * 6000 * 8 / 10
    assert model.certificate_[0].certified
    assert model.coef_.shape == (1, 6000)
