"""The trust: its mean, its order, and whether it is the share of right labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from htsvm.audit import audit_labels
from htsvm.audit.calibration import calibrate, doubt, share_of_doubt
from htsvm.audit.noise_model import NoiseModel
from htsvm.audit.plot import reliability
from htsvm.audit.scoring import Scores
from tests.audit.data import blobs


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.floats(0.05, 0.6))
def test_order_and_mean_are_kept(seed, share):
    rng = np.random.default_rng(seed)
    suspicion = rng.normal(size=300)
    doubts = np.clip(share + 0.3 * suspicion * rng.random(300), 0.0, 1.0)
    trust = calibrate(suspicion, doubts, np.ones(300))
    assert np.all(np.diff(trust[np.argsort(suspicion)]) <= 0.0)
    assert trust.mean() == pytest.approx(1.0 - doubts.mean(), abs=1e-3)
    assert trust.min() >= 0.0
    assert trust.max() <= 1.0


def test_the_curve_is_the_most_likely_one():
    rng = np.random.default_rng(3)
    suspicion, weights = 5.0 + 2.0 * rng.normal(size=400), rng.uniform(0.5, 2.0, 400)
    doubts = np.clip(0.2 + 0.1 * (suspicion - 5.0) + 0.1 * rng.random(400), 0.0, 1.0)

    def loss(x):
        chance = np.clip(expit(x[0] + x[1] * suspicion), 1e-12, 1.0 - 1e-12)
        return -weights @ (doubts * np.log(chance) + (1.0 - doubts) * np.log(1.0 - chance))

    x = minimize(loss, [-1.0, 0.1], method="Nelder-Mead", options={"xatol": 1e-8}).x
    trust = calibrate(suspicion, doubts, weights)
    np.testing.assert_allclose(trust, 1.0 - expit(x[0] + x[1] * suspicion), atol=1e-4)


def test_doubts_that_fall_with_suspicion_say_nothing():
    suspicion = np.linspace(-1.0, 1.0, 50)
    trust = calibrate(suspicion, 0.3 - 0.2 * suspicion, np.ones(50))
    np.testing.assert_allclose(trust, 0.7)


@pytest.mark.parametrize("rates", [np.eye(2), np.array([[0.7, 0.3], [0.3, 0.7]])])
def test_doubts_have_the_estimated_share_as_their_mean(rates):
    rng = np.random.default_rng(0)
    first = rng.normal(size=(500, 2))
    codes, weights = rng.integers(0, 2, 500), rng.uniform(0.5, 1.5, 500)
    noise = NoiseModel(rates, 3.0, np.zeros(2), np.zeros(2))
    scores = Scores(first, first, np.zeros(500), np.zeros(500), 1, noise, None, "")
    rows = np.arange(500)
    low = np.average(1.0 - noise.posterior(first, codes)[rows, codes], weights=weights)
    missed = first.argmax(axis=1) != codes
    gap = np.abs(first[:, 0] - first[:, 1])
    half = gap >= np.median(gap)
    clear = np.average(missed[half], weights=weights[half])
    high = np.average(missed, weights=weights)
    found = doubt(scores, codes, weights, None)
    assert found.min() >= 0.0
    assert found.max() <= 1.0
    assert np.average(found, weights=weights) == pytest.approx(share_of_doubt(low, clear, high))
    assert np.all(doubt(scores, codes, weights, rows < 20)[:20] == 0.0)


def test_clear_predictions_tell_the_share_where_the_model_sees_none():
    rng = np.random.default_rng(1)
    strength = np.repeat([0.1, 2.0], 300) * rng.choice([-1.0, 1.0], 600)
    codes = (strength > 0.0).astype(int)
    wrong = np.arange(600) % 10 < 3
    codes[wrong] = 1 - codes[wrong]
    first = np.column_stack([-strength, strength])
    noise = NoiseModel(np.eye(2), 3.0, np.zeros(2), np.zeros(2))
    scores = Scores(first, first, np.zeros(600), np.zeros(600), 1, noise, None, "")
    assert doubt(scores, codes, np.ones(600), None).mean() == pytest.approx(0.9 * 0.3)
    reviewed = np.arange(600) < 300  # The others are half of the weight.
    assert doubt(scores, codes, np.ones(600), reviewed).mean() == pytest.approx(0.9 * 0.15)
    assert doubt(scores, codes, np.ones(600), np.ones(600, dtype=bool)).max() == 0.0


def test_equal_suspicion_is_equal_trust():
    trust = calibrate(np.zeros(10), np.full(10, 0.3), np.ones(10))
    np.testing.assert_allclose(trust, 0.7)


@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_trust_is_the_share_of_right_labels(rate):
    X, y, _, wrong = blobs(900, rate=rate, spread=1.5)
    audit = audit_labels(X, y)
    said, seen = reliability(audit.trust, ~wrong)
    assert np.abs(said - seen).mean() < 0.06
    assert audit.share_wrong == pytest.approx(rate, abs=0.04)
    assert audit.share_wrong_interval.low <= rate <= audit.share_wrong_interval.high
