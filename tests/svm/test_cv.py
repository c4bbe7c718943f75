"""C and cap by cross-validation."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import accuracy_score, f1_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

from htsvm import HTSVC, HTSVCCV, IgnoredClassWarning

SMALL = {"Cs": [0.1, 1.0], "caps": [np.inf, 1.0], "cv": 3}


def data(m=300, seed=0, flip=0.15):
    return make_classification(m, 8, n_informative=5, flip_y=flip, random_state=seed)


@parametrize_with_checks([HTSVCCV(Cs=2, caps=(np.inf, 1.0), cv=2)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_the_chosen_point_agrees_best_of_the_accurate_ones():
    X, y = data(flip=0.4)
    clf = HTSVCCV(Cs=4, caps=[1.0, np.inf, 2.0], cv=4, random_state=1).fit(X, y)
    means = clf.scores_.mean(axis=0)
    i, j = clf.caps_.tolist().index(clf.cap_), clf.Cs_.tolist().index(clf.C_)
    # The folds are of equal size, so that means over folds are accuracies on all samples.
    error = np.sqrt(means.max() * (1.0 - means.max()) / len(y))
    able = means >= means.max() - 0.5 * error - 1e-9
    assert able[i, j]
    assert clf.agreement_[i, j] == clf.agreement_[able].max()
    assert clf.cv_results_["rank_test_score"][clf.best_index_] == 1
    assert clf.cv_results_["params"][clf.best_index_] == {"C": clf.C_, "cap": clf.cap_}
    assert clf.best_score_ == means[i, j]


def test_with_scoring_the_best_mean_wins_and_ties_go_to_the_tamer_model():
    X, y = data()
    clf = HTSVCCV(Cs=[0.1, 1.0, 10.0], caps=[1.0, np.inf, 2.0], cv=4, scoring="accuracy").fit(X, y)
    assert clf.caps_.tolist() == [np.inf, 2.0, 1.0]
    means = clf.scores_.mean(axis=0)
    i, j = clf.caps_.tolist().index(clf.cap_), clf.Cs_.tolist().index(clf.C_)
    assert means[i, j] == means.max()
    assert i == np.argwhere(means >= means.max() - 1e-12)[:, 0].min()
    assert not hasattr(clf, "agreement_")


def test_what_is_delivered_is_what_was_scored():
    # Trained on the training part of a fold alone, the chosen point is that of the fold.
    X, y = data(400, flip=0.3)
    for cap in (np.inf, 2.0, 1.0):
        options = {"Cs": [0.25, 1.0], "caps": [np.inf, cap], "random_state": 3}
        fold = PredefinedSplit([-1] * 300 + [0] * 100)
        scored = HTSVCCV(**options, cv=fold).fit(X, y)
        whole = HTSVCCV(**options, cv=3).fit(X[:300], y[:300])
        row = scored.caps_.tolist().index(cap)
        for j, C in enumerate(whole.Cs_):
            whole.C_, whole.cap_ = float(C), cap
            checked = whole._validated(X[:300], y[:300], None)
            whole._fit_checked(checked[0], *checked[2:])
            assert whole.score(X[300:], y[300:]) == pytest.approx(
                scored.scores_[0, row, j], abs=0.021
            )


def test_without_truncation_mean_scores_are_those_of_a_grid_search():
    # There is one minimum, so that all ways lead to it.
    X, y = data(400, flip=0.2)
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    grid = {"C": [0.0625, 1.0], "cap": [np.inf, 8.0]}
    ours = HTSVCCV(Cs=grid["C"], caps=grid["cap"], cv=cv).fit(X, y)
    search = GridSearchCV(HTSVC(), grid, cv=cv).fit(X, y)
    theirs = {
        (p["C"], p["cap"]): score
        for p, score in zip(
            search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
        )
    }
    for p, score in zip(
        ours.cv_results_["params"], ours.cv_results_["mean_test_score"], strict=True
    ):
        assert score == pytest.approx(theirs[p["C"], p["cap"]], abs=0.0101)


def test_the_table_is_that_of_a_grid_search():
    X, y = data(120)
    ours = HTSVCCV(**SMALL).fit(X, y)
    search = GridSearchCV(HTSVC(), {"C": SMALL["Cs"], "cap": SMALL["caps"]}, cv=3).fit(X, y)
    assert set(search.cv_results_) <= set(ours.cv_results_)
    assert {len(column) for column in ours.cv_results_.values()} == {4}
    table = ours.cv_results_
    for k in range(3):
        np.testing.assert_array_equal(table[f"split{k}_test_score"], ours.scores_[k].ravel())
    assert table["param_cap"].tolist() == [np.inf, np.inf, 1.0, 1.0]
    assert table["param_C"].tolist() == [0.1, 1.0, 0.1, 1.0]


def test_scoring_is_used():
    X, y = data()
    scorer = make_scorer(f1_score)
    a = HTSVCCV(Cs=2, caps=1.0, cv=3, scoring="f1").fit(X, y)
    b = HTSVCCV(Cs=2, caps=1.0, cv=3, scoring=scorer).fit(X, y)
    plain = HTSVCCV(Cs=2, caps=1.0, cv=3).fit(X, y)
    np.testing.assert_allclose(a.scores_, b.scores_)
    assert not np.allclose(a.scores_, plain.scores_)


def test_folds_are_shuffled_and_driven_by_the_seed():
    X, y = data(200)
    order = np.argsort(y, kind="stable")
    a = HTSVCCV(**SMALL).fit(X[order], y[order])
    again = HTSVCCV(**SMALL, random_state=0).fit(X[order], y[order])
    other = HTSVCCV(**SMALL, random_state=1).fit(X[order], y[order])
    np.testing.assert_array_equal(a.scores_, again.scores_)
    assert not np.array_equal(a.scores_, other.scores_)
    unshuffled = HTSVCCV(**{**SMALL, "cv": StratifiedKFold(3)}).fit(X[order], y[order])
    assert not np.array_equal(a.scores_, unshuffled.scores_)


def test_wrong_labels_do_not_spoil_the_choice():
    X, y = make_classification(1200, 20, n_informative=6, class_sep=1.5, flip_y=0.0, random_state=0)
    noisy = y.copy()
    wrong = np.random.default_rng(0).choice(400, size=140, replace=False)
    noisy[wrong] = 1 - noisy[wrong]
    ours = HTSVCCV(random_state=0).fit(X[:400], noisy[:400])
    convex = HTSVC(cap=np.inf).fit(X[:400], noisy[:400])
    assert ours.score(X[400:], y[400:]) > convex.score(X[400:], y[400:]) + 0.01


def test_sparse_data_and_weights():
    X, y = data(200)
    dense = HTSVCCV(**SMALL).fit(X, y)
    sparse = HTSVCCV(**SMALL).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(dense.scores_, sparse.scores_, atol=0.02)
    assert (dense.C_, dense.cap_) == (sparse.C_, sparse.cap_)
    weight = np.ones(200)
    weight[:50] = 0.0
    cut = HTSVCCV(**SMALL, tol=1e-6).fit(X, y, sample_weight=weight)
    expected = HTSVC(C=cut.C_, cap=np.inf, tol=1e-6).fit(X[50:], y[50:])
    if np.isinf(cut.cap_):
        np.testing.assert_allclose(cut.coef_, expected.coef_, atol=1e-3)
    heavy = HTSVCCV(**SMALL).fit(X, y, sample_weight=np.where(y == 1, 9.0, 1.0))
    assert not np.array_equal(heavy.scores_, dense.scores_)


def test_groups_stay_together():
    X, y = data(120)
    groups = np.repeat(np.arange(12), 10)
    clf = HTSVCCV(**{**SMALL, "cv": GroupKFold(3)}).fit(X, y, groups=groups)
    splits = list(GroupKFold(3).split(X, y, groups))
    same = HTSVCCV(**{**SMALL, "cv": splits}).fit(X, y)
    np.testing.assert_array_equal(clf.scores_, same.scores_)
    with pytest.raises(ValueError, match="groups"):
        HTSVCCV(**{**SMALL, "cv": GroupKFold(3)}).fit(X, y)


def test_unknown_metadata_are_named():
    with pytest.raises(TypeError, match="colour"):
        HTSVCCV(**SMALL).fit(*data(60), colour=3)


def test_metadata_are_routed():
    X, y = data(120)
    groups, weight = np.repeat(np.arange(12), 10), np.where(y == 1, 3.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        clf = HTSVCCV(**{**SMALL, "cv": GroupKFold(3)}, scoring=scorer)
        clf = clf.set_fit_request(sample_weight=True)
        routed = clf.fit(X, y, sample_weight=weight, groups=groups)
        search = GridSearchCV(clone(clf), {"knee": [0.5]}, cv=GroupKFold(2), scoring=scorer)
        search.fit(X, y, sample_weight=weight, groups=groups)
    plain = HTSVCCV(**{**SMALL, "cv": GroupKFold(3)}).fit(X, y, weight, groups=groups)
    np.testing.assert_allclose(routed.scores_, plain.scores_)
    assert search.best_estimator_.n_splits_ == 3


def test_folds_that_overlap_or_leave_samples_out():
    X, y = data(150)
    cv = ShuffleSplit(4, test_size=0.3, random_state=0)
    clf = HTSVCCV(**{**SMALL, "cv": cv}).fit(X, y)
    assert clf.scores_.shape == (4, 2, 2)


def test_a_threshold_can_be_tuned():
    X, y = make_classification(600, 6, weights=[0.7], class_sep=0.8, flip_y=0.0, random_state=2)
    rng = np.random.default_rng(0)
    noisy = np.where((y == 1) & (rng.random(600) < 0.4), 0, y)
    options = {"Cs": [0.01], "caps": np.inf, "cv": 5}
    plain = HTSVCCV(**options).fit(X, noisy)
    tuned = HTSVCCV(**options, tune_threshold=True).fit(X, noisy)
    assert plain.threshold_ == 0.0
    assert tuned.threshold_ != 0.0
    np.testing.assert_allclose(plain.coef_, tuned.coef_)
    assert tuned.best_score_ > plain.best_score_
    above = tuned.decision_function(X) > tuned.threshold_
    np.testing.assert_array_equal(tuned.predict(X), tuned.classes_[above.astype(int)])
    with pytest.raises(ValueError, match="two classes"):
        HTSVCCV(tune_threshold=True).fit(*load_iris(return_X_y=True))


def test_a_threshold_is_moved_by_itself_only_where_that_clearly_helps():
    # Without a cap, noise on one side shifts the boundary by much; with few samples that is unsure.
    rng = np.random.default_rng(0)
    y = (rng.random(4000) < 0.5).astype(int)
    X = rng.normal(size=(4000, 3)) + y[:, None]
    noisy = np.where((y == 0) & (rng.random(4000) < 0.35), 1, y)
    options = {"Cs": [2.0**-10], "caps": np.inf, "cv": 3}
    clf = HTSVCCV(**options).fit(X, noisy)
    plain = HTSVCCV(**options, tune_threshold=False).fit(X, noisy)
    assert clf.threshold_ != 0.0
    assert plain.threshold_ == 0.0
    assert clf.score(X, y) > plain.score(X, y) + 0.1
    some = rng.permutation(4000)[:60]
    assert HTSVCCV(**options).fit(X[some], noisy[some]).threshold_ == 0.0
    assert HTSVCCV(**options, scoring="accuracy").fit(X, noisy).threshold_ == 0.0


def test_constant_points_are_avoided_and_told():
    # One class in ten, and features that say something: small C and cap 1 are constant.
    rng = np.random.default_rng(0)
    y = (np.arange(400) < 40).astype(int)
    X = rng.normal(size=(400, 3)) + 1.2 * y[:, None]
    clf = HTSVCCV(Cs=[1e-5, 1e-4, 1.0, 4.0], caps=[1.0], cv=4).fit(X, y)
    assert np.any(clf.coef_ != 0.0)
    assert len(np.unique(clf.predict(X))) == 2
    noise = rng.normal(size=(400, 3))
    with pytest.warns(UserWarning, match="constant classifier"):
        HTSVCCV(Cs=[1e-6, 1e-5], caps=[1.0], cv=4).fit(noise, y)


def test_a_choice_at_the_edge_of_the_grid_is_told():
    X, y = data(300, flip=0.0)
    with pytest.warns(UserWarning, match="edge of the grid.*larger"):
        HTSVCCV(Cs=[1e-6, 1e-5, 1e-2], caps=np.inf, cv=3, scoring="accuracy").fit(X, y)


def test_an_ignored_class_is_told_once():
    rng = np.random.default_rng(1)
    y = (np.arange(300) < 30).astype(int)
    X = rng.normal(size=(300, 2)) + 0.3 * y[:, None]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        HTSVCCV(Cs=[1e-4, 1e-3], caps=[1.0], cv=3).fit(X, y)
    assert sum(issubclass(w.category, IgnoredClassWarning) for w in caught) == 1


def test_progress_is_printed(capsys):
    HTSVCCV(**SMALL, verbose=1).fit(*data(80))
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "fold 3 of 3" in line]
    assert "chose C" in lines[-1]
    HTSVCCV(**SMALL, verbose=2).fit(*data(80))
    assert "iteration" in capsys.readouterr().out


@pytest.mark.parametrize("caps", [0.0, -1.0, [1.0, 0.0]])
def test_bad_caps_are_named(caps):
    with pytest.raises(ValueError, match="caps"):
        HTSVCCV(caps=caps).fit(*data(60))


@pytest.mark.parametrize("classes", [2, 3])
def test_average_of_the_grid(classes):
    X, y = make_classification(
        300, 6, n_informative=4, n_redundant=0, n_classes=classes, flip_y=0.3, random_state=0
    )
    options = {"Cs": 3, "caps": [np.inf, 1.0], "tune_threshold": False}
    if classes == 3:
        del options["tune_threshold"]
    model = HTSVCCV(refit="average", **options).fit(X, y)
    assert model.weights_.shape == (2, 3)
    assert model.weights_.sum() == pytest.approx(1.0)
    best = HTSVCCV(**options).fit(X, y)
    assert best.C_ == model.C_
    assert not hasattr(model, "certificate_")
    assert model.score(X, y) == pytest.approx(best.score(X, y), abs=0.1)
    with pytest.raises(ValueError, match="refit='average'"):
        HTSVCCV(refit="average", scoring="f1_macro").fit(X, y)
