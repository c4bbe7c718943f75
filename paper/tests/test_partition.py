"""The sets of the paper's theorems."""

import numpy as np
import pytest

from htsvm.extend import Hinge, HybridTruncated
from htsvm_paper.partition import partition

LOSS = HybridTruncated()


def make_p(kappa, loss=LOSS):
    """Return q and psi with psi in -C subdifferential, C = 1, and their p."""
    q = np.array([-1.0, 0.0, 0.0, 0.0, 0.3, 0.6, 0.8, 0.9, 1.0, 1.7, 3.0]) * loss.cap
    psi = -loss.subdifferential(q)[1]
    psi[1:4] = [0.0, -0.5 * loss.slope, -loss.slope]
    return q, psi, q - kappa * psi


def test_sets_G():
    q, psi, _ = make_p(0.1)
    sets = partition(q, psi, C=1.0, loss=LOSS, nu=0.1)
    assert sets.letter == "G"
    np.testing.assert_array_equal(sets.set_number, [1, 2, 2, 2, 3, 3, 4, 4, 5, 5, 5])
    np.testing.assert_array_equal(sets.support, np.isin(sets.set_number, [2, 3, 4]))
    assert np.all(psi[~sets.support] == 0.0)


def test_sets_I_and_their_tie():
    kappa = 1.0
    jump = 5 / 6 + 0.6 * kappa
    q = np.array([-1.0, 0.0, 0.0, jump - 1.2, jump, 2.0])
    psi = np.array([0.0, 0.0, -1.2, -1.2, 0.0, 0.0])
    sets = partition(q, psi, C=2.0, loss=LOSS, nu=0.5 * kappa / 1.0)
    assert sets.letter == "I"
    # With C = 2 the multipliers would be twice as large; what decides is p = q - nu psi.
    p = q - 0.5 * psi
    expected = np.where(p < 0, 1, np.where(p <= 1.2, 2, np.where(p < jump, 3, 4)))
    expected[np.isclose(p, jump)] = 4
    np.testing.assert_array_equal(sets.set_number, expected)
    tied = partition(q, psi, C=1.0, loss=LOSS, nu=kappa)
    np.testing.assert_array_equal(tied.set_number, [1, 2, 2, 3, 4, 4])
    np.testing.assert_array_equal(tied.support, [False, True, True, True, False, False])


def test_sets_K_and_their_tie():
    q, psi = np.array([-1.0, 0.0, 0.0, 0.0, 2.0, 3.0]), np.array([0.0, 0.0, -0.7, -1.0, 0.0, 0.0])
    sets = partition(q, psi, C=1.0, loss=LOSS, nu=2.0)
    assert sets.letter == "K"
    np.testing.assert_array_equal(sets.set_number, [1, 2, 2, 3, 4, 4])
    np.testing.assert_array_equal(sets.support, [False, True, True, True, False, False])


@pytest.mark.parametrize(
    ("factor", "letter"), [(0.99, "G"), (1.01, "I"), (4.9, "I"), (5.01, "K"), (50.0, "K")]
)
def test_regimes_of_the_paper(factor, letter):
    q, psi, _ = make_p(0.1)
    assert partition(q, psi, C=2.0, loss=LOSS, nu=factor * 5 / 36).letter == letter


@pytest.mark.parametrize("kappa", [0.05, 0.2, 0.9, 2.0])
def test_a_cap_only_changes_the_scale(kappa):
    wide = HybridTruncated(cap=3.0)
    narrow_sets = partition(*make_p(kappa)[:2], C=1.0, loss=LOSS, nu=kappa)
    wide_sets = partition(*make_p(kappa, wide)[:2], C=1.0, loss=wide, nu=3.0 * kappa)
    assert narrow_sets.letter == wide_sets.letter
    np.testing.assert_array_equal(narrow_sets.set_number, wide_sets.set_number)


def test_convex_losses_have_three_sets():
    sets = partition([-1.0, 0.0, 0.4], [0.0, -0.5, -1.0], C=1.0, loss=Hinge(), nu=7.0)
    assert sets.letter == "G"
    np.testing.assert_array_equal(sets.set_number, [1, 2, 3])
    np.testing.assert_array_equal(sets.support, [False, True, True])


def test_bad_input():
    with pytest.raises(ValueError, match="C must be one positive number"):
        partition([0.0, 1.0], [0.0, 0.0], C=np.ones(2), loss=LOSS, nu=1.0)
    with pytest.raises(ValueError, match="nu"):
        partition([0.0], [0.0], C=1.0, loss=LOSS, nu=0.0)
    with pytest.raises(ValueError, match="shape"):
        partition([0.0, 1.0], [0.0], C=1.0, loss=LOSS, nu=1.0)
