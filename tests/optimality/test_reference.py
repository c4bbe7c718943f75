"""Certificates of points found by the slow reference solver."""

import numpy as np
import pytest

from htsvm.losses import HybridTruncated
from htsvm.optimality import certify
from tests.oracles import golden

pytest.importorskip("cvxpy", reason="the reference solver needs cvxpy")
pytest.importorskip("clarabel", reason="the reference solver needs clarabel")

from tests.oracles.dc import solve_dc


@pytest.fixture(scope="module")
def reference():
    return solve_dc(golden.view_a(), golden.labels())


def test_golden_value(reference):
    assert reference.objective == pytest.approx(golden.HYBRID_TRUNCATED_OBJECTIVE, abs=1e-6)
    np.testing.assert_allclose(reference.coef, golden.HYBRID_TRUNCATED_COEF, atol=1e-5)
    assert reference.intercept == pytest.approx(golden.HYBRID_TRUNCATED_INTERCEPT, abs=1e-5)
    assert np.all(np.diff(reference.objectives) <= 1e-9)
    assert len(reference.objectives) > 2


def test_golden_point_is_certified(reference):
    c = certify(
        golden.view_a(), golden.labels(), reference.coef, reference.intercept,
        reference.multipliers, C=1.0, loss=HybridTruncated(), tol=1e-8,
    )  # fmt: skip
    assert c.certified
    assert c.local_minimizer == "yes"
    assert c.objective == pytest.approx(reference.objective, rel=1e-12)
    assert c.trivial_objective == pytest.approx(14.0)
    assert c.n_support == 6
    assert c.counts == {
        "safe": 18, "on_margin": 3, "inside_margin": 3, "transition": 0, "ignored": 6,
    }  # fmt: skip


def test_hinge_golden_value():
    loss = HybridTruncated(cap=np.inf)
    solution = solve_dc(golden.view_a(), golden.labels(), C=1.0 / loss.slope, loss=loss)
    assert solution.objective == pytest.approx(golden.HINGE_OBJECTIVE, abs=1e-5)
    c = certify(
        golden.view_a(), golden.labels(), solution.coef, solution.intercept,
        solution.multipliers, C=1.0 / loss.slope, loss=loss, tol=1e-8,
    )  # fmt: skip
    assert c.certified
    assert c.local_minimizer == "yes"


def noisy(seed, m=24, n=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=m) > 0.0, 1, -1)
    y[rng.random(m) < 0.2] *= -1
    return X, y


def objective_around(X, y, C, loss, R, w, b, steps):
    q = 1.0 - y * (X @ (w[:, None] + steps[:-1]) + b + steps[-1]).T
    moved = w[:, None] + steps[:-1]
    return 0.5 * np.einsum("ik,ij,jk->k", moved, R, moved) + C * loss.value(q).sum(axis=1)


@pytest.mark.parametrize("seed", range(10))
def test_verdict_against_random_steps(seed):
    """The reference ends in minimisers here: no step around a "yes" may go down."""
    X, y = noisy(seed)
    loss = [HybridTruncated(), HybridTruncated(0.2, 1.5)][seed % 2]
    R = np.eye(3) if seed % 3 else np.diag([1.0, 2.0, 0.5]) + 0.1
    C = [0.3, 1.0][seed % 2]
    s = solve_dc(X, y, C=C, loss=loss, regularizer=R)
    c = certify(X, y, s.coef, s.intercept, s.multipliers, C=C, loss=loss, regularizer=R, tol=1e-6)
    assert c.certified
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(4, 4000))
    steps *= 1e-3 * rng.random(4000) / np.linalg.norm(steps, axis=0)
    here = c.objective
    around = objective_around(X, y, C, loss, R, s.coef, s.intercept, steps)
    assert c.local_minimizer == "yes"
    assert around.min() >= here - 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_a_rough_point_gets_the_verdict_of_the_exact_one(seed):
    """Errors of the size of a solver's tolerance must not change the answer."""
    X, y = noisy(seed, m=40)
    loss = HybridTruncated(0.3, 1.0)
    s = solve_dc(X, y, C=0.5, loss=loss)
    exact = certify(X, y, s.coef, s.intercept, s.multipliers, C=0.5, loss=loss)
    rng = np.random.default_rng(seed)
    w, b = s.coef + 1e-4 * rng.normal(size=3), s.intercept + 1e-4
    rough = certify(X, y, w, b, s.multipliers * (1 + 1e-5), C=0.5, loss=loss)
    assert rough.certified
    assert rough.on_margin > 1e-6
    assert rough.local_minimizer == exact.local_minimizer
    assert rough.counts == exact.counts
    assert rough.nu_max == pytest.approx(exact.nu_max, rel=1e-2)
