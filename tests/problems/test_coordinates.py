"""The change of variables before a problem is solved, and the way back."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from htsvm import HTSVC
from htsvm.linalg import Quadratic, as_operator
from htsvm.linalg.scaled import Scaled
from htsvm.losses import Hinge, HybridTruncated
from htsvm.problems import MulticlassProblem, Problem
from htsvm.problems.coordinates import as_stated, in_coordinates
from htsvm.solvers import Newton, SolverResult, certify_result, solve_certified


def problem(m=40, n=6, R=None, fit_intercept=True, X=None, loss=None, seed=0):
    rng = np.random.default_rng(seed)
    if X is None:
        X = rng.normal(size=(m, n)) * 10.0 ** rng.uniform(-3, 3, n) + 10.0 ** rng.uniform(0, 4, n)
    y = rng.choice([-1, 1], size=X.shape[0]).astype(np.int8)
    penalty = rng.integers(0, 3, size=X.shape[0]).astype(float)
    R = Quadratic(R, X.shape[1])
    loss = loss or HybridTruncated()
    return Problem(as_operator(X), y, penalty, loss, R, fit_intercept=fit_intercept)


def of_three_classes(given):
    labels = np.arange(given.n_samples) % 3
    return MulticlassProblem(
        given.operator, labels, 3, given.penalty, given.loss, given.regularizer,
        fit_intercept=given.fit_intercept,
    )  # fmt: skip


def matrix(n, seed=1):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T / n + np.eye(n)


CASES = {
    "columns": problem(),
    "diagonal": problem(R=np.linspace(0.5, 2.0, 6)),
    "no intercept": problem(fit_intercept=False),
    "float32": problem(X=np.random.default_rng(3).normal(size=(40, 6)).astype(np.float32) + 5.0),
    "sparse": problem(X=sp.random(40, 6, density=0.6, format="csr", random_state=0)),
    "more columns": problem(m=12, n=30),
    "more columns, diagonal": problem(m=12, n=30, R=np.linspace(0.5, 2.0, 30)),
    "whitened": problem(m=12, n=10, R=matrix(10)),
    "matrix": problem(m=40, n=6, R=matrix(6)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_objective_is_the_same(name, classes):
    """At any point of the new coordinates, by products written out."""
    given = CASES[name] if classes == 2 else of_three_classes(CASES[name])
    inside = in_coordinates(given)
    assert (inside.problem is given) == (name == "no intercept" and classes == 3)
    rng = np.random.default_rng(5)
    k, n = (1, 3)[classes == 3], inside.problem.n_features
    u, b = rng.normal(size=(k, n)) / np.sqrt(n), rng.normal(size=k)
    u, b = (u[0], float(b[0])) if classes == 2 else (u, b)
    if not given.fit_intercept:
        b = 0.0 * b
    psi = rng.normal(size=given.n_samples)
    result = SolverResult(u, b, psi, objective=0.0, n_iter=1, start="")
    left = inside.leave(result)
    here = inside.problem.objective_at(u, b)
    assert given.objective_at(left.coef, left.intercept) == pytest.approx(here, rel=1e-5)
    assert left.multipliers is psi
    if not given.fit_intercept:
        assert np.all(left.intercept == 0.0)
    back = inside.enter((left.coef, left.intercept, psi))
    np.testing.assert_allclose(back[0], u, atol=1e-6)
    np.testing.assert_allclose(back[1], b, atol=1e-5)
    assert inside.enter(None) is None


@pytest.mark.parametrize("name", CASES)
def test_solutions_are_certified_in_the_given_coordinates(name):
    given = replace(CASES[name], loss=Hinge())
    result, certificate = solve_certified(given, Newton(tol=1e-6))
    assert certificate.certified
    plain = Newton(tol=1e-6).solve(as_stated(given))
    assert result.objective == pytest.approx(plain.objective, rel=1e-4)
    assert certify_result(given, result, 1e-3).certified


def test_columns_have_mean_zero_and_spread_one():
    given = problem()
    inside = in_coordinates(given).problem
    Z = np.repeat(inside.operator.block(slice(None)), given.penalty.astype(int), axis=0)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(Z.std(axis=0), 1.0, rtol=1e-9)


def test_nothing_is_centred_without_an_intercept():
    given = problem(fit_intercept=False)
    inside = in_coordinates(given)
    assert np.all(inside.mean == 0.0)
    ratio = inside.problem.operator.block(slice(None)) / given.operator.X
    np.testing.assert_allclose(ratio, np.tile(ratio[0], (40, 1)), rtol=1e-12)


def test_much_data_is_not_copied():
    given = problem()
    inside = in_coordinates(given, copied=0)
    operator = inside.problem.operator
    assert isinstance(operator, Scaled)
    assert np.shares_memory(operator.operator.X, given.operator.X)
    found = inside.leave(Newton().solve(inside.problem))
    assert found.objective == pytest.approx(Newton().solve(given).objective, rel=1e-3)


def test_several_classes_are_centred_alone():
    inside = in_coordinates(of_three_classes(problem())).problem
    assert inside.regularizer.values.ndim == 0


def test_sparse_columns_are_centred_where_the_mean_exceeds_the_spread():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, 4)) < [0.05, 0.3, 0.8, 1.0], 1.0, 0.0)
    inside = in_coordinates(problem(X=sp.csr_matrix(X)))
    np.testing.assert_array_equal(inside.mean > 0.0, [False, False, True, True])


def test_constant_columns_are_left_alone():
    X = np.column_stack([np.full(40, 1e12 / 3.0), np.random.default_rng(0).normal(size=40)])
    inside = in_coordinates(problem(X=X)).problem
    assert np.abs(inside.operator.block(slice(None))[:, 0]).max() <= 1e-3
    assert np.all(np.isfinite(inside.regularizer.values))


def test_the_space_of_the_rows():
    given = problem(m=12, n=30)
    inside = in_coordinates(given)
    counted = np.flatnonzero(given.penalty)
    assert inside.problem.n_features == len(counted)
    Z = given.operator.X[counted] - inside.mean
    U = inside.problem.operator.block(slice(None))[counted]
    np.testing.assert_allclose(U @ U.T, Z @ Z.T, rtol=1e-9, atol=1e-6)
    # What is at right angles to all rows is lost on the way.
    w = np.random.default_rng(0).normal(size=30)
    u, b, _ = inside.enter((w, 0.0, None))
    np.testing.assert_allclose(U @ u + b, given.operator.X[counted] @ w, rtol=1e-8)


def test_neither_order_nor_repetitions_change_the_space_of_the_rows():
    X = np.random.default_rng(0).normal(size=(8, 20))
    order = np.array([3, 1, 0, 2, 5, 4, 7, 6, 3, 3])
    one, other = (
        in_coordinates(
            Problem(as_operator(rows), np.ones(len(rows), np.int8), weights, Hinge(),
                    Quadratic(None, 20))
        ).problem.operator.block(slice(None))
        for rows, weights in ((X, np.array([1, 1, 1, 3.0, 1, 1, 1, 1])), (X[order], np.ones(10)))
    )  # fmt: skip
    np.testing.assert_allclose(other, one[order], atol=1e-12)


def test_a_matrix_that_cannot_be_factorised_or_does_not_pay_stays():
    for given in (problem(m=12, n=10, R=-np.eye(10)), problem(m=40, n=6, R=matrix(6))):
        assert in_coordinates(given).problem.regularizer.is_matrix


def test_problems_are_changed_once():
    inside = in_coordinates(problem()).problem
    assert in_coordinates(inside).problem is inside
    stated = as_stated(problem())
    assert in_coordinates(stated).problem is stated
    weightless = replace(problem(), penalty=np.zeros(40))
    assert in_coordinates(weightless).problem is weightless


def test_shifts_and_scales_do_not_lead_astray():
    """Offsets alone ended 8 % above the best point known, and scales with offsets 6 %."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = (X @ rng.normal(size=6) > 0.0) ^ (rng.random(300) < 0.2)
    scale = 10.0 ** rng.uniform(-6, 6, 6)
    signs = np.where(y, 1, -1).astype(np.int8)
    reached = []
    for rows, R in ((X, None), (X * scale + 1e5 * scale, scale**2)):
        given = Problem(
            as_operator(rows), signs, np.full(300, 1.0), HybridTruncated(), Quadratic(R, 6)
        )
        _, certificate = solve_certified(given, Newton())
        assert certificate.certified
        reached.append(certificate.objective)
    assert reached[1] == pytest.approx(reached[0], rel=1e-3)
    plain, moved = (HTSVC().fit(rows, y) for rows in (X, X + 1e6))
    assert moved.certificate_[0].certified
    assert moved.objective_[0] == pytest.approx(plain.objective_[0], rel=1e-3)
