from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from htsvm.losses import Hinge
from htsvm.solvers import solve_certified
from htsvm.solvers.multiclass import hard_margin
from htsvm.solvers.multiclass import run as solver_module
from htsvm.solvers.multiclass.round import MulticlassIterate, multiplier_sums
from htsvm.solvers.multiclass.solver import MulticlassNewton
from htsvm.solvers.starts import MulticlassTerrain
from tests.oracles.multiclass import solve_crammer_singer
from tests.solvers.test_multiclass import data, stated


def separable(seed=0, m=60, n=5, k=4, scale=30.0):
    rng = np.random.default_rng(seed)
    labels = np.arange(m, dtype=np.intp) % k
    X = rng.normal(size=(m, n)) + 8.0 * rng.normal(size=(k, n))[labels]
    return scale * X, labels


def test_a_hard_margin_is_that_of_an_interior_point_and_the_same_for_all_larger_C():
    X, labels = separable()
    # What an interior point finds at a C that is just large enough.
    found = solve_crammer_singer(X, labels, 4, np.full(len(labels), 1.0))
    W, best = found.coef, found.objective
    for C in (1.0, 1e4):
        result, certificate = solve_certified(stated(X, labels, C=C), MulticlassNewton())
        assert certificate.certified
        assert result.objective == pytest.approx(best, rel=2e-3)
        np.testing.assert_allclose(result.coef, W, atol=0.03 * np.abs(W).max())


def test_a_hard_margin_is_found_at_a_smaller_C(monkeypatch):
    X, labels = separable()
    seen = []

    def kept(result, violation):
        seen.append(violation)
        return violation < hard_margin.KEPT and original(result, violation)

    original = hard_margin.keeping_margins
    monkeypatch.setattr(solver_module.hard_margin, "keeping_margins", kept)
    problem = stated(X, labels, C=1.0)
    result, certificate = solve_certified(problem, MulticlassNewton())
    assert len(seen) == 1
    assert certificate.certified
    # All margins are kept: nothing is lost, however large C is.
    assert problem.violations_at(result.coef, result.intercept).max() <= 1e-12


def test_classes_that_overlap_are_not_taken_for_a_hard_margin():
    X, labels = data(0, m=90)
    problem = stated(X, labels, C=100.0)
    result, certificate = solve_certified(problem, MulticlassNewton())
    assert certificate.certified
    assert result.objective <= problem.trivial()[0]


def test_a_solution_of_the_smoothed_problem_is_scaled_to_the_margin():
    X, labels = separable()
    terrain = MulticlassTerrain(stated(X, labels))
    z = terrain.settle(terrain.zero(), 40, stretch=np.inf)
    assert terrain.convex_share < 1.0
    scaled, pulls = terrain.on_margin(z)
    W, b = terrain.parts(scaled)
    F = X @ W.T + b
    rivals = -np.minimum(pulls, 0.0)
    margins = F[np.arange(len(F)), labels][:, None] - F
    # The mean margin by multipliers, of which those of the scaled point are a multiple.
    factor = float(scaled @ z) / float(z @ z)
    assert np.sum(rivals * margins) / rivals.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(pulls, factor * terrain.multipliers(z, np.inf))
    assert float(np.abs(pulls.sum(axis=1)).max()) <= 1e-12 * np.abs(pulls).max()


def test_beyond_the_knee_slack_is_that_of_the_problem_that_multipliers_belong_to():
    X, labels = data(1, m=40)
    problem = stated(X, labels)
    rng = np.random.default_rng(0)
    W, b = 0.1 * rng.normal(size=(3, 4)), np.zeros(3)
    U = problem.levels(W, b)
    q = problem.violations(U)
    weights = np.empty(len(q))
    problem.loss.slopes(q, problem.penalty, weights)
    alpha = rng.dirichlet(np.ones(3), size=len(q)) * weights[:, None]
    alpha *= 0.6
    it = MulticlassIterate(W, b, U, q, alpha, weights)
    knee = problem.loss.curved_interval[0]
    total = 0.0
    for i, y in enumerate(labels):
        rivals = np.delete(alpha[i], y)
        size = rivals.sum() if q[i] > knee else weights[i]
        below = U[i].max() - U[i]
        total += rivals @ np.delete(below, y) + abs(size - rivals.sum()) * below[y]
    assert multiplier_sums(it, problem, 0.0, knee).slack == pytest.approx(total)
    assert np.any((q > knee) & (q < 1.0))
    assert multiplier_sums(it, problem, 0.0).slack > 1.01 * total


def test_a_convex_loss_has_its_hard_margin_too():
    X, labels = separable(seed=1)
    problem = replace(stated(X, labels), loss=Hinge())
    result, certificate = solve_certified(problem, MulticlassNewton())
    truncated, _ = solve_certified(stated(X, labels), MulticlassNewton())
    assert certificate.certified
    assert truncated.objective == pytest.approx(result.objective, rel=3e-3)
