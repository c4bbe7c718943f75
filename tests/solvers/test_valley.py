"""Newton's method on the rounded, truncated loss: formulas, twins, and where it ends."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime

from htsvm.linalg import Quadratic, as_operator
from htsvm.losses import Hinge, HybridTruncated
from htsvm.problems import Problem
from htsvm.solvers import Newton
from htsvm.solvers.newton import valley
from htsvm.solvers.newton.rounded import FINISHED, RoundedSteps, shape_of, value_and_slope
from htsvm.solvers.newton.valley import Valley

needs_compiled = pytest.mark.skipif(valley.compiled is None, reason="nothing was compiled")


def noisy(m=600, n=5, C=1.0, sparse=False, R=None, intercept=True, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.6)
    y = np.where(X @ rng.normal(size=n) + 0.2 > 0, 1, -1)
    y = np.where(rng.random(m) < 0.2, -y, y).astype(np.int8)
    weights = rng.integers(0, 3, m).astype(float)
    return Problem(
        as_operator(sp.csr_matrix(X) if sparse else X), y, C * weights, HybridTruncated(),
        Quadratic(R, n), C=C, fit_intercept=intercept,
    )  # fmt: skip


@pytest.mark.parametrize("cap", [0.5, 1.0, 4.0, np.inf])
@pytest.mark.parametrize("knee", [0.1, 2 / 3])
def test_a_narrow_width_is_the_loss_itself(cap, knee):
    loss = HybridTruncated(knee=knee, cap=cap)
    q = np.linspace(-1.0, 6.0, 1001)
    shape = shape_of(loss, 1e-9)
    value, slope = value_and_slope(shape, q)
    np.testing.assert_allclose(value, loss.value(q), atol=1e-8)
    away = np.abs(q) > 1e-6
    np.testing.assert_allclose(slope[away], loss.subdifferential(q)[0][away], atol=1e-8)


def test_slopes_are_derivatives_of_values():
    shape = shape_of(HybridTruncated(), 0.15)
    for q in np.linspace(-0.5, 1.5, 37):
        derivative = approx_fprime([q], lambda s: float(value_and_slope(shape, s)[0][0]), 1e-7)
        assert value_and_slope(shape, np.array([q]))[1][0] == pytest.approx(derivative[0], abs=1e-5)


@needs_compiled
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("R", [None, "matrix"])
def test_the_compiled_steps_are_the_reference(sparse, intercept, R):
    R = None if R is None else np.eye(5) + 0.3
    problem = noisy(sparse=sparse, intercept=intercept, R=R)
    shape = shape_of(problem.loss, 0.15)
    convex = Newton(starts=("convex",)).solve(replace(problem, loss=Hinge()))
    start = convex.coef, convex.intercept
    q = problem.violations(*start)
    how = {"base": 2.0, "tol": 1e-9, "gain": 0.0, "reach": 1e6, "max_steps": 60}
    reference = RoundedSteps(problem, q.copy(), start[0].copy(), start[1])
    status = reference.run(shape, **how)
    w = start[0].copy()
    found = valley.compiled.ValleySteps(
        problem.operator.compiled_rows, problem.y, problem.penalty, q, w, start[1],
        np.ascontiguousarray(problem.regularizer.diagonal()), R,
        row_length=problem.operator.row_length, fit_intercept=intercept,
    )  # fmt: skip
    assert found.run(shape, **how) == status == FINISHED
    assert found.steps == reference.steps
    np.testing.assert_allclose(w, reference.w, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose([found.b, found.value], [reference.b, reference.value], rtol=1e-7)
    np.testing.assert_allclose(q, problem.violations(w, found.b), atol=1e-9)


@needs_compiled
@pytest.mark.parametrize("sparse", [False, True])
def test_the_compiled_survey_is_the_reference(monkeypatch, sparse):
    problem = noisy(sparse=sparse)
    way, shape = Valley(problem, reach=0.2), shape_of(problem.loss, 0.15)
    w, b = np.full(5, 0.4), -0.1
    found = way._survey(w, b, shape)
    psi = way.multipliers(w, b, problem.loss, 0.15)
    monkeypatch.setattr(valley, "compiled", None)
    for one, other in zip(found, way._survey(w, b, shape), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    np.testing.assert_allclose(psi, way.multipliers(w, b, problem.loss, 0.15), rtol=1e-12)
