"""The trust: its mean, its order, and whether it is the share of right labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from htsvm.audit import audit_labels
from htsvm.audit.calibration import calibrate
from htsvm.audit.plot import reliability
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
