"""What every multi-view baseline does as scikit-learn and `htsvm.multiview` want it."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version
from tests.multiview.data import three_classes, two_views

from htsvm.multiview import stack_views
from htsvm_paper.baselines import SVM2K, MvASYBX, MvLSSVC2C, MvSL01SVM, MvSVM2C, WaveMvSVM

ALL = [SVM2K(), MvSVM2C(), MvLSSVC2C(), WaveMvSVM(), MvASYBX(), MvSL01SVM(5.0)]
KERNEL = [SVM2K(kernel="rbf"), MvSVM2C(kernel="rbf"), MvASYBX(kernel="rbf")]

# The same checks, with fewer starts and iterations where that saves much time.
QUICK = [
    SVM2K(), MvSVM2C(), MvLSSVC2C(structure=0.0), WaveMvSVM(n_restarts=0), MvASYBX(n_restarts=0),
    MvSL01SVM(structure=0.0, max_iter=50),
]  # fmt: skip


@parametrize_with_checks(QUICK)
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([MvLSSVC2C(), WaveMvSVM(), MvASYBX(), MvSL01SVM(), *KERNEL])
def test_scikit_learn_is_content_with_defaults_and_kernels(estimator, check):
    check(estimator)


@pytest.mark.parametrize("clf", [*ALL, *KERNEL], ids=lambda clf: str(clf))
def test_lists_dicts_and_stacked_views_are_the_same(clf):
    views, y = two_views(60)
    X, widths = stack_views(views)
    listed = clone(clf).fit(views, y)
    named = clone(clf).fit({"a": views[0], "b": views[1]}, y)
    stacked = clone(clf).set_params(views=widths).fit(X, y)
    assert named.view_names_ == ["a", "b"]
    scores = listed.decision_function(views)
    np.testing.assert_allclose(
        named.decision_function({"b": views[1], "a": views[0]}), scores, atol=1e-7
    )
    np.testing.assert_allclose(stacked.decision_function(X), scores, atol=1e-7)
    np.testing.assert_allclose(listed.view_decision_function(views).sum(axis=1), scores, atol=1e-9)
    alone = listed.view_decision_function([views[0], None])
    np.testing.assert_allclose(alone[:, 0], listed.view_decision_function(views)[:, 0])
    with pytest.raises(ValueError, match="X lacks the views"):
        listed.decision_function([views[0], None])


@pytest.mark.parametrize("clf", [*ALL, *KERNEL], ids=lambda clf: str(clf))
def test_a_sample_of_weight_k_is_k_samples_and_zero_is_none(clf):
    views, y = three_classes(90)
    weights = np.arange(90) % 4
    weighted = clone(clf).fit(views, y, sample_weight=weights)
    repeated = clone(clf).fit([np.repeat(X, weights, axis=0) for X in views], np.repeat(y, weights))
    np.testing.assert_allclose(
        weighted.decision_function(views), repeated.decision_function(views), atol=1e-5
    )


@pytest.mark.parametrize("clf", ALL, ids=lambda clf: type(clf).__name__)
def test_class_weights_are_factors_of_the_sample_weights(clf):
    views, y = two_views(60)
    by_class = clone(clf).set_params(class_weight={0: 1.0, 1: 2.5}).fit(views, y)
    by_sample = clone(clf).fit(views, y, sample_weight=np.where(y == 1, 2.5, 1.0))
    if not isinstance(clf, (MvLSSVC2C, MvSL01SVM)):
        np.testing.assert_allclose(by_class.coef_, by_sample.coef_, atol=1e-7)
    else:
        # Sample weights count in the clusters' covariances too; class weights do not.
        plain = clone(clf).set_params(structure=0.0)
        np.testing.assert_allclose(
            clone(plain).set_params(class_weight={0: 1.0, 1: 2.5}).fit(views, y).coef_,
            plain.fit(views, y, sample_weight=np.where(y == 1, 2.5, 1.0)).coef_,
            atol=1e-6,
        )


@pytest.mark.parametrize("clf", ALL, ids=lambda clf: type(clf).__name__)
def test_sparse_and_float32_views(clf):
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 40)
    views = [
        np.round(rng.normal(size=(80, 5)) + y[:, None], 2),
        rng.random((80, 4)) + 0.5 * y[:, None],
    ]
    dense = clone(clf).fit(views, y)
    mixed = [sp.csr_matrix(views[0]), views[1]]
    sparse = clone(clf).fit(mixed, y)
    np.testing.assert_allclose(
        sparse.decision_function(mixed), dense.decision_function(views), atol=1e-5
    )
    single = clone(clf).fit([X.astype(np.float32) for X in views], y)
    np.testing.assert_allclose(
        single.decision_function(views), dense.decision_function(views), atol=1e-3
    )


@pytest.mark.parametrize("clf", [*ALL, *KERNEL], ids=lambda clf: str(clf))
def test_a_fit_can_be_stored_and_is_described(clf):
    views, y = two_views(60)
    clf = clone(clf).fit(views, y)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.decision_function(views), clf.decision_function(views))
    assert np.isfinite(clf.objective_).all()
    assert clf.n_iter_ >= 1
    assert len(clf.history_["iteration"]) == len(clf.history_["objective"])
    assert all(one.certified for one in clf.certificate_)


@pytest.mark.parametrize("clf", ALL, ids=lambda clf: type(clf).__name__)
def test_pipelines_searches_and_routing(clf):
    X, widths = stack_views(two_views(80)[0])
    y = two_views(80)[1]
    model = make_pipeline(StandardScaler(), clone(clf).set_params(views=widths))
    name = f"{type(clf).__name__.lower()}__C"
    search = GridSearchCV(model, {name: [0.5, 5.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.7
    if parse_version(sklearn.__version__) < parse_version("1.7"):
        return  # a Pipeline does not hand on weights for its score there
    with config_context(enable_metadata_routing=True):
        routed = clone(clf).set_params(views=widths).set_fit_request(sample_weight=True)
        routed.set_score_request(sample_weight=True)
        scores = cross_val_score(
            make_pipeline(StandardScaler().set_fit_request(sample_weight=False), routed),
            X,
            y,
            cv=3,
            params={"sample_weight": 1.0 + y},
        )
    assert np.mean(scores) > 0.7
