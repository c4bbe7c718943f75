"""The prox against a grid search, its ties, and the largest step of the paper's theorem."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from htsvm.losses import Hinge, HybridTruncated

PAPER = HybridTruncated()
KNEES = (0.2, 2.0 / 3.0, 0.95)
CAPS = (0.5, 1.0, 3.0)


def prox_objective(loss, s, z, step):
    return step * loss.value(s) + 0.5 * (s - z) ** 2


def steps_of(loss):
    """Return steps in all three regimes: the paper's, moved with the regimes of the loss."""
    smooth, jump = 1.0 / loss.weak_convexity, 2.0 * loss.cap / loss.slope**2
    regimes = [0.18 * smooth, 0.97 * smooth, smooth, 1.02 * smooth, 0.5 * (smooth + jump)]
    return [*regimes, 0.99 * jump, jump, 1.44 * jump]


def break_points(loss, step):
    a, cap, knee = loss.slope, loss.cap, loss.knee
    kappa = step / cap
    return cap * np.array(
        [0, knee, 1, a * kappa, knee + a * kappa, 1 / a + a * kappa / 2, np.sqrt(2 * kappa), 2 / a]
    )


def assert_global_minimiser(loss, z, step):
    grid = np.concatenate([np.linspace(-0.5, 4.0, 1801) * loss.cap, [0.0]])
    everywhere = prox_objective(loss, grid[None, :], z[:, None], step)
    best = np.minimum(everywhere.min(axis=1), prox_objective(loss, z, z, step))
    for point in (*loss.prox_bounds(z, step), loss.prox(z, step)):
        excess = prox_objective(loss, point, z, step) - best
        assert excess.max() <= 1e-12 * max(1.0, loss.cap**2), (loss, step, z[excess.argmax()])


@pytest.mark.parametrize("cap", CAPS)
@pytest.mark.parametrize("knee", KNEES)
def test_prox_is_a_global_minimiser(knee, cap):
    loss = HybridTruncated(knee, cap)
    for step in steps_of(loss):
        points = break_points(loss, step)
        z = np.concatenate([np.linspace(-0.3, 3.5, 90) * cap, points, points - 1e-9, points + 1e-9])
        assert_global_minimiser(loss, z, step)


def test_prox_with_the_printed_formulas():
    z = np.array([-1.0, 0.05, 0.2, 0.9, 0.99, 1.5])
    expected = [-1.0, 0.0, 0.2 - 0.12, (4.5 - 1.8) / 3.2, (4.95 - 1.8) / 3.2, 1.5]
    np.testing.assert_allclose(PAPER.prox(z, 0.1), expected, atol=1e-15)
    np.testing.assert_allclose(PAPER.prox([0.5, 1.3, 1.5], 1.0), [0.0, 1.3 - 1.2, 1.5], atol=1e-15)
    np.testing.assert_allclose(PAPER.prox([1.9, 2.1], 2.0), [0.0, 2.1])


@pytest.mark.parametrize("cap", CAPS)
@pytest.mark.parametrize("knee", KNEES)
def test_ties_have_two_ends(knee, cap):
    loss = HybridTruncated(knee, cap)
    smooth, jump = 1.0 / loss.weak_convexity, 2.0 * cap / loss.slope**2
    step = 0.5 * (smooth + jump)
    z = cap / loss.slope + 0.5 * loss.slope * step
    ends = (z - loss.slope * step, z)
    values = prox_objective(loss, np.array(ends), z, step)
    assert values[0] == pytest.approx(values[1], abs=1e-13)
    # Rounding may put z on either side of the tie by one unit in the last place.
    low = loss.prox_bounds(z * (1 - 1e-15), step)[0]
    high = loss.prox_bounds(z * (1 + 1e-15), step)[1]
    np.testing.assert_allclose((low, high), ends, rtol=1e-12)
    middle = 0.5 * (ends[0] + ends[1])
    nearest = min(abs(middle - ends[0]), abs(middle - ends[1]))
    assert loss.prox_distance(middle, z, step) == pytest.approx(nearest)


