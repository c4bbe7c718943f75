"""Dual coordinate descent: the kernel against a plain loop, the rounds against Newton's."""

import numpy as np
import pytest
import scipy.sparse as sp

from htsvm.linalg import CSROperator, Quadratic, kernels
from htsvm.losses import Hinge, HybridTruncated
from htsvm.optimality import certify
from htsvm.solvers import Newton, Problem, wide

pytestmark = pytest.mark.skipif(not kernels.COMPILED, reason="needs the compiled kernels")


def words(m=200, n=2500, seed=0, noise=0.1):
    """Return sparse rows of unit length with labels from a linear rule, some of them flipped."""
    rng = np.random.default_rng(seed)
    X = sp.random(m, n, density=0.02, random_state=seed, format="csr")
    X.data[:] = rng.random(X.nnz) + 0.5
    scale = 1.0 / np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel() + 1e-12)
    X = sp.csr_matrix(sp.diags(scale) @ X)
    score = X @ rng.normal(size=n)
    y = np.where(score > np.median(score), 1, -1)
    y[rng.random(m) < noise] *= -1
    return X, y.astype(np.int8)


def problem(X, y, C=1.0, loss=None, fit_intercept=True, weight=None, R=None):
    penalty = np.full(len(y), C) if weight is None else C * weight
    return Problem(
        CSROperator(X), y, penalty, loss or HybridTruncated(), Quadratic(R, X.shape[1]), C,
        fit_intercept,
    )  # fmt: skip


def plain_sweep(X, y, c, order, scale, stiffness, alpha, w, b, balance):
    """Coordinate descent as one would write it on a blackboard."""
    for i in order:
        x = X[i].toarray().ravel()
        margin = y[i] * (x @ w + b + stiffness * balance)
        new = np.clip(alpha[i] + (1.0 - margin) / (scale * x @ x + stiffness), 0.0, c[i])
        change = (new - alpha[i]) * y[i]
        alpha[i] = new
        balance += change
        w += scale * change * x
    return balance


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_kernel_equals_the_plain_loop(dtype, index):
    X, y = words(40, 30)
    X = X.astype(dtype)
    rng = np.random.default_rng(1)
    c = rng.random(40)
    order = rng.permutation(40)
    squares = 0.5 * np.asarray(X.multiply(X).sum(axis=1), dtype=float).ravel()
    alpha, w = np.zeros(40), np.zeros(30)
    expected_alpha, expected_w = np.zeros(40), np.zeros(30)
    balance = wide.compiled.csr_dual_sweep(
        X.indptr.astype(index), X.indices.astype(index), X.data, y, c, squares, order, 0.5, 0.7,
        alpha, w, 0.1, 0.0,
    )  # fmt: skip
    expected = plain_sweep(
        X.astype(float), y, c, order, 0.5, 0.7, expected_alpha, expected_w, 0.1, 0.0
    )
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(alpha, expected_alpha, atol=tolerance)
    np.testing.assert_allclose(w, expected_w, atol=tolerance)
    assert balance == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("R", [None, 0.3])
def test_same_convex_solution_as_newton(monkeypatch, fit_intercept, R):
    X, y = words()
    weight = np.random.default_rng(3).integers(0, 4, len(y)).astype(float)
    kind = {"loss": Hinge(), "fit_intercept": fit_intercept, "R": R, "weight": weight}
    assert wide.suits(problem(X, y, **kind))
    swept = Newton(tol=1e-7, max_iter=5000).solve(problem(X, y, **kind))
    monkeypatch.setattr("htsvm.solvers.wide.suits", lambda _: False)
    stepped = Newton(tol=1e-7).solve(problem(X, y, **kind))
    assert swept.converged
    assert stepped.converged
    assert swept.objective == pytest.approx(stepped.objective, rel=1e-6)
    np.testing.assert_allclose(swept.coef, stepped.coef, atol=1e-4)


@pytest.mark.parametrize("C", [0.5, 4.0])
def test_truncated_fits_are_certified_and_below_the_convex_start(C):
    X, y = words(400, 3000, seed=2)
    p = problem(X, y, C)
    result = Newton().solve(p)
    certificate = certify(
        X, y, result.coef, result.intercept, result.multipliers, C=C, loss=HybridTruncated()
    )
    assert certificate.certified
    assert result.objective <= min(result.convex_objective, p.trivial()[0]) * (1.0 + 1e-6)


def test_narrow_dense_or_general_problems_keep_to_newton():
    X, y = words(50, 100)
    assert not wide.suits(problem(X, y))
    X, y = words(50, 2500)
    assert not wide.suits(problem(X, y, R=np.linspace(1.0, 2.0, 2500)))
    assert not wide.suits(problem(X, y, R=0.0))
