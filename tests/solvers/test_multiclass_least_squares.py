from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from htsvm.linalg import Quadratic, as_operator, kernels, multiclass_kernels
from htsvm.losses import HybridTruncated
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers import solve_certified
from htsvm.solvers.multiclass import sweeps as multiclass_sweeps
from htsvm.solvers.multiclass.least_squares import is_uninformative, least_squares_start
from htsvm.solvers.multiclass.rows import MulticlassRows
from htsvm.solvers.multiclass.solver import MulticlassNewton


def without_majority(m=1500, k=6, seed=0):
    """Return data whose label is right with probability 0.4, else any other class."""
    rng = np.random.default_rng(seed)
    true = rng.integers(k, size=m)
    X = rng.normal(size=(m, 8)) + 2.0 * rng.normal(size=(k, 8))[true]
    moved = (true + rng.integers(1, k, size=m)) % k
    return X, np.where(rng.random(m) < 0.4, true, moved).astype(np.intp), true


def stated(X, labels, *, C=0.01, cap=1.0, weight=None, fit_intercept=True, R=None):
    weight = np.ones(len(labels)) if weight is None else np.asarray(weight, dtype=float)
    return MulticlassProblem(
        as_operator(X), labels, int(labels.max()) + 1, C * weight, HybridTruncated(cap=cap),
        Quadratic(R, X.shape[1]), C=C, fit_intercept=fit_intercept,
    )  # fmt: skip


def rows_of(problem):
    return MulticlassRows(problem, np.random.default_rng(0))


@pytest.mark.parametrize("direct", [0, 400])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_least_squares_is_that_of_stacked_rows(monkeypatch, direct, fit_intercept):
    monkeypatch.setattr("htsvm.solvers.multiclass.system.MOST_DIRECT", direct)
    monkeypatch.setattr("htsvm.solvers.multiclass.least_squares.ACCURACY", 1e-8)
    X, labels, _ = without_majority(m=80)
    weight = np.arange(80) % 3
    problem = stated(X, labels, C=0.3, weight=weight, fit_intercept=fit_intercept)
    W, b = rows_of(problem).least_squares()
    root = np.sqrt(0.3 * weight)[:, None]
    ones = root * float(fit_intercept)
    rows = np.vstack([np.hstack([root * X, ones]), np.eye(8, 9)])
    targets = np.vstack([root * (np.eye(6)[labels] - 1.0 / 6.0), np.zeros((8, 6))])
    exact = np.linalg.lstsq(rows, targets, rcond=None)[0]
    np.testing.assert_allclose(W, exact[:8].T, atol=1e-4)
    np.testing.assert_allclose(b, exact[8], atol=1e-4)


def test_the_scale_is_the_best_of_the_line():
    X, labels, _ = without_majority()
    problem = stated(X, labels)
    W, b = least_squares_start(rows_of(problem))
    value = problem.objective(W, problem.violations(problem.levels(W, b)))
    for scale in (0.5, 2.0):
        q = problem.violations(problem.levels(scale * W, scale * b))
        assert problem.objective(scale * W, q) >= value


@pytest.mark.parametrize("sweeps", [False, True])
@pytest.mark.parametrize("cap", [1.0, 1.5])
def test_classes_are_found_where_none_has_a_majority(monkeypatch, cap, sweeps):
    if sweeps:
        if not kernels.COMPILED:
            pytest.skip("sweeps need the compiled kernels")
        monkeypatch.setattr(multiclass_sweeps, "LARGE", 0)
        monkeypatch.setattr(multiclass_sweeps, "MOST_SPECTRUM_FEATURES", 0)
    X, labels, true = without_majority()
    convex, _ = solve_certified(stated(X, labels, cap=np.inf), MulticlassNewton())
    problem = stated(X, labels, cap=cap)
    at_convex = problem.violations(problem.levels(convex.coef, convex.intercept))
    rows = rows_of(problem)
    rows.start_at(convex.coef, convex.intercept)
    assert is_uninformative(rows)
    cold, certificate = solve_certified(problem, MulticlassNewton())
    warm, _ = solve_certified(
        problem, MulticlassNewton(), start=(convex.coef, convex.intercept, convex.multipliers)
    )
    assert certificate.certified
    for result in (cold, warm):
        assert result.objective < 0.95 * problem.objective(convex.coef, at_convex)
        guess = (X @ result.coef.T + result.intercept).argmax(axis=1)
        assert np.mean(guess == true) > 0.9


def test_weights_count_like_repetitions_and_sparse_like_dense():
    X, labels, _ = without_majority(m=300)
    weight = np.arange(300) % 3
    options = MulticlassNewton(tol=1e-5)
    plain = options.solve(stated(X, labels, weight=weight))
    many = options.solve(stated(np.repeat(X, weight, axis=0), np.repeat(labels, weight)))
    csr = options.solve(stated(sp.csr_matrix(X), labels, weight=weight))
    np.testing.assert_allclose(many.coef, plain.coef, atol=1e-5)
    np.testing.assert_allclose(csr.coef, plain.coef, atol=1e-5)


def test_no_start_where_going_down_would_be_in_vain():
    X, labels, _ = without_majority()
    assert least_squares_start(rows_of(stated(X, labels, cap=1.0))) is not None
    assert least_squares_start(rows_of(stated(X, labels, cap=20.0))) is None


def test_projection_ends_where_rounding_brings_entries_back():
    """Equal levels but for the last digits used to make the compiled kernel go round forever."""
    rng = np.random.default_rng(0)
    m, k = 20_000, 6
    V = 1.0 + rng.integers(-4, 5, size=(m, k)) * np.finfo(float).eps
    V -= rng.choice([0.0, 1.0 / 3.0, 0.1], size=(m, k))
    c = rng.choice([0.1, 1.0 / 3.0, 0.3, 0.012], size=m)
    out, counts = np.empty_like(V), np.empty(m, dtype=np.intc)
    zero = np.zeros_like(V)
    multiclass_kernels.active.simplex_step(V, zero, zero, 0.0, np.ones(m), c, out, counts)
    np.testing.assert_allclose(out.sum(axis=1), c, rtol=1e-12)
    np.testing.assert_array_equal(np.count_nonzero(out, axis=1), counts)
