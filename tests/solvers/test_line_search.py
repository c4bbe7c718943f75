"""The line search against functions whose minima are known."""

import numpy as np
import pytest

from htsvm.solvers.line_search import slope_root


def kinked(kinks, weights, square):
    """Return the derivatives of square t² / 2 - t + sum of weights (t - kink)+ ² / 2."""

    def slopes(t):
        past = np.maximum(t - kinks, 0.0)
        return square * t - 1.0 + weights @ past, square + weights @ (past > 0.0)

    return slopes


@pytest.mark.parametrize("curved", [True, False])
@pytest.mark.parametrize("scale", [1e-6, 1e-2, 1.0, 1e2, 1e6])
def test_the_slope_has_all_but_vanished(curved, scale):
    rng = np.random.default_rng(0)
    for _ in range(50):
        kinks = scale * rng.exponential(size=20)
        slopes = kinked(kinks, rng.exponential(size=20) / scale, 1e-3 / scale)
        seen = []

        def traced(t, slopes=slopes, seen=seen):
            seen.append(t)
            first, second = slopes(t)
            return first, second if curved else 0.0

        t = slope_root(traced, -1.0, reduction=0.05, most_trials=60)
        assert seen[0] == 1.0
        assert len(seen) < 30
        assert abs(slopes(t)[0]) <= 0.05


def test_it_gives_up_at_a_step_that_still_falls():
    """Where the slope jumps from below to above zero no step will do."""
    t = slope_root(lambda t: (-1.0 if t < 0.3 else 5.0, 0.0), -1.0, reduction=0.1, most_trials=60)
    assert 0.0 < t <= 0.31


@pytest.mark.parametrize("kink", [1e-7, 1e-6, 2e-4, 0.3, 0.8])
@pytest.mark.parametrize("steeper", [1e10, 1e15])
def test_a_slope_that_is_far_steeper_beyond_a_kink(kink, steeper):
    """Secants crept up on the low side of the kink: forty trials for steps of 1e-9 of the best."""
    seen = []

    def slopes(t):
        seen.append(t)
        return t - 1.0 + steeper * max(t - kink, 0.0), 1.0 + steeper * (t > kink)

    t = slope_root(lambda t: (slopes(t)[0], 1.0), -1.0, reduction=0.1, most_trials=40, dear=True)
    assert 0.95 * kink <= t <= 1.1 * kink
    assert len(seen) <= 25
