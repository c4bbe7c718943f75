"""The rule by which HTSVCCV chooses, on decisions made up for the purpose."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

from htsvm.svm.choosing import Held, agreement, by_agreement, by_score

CAPS, CS = np.array([np.inf, 1.0]), np.array([0.1, 1.0, 10.0])


def held(decisions, codes, weights=None, scores=None):
    """Two folds of made-up decisions, of shape (2, 3, n)."""
    n = len(codes)
    fold = np.arange(n) % 2
    together = Held(
        decisions=np.asarray(decisions, dtype=np.float32)[..., None],
        codes=codes,
        weights=np.ones(n) if weights is None else weights,
        fold=fold,
        scores=np.zeros(0),
        fit_seconds=np.zeros((2, 2, 3)),
        score_seconds=np.zeros(2),
        asked=False,
    )
    return replace(together, scores=together.accuracies() if scores is None else scores)


def test_agreement_is_a_correlation():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 200)
    f = rng.normal(size=200) + codes
    expected = np.corrcoef(np.tanh(f / np.sqrt(np.mean(f**2))), codes)[0, 1]
    assert agreement(f, codes) == pytest.approx(expected)
    assert agreement(5.0 * f, codes) == pytest.approx(expected)
    assert agreement(-f, codes) == pytest.approx(-expected)
    assert agreement(np.zeros(200), codes) == 0.0


def test_agreement_takes_weights_as_repetitions():
    rng = np.random.default_rng(1)
    codes, k = rng.integers(0, 3, 60), rng.integers(0, 4, 60)
    F = rng.normal(size=(60, 3)) + np.eye(3)[codes]
    repeated = agreement(np.repeat(F, k, axis=0), np.repeat(codes, k))
    assert agreement(F, codes, k) == pytest.approx(repeated)


def test_agreement_of_two_classes_is_that_of_two_scores():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2, 100)
    f = rng.normal(size=100) + 2.0 * codes - 1.0
    assert agreement(np.column_stack([-f, f]), codes) == pytest.approx(agreement(f, codes))


def test_flipped_labels_do_not_change_the_order():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, 20_000)
    good = rng.normal(size=20_000) + 2.0 * codes - 1.0
    worse = good + rng.normal(size=20_000)
    noisy = np.where(rng.random(20_000) < 0.3, 1 - codes, codes)
    shrink = [agreement(f, noisy) / agreement(f, codes) for f in (good, worse)]
    np.testing.assert_allclose(shrink, 0.4, atol=0.03)


def test_of_equally_accurate_points_the_surer_one_wins():
    rng = np.random.default_rng(4)
    codes = np.arange(400) % 2
    sign = 2.0 * codes - 1.0
    wrong = rng.random(400) < 0.3
    lame = np.where(wrong, -1.0, 1.0) * sign
    sure = np.where(wrong, -0.1, 1.0) * sign
    bad = np.where(rng.random(400) < 0.45, -0.1, 1.0) * sign
    decisions = [[lame, lame, bad], [lame, sure, bad]]
    found = held(decisions, codes)
    values = np.array([[agreement(f, codes) for f in row] for row in decisions])
    choice = by_agreement(found, values, CS)
    assert choice.place == (1, 1)
    assert choice.order.argmax() == 4
    # Agreement does not make up for accuracy.
    surest = np.where(rng.random(400) < 0.4, -0.01, 1.0) * sign
    decisions[0][0] = surest
    values[0, 0] = 1.0
    assert by_agreement(held(decisions, codes), values, CS).place == (1, 1)


def test_constant_points_lose_to_others_that_are_hardly_worse():
    codes = (np.arange(200) < 20).astype(int)
    constant = -np.ones(200)
    nearly = constant.copy()
    nearly[[0, 100, 120, 140, 160]] = 1.0
    useless = np.where(np.arange(200) % 2 == 0, 1.0, -1.0)
    values = np.zeros((2, 3))
    some = held([[constant, constant, nearly], [constant, constant, useless]], codes)
    choice = by_agreement(some, values, CS)
    assert choice.place == (0, 2)
    assert "constant" in choice.remarks[0]
    # By mean scores, whose folds do not differ here, nothing but the best will do.
    asked = by_score(some, CAPS, CS)
    assert asked.place == (0, 0)
    assert "constant" in asked.remarks[0]
    none = held([[constant, constant, useless]] * 2, codes)
    choice = by_agreement(none, values, CS)
    assert choice.place[1] < 2
    assert "tell little" in choice.remarks[0]
    every = held([[constant] * 3] * 2, codes)
    assert "every point" in by_agreement(every, values, CS).remarks[0]


def test_the_edge_is_told_only_where_it_is_best():
    codes = np.arange(100) % 2
    sign = 2.0 * codes - 1.0
    half = np.where(np.arange(100) < 30, -sign, sign)
    found = held([[half, half, sign]] * 2, codes)
    values = np.array([[agreement(f, codes) for f in (half, half, sign)]] * 2)
    choice = by_agreement(found, values, CS)
    assert "larger values" in choice.remarks[0]
    flat = held([[sign, sign, sign]] * 2, codes)
    assert by_agreement(flat, values, CS).remarks == ()
    two = held([[half, sign]] * 2, codes)
    assert "larger values" in by_agreement(two, values[:, 1:], CS[1:]).remarks[0]
    assert by_agreement(held([[sign]] * 2, codes), values[:, 2:], CS[2:]).remarks == ()


def test_thresholds_are_those_of_brute_force():
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 2, 80)
    f = rng.normal(size=80) + codes + 0.7
    weights = rng.integers(1, 4, 80).astype(float)
    found = held([[f] * 3] * 2, codes, weights)
    moved, thresholds = found.moved()
    ranked = np.sort(f.astype(np.float32).astype(float))
    tried = np.concatenate([[ranked[0] - 1], (ranked[1:] + ranked[:-1]) / 2, [ranked[-1] + 1]])
    best = max(accuracy_score(codes, f > t, sample_weight=weights) for t in tried)
    assert moved.accuracy()[0, 0] == pytest.approx(best)
    assert np.ptp(thresholds) == 0.0
    at_zero = held([[2.0 * codes - 1.0] * 3] * 2, codes)
    assert np.all(at_zero.moved()[1] == 0.0)