@pytest.mark.parametrize("cap", CAPS)
@pytest.mark.parametrize("knee", KNEES)
@pytest.mark.parametrize("rounding", [-1e-15, 0.0, 1e-15])
def test_segment_of_minimisers(knee, cap, rounding):
    """E7 (b): at step 1 / curvature and z = cap the whole curved part minimises."""
    loss = HybridTruncated(knee, cap)
    step = (1.0 + rounding) / loss.weak_convexity
    segment = np.linspace(knee * cap, cap, 11)
    np.testing.assert_allclose(loss.prox_distance(segment, cap, step), 0.0, atol=1e-15)
    outside = np.array([knee * cap - 0.1, cap + 0.1])
    np.testing.assert_allclose(loss.prox_distance(outside, cap, step), 0.1, rtol=1e-9)


def solves(loss, s, slope, step):
    """Return whether s minimises the prox problem at s + step * slope, by grid search."""
    z = s + step * slope
    grid = np.concatenate([np.linspace(-0.2, 6.0, 6201) * loss.cap, [0.0, z, s]])
    here = prox_objective(loss, s, z, step)
    return prox_objective(loss, grid, z, step).min() >= here - 1e-10 * loss.cap


@pytest.mark.parametrize("loss", [PAPER, HybridTruncated(0.3, 2.0), HybridTruncated(0.9, 0.5)])
def test_largest_step_is_exact(loss):
    for u in (1e-3, 0.1, 0.25, 0.5, 0.66, 0.8, 0.93, 1.0, 1.1, 1.4, 1.9, 2.5):
        s = u * loss.cap
        slope = float(loss.subdifferential(s)[1])
        limit = float(loss.largest_step(s, slope))
        assert np.isfinite(limit)
        assert limit > 0.0
        assert solves(loss, s, slope, 0.99 * limit), (loss, u)
        assert not solves(loss, s, slope, 1.05 * limit), (loss, u)


@pytest.mark.parametrize("share", [0.2, 0.7, 1.0])
def test_largest_step_at_the_kink(share):
    slope = share * PAPER.slope
    limit = float(PAPER.largest_step(0.0, slope))
    assert limit == pytest.approx(2.0 / slope**2)
    assert solves(PAPER, 0.0, slope, 0.99 * limit)
    assert not solves(PAPER, 0.0, slope, 1.02 * limit)


def test_largest_step_of_the_errata():
    q = np.array([-1.0, 0.3, 0.83, 1.2, 2.0])
    slope = PAPER.subdifferential(q)[1]
    expected = [np.inf, 5 * (5 - 1.8) / 18, 5 / 18, 5 * (7.2 - 5) / 18, 2.0]
    np.testing.assert_allclose(PAPER.largest_step(q, slope), expected)
    assert np.all(np.isinf(Hinge().largest_step(q, slope)))
    assert np.all(np.isinf(HybridTruncated(cap=np.inf).largest_step(q, slope)))


losses = st.builds(HybridTruncated, knee=st.floats(0.05, 0.95), cap=st.floats(0.1, 10.0))
numbers = st.floats(-5.0, 5.0)


@settings(max_examples=150, deadline=None)
@given(losses, numbers, numbers, st.floats(1e-3, 5.0))
def test_prox_is_monotone(loss, z1, z2, step):
    z1, z2 = sorted((z1, z2))
    if z2 - z1 > 1e-6:
        assert loss.prox_bounds(z1, step)[1] <= loss.prox_bounds(z2, step)[0] + 1e-9


@settings(max_examples=150, deadline=None)
@given(losses, numbers, numbers, st.floats(0.01, 0.95))
def test_small_steps_make_prox_lipschitz(loss, z1, z2, share):
    step = share / loss.weak_convexity
    gap = abs(float(loss.prox(z1, step)) - float(loss.prox(z2, step)))
    assert gap <= abs(z1 - z2) / (1.0 - share) + 1e-9


@settings(max_examples=100, deadline=None)
@given(losses, st.floats(-3.0, 12.0), st.floats(0.01, 0.99))
def test_a_subgradient_and_a_step_below_the_largest_give_back_the_point(loss, s, share):
    slope = float(loss.subdifferential(s)[1])
    step = share * min(float(loss.largest_step(s, slope)), 10.0)
    assert float(loss.prox_distance(s, s + step * slope, step)) <= 1e-7
