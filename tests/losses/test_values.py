"""Values, slopes and the identities that tie the losses to each other."""

import pickle

import numpy as np
import pytest

from htsvm.losses import (
    Hinge,
    HybridTruncated,
    LeastSquares,
    Loss,
    Pinball,
    Ramp,
    ZeroOne,
    require,
)

PROFILED = [
    HybridTruncated(),
    HybridTruncated(0.2, 0.5),
    HybridTruncated(0.9, 4.0),
    HybridTruncated(0.5, np.inf),
    Hinge(),
    Pinball(0.0),
    Pinball(0.3),
    Pinball(1.0),
    Ramp(0.4),
    Ramp(),
    Ramp(np.inf),
]
LOSSES = [*PROFILED, LeastSquares(), ZeroOne()]
CONJUGATE = [Hinge(), Pinball(0.0), Pinball(0.3), Pinball(1.0), LeastSquares()]
S = np.linspace(-1.0, 6.0, 7001)


def test_printed_formula():
    s = np.array([-1.0, 0.0, 0.3, 2 / 3, 0.8, 1.0, 4.0])
    expected = [0, 0, 0.36, 0.8, (-9 * 0.64 + 18 * 0.8 - 4) / 5, 1, 1]
    np.testing.assert_allclose(HybridTruncated().value(s), expected, atol=1e-15)


def scad(h, lam, a):
    middle = (2 * a * lam * h - h**2 - lam**2) / (2 * (a - 1))
    return np.where(h <= lam, lam * h, np.where(h <= a * lam, middle, lam**2 * (a + 1) / 2))


def test_it_is_nine_fifths_of_scad():
    expected = 1.8 * scad(np.maximum(S, 0.0), 2.0 / 3.0, 1.5)
    np.testing.assert_allclose(HybridTruncated().value(S), expected, atol=1e-15)


def test_close_to_the_ramp_as_the_errata_say():
    gap = HybridTruncated().value(S) - np.clip(S, 0.0, 1.0)
    assert gap.min() >= -1e-15
    assert gap.max() == pytest.approx(5 / 36, abs=1e-6)
    assert S[gap.argmax()] == pytest.approx(13 / 18, abs=1e-3)


def test_knee_one_is_the_ramp():
    ramp = np.clip(S, 0.0, 1.0)
    np.testing.assert_allclose(HybridTruncated(knee=1 - 1e-9).value(S), ramp, atol=1e-8)


@pytest.mark.parametrize("knee", [0.3, 2.0 / 3.0])
def test_no_cap_is_a_multiple_of_the_hinge(knee):
    loss, factor = HybridTruncated(knee, np.inf), 2.0 / (1.0 + knee)
    np.testing.assert_allclose(loss.value(S), factor * Hinge().value(S))
    np.testing.assert_allclose(loss.profile_slope(np.abs(S)), factor)
    np.testing.assert_allclose(loss.prox(S, 0.4), Hinge().prox(S, 0.4 * factor))
    np.testing.assert_allclose(loss.prox_distance(S, S, 0.4), np.abs(S - loss.prox(S, 0.4)))
    assert loss.weak_convexity == 0.0


@pytest.mark.parametrize("cap", [0.25, 3.0])
def test_cap_stretches(cap):
    stretched, unit = HybridTruncated(0.4, cap), HybridTruncated(0.4)
    np.testing.assert_allclose(stretched.value(S), cap * unit.value(S / cap), rtol=1e-13)
    np.testing.assert_allclose(stretched.prox(S, 0.3), cap * unit.prox(S / cap, 0.3 / cap))
    slope = unit.subdifferential(S / cap)[1]
    np.testing.assert_allclose(
        stretched.largest_step(S, slope), cap * unit.largest_step(S / cap, slope)
    )


def away_from_kinks(loss, s, room=1e-3):
    return s[(np.abs(s) > room) & (np.abs(s - loss.cap) > room)]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_derivatives(loss):
    s = away_from_kinks(loss, np.linspace(-1.0, 6.0, 1409))
    numeric = (loss.value(s + 1e-6) - loss.value(s - 1e-6)) / 2e-6
    low, high = loss.subdifferential(s)
    np.testing.assert_array_equal(low, high)
    np.testing.assert_allclose(low, numeric, atol=2e-5)


