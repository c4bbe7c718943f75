"""Paths over C and cross-validation on top of them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from htsvm import HTSVC, HTSVCCV, ht_path


def data(m=300, seed=0):
    return make_classification(m, 8, n_informative=5, flip_y=0.15, random_state=seed)


@parametrize_with_checks([HTSVCCV(Cs=3, cv=3)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cap", [1.0, 2.0, np.inf])
def test_path_solves_what_single_fits_solve(cap):
    X, y = data()
    Cs = [4.0, 0.25, 1.0]
    path = ht_path(X, y, Cs=Cs, cap=cap, tol=1e-5)
    assert path.Cs.tolist() == Cs
    assert path.coef.shape == (3, 1, 8)
    for i, C in enumerate(Cs):
        single = HTSVC(C=C, cap=cap, tol=1e-5).fit(X, y)
        assert path.certificates[i][0].certified
        assert path.objective[i, 0] <= single.objective_[0] * (1.05 if cap < np.inf else 1.0001)
        q = 1.0 - np.where(y == 1, 1, -1) * (X @ path.coef[i, 0] + path.intercept[i, 0])
        loss = HTSVC(cap=cap)._loss()
        value = 0.5 * np.sum(path.coef[i, 0] ** 2) + C * loss.value(q).sum()
        assert path.objective[i, 0] == pytest.approx(value)


def test_no_solution_on_the_path_is_beaten_by_a_neighbour():
    X, y = data(seed=3)
    path = ht_path(X, y, Cs=9)
    energy = 0.5 * np.sum(path.coef[:, 0] ** 2, axis=1)
    loss = (path.objective[:, 0] - energy) / path.Cs
    for i, C in enumerate(path.Cs):
        assert path.objective[i, 0] <= (energy + C * loss).min() * 1.002


def test_path_takes_weights_and_classes():
    X, y = load_iris(return_X_y=True)
    path = ht_path(X, y, Cs=2, class_weight="balanced")
    assert path.coef.shape == (2, 3, 4)
    X, y = data(80)
    k = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = ht_path(X, y, Cs=[1.0], sample_weight=k, tol=1e-8)
    repeated = ht_path(np.repeat(X, k, axis=0), np.repeat(y, k), Cs=[1.0], tol=1e-8)
    np.testing.assert_allclose(weighted.coef, repeated.coef, atol=1e-5)


@pytest.mark.parametrize("Cs", [0, -1.0, [1.0, -1.0], [], [np.inf], 2.5])
def test_bad_grids_are_named(Cs):
    X, y = data(60)
    with pytest.raises(ValueError, match="Cs"):
        ht_path(X, y, Cs=Cs)


def test_chosen_pair_has_the_best_score_and_ties_go_to_the_tamer_model():
    X, y = data()
    clf = HTSVCCV(Cs=[0.1, 1.0, 10.0], caps=[1.0, np.inf, 2.0], cv=4).fit(X, y)
    assert clf.caps_.tolist() == [np.inf, 2.0, 1.0]
    assert clf.scores_.shape == (4, 3, 3)
    means = clf.scores_.mean(axis=0)
    i, j = clf.caps_.tolist().index(clf.cap_), clf.Cs_.tolist().index(clf.C_)
    assert means[i, j] == means.max()
    winners = np.argwhere(means >= means.max() - 1e-12)
    assert i == winners[:, 0].min()
    again = clf.as_htsvc().fit(X, y)
    np.testing.assert_allclose(clf.coef_, again.coef_)


def test_scores_are_those_of_cross_validation():
    X, y = data(400)
    cv = StratifiedKFold(4)
    clf = HTSVCCV(Cs=[0.5], caps=np.inf, cv=cv, tol=1e-6).fit(X, y)
    expected = cross_val_score(HTSVC(C=0.5, cap=np.inf, tol=1e-6), X, y, cv=cv)
    np.testing.assert_allclose(clf.scores_[:, 0, 0], expected, atol=1e-12)


def test_scoring_is_used():
    X, y = data()
    scorer = make_scorer(f1_score)
    a = HTSVCCV(Cs=2, cv=3, scoring="f1").fit(X, y)
    b = HTSVCCV(Cs=2, cv=3, scoring=scorer).fit(X, y)
    plain = HTSVCCV(Cs=2, cv=3).fit(X, y)
    np.testing.assert_allclose(a.scores_, b.scores_)
    assert not np.allclose(a.scores_, plain.scores_)


def test_an_infinite_cap_protects_from_truncation():
    X, y = data(200, seed=5)
    tuned = HTSVCCV(Cs=3, caps=[np.inf, 1.0], cv=3).fit(X, y)
    convex = HTSVCCV(Cs=3, caps=np.inf, cv=3).fit(X, y)
    assert tuned.scores_.mean(axis=0).max() >= convex.scores_.mean(axis=0).max()


def test_multi_class_strings_and_jobs():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    one = HTSVCCV(Cs=2, cv=3).fit(X, names)
    two = clone(one).set_params(n_jobs=2).fit(X, names)
    np.testing.assert_allclose(one.coef_, two.coef_)
    assert one.score(X, names) > 0.8


@pytest.mark.parametrize("caps", [0.0, -1.0, [1.0, 0.0]])
def test_bad_caps_are_named(caps):
    with pytest.raises(ValueError, match="caps"):
        HTSVCCV(caps=caps).fit(*data(60))
