"""Fits that once ended at a wrong point without a word."""

import numpy as np
import pytest
import scipy.sparse as sp

from htsvm import HTSVC
from htsvm.baselines import HingeSVC, RampSVC
from htsvm.linalg import kernels


def heavy_tails():
    rng = np.random.default_rng(0)
    X = rng.standard_t(1.2, (30, 2000))
    return X, X @ rng.normal(size=2000) > 0.0


def uneven_rows(seed, m=300, n=2500):
    """Sparse rows whose lengths differ by orders of magnitude."""
    rng = np.random.default_rng(seed)
    X = sp.random(
        m, n, 0.01, format="csr", random_state=seed, data_rvs=lambda k: rng.lognormal(0.0, 2.5, k)
    )
    return X, X @ rng.normal(size=n) > 0.0


@pytest.mark.parametrize(
    "model", [HTSVC(C=100), RampSVC(C=100), HingeSVC(C=100), HTSVC(C=100, cap=np.inf)], ids=repr
)
def test_wide_sparse_data_of_uneven_scale_is_fitted_like_dense(model):
    X, y = heavy_tails()
    dense = model.fit(X, y).objective_[0]
    sparse = model.fit(sp.csr_matrix(X), y)
    assert sparse.objective_[0] == pytest.approx(dense, rel=2e-3)
    assert sparse.score(X, y) == 1.0
    assert sparse.certificate_[0].certified


@pytest.mark.parametrize("seed", [0, 1])
def test_sweeps_that_crawl_give_way_to_newton(seed, monkeypatch):
    X, y = uneven_rows(seed)
    model = HTSVC().fit(X, y)
    assert model.certificate_[0].certified
    monkeypatch.setattr("htsvm.solvers.newton.rows.prefers_sweeps", lambda problem: False)
    newton = HTSVC().fit(X, y)
    assert model.objective_[0] <= 1.01 * newton.objective_[0]


@pytest.mark.skipif(not kernels.COMPILED, reason="sweeps need the compiled kernels")
def test_ordinary_text_stays_with_sweeps(monkeypatch):
    def no_newton(*args, **options):
        raise AssertionError("the sweeps were given up")

    rng = np.random.default_rng(2)
    X = sp.random(600, 3000, 0.01, format="csr", random_state=2, data_rvs=rng.random)
    y = (X @ rng.normal(size=3000) > 0.0) ^ (rng.random(600) < 0.1)
    monkeypatch.setattr("htsvm.solvers.newton.rows.Rounds", no_newton)
    assert HTSVC(C=10).fit(X, y).certificate_[0].certified
