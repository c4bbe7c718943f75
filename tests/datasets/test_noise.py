from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from htsvm.datasets import BAYES_ACCURACY, flip_labels, make_two_gaussians
from htsvm.datasets.noise import KINDS

Y = np.array([1] * 37 + [-1] * 101)
SCORES = np.linspace(-3.0, 3.0, len(Y))


def flip(y, rate, kind, seed, **options):
    scores = np.linspace(-3.0, 3.0, len(y)) if kind == "boundary" else None
    return flip_labels(y, rate, kind=kind, scores=scores, random_state=seed, **options)


@given(
    rate=st.floats(0.0, 1.0), kind=st.sampled_from(KINDS), seed=st.integers(0, 99),
    n_classes=st.integers(2, 5),
)  # fmt: skip
def test_counts_are_exact(rate, kind, seed, n_classes):
    y = np.arange(83) % n_classes
    noisy, flipped = flip(y, rate, kind, seed)
    np.testing.assert_array_equal(noisy != y, flipped)
    assert set(noisy) <= set(y)
    if kind == "per-class":
        for label in range(n_classes):
            assert flipped[y == label].sum() == round(rate * (y == label).sum())
    else:
        assert flipped.sum() == round(rate * len(y))


@pytest.mark.parametrize("kind", KINDS)
def test_seeded_and_nested(kind):
    y = np.arange(200) % 3
    some, where = flip(y, 0.1, kind, 5)
    more, further = flip(y, 0.3, kind, 5)
    np.testing.assert_array_equal(some, flip(y, 0.1, kind, 5)[0])
    assert further[where].all()
    np.testing.assert_array_equal(more[where], some[where])
    assert not np.array_equal(where, flip(y, 0.1, kind, 6)[1])


def test_boundary_noise_is_near_the_boundary():
    distance = np.abs(SCORES)
    near = [distance[flip(Y, 0.2, "boundary", seed)[1]].mean() for seed in range(30)]
    anywhere = [distance[flip(Y, 0.2, "symmetric", seed)[1]].mean() for seed in range(30)]
    assert np.mean(near) < 0.6 * np.mean(anywhere)


def test_boundary_weights_are_the_documented_ones():
    # The chance of being the first sample drawn is proportional to the weight.
    scores = np.array([0.0, 1.0, 2.0, 5.0])
    y = np.array([1, -1, 1, -1])
    hits = np.zeros(4)
    for seed in range(1500):
        hits += flip_labels(y, 0.25, kind="boundary", scores=scores, random_state=seed)[1]
    weights = np.exp(-3.0 * scores / scores.mean())
    np.testing.assert_allclose(hits / hits.sum(), weights / weights.sum(), atol=0.04)


def test_one_class_only():
    noisy, flipped = flip_labels(Y, 0.5, classes=[1], random_state=0)
    assert flipped.sum() == round(0.5 * 37)
    assert np.all(Y[flipped] == 1)
    assert np.all(noisy[flipped] == -1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 1.2}, "rate must be a number between 0 and 1, got 1.2"),
        ({"rate": float("nan")}, "rate must be a number between"),
        ({"rate": "0.1"}, "rate must be a number between 0 and 1, got '0.1'"),
        ({"kind": "random"}, "kind must be one of 'symmetric'"),
        ({"kind": "boundary"}, "needs scores"),
        ({"kind": "boundary", "scores": np.full(len(Y), np.nan)}, "scores must be finite"),
        ({"kind": "boundary", "scores": [1.0]}, "inconsistent numbers of samples"),
        ({"scores": SCORES}, 'scores are for kind="boundary"'),
        ({"classes": [7]}, r"classes names \[7\]"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        flip_labels(Y, **{"rate": 0.1, **options})


def test_one_class_cannot_be_flipped():
    with pytest.raises(ValueError, match="at least two classes"):
        flip_labels(np.ones(4), 0.5)


def test_two_gaussians():
    X, y = make_two_gaussians(40_000, random_state=0)
    assert (y == 1).sum() == 40_000 == (y == -1).sum()
    for sign in (1, -1):
        np.testing.assert_allclose(X[y == sign].mean(axis=0), [0.5 * sign, -3.0 * sign], atol=0.04)
        np.testing.assert_allclose(np.cov(X[y == sign].T), [[0.2, 0.0], [0.0, 3.0]], atol=0.05)
    np.testing.assert_array_equal(X[:3], make_two_gaussians(40_000, random_state=0)[0][:3])
    # The best rule is linear; its accuracy is the Bayes accuracy.
    rule = np.array([0.5 / 0.2, -3.0 / 3.0])
    assert np.mean(np.sign(X @ rule) == y) == pytest.approx(BAYES_ACCURACY, abs=0.002)
    assert pytest.approx(0.980375, abs=5e-7) == BAYES_ACCURACY
    with pytest.raises(ValueError, match="n_per_class"):
        make_two_gaussians(0)


def test_labels_that_are_missing_are_refused():
    with pytest.raises(ValueError, match="y has 1 labels that are NaN"):
        flip_labels([1.0, np.nan, 0.0], 0.5)
