"""A multi-view fit on Dask collections is the fit on the same rows in memory."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from htsvm import IgnoredClassWarning, MultiViewHTSVC
from htsvm_paper.baselines import MvSL01SVM
from tests.distributed.data import as_dask, noisy, on_workers, thinned

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")


@pytest.fixture(autouse=True)
def quick():
    """Small blocks one after the other: quicker than to start threads for them."""
    with dask.config.set(scheduler="synchronous"):
        yield


VIEWS = {"first": [0, 1, 2, 3], "second": slice(3, 8)}


def assert_same_views(blocks, local, tol=1e-8):
    np.testing.assert_allclose(blocks.objective_, local.objective_, rtol=tol)
    np.testing.assert_allclose(blocks.view_weights_, local.view_weights_, rtol=tol, atol=tol)
    np.testing.assert_allclose(blocks.weight_smoothness_, local.weight_smoothness_, rtol=tol)
    np.testing.assert_allclose(blocks.coef_, local.coef_, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(blocks.intercept_, local.intercept_, rtol=1e-6, atol=1e-7)
    assert blocks.n_iter_ == local.n_iter_
    for ours, theirs in zip(_certificates(blocks), _certificates(local), strict=True):
        residuals = ["stationarity", "balance"]
        residuals += ["prox_residual"] if hasattr(ours, "prox_residual") else ["complementarity"]
        for name in residuals:
            assert abs(getattr(ours, name) - getattr(theirs, name)) <= tol, name
        np.testing.assert_allclose(ours.objective, theirs.objective, rtol=tol)
        assert ours.counts == theirs.counts
        assert ours.certified
        assert theirs.certified
    for name in ("sample_status_", "ignored_"):
        theirs = getattr(local, name)
        theirs = theirs.compute() if hasattr(theirs, "compute") else theirs
        np.testing.assert_array_equal(getattr(blocks, name).compute(), theirs)


def _certificates(model):
    return np.ravel(np.array(model.certificate_, dtype=object)).tolist()


def fit_both(X, y, sizes=(170, 40, 333), weight=None, **options):
    options = {"views": VIEWS, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IgnoredClassWarning)
        local = MultiViewHTSVC(**options).fit(X, y, sample_weight=weight)
        blocks = MultiViewHTSVC(**options).fit(*as_dask(X, y, sizes), sample_weight=weight)
    return blocks, local


@pytest.mark.parametrize("sizes", [(400,), (1, 150, 249), (200, 200)])
def test_any_chunking(sizes):
    X, y = noisy(400, 8)
    assert_same_views(*fit_both(X, y, sizes))


def test_sample_weights():
    X, y = noisy(500, 8, seed=2)
    weight = np.random.default_rng(0).integers(0, 3, size=500).astype(float)
    assert_same_views(*fit_both(X, y, (170, 40), weight=weight))


def test_sparse_blocks():
    X, y = noisy(500, 8, seed=4)
    for S in (thinned(X), sp.csr_matrix(X)):
        assert_same_views(*fit_both(S, y, (170, 40)))


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
def test_three_classes(multi_class):
    X, y = noisy(600, 8, classes=3, seed=5)
    blocks, local = fit_both(X, np.array(["ash", "beech", "cedar"])[y], multi_class=multi_class)
    assert_same_views(blocks, local)
    assert blocks.view_weights_.shape == ((3, 2) if multi_class == "ovr" else (2,))
    dX = as_dask(X, y)[0]
    for weighted in (True, False):
        np.testing.assert_allclose(
            blocks.view_decision_function(dX, weighted=weighted).compute(),
            blocks.view_decision_function(X, weighted=weighted),
        )


def test_data_frames_by_column_name():
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    X, y = noisy(300, 4, seed=6)
    frame = pd.DataFrame(X, columns=list("abcd"))
    lazy = dd.from_pandas(frame, npartitions=3)
    model = MultiViewHTSVC(views=[["a", "b"], lambda X: ["c", "d"]])
    local = model.fit(frame, y)
    predicted, score = local.predict(frame), local.score(frame, y)
    contributions = local.view_decision_function(frame)
    objective = local.objective_
    blocks = model.fit(lazy, y)
    np.testing.assert_allclose(blocks.objective_, objective, rtol=1e-8)
    np.testing.assert_array_equal(blocks.predict(lazy).compute(), predicted)
    np.testing.assert_allclose(blocks.view_decision_function(lazy).compute(), contributions)
    assert blocks.score(lazy, y) == pytest.approx(score)
    assert list(blocks.feature_names_in_) == list("abcd")


@pytest.mark.parametrize(
    "options",
    [
        {"cap": np.inf},
        {"C": [0.5, 2.0], "cap": np.inf, "class_weight": "balanced", "fit_intercept": False},
        {"multi_class": "ovr", "cap": np.inf},
        {},
    ],
    ids=str,
)
@pytest.mark.parametrize("classes", [2, 3])
def test_rows_on_workers(options, classes):
    X, y = noisy(1_200, 8, classes=classes, seed=9)
    options = {"views": VIEWS, **options}
    with on_workers(), warnings.catch_warnings():
        warnings.simplefilter("ignore", IgnoredClassWarning)
        blocks, other = (
            MultiViewHTSVC(**options).fit(*as_dask(X, y, sizes)) for sizes in ((1_200,), (500, 1))
        )
        local = MultiViewHTSVC(**options).fit(X, y)
    assert_same_views(blocks, other, tol=1e-6)
    np.testing.assert_allclose(blocks.objective_, local.objective_, rtol=2e-2)
    if options.get("cap") == np.inf:
        np.testing.assert_allclose(blocks.objective_, local.objective_, rtol=2e-3)
        np.testing.assert_allclose(blocks.view_weights_, local.view_weights_, atol=0.02)
    np.testing.assert_array_equal(blocks.predict(as_dask(X, y)[0]).compute(), blocks.predict(X))


def test_sparse_rows_on_workers():
    X, y = noisy(1_000, 8, seed=10)
    weight = np.random.default_rng(0).integers(0, 3, size=1_000).astype(float)
    with on_workers(), dask.config.set({"htsvm.stream": True}):
        lazy = as_dask(thinned(X), y, (300,))
        blocks = MultiViewHTSVC(views=VIEWS, cap=np.inf).fit(*lazy, sample_weight=weight)
    local = MultiViewHTSVC(views=VIEWS, cap=np.inf).fit(thinned(X), y, sample_weight=weight)
    np.testing.assert_allclose(blocks.objective_, local.objective_, rtol=2e-3)


def test_history_counts_the_network():
    X, y = noisy(300, 8, seed=11)
    with on_workers():
        history = MultiViewHTSVC(views=VIEWS).fit(*as_dask(X, y)).history_
    assert np.all(np.diff(history["network_passes"]) >= 0)
    assert history["network_bytes"][-1] > 0


def test_what_blocks_cannot_do_is_refused(tmp_path):
    X, y = noisy(100, 8, seed=12)
    dX, dy = as_dask(X, y, (50,))
    with pytest.raises(ValueError, match="solver='newton'"):
        MultiViewHTSVC(solver="admm").fit(dX, dy)
    with pytest.raises(ValueError, match=r"memory=.* Use memory=None"):
        MultiViewHTSVC(memory=str(tmp_path)).fit(dX, dy)
    with pytest.raises(ValueError, match=r"structure=0.1 .* Use structure=0"):
        MultiViewHTSVC(structure=0.1).fit(dX, dy)
    with pytest.raises(TypeError, match=r"axis=1"):
        MultiViewHTSVC().fit([dX, dX], dy)
    with pytest.raises(TypeError, match="MvSL01SVM does not take Dask"):
        MvSL01SVM().fit(dX, dy)
    with pytest.raises(ValueError, match="add up to 7"):
        MultiViewHTSVC(views=[3, 4]).fit(dX, dy)
    X[70, 7] = np.nan
    with pytest.raises(ValueError, match="Block 1 of 2"):
        MultiViewHTSVC(views=VIEWS).fit(*as_dask(X, y, (50,)))
