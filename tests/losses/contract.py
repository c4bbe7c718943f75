"""What every loss promises: tests for the list `LOSSES` of the module that imports them all."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

S = np.linspace(-1.0, 6.0, 7001)
STEPS = (0.05, 0.3, 1.0, 1.99, 2.0, 2.5, 4.0, 5.0)
# What a test may ask for, by the name of its argument.
KINDS = {
    "loss": lambda loss: True,
    "profiled": lambda loss: "profile" in loss.abilities,
    "conjugate": lambda loss: "conjugate" in loss.abilities,
    "convex": lambda loss: loss.weak_convexity == 0.0,
    "jumping": lambda loss: math.isinf(loss.weak_convexity),
}


def pytest_generate_tests(metafunc):
    """Give each test the losses that it asks for."""
    for name in KINDS.keys() & set(metafunc.fixturenames):
        losses = [loss for loss in metafunc.module.LOSSES if KINDS[name](loss)]
        metafunc.parametrize(name, losses, ids=repr)


def away_from_kinks(loss, s, room=1e-3):
    return s[(np.abs(s) > room) & (np.abs(s - loss.cap) > room)]


def test_derivatives(loss):
    s = away_from_kinks(loss, np.linspace(-1.0, 6.0, 1409))
    numeric = (loss.value(s + 1e-6) - loss.value(s - 1e-6)) / 2e-6
    low, high = loss.subdifferential(s)
    np.testing.assert_array_equal(low, high)
    np.testing.assert_allclose(low, numeric, atol=2e-5)


def test_profile_and_tilt(profiled):
    s = away_from_kinks(profiled, np.linspace(-1.0, 6.0, 1409))
    tilted = profiled.profile(np.maximum(s, 0.0)) - profiled.tilt * s
    np.testing.assert_allclose(profiled.value(s), tilted, atol=1e-14)
    h = s[s > 0]
    numeric = (profiled.profile(h + 1e-6) - profiled.profile(h - 1e-6)) / 2e-6
    np.testing.assert_allclose(profiled.profile_slope(h), numeric, atol=2e-5)


def test_subdifferential_at_the_kink(loss):
    low, high = loss.subdifferential(np.array([0.0]))
    right, left = float(loss.value(1e-7)) / 1e-7, -float(loss.value(-1e-7)) / 1e-7
    if loss.value(1e-5) == 1.0:
        right = np.inf  # it jumps
    assert (low[0], high[0]) == (pytest.approx(left, abs=1e-6), pytest.approx(right, abs=1e-6))


def test_majoriser_lies_above_and_touches(profiled):
    for at in np.linspace(0.0, 5.0, 40):
        above = profiled.profile(at) + profiled.profile_slope(at) * (np.maximum(S, 0.0) - at)
        above -= profiled.tilt * S
        assert np.all(above >= profiled.value(S) - 1e-12)
        nearest = np.abs(S - at).argmin()
        assert float(above[nearest]) == pytest.approx(float(profiled.value(S[nearest])), abs=2e-3)


def test_weak_convexity_is_the_smallest(loss):
    def least_bend(rho):
        return np.diff(loss.value(S) + 0.5 * rho * S**2, 2).min() / (S[1] - S[0]) ** 2

    rho = loss.weak_convexity
    if np.isinf(rho):
        assert least_bend(500.0) < -1e-3
        return
    assert least_bend(rho) >= -1e-6
    if rho > 0.0:
        assert least_bend(0.99 * rho) < -1e-3


def test_curved_interval(loss):
    low, high = loss.curved_interval
    bends = np.diff(loss.value(S), 2) / (S[1] - S[0]) ** 2
    inside = (S[1:-1] > low + 2e-3) & (S[1:-1] < high - 2e-3)
    np.testing.assert_allclose(bends[inside], -loss.weak_convexity, rtol=1e-4)
    assert np.all(bends[(S[1:-1] < low - 2e-3) | (S[1:-1] > high + 2e-3)] > -1e-6)
    assert high == loss.cap
    assert np.any(inside) == (0.0 < loss.weak_convexity < np.inf)


def test_conjugate_against_a_grid(conjugate):
    s = np.linspace(-50.0, 50.0, 20_001)
    bottom, top = conjugate.subdifferential(-1.0)[0], conjugate.subdifferential(1.0)[1]
    for slope in np.linspace(float(bottom), float(top), 9):
        best = float(np.max(slope * s - conjugate.value(s)))
        assert float(conjugate.conjugate(slope)) == pytest.approx(best, abs=1e-5)
    if np.isinf(conjugate.conjugate(100.0)):
        assert np.all(np.isinf(conjugate.conjugate([float(bottom) - 1e-9, float(top) + 1e-9])))


@pytest.mark.parametrize(("positive", "negative"), [(3.0, 1.0), (1.0, 5.0), (2.0, 2.0)])
def test_best_constant_against_a_grid(loss, positive, negative):
    b = np.linspace(-2.0, 2.0, 4001)
    totals = positive * loss.value(1.0 - b) + negative * loss.value(1.0 + b)
    value, best = loss.best_constant(positive, negative)
    assert value == pytest.approx(totals.min(), abs=1e-5)
    here = positive * loss.value(1.0 - best) + negative * loss.value(1.0 + best)
    assert float(here) == pytest.approx(value)


@pytest.mark.parametrize("size", [7, 60_000])
def test_total_and_slopes_are_their_formulas(loss, size, backend):
    rng = np.random.default_rng(0)
    s, penalty = rng.normal(1.0, 2.0, size), rng.random(size)
    assert loss.total(s, penalty) == pytest.approx(float(penalty @ loss.value(s)), rel=1e-12)
    if "profile" not in loss.abilities:
        return
    out = np.empty(size)
    loss.slopes(s, penalty, out)
    expected = penalty * loss.profile_slope(np.maximum(s, 0.0))
    np.testing.assert_allclose(out, expected, atol=1e-14)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4)])
def test_any_shape_and_float32(loss, shape):
    s = np.random.default_rng(1).normal(0.5, 1.0, shape).astype(np.float32)
    wide = np.asarray(s, dtype=np.float64)
    for method in (loss.value, lambda x: loss.subdifferential(x)[0], lambda x: loss.prox(x, 0.2)):
        result = np.asarray(method(s))
        assert result.shape == shape
        np.testing.assert_allclose(result, method(wide), atol=1e-5)
    # Before NumPy 2 an array without dimensions is no stronger than a Python float.
    if shape or np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        assert np.asarray(loss.value(s)).dtype == np.float32
        assert np.asarray(loss.subdifferential(s)[1]).dtype == np.float32


def test_integers_are_taken_as_floats(loss):
    np.testing.assert_array_equal(loss.value([-1, 0, 1, 2]), loss.value([-1.0, 0.0, 1.0, 2.0]))
    np.testing.assert_array_equal(loss.prox([2, 3], 1), loss.prox([2.0, 3.0], 1.0))


def test_hashable_comparable_picklable(loss):
    copy = pickle.loads(pickle.dumps(loss))
    assert copy == loss
    assert hash(copy) == hash(loss)
    assert len({loss, copy}) == 1


def prox_objective(loss, s, z, step):
    return step * loss.value(s) + 0.5 * (s - z) ** 2


def least(loss, z, step):
    """Return the minimum of the prox objective, by a fine grid and the obvious candidates."""
    grid = np.concatenate([np.linspace(-6.0, 8.0, 14_001), [0.0, z]])
    return float(prox_objective(loss, grid, z, step).min())


@pytest.mark.parametrize("step", STEPS)
def test_prox_is_a_global_minimiser(loss, step):
    ceiling = getattr(loss, "ceiling", 1.0)
    ties = [step, ceiling + step / 2, np.sqrt(2 * ceiling * step), np.sqrt(2 * step), -step, 0.0]
    z = np.array([*np.linspace(-3.0, 6.0, 61), *ties, *(t + 1e-9 for t in ties if np.isfinite(t))])
    for at in z[np.isfinite(z)]:
        lowest = least(loss, at, step)
        for end in (*loss.prox_bounds(at, step), loss.prox(at, step)):
            assert prox_objective(loss, float(end), at, step) <= lowest + 1e-7


def test_prox_of_a_convex_loss_is_unique(convex):
    z = np.linspace(-3.0, 3.0, 101)
    low, high = convex.prox_bounds(z, 0.7)
    np.testing.assert_array_equal(low, high)
    assert np.all(np.isinf(convex.largest_step(z, z)))
    np.testing.assert_array_equal(convex.reference_step(z, z), 1.0)


def solves(loss, s, slope, step):
    z = s + step * slope
    return prox_objective(loss, s, z, step) <= least(loss, z, step) + 1e-9


@pytest.mark.parametrize("s", [0.1, 0.3, 0.7, 0.95, 1.2, 1.7, 2.5, 3.0, 4.5])
def test_largest_step_is_exact(jumping, s):
    slope = float(jumping.subdifferential(s)[1])
    limit = float(jumping.largest_step(s, slope))
    assert 0.0 < limit < np.inf
    assert solves(jumping, s, slope, 0.99 * limit)
    assert not solves(jumping, s, slope, 1.05 * limit)


@pytest.mark.parametrize("slope", [0.3, 0.8, 1.0])
def test_largest_step_at_the_margin(jumping, slope):
    limit = float(jumping.largest_step(0.0, slope))
    assert limit == pytest.approx(2.0 * getattr(jumping, "ceiling", 1.0) / slope**2)
    assert solves(jumping, 0.0, slope, 0.99 * limit)
    assert not solves(jumping, 0.0, slope, 1.03 * limit)
    assert float(jumping.largest_step(-0.5, 0.0)) == np.inf


@settings(max_examples=60, deadline=None)
@given(s=st.floats(-3.0, 6.0), share=st.floats(0.0, 1.0))
def test_the_reference_step_is_below_the_largest(jumping, s, share):
    """A subgradient passes the prox test at the reference step, whatever the sample."""
    low, high = (float(end) for end in jumping.subdifferential(s))
    slope = low + share * (min(high, 5.0) - low)
    step = float(jumping.reference_step(s, slope))
    assert 0.0 < step <= jumping.unit_step
    if jumping.cap == 0.0 or abs(s - jumping.cap) > 1e-9:
        assert float(jumping.prox_distance(s, s + step * slope, step)) <= 1e-9


@settings(max_examples=50, deadline=None)
@given(z=st.floats(-5, 5), other=st.floats(-5, 5), step=st.floats(1e-3, 5))
def test_no_point_beats_the_prox(loss, z, other, step):
    other = round(other, 3)  # no violation that counts as rounding
    for end in loss.prox_bounds(z, step):
        best = prox_objective(loss, end, z, step)
        assert best <= prox_objective(loss, other, z, step) + 1e-9 * (1 + z * z + step)
