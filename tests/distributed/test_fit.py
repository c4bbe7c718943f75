"""A fit on Dask collections is the fit on the same rows in memory."""

import contextlib
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from htsvm import HTSVC, HTSVCCV, IgnoredClassWarning, MultiViewHTSVC, ht_path
from htsvm.baselines import HingeSVC, RampSVC
from htsvm.losses import Ramp
from htsvm.solvers import ADMM
from htsvm_paper.losses import Pinball
from tests.distributed.data import as_dask, assert_same_fit, noisy, thinned

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
from htsvm.distributed.inputs import open_dataset  # noqa: E402


def fit_both(X, y, sizes=(170, 40, 333), weight=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IgnoredClassWarning)
        local = HTSVC(**options).fit(X, y, sample_weight=weight)
        blocks = HTSVC(**options).fit(*as_dask(X, y, sizes), sample_weight=weight)
    return blocks, local


@pytest.mark.parametrize("sizes", [(700,), (1, 1, 197), (350, 350)])
def test_any_chunking(sizes):
    X, y = noisy(700, 6)
    assert_same_fit(*fit_both(X, y, sizes))


def test_sparse_blocks_and_sample_weight():
    X, y = noisy(3_000, 12, seed=3)
    weight = np.random.default_rng(0).integers(0, 4, size=3_000).astype(float)
    assert_same_fit(*fit_both(thinned(X), y, (700,), weight=weight), tol=1e-7)


def test_three_classes_with_names():
    X, y = noisy(900, 6, classes=3, seed=5)
    names = np.array(["ash", "beech", "cedar"])[y]
    blocks, local = fit_both(X, names, n_jobs=2, multi_class="ovr")
    assert_same_fit(blocks, local)
    np.testing.assert_array_equal(blocks.classes_, local.classes_)
    np.testing.assert_array_equal(blocks.sample_status_.compute(), local.sample_status_)
    np.testing.assert_array_equal(blocks.ignored_.compute(), local.ignored_)
    assert set(np.unique(blocks.history_["problem"])) == {0, 1, 2}
    violation = blocks.margin_violation(*as_dask(X, names))
    np.testing.assert_allclose(violation, local.margin_violation(X, names), atol=1e-7)


def test_warm_start_and_history():
    X, y = noisy(800, 6, seed=7)
    # A truncated loss compares a warm start with cold ones.
    model = HTSVC(warm_start=True, cap=np.inf)
    local, blocks = clone(model).fit(X, y), clone(model).fit(*as_dask(X, y))
    local.set_params(C=0.9).fit(X, y)
    blocks.set_params(C=0.9).fit(*as_dask(X, y))
    assert_same_fit(blocks, local)
    assert np.all(blocks.history_["network_passes"] == 1)
    assert np.all(blocks.history_["network_bytes"] >= X.nbytes)
    assert "network_passes" not in local.history_


def test_predictions_are_lazy_and_the_same():
    X, y = noisy(600, 5, classes=3, seed=8)
    dX, dy = as_dask(X, y)
    model = HTSVC().fit(X, y)
    for name in ("predict", "decision_function"):
        lazy = getattr(model, name)(dX)
        assert isinstance(lazy, da.Array)
        np.testing.assert_allclose(lazy.compute(), getattr(model, name)(X))
        assert lazy.shape == getattr(model, name)(X).shape
    weight = np.arange(600.0)
    assert model.score(dX, dy) == pytest.approx(model.score(X, y))
    assert model.score(dX, y, weight) == pytest.approx(model.score(X, y, weight))
    sparse = sp.csr_matrix(X)
    np.testing.assert_allclose(
        model.decision_function(as_dask(sparse, y)[0]).compute(), model.decision_function(X)
    )


def test_data_frames():
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    X, y = noisy(500, 4, seed=9)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["label"] = y
    lazy = dd.from_pandas(frame, npartitions=3)
    blocks = HTSVC().fit(lazy[list("abcd")], lazy["label"])
    local = HTSVC().fit(frame[list("abcd")], y)
    assert_same_fit(blocks, local)
    assert list(blocks.feature_names_in_) == list("abcd")
    np.testing.assert_array_equal(
        blocks.predict(lazy[list("abcd")]).compute(), local.predict(frame[list("abcd")])
    )
    score = blocks.score(lazy[list("abcd")], lazy["label"])
    assert score == pytest.approx(local.score(frame[list("abcd")], y))
    assert_same_fit(HTSVC().fit(lazy[list("abcd")], y), local)
    with pytest.raises(ValueError, match="feature names"):
        blocks.predict(lazy[list("dcba")])


