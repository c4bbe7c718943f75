"""The prox against a grid search, its ties, and the largest step of the paper's theorem."""

import numpy as np
import pytest
from hypothesis import strategies as st

from htsvm.losses import Hinge, HybridTruncated

PAPER = HybridTruncated()
KNEES = (0.2, 2.0 / 3.0, 0.95)
CAPS = (0.5, 1.0, 3.0)


def prox_objective(loss, s, z, step):
    return step * loss.value(s) + 0.5 * (s - z) ** 2


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