@pytest.mark.parametrize("loss", PROFILED, ids=repr)
def test_profile_and_tilt(loss):
    s = away_from_kinks(loss, np.linspace(-1.0, 6.0, 1409))
    tilted = loss.profile(np.maximum(s, 0.0)) - loss.tilt * s
    np.testing.assert_allclose(loss.value(s), tilted, atol=1e-14)
    h = s[s > 0]
    numeric = (loss.profile(h + 1e-6) - loss.profile(h - 1e-6)) / 2e-6
    np.testing.assert_allclose(loss.profile_slope(h), numeric, atol=2e-5)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_subdifferential_at_the_kink(loss):
    low, high = loss.subdifferential(np.array([0.0]))
    right, left = float(loss.value(1e-7)) / 1e-7, -float(loss.value(-1e-7)) / 1e-7
    if isinstance(loss, ZeroOne):
        right = np.inf
    assert (low[0], high[0]) == (pytest.approx(left, abs=1e-6), pytest.approx(right, abs=1e-6))


@pytest.mark.parametrize("loss", PROFILED, ids=repr)
def test_majoriser_lies_above_and_touches(loss):
    for at in np.linspace(0.0, 5.0, 40):
        above = loss.profile(at) + loss.profile_slope(at) * (np.maximum(S, 0.0) - at)
        above -= loss.tilt * S
        assert np.all(above >= loss.value(S) - 1e-12)
        nearest = np.abs(S - at).argmin()
        assert float(above[nearest]) == pytest.approx(float(loss.value(S[nearest])), abs=2e-3)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
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


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_curved_interval(loss):
    low, high = loss.curved_interval
    bends = np.diff(loss.value(S), 2) / (S[1] - S[0]) ** 2
    inside = (S[1:-1] > low + 2e-3) & (S[1:-1] < high - 2e-3)
    np.testing.assert_allclose(bends[inside], -loss.weak_convexity, rtol=1e-4)
    assert np.all(bends[(S[1:-1] < low - 2e-3) | (S[1:-1] > high + 2e-3)] > -1e-6)
    assert high == loss.cap
    assert np.any(inside) == (0.0 < loss.weak_convexity < np.inf)


@pytest.mark.parametrize("loss", CONJUGATE, ids=repr)
def test_conjugate_against_a_grid(loss):
    s = np.linspace(-50.0, 50.0, 20_001)
    bottom, top = loss.subdifferential(-1.0)[0], loss.subdifferential(1.0)[1]
    for slope in np.linspace(float(bottom), float(top), 9):
        best = float(np.max(slope * s - loss.value(s)))
        assert float(loss.conjugate(slope)) == pytest.approx(best, abs=1e-5)
    if not isinstance(loss, LeastSquares):
        assert np.all(np.isinf(loss.conjugate([float(bottom) - 1e-9, float(top) + 1e-9])))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize(("positive", "negative"), [(3.0, 1.0), (1.0, 5.0), (2.0, 2.0)])
def test_best_constant_against_a_grid(loss, positive, negative):
    b = np.linspace(-2.0, 2.0, 4001)
    totals = positive * loss.value(1.0 - b) + negative * loss.value(1.0 + b)
    value, best = loss.best_constant(positive, negative)
    assert value == pytest.approx(totals.min(), abs=1e-5)
    here = positive * loss.value(1.0 - best) + negative * loss.value(1.0 + best)
    assert float(here) == pytest.approx(value)


def test_relations_between_the_losses():
    np.testing.assert_array_equal(Pinball(0.0).value(S), Hinge().value(S))
    np.testing.assert_array_equal(Pinball(1.0).value(S), np.abs(S))
    np.testing.assert_array_equal(Ramp(np.inf).value(S), Hinge().value(S))
    np.testing.assert_allclose(Ramp(0.7).value(S), Hinge().value(S) - Hinge().value(S - 0.7))
    np.testing.assert_allclose(Ramp(1e-9).value(S) / 1e-9, ZeroOne(0.0).value(S), atol=1e-6)
    np.testing.assert_allclose(Ramp().stretched(3.0).value(S), 3.0 * Ramp().value(S / 3.0))