def test_empty_partitions():
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    X, y = noisy(500, 4, seed=9)
    X[:, 0] = np.sort(X[:, 0])
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=y)
    lazy = dd.from_pandas(frame, npartitions=4)
    lazy, kept = lazy[lazy["a"] > 0.1], frame[frame["a"] > 0.1]
    blocks = HTSVC().fit(lazy[list("abcd")], lazy["label"])
    assert_same_fit(blocks, HTSVC().fit(kept[list("abcd")], kept["label"]))


def test_path():
    X, y = noisy(600, 5, seed=10)
    local, blocks = ht_path(X, y, Cs=4), ht_path(*as_dask(X, y), Cs=4)
    np.testing.assert_allclose(blocks.objective, local.objective, rtol=1e-8)
    np.testing.assert_allclose(blocks.coef, local.coef, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(blocks.n_support, local.n_support)


# --------------------------------------------------------------------------------- schedulers


def test_processes():
    X, y = noisy(200, 3, seed=12)
    with dask.config.set({"scheduler": "processes", "num_workers": 2}):
        blocks = HTSVC(cap=np.inf).fit(*as_dask(X, y, (100,)))
        with dask.config.set({"htsvm.stream": False}), pytest.raises(ValueError, match="threads"):
            HTSVC().fit(*as_dask(X, y))
    assert_same_fit(blocks, HTSVC(cap=np.inf).fit(X, y))


@pytest.mark.parametrize("y", [np.arange(60) % 2, np.zeros(60)], ids=["fitted", "refused"])
def test_a_path_ends_its_processes(monkeypatch, y):
    from htsvm.distributed import cluster

    pools = []

    def started(*args, **options):
        pools.append(ProcessPoolExecutor(*args, **options))
        return pools[-1]

    monkeypatch.setattr(cluster, "ProcessPoolExecutor", started)
    X, _ = noisy(60, 2, seed=22)
    wrong = contextlib.nullcontext() if y.any() else pytest.raises(ValueError, match="two classes")
    with dask.config.set({"scheduler": "processes", "num_workers": 1}), wrong:
        ht_path(*as_dask(X, y, (60,)), Cs=1, cap=np.inf)
    assert len(pools) == 1
    with pytest.raises(RuntimeError, match="after shutdown"):
        pools[0].submit(len, ())


# --------------------------------------------------------------------------------- bad input


def test_a_fault_names_its_block():
    X, y = noisy(300, 4, seed=14)
    X[217, 2] = np.nan
    with pytest.raises(ValueError, match=r"Block 2 of 3 \(rows 200 to 299\): X holds NaN"):
        HTSVC().fit(*as_dask(X, y, (100,)))
    X[217, 2] = 0.0
    weight = np.ones(300)
    weight[120] = -1.0
    with pytest.raises(ValueError, match=r"Block 1 of 3 .*sample_weight holds a negative"):
        HTSVC().fit(*as_dask(X, y, (100,)), sample_weight=weight)


def test_other_bad_input():
    X, y = noisy(300, 4, seed=15)
    dX, dy = as_dask(X, y, (100,))
    with pytest.raises(ValueError, match="only one class"):
        HTSVC().fit(dX, da.zeros(300, chunks=100))
    with pytest.raises(ValueError, match="continuous"):
        HTSVC().fit(dX, dX[:, 0])
    with pytest.raises(ValueError, match="y has 200 entries, X has 300"):
        HTSVC().fit(dX, dy[:200])
    with pytest.raises(ValueError, match="zero for every sample"):
        HTSVC().fit(dX, dy, sample_weight=np.zeros(300))
    with pytest.raises(ValueError, match="solver='newton'"):
        HTSVC(solver=ADMM()).fit(dX, dy)
    for other in (HTSVCCV(), HingeSVC(), RampSVC()):
        with pytest.raises(TypeError, match=f"{type(other).__name__} does not take Dask"):
            other.fit(dX, dy)
    with pytest.raises(ValueError, match="4 features"):
        HTSVC().fit(dX, dy).predict(dX[:, :3])


@pytest.mark.parametrize("loss", [Pinball(0.5), Ramp()], ids=str)
def test_losses_that_blocks_cannot_weigh_are_refused(loss):
    X, y = noisy(60, 3, seed=19)
    dataset = open_dataset(*as_dask(X, y, (20,)), None)
    with pytest.raises(ValueError, match="does not work on Dask collections"):
        dataset.problems(None, C=1.0, loss=loss, fit_intercept=True, multiclass=False)
    dataset.cluster.close()


def test_all_estimators_decide_on_blocks():
    X, y = noisy(300, 4, seed=20)
    dX, dy = as_dask(X, y, (100,))
    for model in (HingeSVC(), MultiViewHTSVC(views=[[0, 1], [2, 3]])):
        model.fit(X, y)
        np.testing.assert_array_equal(model.predict(dX).compute(), model.predict(X))
        assert model.score(dX, dy) == pytest.approx(model.score(X, y))
