"""What all baselines of one view promise: tests for the list `BASELINES` of who imports them."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from htsvm import IgnoredClassWarning, certify
from tests.baselines.data import noisy, words


def pytest_generate_tests(metafunc):
    """Give each test the models that it asks for."""
    models = {
        "model": metafunc.module.BASELINES,
        "warm": [model for model in metafunc.module.BASELINES if hasattr(model, "warm_start")],
    }
    for name in models.keys() & set(metafunc.fixturenames):
        metafunc.parametrize(name, models[name], ids=lambda model: type(model).__name__)


def same_fit(a, b, atol):
    np.testing.assert_allclose(a.coef_, b.coef_, atol=atol)
    np.testing.assert_allclose(a.intercept_, b.intercept_, atol=atol)


def multipliers(clf, y):
    """Return psi of every sample, from the attributes of a binary fit."""
    psi = np.zeros(len(y))
    psi[clf.support_] = -clf.dual_coef_[0] * y[clf.support_]
    return psi


def precise(model):
    return clone(model).set_params(tol=1e-7)


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_every_fit_is_certified(model, C):
    X, y = noisy(m=200, seed=1)
    clf = clone(model).set_params(C=C).fit(X, y)
    certificate = clf.certificate_[0]
    assert certificate.certified
    assert certificate.objective == pytest.approx(clf.objective_[0])
    assert certificate.objective <= certificate.trivial_objective * (1 + 1e-9)
    assert certificate.nu_max > 0.0
    assert certificate.local_minimizer == "yes"


def test_certificate_can_be_computed_from_the_attributes(model):
    X, y = noisy(seed=2)
    clf = clone(model).fit(X, y)
    psi = multipliers(clf, y)
    loss, w, b = clf._loss(), clf.coef_[0], clf.intercept_[0]
    again = certify(X, y, w, b, psi, C=clf.C, loss=loss, tol=clf.tol)
    assert again.certified
    assert again.residual == pytest.approx(clf.certificate_[0].residual, rel=1e-3, abs=1e-12)


def test_the_certificate_refuses_a_wrong_point(model):
    X, y = noisy(seed=3)
    clf = clone(model).fit(X, y)
    psi = multipliers(clf, y)
    for w, p in ((1.2 * clf.coef_[0], psi), (clf.coef_[0], 0.5 * psi)):
        wrong = certify(X, y, w, clf.intercept_[0], p, C=1.0, loss=clf._loss())
        assert not wrong.certified
        assert wrong.nu_max == 0.0


def test_expansion_in_support_vectors(model):
    X, y = noisy(seed=4)
    clf = precise(model).fit(X, y)
    np.testing.assert_allclose(clf.dual_coef_ @ X[clf.support_], clf.coef_, atol=1e-4)
    assert clf.n_support_.sum() == len(clf.support_)
    np.testing.assert_allclose(clf.dual_coef_.sum(), 0.0, atol=1e-4)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_equals_dense(model, index):
    rng = np.random.default_rng(0)
    X = sp.random(150, 12, density=0.3, format="csr", random_state=rng)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    y = np.where(X @ rng.normal(size=12) + 0.1 * rng.normal(size=150) > 0, "b", "a")
    same_fit(precise(model).fit(X, y), precise(model).fit(X.toarray(), y), atol=1e-4)


def test_wide_sparse_data_is_never_made_dense(model, monkeypatch):
    X, y = words()

    def refuse(self, *args, **options):
        # The kernel matrix of a few rows is dense by nature. `todense` ends here too.
        assert self.shape[1] < X.shape[1], "made dense"
        return plain(self, *args, **options)

    plain = type(X).toarray
    monkeypatch.setattr(type(X), "toarray", refuse)
    clf = clone(model).fit(X, y)
    assert clf.certificate_[0].certified


def test_float32_is_close_to_float64(model):
    X, y = noisy(seed=5)
    X = X.astype(np.float32)
    same_fit(precise(model).fit(X, y), precise(model).fit(X.astype(np.float64), y), atol=1e-4)


def test_weight_k_equals_k_repetitions(model):
    X, y = noisy(m=60, seed=6)
    k = np.random.default_rng(0).integers(0, 4, size=60)
    weighted = precise(model).fit(X, y, sample_weight=k)
    repeated = precise(model).fit(np.repeat(X, k, axis=0), np.repeat(y, k))
    np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-5)
    same_fit(weighted, repeated, atol=1e-3)


def test_class_weight_is_a_sample_weight(model):
    X, y = noisy(m=100, seed=7)
    by_class = precise(model).set_params(class_weight={-1: 0.5, 1: 2.0}).fit(X, y)
    by_sample = precise(model).fit(X, y, sample_weight=np.where(y > 0, 2.0, 0.5))
    same_fit(by_class, by_sample, atol=1e-9)


def test_no_intercept(model):
    X, y = noisy(seed=8)
    clf = clone(model).set_params(fit_intercept=False).fit(X, y)
    assert clf.intercept_[0] == 0.0
    assert clf.certificate_[0].certified


def test_several_classes(model):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IgnoredClassWarning)
        clf = clone(model).set_params(C=2.0).fit(X, names)
    assert clf.coef_.shape == (3, 4)
    assert all(certificate.certified for certificate in clf.certificate_)
    assert clf.score(X, names) > 0.75


def test_clone_pickle_repeat_and_frames(model):
    X, y = noisy(seed=9)
    frame = pd.DataFrame(X, columns=list("abcd"))
    clf = clone(model).fit(frame, y)
    assert list(clf.feature_names_in_) == list("abcd")
    copy = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(copy.predict(frame), clf.predict(frame))
    same_fit(clone(clf).fit(frame, y), clf, atol=0.0)


def test_pipelines_searches_and_routed_weights(model):
    X, y = noisy(m=90, seed=10)
    search = GridSearchCV(make_pipeline(StandardScaler(), clone(model)), {
        f"{type(model).__name__.lower()}__C": [0.1, 1.0]}, cv=3)  # fmt: skip
    assert search.fit(X, y).best_score_ > 0.6
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(model).set_fit_request(sample_weight=True)
        routed = routed.set_score_request(sample_weight=True)
        weight = np.ones(len(y))
        cross_validate(routed, X, y, cv=3, params={"sample_weight": weight}, error_score="raise")


def test_warm_start_on_the_same_data_is_as_good(warm):
    X, y = noisy(m=300, seed=11)
    clf = clone(warm).set_params(warm_start=True).fit(X, y)
    first = float(clf.objective_[0])
    clf.fit(X, y)
    assert float(clf.objective_[0]) <= first * (1 + 1e-3)
    assert clf.certificate_[0].certified


def test_history_and_verbose(model, capsys):
    X, y = noisy(seed=12)
    clf = clone(model).set_params(verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert all(type(model).__name__ in line for line in lines)
    assert len(clf.history_["objective"]) == clf.n_iter_
    assert clf.n_passes_ > 0.0


def test_too_few_iterations_are_reported(warm):
    X, y = noisy(m=300, seed=13)
    if warm._cap_name is None and warm._balanced_rest:
        return  # the margin of the 0/1 loss is made exact in any case
    with pytest.warns(ConvergenceWarning, match=r"residual.*tol is.*max_iter=1"):
        clone(warm).set_params(max_iter=1, tol=1e-8).fit(X, y)


def test_one_against_the_rest_is_balanced_where_the_loss_is_bounded(model):
    X, y = load_iris(return_X_y=True)
    clf = precise(model).fit(X, y)
    single = precise(model).set_params(class_weight="balanced" if model._balanced_rest else None)
    np.testing.assert_allclose(
        clf.coef_[1], single.fit(X, np.where(y == 1, 1, 0)).coef_[0], atol=1e-5
    )
