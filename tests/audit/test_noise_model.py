"""The model of wrong labels: derivatives, recovery of known rates, Bayes' rule."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import softmax

from htsvm.audit.noise_model import NoiseModel, _Objective, fit_noise


def simulated(rates, n=4000, seed=0, scale=6.0):
    """Draw scores, true classes from their softmax, and labels from the rates."""
    rng = np.random.default_rng(seed)
    k = len(rates)
    scores = rng.normal(size=(n, k))
    classes = softmax(scale * scores, axis=1)
    true = (classes.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    given = (np.asarray(rates)[true].cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return scores, true, given


RATES = np.array([[0.75, 0.25, 0.0], [0.05, 0.9, 0.05], [0.2, 0.0, 0.8]])


@pytest.mark.parametrize("ambiguity", [0.0, 0.3])
def test_gradient(ambiguity):
    scores, _, given = simulated(RATES, n=50)
    trusted = np.arange(50) < 10
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 50)
    objective = _Objective(scores, given, weights, trusted, ambiguity)
    x = np.random.default_rng(2).normal(scale=0.5, size=1 + 3 + 3 + 6)
    error = check_grad(lambda z: objective(z)[0], lambda z: objective(z)[1], x)
    assert error < 1e-5


def test_known_rates_are_found():
    scores, _, given = simulated(RATES)
    found = fit_noise(scores, given)
    np.testing.assert_allclose(found.rates, RATES, atol=0.05)
    assert found.scale == pytest.approx(6.0, rel=0.3)


def test_clean_labels_are_called_clean():
    scores, true, _ = simulated(np.eye(3))
    found = fit_noise(scores, true)
    assert np.diag(found.rates).min() > 0.97


def test_posterior_is_bayes_rule():
    model = NoiseModel(RATES, 2.0, np.array([0.1, 0.0, -0.3]), np.zeros(3))
    scores, given = np.array([[0.4, 0.1, -0.2]]), np.array([1])
    prior = softmax(2.0 * scores[0] + model.offsets)
    expected = prior * RATES[:, 1] / (prior @ RATES[:, 1])
    np.testing.assert_allclose(model.posterior(scores, given)[0], expected)


def test_posterior_counts_wrong_labels():
    scores, true, given = simulated(RATES)
    model = fit_noise(scores, given)
    wrong = 1.0 - model.posterior(scores, given)[np.arange(len(given)), given]
    assert wrong.mean() == pytest.approx(np.mean(true != given), abs=0.02)


def test_trusted_labels_settle_what_the_others_leave_open():
    """Scores that tell little: overlap or noise? Trusted labels show that it is noise."""
    rates = np.array([[0.7, 0.3], [0.3, 0.7]])
    scores, true, given = simulated(rates, n=1500, scale=3.0)
    trusted = np.arange(1500) < 500
    given = np.where(trusted, true, given)
    found = fit_noise(scores, given, trusted=trusted)
    np.testing.assert_allclose(found.rates, rates, atol=0.08)


def test_weights_are_repetitions():
    scores, _, given = simulated(RATES, n=300)
    times = np.random.default_rng(0).integers(1, 4, 300)
    weighted = fit_noise(scores, given, weights=times.astype(float), max_iter=500)
    repeated = fit_noise(np.repeat(scores, times, axis=0), np.repeat(given, times), max_iter=500)
    np.testing.assert_allclose(weighted.rates, repeated.rates, atol=5e-3)


def test_no_class_is_swapped_with_another():
    """Scores that are the wrong way round for two classes: T may not explain it by a swap."""
    scores, _, given = simulated(np.array([[0.2, 0.8, 0.0], [0.8, 0.2, 0.0], [0.0, 0.0, 1.0]]))
    rates = fit_noise(scores, given).rates
    off = rates - np.diag(np.diag(rates))
    assert np.all(off <= 0.5 * np.diag(rates)[:, None] + 1e-9)
    assert np.all(rates.argmax(axis=1) == np.arange(3))
