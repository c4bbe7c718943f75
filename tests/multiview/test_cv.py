"""MultiViewHTSVC with its trade-offs chosen by cross-validation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from htsvm.multiview import MultiViewHTSVC, MultiViewHTSVCCV, stack_views
from htsvm.multiview.view_classifiers import ViewClassifiers
from tests.multiview.data import noisy_classes, two_views


@parametrize_with_checks([MultiViewHTSVCCV(Cs=2, cv=2, tol=1e-6)])
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


@pytest.mark.parametrize("smoothness", ["auto", 20.0])
def test_the_grid_scores_like_fits_one_by_one(smoothness):
    views, y = two_views(120)
    folds = StratifiedKFold(3)
    grid = {"structure": [0.3, 0.0], "cap": [np.inf, 1.0], "C": [0.2, 2.0]}
    clf = MultiViewHTSVCCV(
        Cs=grid["C"], structures=grid["structure"], caps=grid["cap"], cv=folds,
        smoothnesses=smoothness,
    ).fit(views, y)  # fmt: skip
    expected = np.empty((3, 2, 2, 1, 2))
    for place in np.ndindex(*expected.shape):
        f, s, c, _, i = place
        train, test = list(folds.split(views[0], y))[f]
        one = MultiViewHTSVC(
            grid["C"][i], structure=grid["structure"][s], cap=grid["cap"][c],
            weight_smoothness=smoothness,
        ).fit([X[train] for X in views], y[train])  # fmt: skip
        expected[place] = one.score([X[test] for X in views], y[test])
    # One sample of 40 may lie on the boundary; with a cap, fits may end in other valleys.
    np.testing.assert_allclose(clf.scores_[:, :, 0], expected[:, :, 0], atol=0.026)
    np.testing.assert_allclose(clf.scores_[:, :, 1].mean(), expected[:, :, 1].mean(), atol=0.03)


def test_the_final_fit_is_that_of_the_chosen_point():
    views, y = two_views(120)
    clf = MultiViewHTSVCCV(Cs=[0.1, 1.0], structures=[0.0, 0.2], cv=3).fit(views, y)
    plain = clf.as_multiview_htsvc()
    assert (plain.C, plain.structure, plain.cap) == (clf.C_, clf.structure_, clf.cap_)
    np.testing.assert_array_equal(plain.fit(views, y).coef_, clf.coef_)
    assert all(one.certified for one in clf.certificate_)
    s, i = list(clf.structures_).index(clf.structure_), list(clf.Cs_).index(clf.C_)
    means = clf.scores_.mean(axis=0)[:, 0, 0]
    able = means >= means.max() - 0.5 * np.sqrt(means.max() * (1.0 - means.max()) / len(y)) - 1e-9
    assert clf.agreement_[s, 0, 0, i] == np.where(able, clf.agreement_[:, 0, 0], -1.0).max()
    chosen = clf.cv_results_["params"][clf.best_index_]
    assert chosen == {"C": clf.C_, "smoothness": "auto", "cap": 1.0, "structure": clf.structure_}
    assert clf.cv_results_["mean_test_score"][clf.best_index_] == clf.best_score_
    assert clf.n_splits_ == 3


def test_of_equal_points_the_tamest_is_chosen():
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 30)
    views = [rng.normal(size=(60, 3)) + 9.0 * y[:, None] for _ in range(2)]
    clf = MultiViewHTSVCCV(
        Cs=[1.0, 0.5],
        structures=[0.0, 0.01],
        caps=[1.0, 2.0],
        smoothnesses=[5.0, 50.0],
        cv=2,
        scoring="accuracy",
    ).fit(views, y)
    assert clf.scores_.min() == 1.0
    assert (clf.C_, clf.structure_, clf.cap_, clf.smoothness_) == (0.5, 0.01, 2.0, 50.0)


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
def test_several_classes_threads_weights_and_scorers(multi_class):
    views, y = noisy_classes()
    weights = 1.0 + (np.arange(len(y)) % 2)
    options = {"Cs": [0.1, 1.0], "cv": 2, "multi_class": multi_class}
    clf = MultiViewHTSVCCV(scoring="balanced_accuracy", n_jobs=2, **options)
    clf.fit(views, y, sample_weight=weights)
    again = MultiViewHTSVCCV(scoring="balanced_accuracy", **options)
    again.fit(views, y, sample_weight=weights)
    np.testing.assert_array_equal(clf.scores_, again.scores_)
    assert clf.score(views, y) > 0.6


def test_a_stacked_matrix_in_a_search():
    views, y = two_views(80)
    X, widths = stack_views(views)
    clf = MultiViewHTSVCCV(Cs=2, views=widths, cv=2)
    search = GridSearchCV(clf, {"knee": [0.5, 0.7]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.7
    assert clone(search.best_estimator_).get_params() == search.best_estimator_.get_params()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"Cs": [0.0]}, "Cs must be a non-empty list of positive"),
        ({"structures": [-1.0]}, "structures must be not negative and finite"),
        ({"caps": []}, "caps must be positive"),
        ({"smoothnesses": ["even"]}, "smoothnesses must be positive numbers or 'auto'"),
        ({"smoothnesses": [0.0]}, "smoothnesses must be positive"),
        ({"solver": "sgd"}, "solver"),
    ],
)
def test_bad_grids_are_named(parameters, message):
    clf = MultiViewHTSVCCV(**parameters)
    with pytest.raises(ValueError, match=message):
        clf.fit(*two_views(40))


def test_a_view_that_lost_its_weight_at_one_point_gets_another_chance_at_the_next():
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], 40)
    X = np.hstack([rng.normal(size=(80, 4)) + shift * y[:, None] for shift in (0.9, 0.7)])
    found = {}

    def record(model, X, y):
        found[model.structure_] = model.view_weights_.copy()
        return 0.0

    rows = np.arange(80)
    options = {"views": [4, 4]}
    MultiViewHTSVCCV(
        Cs=[1.0], structures=[4.0, 1.0], smoothnesses=[1.0], cv=[(rows, rows)], scoring=record,
        **options,
    ).fit(X, y)  # fmt: skip
    cold = {
        s: MultiViewHTSVC(1.0, structure=s, weight_smoothness=1.0, **options).fit(X, y)
        for s in (4.0, 1.0)
    }
    assert cold[4.0].view_weights_.min() == 0.0, "the first point of the grid is to lose a view"
    assert cold[1.0].view_weights_.min() > 0.1
    np.testing.assert_allclose(found[1.0], cold[1.0].view_weights_, atol=0.02)


def test_points_that_differ_in_smoothness_alone_share_their_classifiers(monkeypatch):
    """Where one view gets the whole weight whatever alpha is, all but the first cost nothing."""
    solved, solve = [], ViewClassifiers._solve_view

    def counted(self, v, weights, before, slack):
        solved.append(tuple(weights))
        return solve(self, v, weights, before, slack)

    monkeypatch.setattr(ViewClassifiers, "_solve_view", counted)
    X, y = make_classification(120, 8, shuffle=False, random_state=0)
    fold = [next(StratifiedKFold(3).split(X, y))]

    def searched(smoothnesses):
        solved.clear()
        model = MultiViewHTSVCCV(Cs=[0.1, 1.0], smoothnesses=smoothnesses, views=[4, 4], cv=fold)
        return model.fit(X, y), len(solved)

    one, calls = searched([1e-3])
    three, more = searched([1e-3, 1e-4, 1e-5])
    assert np.isclose(one.view_weights_.max(), 1.0)
    assert more == calls
    for scores in np.moveaxis(three.scores_, 3, 0):
        np.testing.assert_array_equal(scores[:, :, :, None], one.scores_)