def test_zero_one_takes_tiny_violations_for_rounding():
    s = np.array([-1e-9, 0.0, 1e-9, 1e-6, 2e-6, 1.0])
    np.testing.assert_array_equal(ZeroOne().value(s), [0, 0, 0, 0, 1, 1])
    np.testing.assert_array_equal(ZeroOne(tolerance=0.0).value(s), [0, 0, 1, 1, 1, 1])
    assert ZeroOne().total(s, np.full(6, 0.5)) == 1.0


@pytest.mark.parametrize("size", [7, 60_000])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
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


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
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


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_integers_are_taken_as_floats(loss):
    np.testing.assert_array_equal(loss.value([-1, 0, 1, 2]), loss.value([-1.0, 0.0, 1.0, 2.0]))
    np.testing.assert_array_equal(loss.prox([2, 3], 1), loss.prox([2.0, 3.0], 1.0))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_hashable_comparable_picklable(loss):
    copy = pickle.loads(pickle.dumps(loss))
    assert copy == loss
    assert hash(copy) == hash(loss)
    assert len({loss, copy}) == 1


def test_different_losses_differ():
    assert HybridTruncated() != HybridTruncated(cap=2.0)
    assert HybridTruncated(cap=np.inf) != Hinge()
    assert HybridTruncated(2 / 3, 1) == HybridTruncated()
    with pytest.raises(AttributeError):
        HybridTruncated().knee = 0.5


@pytest.mark.parametrize("knee", [0.0, 1.0, -0.1, 2.0, np.nan])
def test_bad_knee(knee):
    with pytest.raises(ValueError, match="knee"):
        HybridTruncated(knee=knee)


@pytest.mark.parametrize("cap", [0.0, -1.0, np.nan, -np.inf])
def test_bad_cap(cap):
    with pytest.raises(ValueError, match="cap"):
        HybridTruncated(cap=cap)


@pytest.mark.parametrize("tau", [-0.1, 1.1, np.nan, np.inf])
def test_bad_tau(tau):
    with pytest.raises(ValueError, match="tau"):
        Pinball(tau)


@pytest.mark.parametrize("ceiling", [0.0, -1.0, np.nan])
def test_bad_ceiling(ceiling):
    with pytest.raises(ValueError, match="ceiling"):
        Ramp(ceiling)


@pytest.mark.parametrize("tolerance", [-1e-9, 1.0, np.nan])
def test_bad_tolerance(tolerance):
    with pytest.raises(ValueError, match="tolerance"):
        ZeroOne(tolerance)


class Bare(Loss):
    """A loss with nothing but its value."""

    def value(self, s):
        return np.square(s)

    def subdifferential(self, s):
        return 2.0 * s, 2.0 * s

    def __repr__(self):
        return "Bare()"


def test_require_names_what_is_missing_and_who_has_it():
    with pytest.raises(TypeError) as error:
        require(Bare(), ("prox", "profile"), "the newton solver")
    for part in ("the newton solver", "'prox'", "'profile'", "Bare()", "HybridTruncated", "Hinge"):
        assert part in str(error.value)
    for part in ("ZeroOne", "LeastSquares"):
        assert part not in str(error.value)
    for loss in LOSSES:
        require(loss, ("prox",), "anyone")
    for loss in PROFILED:
        require(loss, ("prox", "profile"), "anyone")


@pytest.mark.parametrize("method", ["prox", "prox_bounds", "largest_step"])
def test_a_missing_ability_says_so(method):
    with pytest.raises(NotImplementedError, match=r"Bare.*'prox'"):
        getattr(Bare(), method)(1.0, 1.0)
    with pytest.raises(NotImplementedError, match=r"Bare.*'profile'"):
        Bare().profile_slope(1.0)
    with pytest.raises(NotImplementedError, match=r"Bare.*'conjugate'"):
        Bare().conjugate(1.0)


@pytest.mark.parametrize("ceiling", [0.01, 1.0, 2.0, 30.0])
def test_near_a_ramp_is_a_loss_that_bends(ceiling):
    ramp = Ramp(ceiling)
    near, factor = ramp.bent()
    s = ceiling * np.linspace(-1.0, 3.0, 4001)
    difference = np.abs(factor * near.value(s) - ramp.value(s))
    assert difference.max() == pytest.approx(0.025 * ceiling)
    assert np.all(difference[np.abs(s / ceiling - 1.0) >= 0.1] <= 1e-12 * ceiling)
    assert near.weak_convexity < np.inf
    assert Ramp(np.inf).bent() is None
    assert HybridTruncated().bent() is None
