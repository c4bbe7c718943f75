"""A multi-class fit as one problem on Dask collections does not depend on the chunks."""

import warnings

import numpy as np
import pytest

from htsvm import HTSVC, IgnoredClassWarning, ht_path
from htsvm.optimality import SampleStatus
from tests.distributed.data import as_dask, assert_as_good, noisy, on_workers, thinned

dask = pytest.importorskip("dask")

CHUNKS = [(1_500,), (1, 999), (170, 40, 333)]


@pytest.fixture(autouse=True)
def quick():
    """Small blocks one after the other: quicker than to start threads for them."""
    with dask.config.set(scheduler="synchronous"), warnings.catch_warnings():
        warnings.simplefilter("ignore", IgnoredClassWarning)
        yield


def one_per_chunking(X, y, weight=None, **options):
    return [HTSVC(**options).fit(*as_dask(X, y, sizes), sample_weight=weight) for sizes in CHUNKS]


def assert_same_multiclass(model, other, tol=1e-6):
    np.testing.assert_allclose(model.objective_, other.objective_, rtol=tol)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=tol, atol=tol)
    np.testing.assert_allclose(model.intercept_, other.intercept_, rtol=tol, atol=tol)
    np.testing.assert_array_equal(model.support_, other.support_)
    np.testing.assert_allclose(model.dual_coef_, other.dual_coef_, rtol=tol, atol=tol)
    np.testing.assert_array_equal(model.n_support_, other.n_support_)
    for name in ("sample_status_", "ignored_"):
        theirs = getattr(other, name)
        theirs = theirs.compute() if hasattr(theirs, "compute") else theirs
        np.testing.assert_array_equal(getattr(model, name).compute(), theirs)
    ours, theirs = model.certificate_[0], other.certificate_[0]
    assert ours.counts == theirs.counts
    assert ours.certified
    assert theirs.certified


@pytest.mark.parametrize("sizes", [(300,), (1, 150, 149), (150, 150)])
def test_few_rows_are_fitted_as_in_memory(sizes):
    X, y = noisy(300, 5, classes=3)
    names = np.array(["ash", "beech", "cedar"])[y]
    assert_same_multiclass(HTSVC().fit(*as_dask(X, names, sizes)), HTSVC().fit(X, names))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"C": 0.05, "multi_class": "joint"},
        {"C": 8.0},
        {"cap": np.inf},
        {"cap": 2.0, "knee": 0.4, "fit_intercept": False},
        {"class_weight": "balanced", "tol": 1e-5},
    ],
    ids=str,
)
def test_any_chunking(options):
    X, y = noisy(1_500, 5, classes=4, seed=1)
    with on_workers():
        models = one_per_chunking(X, y, **options)
    for model in models[1:]:
        assert_same_multiclass(models[0], model)
    local = HTSVC(**options).fit(X, y)
    assert models[0].objective_[0] <= 1.01 * local.objective_[0]


def test_sparse_rows_and_sample_weight():
    X, y = noisy(2_000, 8, classes=3, seed=3)
    weight = (np.arange(2_000) % 5 > 0) * (1.0 + np.arange(2_000) % 3)
    with on_workers(5_000):
        models = one_per_chunking(thinned(X), y, weight, cap=np.inf)
    for model in models[1:]:
        assert_same_multiclass(models[0], model)
    assert_as_good(models[0], HTSVC(cap=np.inf).fit(thinned(X), y, weight))


def test_what_became_of_samples():
    X, y = noisy(1_500, 5, classes=3, seed=4)
    with on_workers():
        model = HTSVC().fit(*as_dask(X, y))
    status = model.sample_status_.compute()
    scores = model.decision_function(X)
    own = scores[np.arange(len(y)), y]
    scores[np.arange(len(y)), y] = -np.inf
    q = 1.0 + scores.max(axis=1) - own
    assert np.all(q[status == SampleStatus.IGNORED] >= 1.0 - 1e-2)
    assert np.all(q[status == SampleStatus.SAFE] <= 1e-2)
    assert len(model.ignored_.compute()) == model.certificate_[0].counts["ignored"] > 0
    np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_, atol=5e-3)


def test_streamed():
    X, y = noisy(1_200, 5, classes=3, seed=5)
    with on_workers():
        expected = HTSVC().fit(*as_dask(X, y, (400,)))
        with dask.config.set({"htsvm.stream": True}):
            assert_same_multiclass(HTSVC().fit(*as_dask(X, y, (400,))), expected)


def test_path_and_warm_start():
    X, y = noisy(1_000, 4, classes=3, seed=6)
    with on_workers():
        ours = ht_path(*as_dask(X, y), Cs=3)
        model = HTSVC(warm_start=True).fit(*as_dask(X, y)).set_params(C=0.9).fit(*as_dask(X, y))
    theirs = ht_path(X, y, Cs=3)
    assert all(c.certified for row in ours.certificates for c in row)
    np.testing.assert_allclose(ours.objective, theirs.objective, rtol=2e-2)
    assert model.certificate_[0].certified
    assert model.objective_[0] <= 1.01 * HTSVC(C=0.9).fit(X, y).objective_[0]
