"""The compiled rounds against the same rounds step by step."""

import math
from dataclasses import astuple

import numpy as np
import pytest
import scipy.sparse as sp

from htsvm.linalg import kernels
from htsvm.losses import Hinge, HybridTruncated
from htsvm.solvers import Newton
from htsvm.solvers.newton import inner as newton_inner
from htsvm.solvers.newton.round import Rounds
from htsvm.solvers.newton.state import Iterate, close_round
from tests.solvers.test_newton import make_problem, noisy

pytestmark = pytest.mark.skipif(not kernels.COMPILED, reason="the compiled kernels are not in use")

FORMATS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "csr": sp.csr_matrix,
    "csr32": lambda X: sp.csr_matrix(X.astype(np.float32)),
    "csr long": lambda X: sp.csr_matrix(
        (sp.csr_matrix(X).data, *(sp.csr_matrix(X).indices.astype(np.int64),
                                  sp.csr_matrix(X).indptr.astype(np.int64))), shape=X.shape,
    ),
}  # fmt: skip
SHAPES = [(60, 3), (40, 70), (9000, 20)]


def matrix_R(n):
    rng = np.random.default_rng(5)
    A = rng.normal(size=(n, n)) / np.sqrt(n)
    return A @ A.T + 0.1 * np.eye(n)


def make(shape, form="float64", *, R=None, fit_intercept=True, loss=None):
    X, y = noisy(*shape, seed=2, scale=1.0 / math.sqrt(shape[1]))
    X = FORMATS[form](X * (np.random.default_rng(0).random(X.shape) < 0.6))
    weight = np.random.default_rng(1).integers(0, 4, size=shape[0])
    regularizer = {None: None, "diagonal": np.linspace(0.5, 2.0, shape[1]), "matrix": matrix_R}[R]
    regularizer = regularizer(shape[1]) if callable(regularizer) else regularizer
    loss = HybridTruncated() if loss is None else loss
    return make_problem(
        X, y, 0.7, weight=weight, R=regularizer, fit_intercept=fit_intercept, loss=loss
    )


def start(problem, seed=0):
    m, n = problem.operator.shape
    rng = np.random.default_rng(seed)
    w, b = 0.3 * rng.normal(size=n), 0.1 * problem.fit_intercept
    q = problem.violations(w, b)
    weights = np.empty(m)
    problem.loss.slopes(q, problem.penalty, weights)
    return Iterate(w, b, q, np.minimum(weights, rng.random(m)), weights)


def rounds(problem, count=3, reach=math.inf):
    """Run some rounds and return every number that they leave behind."""
    it, engine, reports = start(problem), Rounds(problem), []
    for number in range(count):
        report = engine.run(it, 2.0**number, tol=1e-8, max_steps=4, reach=reach)
        closing = close_round(problem, it, problem.loss, 0.3, report.stale)
        reports.append(np.array([*astuple(report), *astuple(closing)], dtype=float))
    return it, np.array(reports), problem.operator.passes


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("R", [None, "diagonal", "matrix"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_compiled_rounds_equal_those_step_by_step(shape, form, R, fit_intercept, monkeypatch):
    make_it = {"R": R, "fit_intercept": fit_intercept}
    ours, reports, passes = rounds(make(shape, form, **make_it))
    monkeypatch.setattr(newton_inner.Inner, "_suits_kernel", lambda self: False)
    twin, expected, expected_passes = rounds(make(shape, form, **make_it))
    assert reports[:, 0].sum() > 3
    np.testing.assert_allclose(ours.w, twin.w, rtol=1e-7, atol=1e-9)
    assert ours.b == pytest.approx(twin.b, rel=1e-7, abs=1e-9)
    np.testing.assert_allclose(ours.alpha, twin.alpha, atol=1e-7)
    np.testing.assert_allclose(ours.weights, twin.weights, atol=1e-7)
    np.testing.assert_allclose(reports, expected, rtol=1e-6, atol=1e-7)
    if shape[0] > shape[1]:
        assert passes == pytest.approx(expected_passes, rel=0.05)


@pytest.mark.parametrize("loss", [HybridTruncated(), HybridTruncated(0.4, 2.0), Hinge(),
                                  HybridTruncated(cap=math.inf)])  # fmt: skip
@pytest.mark.parametrize("stage", [None, HybridTruncated(cap=4.0), "own"])
@pytest.mark.parametrize("refresh", [True, False])
@pytest.mark.parametrize("form", ["float64", "csr"])
def test_the_end_of_a_round_in_one_sweep(loss, stage, refresh, form):
    problem = make((9000, 20), form, loss=loss)
    stage = loss if stage == "own" else stage
    ours, twin = start(problem), start(problem)
    for it in (ours, twin):
        it.w = it.w + 0.05
    if stage is None:
        top = float(loss.profile_slope(0.0))
        ours.weights, twin.weights = top * problem.penalty, top * problem.penalty
    closing = close_round(problem, ours, stage, 0.3, refresh)
    problem.operator.compiled_rows = None
    expected = close_round(problem, twin, stage, 0.3, refresh)
    assert closing.violated == expected.violated
    np.testing.assert_allclose(astuple(closing), astuple(expected), rtol=1e-10)
    np.testing.assert_allclose(ours.q, twin.q, atol=1e-12)
    np.testing.assert_allclose(ours.weights, twin.weights, atol=1e-12)


def test_a_gram_matrix_lent_for_some_rows_comes_back_right():
    problem = make((9000, 20))
    it, engine = start(problem), Rounds(problem)
    for _ in range(4):
        report = engine.run(it, 4.0, tol=1e-8, max_steps=3, reach=0.1)
        close_round(problem, it, problem.loss, 0.3, report.stale)
        assert report.rows < 4500
        gram = engine._gram
        assert np.array_equal(np.flatnonzero(gram.inside), gram.rows)
        X1 = np.column_stack([problem.operator.X, np.ones(9000)])[gram.rows]
        exact = X1.T @ (problem.penalty[gram.rows, None] * X1)
        np.testing.assert_allclose(np.tril(gram.matrix), np.tril(exact), atol=1e-9)


def test_a_singular_system_is_solved_step_by_step():
    X, y = noisy(200, 4)
    X = np.column_stack([X, X])
    problem = make_problem(X, y, R=np.zeros(8))
    result = Newton(tol=1e-4).solve(problem)
    assert result.converged
    assert np.all(np.isfinite(result.coef))


@pytest.mark.parametrize("n", [1, 3])
def test_without_relevant_rows_only_the_regulariser_counts(n):
    """All samples are safe or ignored: the way is down to w = 0 until one of them matters."""
    problem = make((1500, n), fit_intercept=False)
    it, engine = start(problem), Rounds(problem)
    it.w, it.q[:] = np.full(n, 2.0), -1.0
    it.alpha[:] = 0.0
    report = engine.run(it, 1.0, tol=1e-8, max_steps=5, reach=0.1)
    assert report.steps > 0
    np.testing.assert_allclose(it.w, 0.0, atol=1e-12)
