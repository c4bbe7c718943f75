"""The second-order verdict: counter-examples, brute force, and its two ways of computing."""

import numpy as np
import pytest

from htsvm.linalg import Quadratic, as_operator
from htsvm.losses import HybridTruncated
from htsvm.optimality import certify
from htsvm.optimality.second_order import CriticalSamples, second_order_verdict
from tests.optimality.points import KNOWN, at_the_cap, objective, two_samples

LOSS = HybridTruncated()
MASKS = ("curved", "at_knee", "at_cap", "strong", "at_zero", "at_top")


@pytest.mark.parametrize("name", KNOWN)
def test_counter_examples_are_no_local_minimisers(name):
    point = KNOWN[name]
    c = certify(**point)
    assert c.local_minimizer == "no"
    assert c.curvature < 0.0
    w, b = point["coef"], point["intercept"]
    here, step = objective(point, w, b), 1e-4
    there = objective(point, w + step * c.escape_direction[:-1], b + step * c.escape_direction[-1])
    assert there - here == pytest.approx(0.5 * c.curvature * step**2, rel=1e-3)
    assert np.linalg.norm(c.escape_direction) == pytest.approx(1.0)


def test_a_fixed_intercept_takes_the_escape_away():
    """Without b what is left of E9.2 is 1 - C k (1/4 + 1/4), which may be of any sign."""
    assert certify(**two_samples(LOSS), fit_intercept=False).local_minimizer == "undecided"
    for loss, expected in ((HybridTruncated(0.4, 0.8), "no"), (HybridTruncated(0.4, 1.2), "yes")):
        point = two_samples(loss, share=0.2)
        c = certify(**point, fit_intercept=False)
        assert c.local_minimizer == expected
        assert c.curvature == pytest.approx(1.0 - 0.5 * point["C"] * loss.weak_convexity)
    assert c.escape_direction is None


def test_one_sided_bend_at_the_cap_needs_the_right_side():
    """All samples at the cap: a step of b helps whichever class it serves."""
    point = at_the_cap(LOSS)
    c = certify(**point)
    m_plus = np.count_nonzero(point["y"] > 0)
    assert c.curvature <= -3.6 * m_plus + 1e-9
    assert c.escape_direction[-1] > 0.0


def critical(X, y, weight, **masks):
    size = len(y)
    filled = {name: np.zeros(size, dtype=bool) for name in MASKS}
    filled.update({name: np.asarray(value, dtype=bool) for name, value in masks.items()})
    y = np.asarray(y, dtype=np.int8)
    return as_operator(X), CriticalSamples(np.arange(size), y, np.asarray(weight, float), **filled)


def random_samples(rng, size, n, kinds=MASKS):
    kind = rng.integers(0, len(kinds), size)
    masks = {name: kind == k for k, name in enumerate(kinds)}
    y = np.where(rng.random(size) < 0.5, 1, -1)
    return critical(rng.normal(size=(size, n)), y, 0.5 * rng.random(size), **masks)


def exact_form(operator, s, z):
    """Return the one-sided second-order form at the columns of z; inf outside the cone."""
    rows = s.y[:, None] * np.hstack([operator.X, np.ones((len(s.y), 1))])
    r = rows @ z
    bends = s.curved[:, None] | (s.at_cap[:, None] & (r > 0.0)) | (s.at_knee[:, None] & (r < 0.0))
    value = np.square(z[:-1]).sum(axis=0) - (s.weight[:, None] * bends * r**2).sum(axis=0)
    out = (s.at_zero[:, None] & (r < -1e-7)) | (s.at_top[:, None] & (r > 1e-7))
    out |= s.strong[:, None] & (np.abs(r) > 1e-7)
    return np.where(out.any(axis=0), np.inf, value)


def test_against_every_direction_of_the_plane():
    """One feature and b: all directions can be tried."""
    rng = np.random.default_rng(0)
    angle = np.linspace(0.0, 2.0 * np.pi, 7201)
    z = np.vstack([np.cos(angle), np.sin(angle)])
    weak = ("curved", "at_knee", "at_cap", "at_zero", "at_top")
    verdicts = []
    for _ in range(300):
        operator, samples = random_samples(rng, rng.integers(1, 6), 1, weak)
        if samples.bends.any():
            verdict = second_order_verdict(operator, samples, Quadratic(None, 1))
            check(verdict, exact_form(operator, samples, z).min(), operator, samples)
            verdicts.append(verdict.local_minimizer)
    assert verdicts.count("no") > 50


def test_against_every_direction_that_a_margin_sample_leaves():
    """Two features, b and one strongly active sample: again a circle of directions."""
    rng = np.random.default_rng(1)
    angle = np.linspace(0.0, 2.0 * np.pi, 7201)
    verdicts = []
    for _ in range(300):
        operator, s = random_samples(rng, rng.integers(2, 6), 2)
        if s.strong.sum() != 1 or not s.bends.any():
            continue
        row = np.append(operator.X[s.strong][0], 1.0)
        basis = np.linalg.svd(row[None, :])[2][1:].T
        z = basis @ np.vstack([np.cos(angle), np.sin(angle)])
        verdict = second_order_verdict(operator, s, Quadratic(None, 2))
        check(verdict, exact_form(operator, s, z).min(), operator, s)
        verdicts.append(verdict.local_minimizer)
    assert verdicts.count("yes") > 10
    assert verdicts.count("no") > 10


