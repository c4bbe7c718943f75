from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.multiview.data import two_views

from htsvm.multiview import MultiViewHTSVC, columns_starting_with
from htsvm_paper.datasets import Preparation, load, make_views, narrow


def test_scaling_is_learned_on_training_data_only():
    rng = np.random.default_rng(0)
    X, X_test = rng.normal(size=(50, 3)), 10.0 * rng.normal(size=(20, 3))
    preparation = Preparation().fit(X)
    scaled = preparation.transform(X)
    np.testing.assert_allclose(scaled.min(axis=0), -1.0)
    np.testing.assert_allclose(scaled.max(axis=0), 1.0)
    expected = 2.0 * (X_test - X.min(axis=0)) / np.ptp(X, axis=0) - 1.0
    np.testing.assert_allclose(preparation.transform(X_test), expected)
    np.testing.assert_allclose(clone(preparation).fit_transform(X), scaled)


def test_sparse_data_stay_sparse_and_ones_stay_ones():
    X = sp.csr_matrix(np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]))
    scaled = Preparation().fit_transform(X)
    assert sp.issparse(scaled)
    np.testing.assert_array_equal(scaled.toarray(), X.toarray())


def test_missing_values_get_training_medians():
    X = np.array([[0.0], [1.0], [4.0], [np.nan]])
    preparation = Preparation().fit(X)
    np.testing.assert_allclose(preparation.transform([[np.nan]]), [[2.0 * 1.0 / 4.0 - 1.0]])


def test_second_view():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 6))
    preparation = Preparation(pca_view=True)
    both = preparation.fit_transform(X)
    assert preparation.view_widths_ == (6, 2)
    view = both[:, 6:]
    np.testing.assert_allclose(view.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.cov(view.T)[0, 1], 0.0, atol=1e-12)
    np.testing.assert_allclose(preparation.transform(X), both)


# The paper's second views; on all samples, Heart and Hepatitis have one or two fewer components
# than printed, and Wine has ten (its one is that of unscaled features).
@pytest.mark.parametrize(
    ("name", "width"),
    [
        ("balance", 4), ("bankruptcy", 5), ("bupa", 5), ("german", 18), ("haberman", 3),
        ("heart", 9), ("hepatitis", 13), ("iris", 2), ("vote", 13), ("wine", 10),
    ],
)  # fmt: skip
def test_widths_of_the_papers_second_views(name, width):
    assert Preparation(pca_view=True).fit(load(name).X).view_widths_[1] == width


def test_narrow_sorts_and_adds_up():
    X = sp.csr_matrix(
        (np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2], dtype=np.int64), np.array([0, 3])),
        shape=(1, 3),
    )
    small = narrow(X)
    np.testing.assert_array_equal(small.toarray(), [[2.0, 0.0, 4.0]])
    assert small.indices.dtype == small.indptr.dtype == np.int32


@parametrize_with_checks([make_views()])
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


@pytest.mark.parametrize("by_name", [True, False])
def test_principal_components_as_a_second_view_in_a_pipeline(by_name):
    X, y = np.hstack(two_views()[0]), two_views()[1]
    maker = make_views()
    if by_name:
        maker.set_output(transform="pandas")
        views = [columns_starting_with("given__"), columns_starting_with("principal__")]
    else:
        views = [slice(0, 10), slice(10, None)]
    model = make_pipeline(MinMaxScaler((-1, 1)), maker, MultiViewHTSVC(views=views))
    assert cross_val_score(model, X, y, cv=3).min() > 0.6
    model.fit(X, y)
    assert len(model[-1].view_coef_[1]) == model[1].pca_.n_components_
    assert model[1].pca_.explained_variance_ratio_.sum() >= 0.95
    assert model[1].views_["principal"] == slice(10, 10 + model[1].pca_.n_components_)


def test_principal_components_come_from_the_training_data():
    rng = np.random.default_rng(0)
    train, test = rng.normal(size=(50, 4)), 100.0 + rng.normal(size=(20, 4))
    maker = make_views(2).fit(train)
    np.testing.assert_array_equal(maker.transform(test)[:, :4], test)
    np.testing.assert_allclose(
        maker.transform(test)[:, 4:], (test - train.mean(axis=0)) @ maker.pca_.components_.T
    )
    assert maker.get_feature_names_out(list("abcd")).tolist() == [
        "given__a", "given__b", "given__c", "given__d", "principal__0", "principal__1",
    ]  # fmt: skip
