"""Fits that once ended at a wrong point without a word."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

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
    monkeypatch.setattr("htsvm.solvers.wide.suits", lambda problem: False)
    newton = HTSVC().fit(X, y)
    assert model.objective_[0] <= 1.01 * newton.objective_[0]


@pytest.mark.skipif(not kernels.COMPILED, reason="sweeps need the compiled kernels")
def test_ordinary_text_stays_with_sweeps(monkeypatch):
    def no_newton(*args, **options):
        raise AssertionError("the sweeps were given up")

    rng = np.random.default_rng(2)
    X = sp.random(600, 3000, 0.01, format="csr", random_state=2, data_rvs=rng.random)
    y = (X @ rng.normal(size=3000) > 0.0) ^ (rng.random(600) < 0.1)
    monkeypatch.setattr("htsvm.solvers.newton.NewtonSteps.run", no_newton)
    assert HTSVC(C=10).fit(X, y).certificate_[0].certified


def test_a_cap_just_above_two_never_ends_above_the_constant():
    X, y = [[3.6e-4], [-3.6e-4], [-2.7e-4]], [0, 1, 1]
    model = HTSVC(C=8, cap=2.3).fit(X, y, sample_weight=[4.2, 3.0, 4.5])
    certificate = model.certificate_[0]
    assert certificate.certified
    assert model.objective_[0] <= certificate.trivial_objective * (1.0 + 1e-9)
    # Where no sample curves, the intercept moves by one at a time; it once crept.
    assert model.n_iter_ < 60


@pytest.mark.parametrize("seed", range(12))
def test_nearly_uninformative_problems_with_a_cap_above_two(seed):
    rng = np.random.default_rng(seed)
    m, n = rng.integers(3, 12), rng.integers(1, 4)
    X = 10.0 ** rng.uniform(-5.0, -3.0) * rng.normal(size=(m, n))
    y = np.arange(m) % 2
    options = {"C": 10.0 ** rng.uniform(-1.0, 2.0), "cap": rng.uniform(2.05, 2.6)}
    model = HTSVC(**options).fit(X, y, sample_weight=rng.uniform(0.5, 5.0, size=m))
    assert model.objective_[0] <= model.certificate_[0].trivial_objective * (1.0 + 1e-9)


def badly_scaled(seed):
    rng = np.random.default_rng(seed)
    m, n = rng.integers(6, 60), rng.integers(1, 8)
    X = rng.normal(size=(m, n)) * 10.0 ** rng.uniform(-3.0, 3.0, size=n)
    y = (X @ (rng.normal(size=n) / np.abs(X).max(axis=0)) > 0.0).astype(int)
    return X, y, 10.0 ** rng.uniform(-2.0, 4.0), 10.0 ** rng.uniform(0.0, 1.5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::htsvm.exceptions.IgnoredClassWarning")
@pytest.mark.parametrize("seed", [2, 6, 27])
def test_the_admm_never_ends_above_its_own_convex_start(seed):
    if seed == 27:
        rng = np.random.default_rng(27)
        m, n = rng.integers(6, 60), rng.integers(1, 8)
        X = rng.normal(size=(m, n)) * 10.0 ** rng.uniform(-3.0, 3.0, size=n)
        y = rng.integers(0, 2, m)
        C, cap = 10.0 ** rng.uniform(-2.0, 4.0), 10.0 ** rng.uniform(0.0, 1.5)
    else:
        X, y, C, cap = badly_scaled(seed)
    model = HTSVC(C=C, cap=cap, solver="admm").fit(X, y)
    certificate = model.certificate_[0]
    lowest = min(certificate.convex_objective, certificate.trivial_objective)
    assert model.objective_[0] <= 1.001 * lowest + 1e-12


def test_a_run_without_progress_ends_with_advice():
    """Weights that span many orders of magnitude in several classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 8)) * 10.0 ** rng.uniform(-2.0, 2.0, size=8)
    y = rng.integers(0, 6, size=40)
    weights = dict(enumerate(10.0 ** rng.uniform(-3.0, 3.0, size=6)))
    solver = HTSVC(C=1e4, tol=1e-12, class_weight=weights, starts=("convex",))
    with pytest.warns(ConvergenceWarning, match="(no progress|was spent): scale the features"):
        solver.fit(X, y)
    assert solver.n_iter_ < solver.max_iter
