"""The prox of the other losses: against a grid search, ties, largest steps, reference steps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from htsvm.losses import Hinge, LeastSquares, Pinball, Ramp, ZeroOne

CONVEX = [Pinball(0.0), Pinball(0.4), Pinball(1.0), LeastSquares(), Hinge()]
JUMPING = [Ramp(0.5), Ramp(1.0), Ramp(2.0), ZeroOne(tolerance=0.0)]
STEPS = (0.05, 0.3, 1.0, 1.99, 2.0, 2.5, 4.0, 5.0)


def prox_objective(loss, s, z, step):
    return step * loss.value(s) + 0.5 * (s - z) ** 2


def least(loss, z, step):
    """Return the minimum of the prox objective, by a fine grid and the obvious candidates."""
    grid = np.concatenate([np.linspace(-6.0, 8.0, 14_001), [0.0, z]])
    return float(prox_objective(loss, grid, z, step).min())


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("loss", [*CONVEX, *JUMPING, Ramp(np.inf)], ids=repr)
def test_prox_is_a_global_minimiser(loss, step):
    ceiling = getattr(loss, "ceiling", 1.0)
    ties = [step, ceiling + step / 2, np.sqrt(2 * ceiling * step), np.sqrt(2 * step), -step, 0.0]
    z = np.array([*np.linspace(-3.0, 6.0, 61), *ties, *(t + 1e-9 for t in ties if np.isfinite(t))])
    for at in z[np.isfinite(z)]:
        lowest = least(loss, at, step)
        for end in (*loss.prox_bounds(at, step), loss.prox(at, step)):
            assert prox_objective(loss, float(end), at, step) <= lowest + 1e-7


@pytest.mark.parametrize("loss", CONVEX, ids=repr)
def test_prox_of_a_convex_loss_is_unique(loss):
    z = np.linspace(-3.0, 3.0, 101)
    low, high = loss.prox_bounds(z, 0.7)
    np.testing.assert_array_equal(low, high)
    assert np.all(np.isinf(loss.largest_step(z, z)))
    np.testing.assert_array_equal(loss.reference_step(z, z), 1.0)


def test_printed_formulas():
    z = np.array([-2.0, -0.1, 0.5, 2.0])
    np.testing.assert_allclose(Pinball(0.5).prox(z, 1.0), [-1.5, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(LeastSquares().prox(z, 0.5), z / 2.0)
    np.testing.assert_allclose(ZeroOne().prox(z, 1.0), [-2.0, -0.1, 0.0, 2.0])
    np.testing.assert_allclose(Ramp(1.0).prox([-1.0, 0.2, 1.2, 1.3], 0.5), [-1.0, 0.0, 0.7, 1.3])


def test_ties_have_two_ends_and_prox_takes_the_smaller():
    for loss, z, step, ends in (
        (Ramp(1.0), 1.5, 1.0, (0.5, 1.5)),
        (Ramp(1.0), 4.0, 8.0, (0.0, 4.0)),
        (ZeroOne(), 2.0, 2.0, (0.0, 2.0)),
    ):
        assert loss.prox_bounds(z, step) == ends
        assert loss.prox(z, step) == ends[0]
        assert loss.prox_distance(ends[1], z, step) == 0.0


def solves(loss, s, slope, step):
    z = s + step * slope
    return prox_objective(loss, s, z, step) <= least(loss, z, step) + 1e-9


@pytest.mark.parametrize("loss", JUMPING, ids=repr)
@pytest.mark.parametrize("s", [0.1, 0.3, 0.7, 0.95, 1.2, 1.7, 2.5, 3.0, 4.5])
def test_largest_step_is_exact(loss, s):
    slope = float(loss.subdifferential(s)[1])
    limit = float(loss.largest_step(s, slope))
    assert 0.0 < limit < np.inf
    assert solves(loss, s, slope, 0.99 * limit)
    assert not solves(loss, s, slope, 1.05 * limit)


@pytest.mark.parametrize("loss", JUMPING, ids=repr)
@pytest.mark.parametrize("slope", [0.3, 0.8, 1.0])
def test_largest_step_at_the_margin(loss, slope):
    limit = float(loss.largest_step(0.0, slope))
    assert limit == pytest.approx(2.0 * getattr(loss, "ceiling", 1.0) / slope**2)
    assert solves(loss, 0.0, slope, 0.99 * limit)
    assert not solves(loss, 0.0, slope, 1.03 * limit)
    assert float(loss.largest_step(-0.5, 0.0)) == np.inf


def test_at_the_concave_kink_no_step_will_do():
    assert float(Ramp(1.5).largest_step(1.5, 0.0)) == 0.0


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(JUMPING), st.floats(-3.0, 6.0), st.floats(0.0, 1.0))
def test_the_reference_step_is_below_the_largest(loss, s, share):
    """A subgradient passes the prox test at the reference step, whatever the sample."""
    low, high = (float(end) for end in loss.subdifferential(s))
    slope = low + share * (min(high, 5.0) - low)
    step = float(loss.reference_step(s, slope))
    assert 0.0 < step <= loss.unit_step
    if loss.cap == 0.0 or abs(s - loss.cap) > 1e-9:
        assert float(loss.prox_distance(s, s + step * slope, step)) <= 1e-9


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([*CONVEX, *JUMPING]), st.floats(-5, 5), st.floats(-5, 5), st.floats(1e-3, 5))
def test_no_point_beats_the_prox(loss, z, other, step):
    for end in loss.prox_bounds(z, step):
        best = prox_objective(loss, end, z, step)
        assert best <= prox_objective(loss, other, z, step) + 1e-9 * (1 + z * z + step)
