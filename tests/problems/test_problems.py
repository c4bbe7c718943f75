"""What problems of two and of several classes have in common."""

from __future__ import annotations

import numpy as np
import pytest

from htsvm.linalg import Quadratic, as_operator
from htsvm.losses import HybridTruncated
from htsvm.problems import MulticlassProblem, Problem


@pytest.fixture(params=[2, 4])
def problem(request):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    known = {
        "operator": as_operator(X), "penalty": rng.uniform(0.5, 2.0, 30),
        "loss": HybridTruncated(), "regularizer": Quadratic(None, 3),
    }  # fmt: skip
    if request.param == 2:
        return Problem(y=rng.choice(np.array([-1, 1], dtype=np.int8), 30), **known)
    return MulticlassProblem(labels=rng.integers(4, size=30), n_classes=4, **known)


def point(problem):
    rng = np.random.default_rng(1)
    coef, intercept = rng.normal(size=(problem.n_scores, 3)), rng.normal(size=problem.n_scores)
    return problem.classifier(coef, intercept)


def test_multipliers_come_back_from_their_coefficients(problem):
    rng = np.random.default_rng(2)
    rows = np.sort(rng.choice(30, 8, replace=False))
    shape = (30,) if problem.n_scores == 1 else (30, problem.n_scores)
    multipliers = np.zeros(shape)
    multipliers[rows] = rng.normal(size=(8, *shape[1:]))
    table = problem.coefficients(multipliers)
    assert table.shape == (problem.n_scores, 30)
    np.testing.assert_array_equal(problem.multipliers_from(rows, table[:, rows]), multipliers)


def test_the_majoriser_touches_and_lies_above(problem):
    w, b = point(problem)
    convex, objective = problem.majorised(w, b)
    assert objective == problem.objective_at(w, b)
    constant = objective - convex.objective_at(w, b)
    for t in (-0.5, -0.01, 0.01, 0.5):
        above = convex.objective_at(w * (1.0 + t), b) + constant
        assert above >= problem.objective_at(w * (1.0 + t), b) - 1e-9


def test_the_constant_classifier_is_no_worse_than_another(problem):
    rng = np.random.default_rng(3)
    zero = np.zeros_like(point(problem)[0])
    for _ in range(50):
        b = 2.0 * rng.normal(size=problem.n_scores)
        b = float(b[0]) if problem.n_scores == 1 else b
        assert problem.trivial_objective <= problem.objective_at(zero, b) + 1e-9
    value, best = problem.trivial()
    assert problem.objective_at(zero, best) == pytest.approx(value)
