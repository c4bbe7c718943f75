"""A multi-class fit as one problem on Dask collections does not depend on the chunks.

In memory the solver takes further steps, on all rows at once, so there it is another point as good.
"""

import warnings

import numpy as np
import pytest

from htsvm import HTSVC, IgnoredClassWarning, ht_path
from tests.distributed.data import as_dask, forgetful, noisy, thinned

dask = pytest.importorskip("dask")
from htsvm.distributed.multiclass_rows import MulticlassBlockRows  # noqa: E402
from htsvm.solvers.multiclass import run as multiclass  # noqa: E402


@pytest.fixture(autouse=True)
def quick():
    """Small blocks one after the other: quicker than to start threads for them."""
    with dask.config.set(scheduler="synchronous"):
        yield


# How far the objectives of two good minima of these problems are apart.
ABOUT = 0.02


def assert_same_multiclass(blocks, local, tol=1e-8):
    np.testing.assert_allclose(blocks.objective_, local.objective_, rtol=tol)
    np.testing.assert_allclose(blocks.coef_, local.coef_, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(blocks.intercept_, local.intercept_, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(blocks.support_, local.support_)
    np.testing.assert_allclose(blocks.dual_coef_, local.dual_coef_, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(blocks.n_support_, local.n_support_)
    ours, theirs = blocks.certificate_[0], local.certificate_[0]
    for name in ("stationarity", "balance", "prox_residual"):
        assert abs(getattr(ours, name) - getattr(theirs, name)) <= tol, name
    for name in ("objective", "trivial_objective", "convex_objective"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=tol)
    np.testing.assert_allclose(ours.duality_gap, theirs.duality_gap, rtol=1e-6, atol=1e-7)
    assert ours.counts == theirs.counts
    assert ours.certified == theirs.certified
    np.testing.assert_array_equal(blocks.sample_status_.compute(), local.sample_status_.compute())
    np.testing.assert_array_equal(blocks.ignored_.compute(), local.ignored_.compute())


def fit_both(X, y, sizes=(170, 40, 333), weight=None, **options):
    """Return fits of blocks and of one block of all rows, about as good as that in memory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IgnoredClassWarning)
        local = HTSVC(**options).fit(X, y, sample_weight=weight)
        whole = HTSVC(**options).fit(*as_dask(X, y, (len(y),)), sample_weight=weight)
        blocks = HTSVC(**options).fit(*as_dask(X, y, sizes), sample_weight=weight)
    assert len(local.certificate_) == len(blocks.certificate_) == 1
    assert blocks.objective_[0] == pytest.approx(local.objective_[0], rel=ABOUT)
    assert np.mean(blocks.predict(X) == local.predict(X)) > 0.9
    return blocks, whole


@pytest.mark.parametrize("sizes", [(300,), (1, 150, 149), (150, 150)])
def test_any_chunking(sizes):
    X, y = noisy(300, 5, classes=3)
    assert_same_multiclass(*fit_both(X, np.array(["ash", "beech", "cedar"])[y], sizes))


@pytest.mark.parametrize(
    "options",
    [
        {"C": 0.05, "multi_class": "joint"},
        {"C": 8.0, "n_restarts": 1},
        {"cap": np.inf},
        {"cap": 2.0, "knee": 0.4, "fit_intercept": False},
        {"class_weight": "balanced", "tol": 1e-5},
    ],
    ids=str,
)
def test_options(options):
    X, y = noisy(400, 5, classes=4, seed=1)
    assert_same_multiclass(*fit_both(X, y, **options))


def test_a_round_on_some_rows_and_sample_weight():
    X, y = noisy(3_000, 5, classes=3, seed=2, flipped=0.05)
    weight = np.random.default_rng(0).integers(0, 3, size=3_000).astype(float)
    blocks, local = fit_both(3.0 * X, y, (1_100,), weight=weight)
    assert_same_multiclass(blocks, local)
    assert blocks.history_["rows"].min() < 2_000
    np.testing.assert_array_equal(blocks.history_["rows"], local.history_["rows"])


@pytest.mark.parametrize("most", [0, -1], ids=["spectrum", "diagonal"])
def test_conjugate_gradients(monkeypatch, most):
    """Where the Hessian is not formed its products are asked for; sparse blocks here."""
    monkeypatch.setattr("htsvm.solvers.multiclass.system.MOST_DIRECT", 0)
    if most < 0:
        monkeypatch.setattr("htsvm.solvers.multiclass.system.MOST_SPECTRUM_FEATURES", 0)
    X, y = noisy(400, 8, classes=3, seed=3)
    weight = (np.arange(400) % 5 > 0).astype(float)
    blocks, local = fit_both(thinned(X), y, (150,), weight=weight)
    # Conjugate gradients stop early, and what rounding did to them by then differs.
    np.testing.assert_allclose(blocks.objective_, local.objective_, rtol=1e-5)
    np.testing.assert_allclose(blocks.coef_, local.coef_, atol=1e-3)
    assert blocks.certificate_[0].certified
    assert blocks.history_["cg_steps"].sum() > 0
    first = [model.history_["cg_steps"][0] for model in (blocks, local)]
    assert first[0] == first[1]


@pytest.mark.parametrize("m", [1_200, 300])
def test_blocks_may_forget(monkeypatch, m):
    X, y = noisy(m, 5, classes=3, seed=4)
    forgotten = forgetful(monkeypatch, 0.15)
    blocks, local = fit_both(X, y, (m // 3,), n_restarts=1)
    assert {"enter", "attempt", "arrive", "close"} <= forgotten
    assert_same_multiclass(blocks, local)


def test_streamed():
    X, y = noisy(1_200, 5, classes=3, seed=5)
    with dask.config.set({"htsvm.stream": True}):
        assert_same_multiclass(*fit_both(X, y, (400,)))


def test_path_and_warm_start():
    X, y = noisy(300, 4, classes=3, seed=6)
    whole, blocks = as_dask(X, y, (300,)), as_dask(X, y)
    ours, theirs, local = (ht_path(*data, Cs=3) for data in (blocks, whole, (X, y)))
    np.testing.assert_allclose(ours.objective, theirs.objective, rtol=1e-7)
    np.testing.assert_allclose(ours.coef, theirs.coef, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ours.objective, local.objective, rtol=ABOUT)
    models = [HTSVC(warm_start=True).fit(*data) for data in (blocks, whole)]
    for model, data in zip(models, (blocks, whole), strict=True):
        model.set_params(C=0.9).fit(*data)
    assert_same_multiclass(*models)
    assert "network_bytes" not in HTSVC().fit(X, y).history_


@pytest.fixture
def starts(monkeypatch):
    """Whether the fits on blocks that asked for a least squares start went there."""
    go, found = multiclass.MulticlassRun._start_from_least_squares, []

    def noted(run):
        went = go(run)
        if isinstance(run.rows, MulticlassBlockRows):
            found.append(went)
        return went

    monkeypatch.setattr(multiclass.MulticlassRun, "_start_from_least_squares", noted)
    return found
