"""Support vectors of each view: the paper's expansion of w_v over S_v, and what controls them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from htsvm import SampleStatus
from htsvm.multiview import MultiViewHTSVC
from htsvm.multiview.structure import find_structure
from htsvm_paper.baselines import MvSL01SVM
from tests.multiview.data import noisy_classes, two_views


def expand(model, views, v, R):
    """Return the classifier of a view from its support vectors alone."""
    pull = np.atleast_2d(model.dual_coef_[v]) @ views[v][model.support_[v]]
    return np.linalg.solve(R, pull.T).T


def regularizer(model, views, codes, eta, v):
    structure = find_structure(views, codes, None)
    R = model.view_weights_[v] * np.eye(views[v].shape[1])
    shares = zip(model.view_weights_, structure.covariances[v], strict=True)
    return R + eta * sum(share * sigma for share, sigma in shares)


@pytest.mark.parametrize("eta", [0.0, 0.4])
@pytest.mark.parametrize("model", [MultiViewHTSVC(0.5), MvSL01SVM(2.0)], ids=lambda m: str(m))
def test_each_classifier_is_a_sum_over_its_support_vectors(model, eta):
    views, y = two_views()
    model = model.set_params(structure=eta, weight_smoothness=20.0, tol=1e-6).fit(views, y)
    for v in range(2):
        R = regularizer(model, views, y, eta, v)
        w = expand(model, views, v, R)[0]
        np.testing.assert_allclose(w, model.view_coef_[v], atol=1e-4 * np.abs(w).max())
        assert model.n_support_[v].sum() == len(model.support_[v])
    assert model.n_support_.shape == (2, 2)
    bound = 6.0 / 5.0 * 0.5 if isinstance(model, MultiViewHTSVC) else np.inf
    for v, rows in enumerate(model.support_):
        multipliers = model.dual_coef_[v][0] * np.where(y[rows] == 1, 1.0, -1.0)
        assert np.all(multipliers > 0.0)
        assert np.all(multipliers <= bound * (1.0 + 1e-6))
        assert not np.any(model.sample_status_[rows, v] == SampleStatus.IGNORED)


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
def test_several_classes(multi_class):
    views, y = noisy_classes()
    model = MultiViewHTSVC(multi_class=multi_class, view_weights="uniform", tol=1e-6)
    model.fit(views, y)
    for v in range(2):
        W = expand(model, views, v, 0.5 * np.eye(views[v].shape[1]))
        np.testing.assert_allclose(W, model.view_coef_[v], atol=1e-4 * np.abs(W).max())
        assert model.dual_coef_[v].shape == (3, len(model.support_[v]))
        np.testing.assert_array_equal(
            model.n_support_[v], np.bincount(y[model.support_[v]], minlength=3)
        )


def count(**parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        views, y = two_views(200, seed=3, wrong=0.15)
        return MultiViewHTSVC(**parameters).fit(views, y).n_support_.sum(axis=1)


def test_C_and_alpha_control_their_number():
    """As the paper states.

    A larger C buys more satisfied samples, of which fewer hold the margins in place. A large alpha
    keeps the weights even; a small one takes the weight of a view away, and with it what holds its
    classifier back, so that the margin of that view is as narrow as it gets.
    """
    totals = [int(count(C=C, weight_smoothness=30.0).sum()) for C in (0.02, 0.1, 1.0, 10.0)]
    assert totals == sorted(totals, reverse=True)
    assert totals[0] > 2 * totals[-1]
    free, even = count(C=0.1, weight_smoothness=0.05), count(C=0.1, weight_smoothness=100.0)
    assert free.min() < even.min()
