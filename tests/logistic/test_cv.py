"""The average of robust logistic models: what it is made of, and what it must not depend on."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut
from sklearn.utils.estimator_checks import parametrize_with_checks

from htsvm import HTLogisticRegression, HTLogisticRegressionCV
from htsvm.datasets import flip_labels
from htsvm.logistic.noise import confident_joint, flipped_sigmoid
from htsvm.losses.cross_entropy import log_probabilities
from htsvm.svm.averaging import averaged
from htsvm.svm.choosing import agreement, centred, predicted


@parametrize_with_checks([HTLogisticRegressionCV(), HTLogisticRegression()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    X, y = make_classification(400, 8, n_informative=4, flip_y=0.0, random_state=0)
    return X, y, flip_labels(y, 0.2, random_state=0)[0]


def several(rows=450, classes=3, seed=0):
    return make_classification(
        rows, 8, n_informative=5, n_classes=classes, flip_y=0.1, random_state=seed
    )


# ------------------------------------------------------------------------------------ the average


@pytest.mark.parametrize("classes", [1, 3])
def test_average_by_brute_force(classes):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, max(classes, 2), size=200)
    signal = np.equal.outer(codes, np.arange(classes) if classes > 1 else [1]).astype(float) - 0.5
    noise = np.array([0.3, 0.35, 0.4, 3.0, 0.3])
    decisions = signal + noise[:, None, None] * rng.normal(size=(5, 200, classes))
    decisions *= np.array([1.0, 10.0, 0.1, 1.0, 1.0])[:, None, None]
    decisions[4] = np.arange(classes) + 1.0
    weights = rng.integers(1, 3, size=200).astype(float)
    found = averaged(decisions, codes, weights)

    copies = np.repeat(np.arange(200), weights.astype(int))
    right = [np.mean(predicted(d[copies]) == codes[copies]) for d in decisions]
    np.testing.assert_allclose(found.accuracy, right)
    top = max(right[:4])
    error = np.sqrt(top * (1.0 - top) / len(copies))
    powers = [
        agreement(d[copies], codes[copies]) ** 4 if r >= top - error else 0.0
        for d, r in zip(decisions[:4], right[:4], strict=True)
    ]
    shares = np.array([*powers, 0.0]) / sum(powers)
    np.testing.assert_allclose(found.shares, shares)
    sizes = [np.sqrt(np.mean(centred(d[copies]) ** 2)) for d in decisions]
    np.testing.assert_allclose(found.factors, shares / sizes * np.dot(shares, sizes))
    assert found.constant.tolist() == [False] * 4 + [True]


def test_constant_points_are_all_there_is():
    found = averaged(np.ones((2, 10, 1)), np.arange(10) % 2, np.ones(10))
    assert found.shares.sum() == pytest.approx(1.0)
    assert np.all(np.isfinite(found.factors))


def test_held_out_scores_of_custom_folds_are_averaged(data):
    X, _, y = data
    model = HTLogisticRegressionCV(Cs=3, caps=None, cv=KFold(2)).fit(X, y)
    assert model.n_splits_ == 2
    assert len(model.weights_) == len(model.cv_results_["params"]) == 6
    assert model.weights_.sum() == pytest.approx(1.0)
    best = model.cv_results_["mean_test_score"].max()
    splits = [model.cv_results_[f"split{k}_test_score"] for k in range(2)]
    np.testing.assert_allclose(np.mean(splits, axis=0).max(), best)
    frame = pd.DataFrame(model.cv_results_)
    assert set(frame["param_loss"]) == {"logistic", "corrected"}


# ------------------------------------------------------------------------- what must not matter


def test_weights_are_copies(data):
    X, _, y = data
    weights = np.random.default_rng(0).integers(0, 4, size=len(y))
    copies = np.repeat(np.arange(len(y)), weights)
    groups = np.arange(len(y)) % 4

    def folds(which):
        return list(LeaveOneGroupOut().split(X[which], groups=groups[which]))

    one = HTLogisticRegressionCV(cv=folds(np.arange(len(y)))).fit(X, y, sample_weight=weights)
    two = HTLogisticRegressionCV(cv=folds(copies)).fit(X[copies], y[copies])
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-6)
    np.testing.assert_allclose(one.intercept_, two.intercept_, rtol=1e-6)
    np.testing.assert_allclose(one.slope_, two.slope_, rtol=1e-4)
    assert set(one.ignored_) == set(copies[two.ignored_])


def test_rows_without_weight_are_not_there(data):
    X, _, y = data
    weights = (np.arange(len(y)) % 5 > 0).astype(float)
    kept = weights > 0.0
    one = HTLogisticRegressionCV().fit(X, y, sample_weight=weights)
    two = HTLogisticRegressionCV().fit(X[kept], y[kept])
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-6)


def test_shares_are_weights(data):
    X, _, y = data
    one = HTLogisticRegressionCV().fit(X, y, sample_weight=np.full(len(y), 1.0 / len(y)))
    np.testing.assert_allclose(one.coef_, HTLogisticRegressionCV().fit(X, y).coef_, rtol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_neither_order_nor_names_matter(classes):
    X, y = several(classes=classes)
    model = HTLogisticRegressionCV().fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    other = HTLogisticRegressionCV().fit(X[order], np.array(["a", "b", "c"])[y[order]])
    np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-5)
    np.testing.assert_array_equal(np.sort(order[other.ignored_]), model.ignored_)


def test_units_and_offsets_do_not_matter(data):
    X, _, y = data
    model = HTLogisticRegressionCV().fit(X, y)
    other = HTLogisticRegressionCV().fit(1e6 * X + 1e8, y)
    np.testing.assert_allclose(1e6 * other.coef_, model.coef_, rtol=1e-4)
    alone = HTLogisticRegressionCV(standardize=True).fit(X, y)
    scale = 10.0 ** np.arange(-4, 4)
    other = HTLogisticRegressionCV(standardize=True).fit(X * scale, y)
    np.testing.assert_allclose(scale * other.coef_, alone.coef_, rtol=1e-4)


def test_single_precision_withstands_offsets():
    X, y = make_classification(6000, 20, flip_y=0.2, random_state=0)
    model = HTLogisticRegressionCV(Cs=3).fit(X, y)
    stamps = sp.csr_matrix(np.column_stack([X[:500], 1.6e9 + 1e6 * np.arange(500.0)]))
    assert HTLogisticRegressionCV(Cs=3).fit(stamps, y[:500]).score(stamps, y[:500]) > 0.75
    other = HTLogisticRegressionCV(Cs=3).fit(X + 1e8, y)
    assert other.score(X + 1e8, y) == pytest.approx(model.score(X, y), abs=0.003)


def test_columns_of_rounding_have_no_weight(data):
    X, _, y = data
    rng = np.random.default_rng(0)
    one, two = (HTLogisticRegressionCV(standardize=False, cv=KFold(5)) for _ in range(2))
    one.fit(X, y)
    two.fit(np.column_stack([X, 1e-15 * rng.normal(size=len(y))]), y)
    far = np.column_stack([X, rng.normal(size=len(y))])
    np.testing.assert_allclose(two.decision_function(far), one.decision_function(X), atol=1e-6)


def test_standardised_columns_are_found_out(data):
    X, true, y = data
    scale = np.ones(8)
    scale[np.abs(LogisticRegression().fit(X, true).coef_[0]).argmin()] = 1e4
    model = HTLogisticRegressionCV().fit(X * scale, y)
    assert model.cv_results_["params"][0]["standardize"]
    even = HTLogisticRegressionCV().fit(X, y)
    assert model.score(X * scale, true) > even.score(X, true) - 0.02
    given = HTLogisticRegressionCV(standardize=False).fit(X * scale, y)
    assert given.score(X * scale, true) < model.score(X * scale, true)


@pytest.mark.parametrize("intercept", [True, False])
def test_sparse_and_frames(data, intercept):
    X, true, y = data
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    model = HTLogisticRegressionCV(fit_intercept=intercept, standardize=False).fit(X, y)
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    same = HTLogisticRegressionCV(fit_intercept=intercept, standardize=False).fit(
        frame, pd.Series(y)
    )
    np.testing.assert_allclose(same.coef_, model.coef_)
    assert list(same.feature_names_in_) == list("abcdefgh")
    for kind in (sp.csr_matrix, sp.csr_array, sp.csc_matrix):
        other = HTLogisticRegressionCV(fit_intercept=intercept).fit(kind(X), y)
        # Truncated and corrected models have many minima; plain ones do not.
        scores = [one.cv_results_["mean_test_score"][:9] for one in (model, other)]
        np.testing.assert_allclose(*scores, atol=0.01)
        assert other.score(kind(X), true) == pytest.approx(model.score(X, true), abs=0.03)
    assert bool(np.any(model.intercept_)) == intercept


def test_groups_and_seeds(data):
    X, _, y = data
    groups = np.arange(len(y)) // 40
    model = HTLogisticRegressionCV(cv=GroupKFold(5), Cs=3).fit(X, y, groups=groups)
    assert model.n_splits_ == 5
    with pytest.raises(TypeError, match="metadata routing"):
        HTLogisticRegressionCV().fit(X, y, unknown=1)
    one = HTLogisticRegressionCV(random_state=1).fit(X, y)
    np.testing.assert_array_equal(one.coef_, HTLogisticRegressionCV(random_state=1).fit(X, y).coef_)
    assert np.any(one.coef_ != HTLogisticRegressionCV(random_state=2).fit(X, y).coef_)


def test_threads_and_class_weights(data):
    X, _, y = data
    one = HTLogisticRegressionCV().fit(X, y)
    np.testing.assert_allclose(HTLogisticRegressionCV(n_jobs=2).fit(X, y).coef_, one.coef_)
    rare = np.flatnonzero((y == 0) | (np.arange(len(y)) % 10 == 0))
    plain = HTLogisticRegressionCV().fit(X[rare], y[rare])
    fair = HTLogisticRegressionCV(class_weight="balanced").fit(X[rare], y[rare])
    assert np.sum(fair.predict(X) == 1) > np.sum(plain.predict(X) == 1)


# ------------------------------------------------------------------------------ odd and hostile


def test_tiny_inputs():
    X = np.array([[0.0], [1.0], [2.0]])
    model = HTLogisticRegressionCV().fit(X, [0, 1, 1])
    assert np.all(np.isfinite(model.predict_proba(X)))
    two = HTLogisticRegressionCV().fit(X[:2], ["a", "b"])
    assert np.all(np.isfinite(two.coef_))
    constant = HTLogisticRegressionCV().fit(np.ones((30, 2)), np.arange(30) % 3 > 0)
    assert constant.coef_.tolist() == [[0.0, 0.0]]
    assert constant.predict([[1.0, 1.0]]).tolist() == [True]


def test_a_class_of_one_row():
    X, y = several(120)
    y = np.where(np.arange(120) == 7, 3, y)
    model = HTLogisticRegressionCV().fit(X, y)
    assert model.predict_proba(X).shape == (120, 4)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_many_classes_and_wide_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 300)), np.arange(200) % 40
    X[:, :40] += 4.0 * np.eye(40)[y]
    assert HTLogisticRegressionCV(Cs=3).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"Cs": [0.0, 1.0]}, "Cs must be positive and finite"),
        ({"caps": [-1.0]}, "caps must be positive"),
        ({"noise": "symmetric"}, "'noise' parameter"),
        ({"cv": 1}, "cv"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"standardize": "yes"}, "'standardize' parameter"),
    ],
)
def test_wrong_parameters(data, options, words):
    X, _, y = data
    with pytest.raises(ValueError, match=words):
        HTLogisticRegressionCV(**options).fit(X, y)


def test_wrong_data(data):
    X, _, y = data
    with pytest.raises(ValueError, match="only one class"):
        HTLogisticRegressionCV().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="NaN"):
        HTLogisticRegressionCV().fit(np.where(X > 2.0, np.nan, X), y)
    with pytest.raises(ValueError, match="too large to compute with"):
        HTLogisticRegressionCV().fit(1e150 * X, y)
    with pytest.raises(ValueError, match="at least one non-zero"):
        HTLogisticRegressionCV().fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="no folds"):
        HTLogisticRegressionCV(cv=[]).fit(X, y)


# ------------------------------------------------------------------------ noise, probabilities


def simulated(rows, up, down, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    true = rng.random(rows) < 1.0 / (1.0 + np.exp(-3.0 * X[:, 0]))
    flip = rng.random(rows) < np.where(true, down, up)
    return X, true.astype(int), (true ^ flip).astype(int)


def test_flip_rates_are_recovered():
    X, true, y = simulated(20_000, 0.3, 0.05)
    model = HTLogisticRegressionCV(noise="class-conditional").fit(X, y)
    np.testing.assert_allclose(model.noise_matrix_, [[0.7, 0.3], [0.05, 0.95]], atol=0.03)
    plain = HTLogisticRegressionCV().fit(X, y)
    np.testing.assert_allclose(plain.noise_matrix_, [[0.7, 0.3], [0.05, 0.95]], atol=0.15)
    assert model.score(X, true) > plain.score(X, true)
    losses = [log_loss(true, one.predict_proba(X)) for one in (model, plain)]
    assert losses[0] < losses[1]
    # The plain probabilities are those of the labels as given.
    shares = plain.predict_proba(X)[:, 1]
    high = shares > 0.5
    assert np.mean(y[high]) == pytest.approx(np.mean(shares[high]), abs=0.08)


def test_clean_labels_need_no_flip_rates():
    X, _, y = simulated(4000, 0.0, 0.0)
    one = HTLogisticRegressionCV(noise="class-conditional").fit(X, y)
    two = HTLogisticRegressionCV().fit(X, y)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert flipped_sigmoid(two.decision_function(X), y, np.ones(len(y))) is None


def test_matrix_of_several_classes():
    rng = np.random.default_rng(0)
    centres = 5.0 * np.eye(4)
    true = rng.integers(0, 4, size=6000)
    X = centres[true] + rng.normal(size=(6000, 4))
    y = np.where(rng.random(6000) < 0.3, (true + 1) % 4, true)
    model = HTLogisticRegressionCV(noise="class-conditional", Cs=5).fit(X, y)
    expected = 0.7 * np.eye(4) + 0.3 * np.roll(np.eye(4), 1, axis=1)
    np.testing.assert_allclose(model.noise_matrix_, expected, atol=0.08)
    likely = model.predict_proba(X)
    assert log_loss(true, likely) < log_loss(
        true, HTLogisticRegressionCV(Cs=5).fit(X, y).predict_proba(X)
    )


def test_confident_joint_of_sure_probabilities():
    true = np.repeat([0, 1], 500)
    y = true.copy()
    y[:100] = 1
    likely = np.exp(log_probabilities(np.where(true == 1, 5.0, -5.0)[:, None]))
    found = confident_joint(likely, y, np.ones(1000))
    np.testing.assert_allclose(found, [[0.8, 0.2], [0.0, 1.0]], atol=0.01)


def test_ignored_samples_are_mostly_the_flipped_ones():
    X, y = make_classification(600, 6, n_informative=4, class_sep=2.0, flip_y=0.0, random_state=1)
    noisy, _ = flip_labels(y, 0.2, random_state=0)
    model = HTLogisticRegressionCV().fit(X, noisy)
    wrong = np.flatnonzero(noisy != y)
    assert np.mean(np.isin(wrong, model.ignored_)) > 0.8
    assert np.mean(np.isin(model.ignored_, wrong)) > 0.7


def test_noise_is_borne_better_than_by_logistic_regression():
    gains = []
    for seed in range(5):
        X, y = make_classification(
            600, 10, n_informative=5, class_sep=1.5, flip_y=0.0, random_state=seed
        )
        noisy = flip_labels(y[:300], 0.3, classes=[0], random_state=seed)[0]
        ours = HTLogisticRegressionCV().fit(X[:300], noisy).score(X[300:], y[300:])
        gains.append(ours - LogisticRegression().fit(X[:300], noisy).score(X[300:], y[300:]))
    assert np.mean(gains) > 0.01
