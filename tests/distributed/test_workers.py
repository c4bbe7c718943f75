"""Fits whose rows stay on the workers: a sample leads the way, rows that decide are gathered."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from htsvm import HTSVC, IgnoredClassWarning, ht_path
from htsvm.optimality import SampleStatus
from tests.distributed.data import as_dask, assert_as_good, assert_same_fit, noisy, on_workers
from tests.distributed.data import thinned as thin

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

CHUNKS = [(3_000,), (1_000,), (700, 300), (1, 999, 500), (170, 40, 333)]


@pytest.fixture(autouse=True)
def quick():
    """Small blocks one after the other: quicker than to start threads for them."""
    with dask.config.set(scheduler="synchronous"), warnings.catch_warnings():
        warnings.simplefilter("ignore", IgnoredClassWarning)
        yield


def one_per_chunking(X, y, weight=None, chunks=CHUNKS, **options):
    return [HTSVC(**options).fit(*as_dask(X, y, sizes), sample_weight=weight) for sizes in chunks]


@pytest.mark.parametrize("driver", [None, 3_000, 0], ids=["gathered", "some", "none"])
@pytest.mark.parametrize("options", [{}, {"C": 0.01}, {"cap": np.inf}, {"C": 20.0}], ids=str)
def test_any_chunking(options, driver):
    """With the default solver at its default tolerance."""
    X, y = noisy(3_000, 8)
    with on_workers(4_000, driver):
        models = one_per_chunking(X, y, **options)
    for model in models:
        assert model.certificate_[0].certified
        np.testing.assert_allclose(model.objective_, models[0].objective_, rtol=1e-6)
    local = HTSVC(**options).fit(X, y)
    assert models[0].objective_[0] <= 1.005 * local.objective_[0]


def test_fifteen_round_trips():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 20))
    y = X @ rng.normal(size=20) / np.sqrt(20) + 0.3 * rng.normal(size=200_000) > 0.0
    y[rng.random(len(y)) < 0.1] ^= True
    model = HTSVC().fit(*as_dask(X, y, (50_000,)))
    assert model.certificate_[0].certified
    assert 5 <= model.history_["network_passes"][-1] <= 15
    assert np.all(np.diff(model.history_["network_bytes"]) >= 0)


@pytest.mark.parametrize(
    "options",
    [
        {"cap": 2.0, "knee": 0.4},
        {"cap": np.inf, "tol": 1e-6},
        {"class_weight": "balanced", "fit_intercept": False},
        {"class_weight": {1: 3.0}, "tol": 1e-5, "n_restarts": 1},
    ],
    ids=str,
)
def test_options(options):
    X, y = noisy(2_000, 6, seed=1)
    with on_workers():
        blocks, other = one_per_chunking(X, y, **options, chunks=CHUNKS[-2:])
    assert_same_fit(blocks, other, tol=1e-6)
    local = HTSVC(**options).fit(X, y)
    assert blocks.certificate_[0].certified
    assert blocks.objective_[0] <= 1.005 * local.objective_[0]


@pytest.mark.parametrize("form", [thin, sp.csr_matrix, np.float32], ids=["thin", "csr", "single"])
def test_forms_of_rows_and_weights(form):
    X, y = noisy(3_000, 12, seed=3)
    X = form(X + 5.0 * (form is sp.csr_matrix))
    weight = np.random.default_rng(0).integers(0, 4, size=3_000).astype(float)
    with on_workers(10_000):
        models = one_per_chunking(X, y, weight, cap=np.inf, chunks=[(700,), (1_000, 10)])
    np.testing.assert_allclose(models[0].objective_, models[1].objective_, rtol=1e-6)
    assert_as_good(models[0], HTSVC(cap=np.inf).fit(X, y, weight))


def test_columns_of_other_sizes_and_places():
    X, y = noisy(2_000, 6, seed=2)
    X = X * 10.0 ** np.arange(-3, 3) + 10.0 ** np.arange(3, -3, -1)
    with on_workers():
        blocks = HTSVC(cap=np.inf).fit(*as_dask(X, y))
    assert_as_good(blocks, HTSVC(cap=np.inf).fit(X, y))


def test_weight_k_is_k_repetitions():
    X, y = noisy(1_000, 5, seed=4)
    k = np.random.default_rng(1).integers(1, 4, size=1_000)
    options = {"tol": 1e-7, "cap": np.inf}
    with on_workers():
        weighted = HTSVC(**options).fit(*as_dask(X, y), sample_weight=da.from_array(k, chunks=100))
        repeated = HTSVC(**options).fit(*as_dask(np.repeat(X, k, axis=0), np.repeat(y, k)))
    np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-8)


def test_samples_of_one_class_and_of_weights_far_apart():
    """What is drawn may lack the small class, or be a few rows that outweigh all others."""
    X, y = noisy(2_000, 4, seed=5)
    rare = np.where(X[:, 0] > 2.2, 1, 0)
    weight = 10.0 ** np.random.default_rng(0).uniform(-3, 3, size=2_000)
    for labels, weights in ((rare, None), (y, weight)):
        with on_workers(500):
            model = HTSVC(cap=np.inf).fit(*as_dask(X, labels), sample_weight=weights)
        assert_as_good(model, HTSVC(cap=np.inf).fit(X, labels, weights))


def test_many_features():
    """Where no system is formed: descents by products, the finish on rows that were gathered."""
    X, y = noisy(1_500, 1_200, seed=6)
    X = thin(X)
    with on_workers(200_000):
        models = one_per_chunking(X, y, chunks=[(500,), (1_500,)], C=0.01, cap=np.inf)
    np.testing.assert_allclose(models[0].objective_, models[1].objective_, rtol=1e-6)
    assert_as_good(models[0], HTSVC(C=0.01, cap=np.inf).fit(X, y))


def test_what_became_of_samples():
    X, y = noisy(2_000, 6, seed=7)
    names = np.array(["ash", "beech"])[y]
    with on_workers():
        model = HTSVC().fit(*as_dask(X, names))
    status = model.sample_status_.compute()
    q = 1.0 - np.where(y == 1, 1.0, -1.0) * model.decision_function(X)
    assert np.all(q[status == SampleStatus.IGNORED] >= 1.0 - 1e-2)
    assert np.all(q[status == SampleStatus.SAFE] <= 1e-2)
    np.testing.assert_array_equal(
        model.ignored_.compute(), np.flatnonzero(status == SampleStatus.IGNORED)
    )
    counts = model.certificate_[0].counts
    assert counts["ignored"] == len(model.ignored_.compute()) > 0
    # w is what the support vectors add up to.
    np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_, rtol=2e-3)
    np.testing.assert_array_equal(model.n_support_, np.bincount(y[model.support_]))


def test_three_classes_one_against_the_rest():
    X, y = noisy(1_500, 6, classes=3, seed=8)
    with on_workers():
        blocks = HTSVC(multi_class="ovr", n_jobs=2, cap=np.inf).fit(*as_dask(X, y))
    local = HTSVC(multi_class="ovr", cap=np.inf).fit(X, y)
    assert_as_good(blocks, local)
    assert blocks.sample_status_.compute().shape == (1_500, 3)
    assert set(np.unique(blocks.history_["problem"])) == {0, 1, 2}


@pytest.mark.parametrize("cap", [1.0, np.inf])
def test_warm_starts(cap):
    X, y = noisy(2_000, 6, seed=9)
    model = HTSVC(warm_start=True, cap=cap)
    with on_workers():
        cold = clone(model).fit(*as_dask(X, y))
        warm = model.fit(*as_dask(X, y)).set_params(C=0.9).fit(*as_dask(X, y))
        anew = HTSVC(cap=cap, C=0.9).fit(*as_dask(X, y))
    assert warm.certificate_[0].certified
    assert warm.objective_[0] <= 1.002 * anew.objective_[0]
    if cap == np.inf:
        assert len(warm.history_["iteration"]) < len(cold.history_["iteration"])


def test_path():
    X, y = noisy(1_500, 5, seed=10)
    with on_workers():
        blocks = ht_path(*as_dask(X, y), Cs=4)
    local = ht_path(X, y, Cs=4)
    assert all(c.certified for row in blocks.certificates for c in row)
    np.testing.assert_allclose(blocks.objective, local.objective, rtol=1e-2)


def test_saddle_points_are_left():
    """Samples on which the trivial point is stationary but no minimiser."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + 1.5 * rng.normal(size=60) > 0).astype(int)
    for C in (0.02, 0.3, 0.6):
        with on_workers(100):
            blocks = HTSVC(C=C).fit(*as_dask(X, y, (25,)))
        assert blocks.certificate_[0].local_minimizer != "no"
        assert blocks.objective_[0] <= 1.05 * HTSVC(C=C).fit(X, y).objective_[0]


@pytest.mark.parametrize("options", [{"scheduler": "threads"}, {"htsvm.stream": True}], ids=str)
def test_schedulers_without_a_cluster(options):
    X, y = noisy(1_000, 4, seed=11)
    with on_workers():
        expected = HTSVC().fit(*as_dask(X, y))
        with dask.config.set({"scheduler": "threads", **options}):
            assert_same_fit(HTSVC().fit(*as_dask(X, y)), expected)


def test_processes():
    X, y = noisy(600, 3, seed=12)
    with on_workers(500):
        expected = HTSVC().fit(*as_dask(X, y, (300,)))
        with dask.config.set({"scheduler": "processes", "num_workers": 2}):
            assert_same_fit(HTSVC().fit(*as_dask(X, y, (300,))), expected)
