"""Problems in coordinates in which the regulariser is the identity."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from htsvm.linalg import Quadratic, as_operator
from htsvm.losses import Hinge
from htsvm.multiview.whitening import whitened
from htsvm.problems import MulticlassProblem, Problem
from htsvm.solvers import Newton, certify_result
from htsvm.solvers.multiclass.solver import MulticlassNewton


def regularizer(rng, n):
    A = rng.normal(size=(n, n))
    return Quadratic(A @ A.T + 0.5 * np.eye(n), n)


def binary(seed=0, m=30, n=20):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(m, n)), rng.choice([-1, 1], size=m).astype(np.int8)
    return Problem(as_operator(X), y, np.ones(m), Hinge(), regularizer(rng, n))


def multiclass(seed=0, m=40, n=6):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(m, n)), rng.integers(3, size=m)
    return MulticlassProblem(as_operator(X), labels, 3, np.ones(m), Hinge(), regularizer(rng, n))


@pytest.mark.parametrize(
    ("problem", "solver"),
    [(binary(), Newton(tol=1e-8)), (multiclass(), MulticlassNewton(tol=1e-6))],
)
def test_the_solution_is_that_of_the_given_problem(monkeypatch, problem, solver):
    monkeypatch.setattr("htsvm.multiview.whitening.LARGE", 0)
    white = whitened(problem)
    found = white.leave(solver.solve(white.problem))
    expected = solver.solve(problem)
    assert found.objective == pytest.approx(expected.objective, rel=1e-5)
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e-3)
    assert certify_result(problem, found, 1e-3).certified


def test_there_is_a_way_back():
    problem = binary()
    white = whitened(problem)
    result = Newton().solve(problem)
    inside = white.enter(result)
    assert white.problem.energy(inside.coef) == pytest.approx(problem.energy(result.coef))
    np.testing.assert_allclose(white.leave(inside).coef, result.coef, atol=1e-12)


def test_it_is_left_where_it_cannot_be_had_or_does_not_pay():
    problem = binary()
    assert whitened(replace(problem, regularizer=Quadratic(2.0, 20))) is None
    assert whitened(binary(m=60)) is None
    assert whitened(multiclass()) is None
    assert whitened(replace(problem, operator=as_operator(sp.csr_matrix(np.eye(30, 20))))) is None
    assert whitened(replace(problem, regularizer=Quadratic(-np.eye(20), 20))) is None
