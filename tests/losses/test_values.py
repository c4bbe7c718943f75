"""Values, slopes and the identities that tie the losses to each other."""

import numpy as np
import pytest

from htsvm.losses import Hinge, HybridTruncated, LeastSquares, Loss, Ramp, require
from tests.losses.contract import *  # noqa: F403

PROFILED = [
    HybridTruncated(),
    HybridTruncated(0.2, 0.5),
    HybridTruncated(0.9, 4.0),
    HybridTruncated(0.5, np.inf),
    Hinge(),
    Ramp(0.4),
    Ramp(),
    Ramp(np.inf),
]
LOSSES = [*PROFILED, LeastSquares()]
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


@pytest.mark.parametrize("knee", [0.0, 1.0, -0.1, 2.0, np.nan])
def test_bad_knee(knee):
    with pytest.raises(ValueError, match="knee"):
        HybridTruncated(knee=knee)


@pytest.mark.parametrize("cap", [0.0, -1.0, np.nan, -np.inf])
def test_bad_cap(cap):
    with pytest.raises(ValueError, match="cap"):
        HybridTruncated(cap=cap)


@pytest.mark.parametrize("ceiling", [0.0, -1.0, np.nan])
def test_bad_ceiling(ceiling):
    with pytest.raises(ValueError, match="ceiling"):
        Ramp(ceiling)


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
    assert "LeastSquares" not in str(error.value)
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


def test_printed_formulas_of_the_other_losses():
    z = np.array([-2.0, -0.1, 0.5, 2.0])
    np.testing.assert_allclose(LeastSquares().prox(z, 0.5), z / 2.0)
    np.testing.assert_allclose(Ramp(1.0).prox([-1.0, 0.2, 1.2, 1.3], 0.5), [-1.0, 0.0, 0.7, 1.3])


@pytest.mark.parametrize(("z", "step", "ends"), [(1.5, 1.0, (0.5, 1.5)), (4.0, 8.0, (0.0, 4.0))])
def test_ties_of_the_ramp_have_two_ends_and_prox_takes_the_smaller(z, step, ends):
    assert Ramp(1.0).prox_bounds(z, step) == ends
    assert Ramp(1.0).prox(z, step) == ends[0]
    assert Ramp(1.0).prox_distance(ends[1], z, step) == 0.0


def test_at_the_concave_kink_no_step_will_do():
    assert float(Ramp(1.5).largest_step(1.5, 0.0)) == 0.0