def check(verdict, brute, operator, samples):
    if verdict.local_minimizer == "yes":
        assert brute >= verdict.curvature - 1e-6
        assert brute > 0.0
    elif verdict.local_minimizer == "no":
        own = float(exact_form(operator, samples, verdict.direction[:, None])[0])
        assert own == pytest.approx(verdict.curvature, abs=1e-6)
        assert own < 0.0


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("R", [None, "diagonal"])
def test_row_space_equals_full_space(R, fit_intercept):
    """Columns of zeros make n large, and the other way of computing the cheaper one."""
    rng = np.random.default_rng(2)
    seen = set()
    for _ in range(60):
        operator, samples = random_samples(rng, 8, 5, ("curved", "strong", "strong"))
        diagonal = None if R is None else rng.random(5) + 0.5
        padded = None if R is None else np.append(diagonal, np.ones(20))
        wide = as_operator(np.hstack([operator.X, np.zeros((8, 20))]))
        few = second_order_verdict(
            operator, samples, Quadratic(diagonal, 5), fit_intercept=fit_intercept
        )
        many = second_order_verdict(
            wide, samples, Quadratic(padded, 25), fit_intercept=fit_intercept
        )
        assert few.local_minimizer == many.local_minimizer
        seen.add(few.local_minimizer)
        if many.direction is not None:
            np.testing.assert_allclose(many.direction[5:-1], 0.0, atol=1e-12)
        if R is None:
            assert few.curvature == pytest.approx(many.curvature, rel=1e-6, nan_ok=True)
    assert {"yes", "no"} <= seen


def test_duplicate_rows_do_no_harm():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3, 30))
    rows = [0, 0, 1, 1, 2]
    operator, samples = critical(
        X[rows], np.ones(5), np.full(5, 1e-3), curved=[1, 1, 0, 0, 0], strong=[0, 0, 1, 1, 1]
    )
    verdict = second_order_verdict(operator, samples, Quadratic(None, 30))
    assert verdict.local_minimizer == "yes"
    lone, fewer = critical(X, np.ones(3), [2e-3, 1e-3, 1e-3], curved=[1, 0, 0], strong=[0, 1, 1])
    same = second_order_verdict(lone, fewer, Quadratic(None, 30))
    assert verdict.curvature == pytest.approx(same.curvature, rel=1e-8)


def test_more_margin_samples_than_dimensions_leave_no_direction():
    rng = np.random.default_rng(4)
    operator, samples = critical(
        rng.normal(size=(8, 3)), np.ones(8), np.ones(8), curved=[1] + [0] * 7, strong=[0] + [1] * 7
    )
    verdict = second_order_verdict(operator, samples, Quadratic(None, 3))
    assert verdict.local_minimizer == "yes"
    assert np.isinf(verdict.curvature)


def test_too_large_is_undecided_with_a_reason():
    rng = np.random.default_rng(6)
    X, half = rng.normal(size=(40, 60)), np.arange(40) < 20
    operator, samples = critical(X, np.ones(40), np.full(40, 1e-3), curved=half, strong=~half)
    verdict = second_order_verdict(operator, samples, Quadratic(None, 60), max_dimension=10)
    assert verdict.local_minimizer == "undecided"
    assert "41 > 10" in verdict.note
    free, none_held = critical(X, np.ones(40), np.full(40, 1e-3), curved=half | True)
    verdict = second_order_verdict(free, none_held, Quadratic(None, 60), max_dimension=10)
    assert verdict.local_minimizer == "no"
    assert verdict.curvature == pytest.approx(-0.04)


def test_semidefinite_regulariser_is_looked_at_in_full():
    """A direction that R does not penalise and one curved sample: no minimum."""
    operator, samples = critical([[1.0, 0.0], [0.0, 1.0]], [1, 1], [0.5, 0.5], curved=[0, 1],
                                 strong=[1, 0])  # fmt: skip
    verdict = second_order_verdict(
        operator, samples, Quadratic(np.array([1.0, 0.0]), 2), fit_intercept=False
    )
    assert verdict.local_minimizer == "no"
    np.testing.assert_allclose(np.abs(verdict.direction), [0.0, 1.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_rows_of_very_different_length_against_singular_values(fit_intercept):
    """More columns than rows, dependent rows among them; the oracle works in all of (w, b)."""
    rng = np.random.default_rng(6)
    seen = set()
    for _ in range(400):
        m = int(rng.integers(3, 12))
        n, rank = m + 5, int(rng.integers(2, m + 1))
        X = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
        X *= 10.0 ** rng.integers(-4, 5, size=(m, 1))
        curved = rng.random(m) < 0.4
        y, weight = rng.choice([-1, 1], size=m), 10.0 ** rng.uniform(-4, 2, size=m)
        if curved.all() or not curved.any():
            continue
        operator, samples = critical(X, y, weight, curved=curved, strong=~curved)
        verdict = second_order_verdict(
            operator, samples, Quadratic(None, n), fit_intercept=fit_intercept
        )
        rows = np.column_stack([X, np.ones(m)]) if fit_intercept else X
        strong = rows[~curved] / np.linalg.norm(rows[~curved], axis=1, keepdims=True)
        _, sizes, right = np.linalg.svd(strong)
        if np.any((sizes > 1e-12) & (sizes < 1e-4)):
            continue
        free = right[int(np.sum(sizes > 1e-8)) :].T
        hessian = np.diag(np.append(np.ones(n), np.zeros(int(fit_intercept))))
        hessian -= (weight[curved, None] * rows[curved]).T @ rows[curved]
        lowest = np.linalg.eigvalsh(free.T @ hessian @ free)[0] if free.size else np.inf
        if abs(lowest) > 1e-6 * max(1.0, float(np.abs(hessian).max())):
            assert verdict.local_minimizer == ("yes" if lowest > 0.0 else "no")
            seen.add(verdict.local_minimizer)
    assert seen == {"yes", "no"}
