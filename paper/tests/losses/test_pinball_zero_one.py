"""The pinball and the 0/1 loss: what every loss promises, their formulas, ties and limits."""

import numpy as np
import pytest
from tests.conftest import backend  # noqa: F401
from tests.losses.contract import *  # noqa: F403

from htsvm.extend import Hinge
from htsvm_paper.losses import Pinball, ZeroOne

LOSSES = [Pinball(0.0), Pinball(0.3), Pinball(1.0), ZeroOne()]


def test_relations_between_the_losses():
    s = np.linspace(-1.0, 6.0, 71)
    np.testing.assert_array_equal(Pinball(0.0).value(s), Hinge().value(s))
    np.testing.assert_array_equal(Pinball(1.0).value(s), np.abs(s))


def test_printed_formulas():
    z = np.array([-2.0, -0.1, 0.5, 2.0])
    np.testing.assert_allclose(Pinball(0.5).prox(z, 1.0), [-1.5, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(ZeroOne().prox(z, 1.0), [-2.0, -0.1, 0.0, 2.0])


def test_a_tie_has_two_ends_and_prox_takes_the_smaller():
    assert ZeroOne().prox_bounds(2.0, 2.0) == (0.0, 2.0)
    assert ZeroOne().prox(2.0, 2.0) == 0.0
    assert ZeroOne().prox_distance(2.0, 2.0, 2.0) == 0.0


def test_zero_one_takes_tiny_violations_for_rounding():
    s = np.array([-1e-9, 0.0, 1e-9, 1e-6, 2e-6, 1.0])
    np.testing.assert_array_equal(ZeroOne().value(s), [0, 0, 0, 0, 1, 1])
    np.testing.assert_array_equal(ZeroOne(tolerance=0.0).value(s), [0, 0, 1, 1, 1, 1])
    assert ZeroOne().total(s, np.full(6, 0.5)) == 1.0


@pytest.mark.parametrize("tau", [-0.1, 1.1, np.nan, np.inf])
def test_bad_tau(tau):
    with pytest.raises(ValueError, match="tau"):
        Pinball(tau)


@pytest.mark.parametrize("tolerance", [-1e-9, 1.0, np.nan])
def test_bad_tolerance(tolerance):
    with pytest.raises(ValueError, match="tolerance"):
        ZeroOne(tolerance)
