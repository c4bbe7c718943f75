"""The ADMM: as printed against a naive transcription, and safeguarded against known optima."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from htsvm.linalg import Quadratic, as_operator
from htsvm.losses import Hinge, HybridTruncated, Loss
from htsvm.problems.binary import Problem
from htsvm.solvers.admm.run import ADMM, DEFAULT_SAFEGUARDS, SAFEGUARDS, split
from tests.oracles import golden


def make_problem(X, y, C=1.0, weight=None, loss=None, R=None, fit_intercept=True):
    m, n = X.shape
    weight = np.ones(m) if weight is None else np.asarray(weight, dtype=float)
    return Problem(
        as_operator(X),
        np.asarray(y, dtype=np.int8),
        C * weight,
        HybridTruncated() if loss is None else loss,
        Quadratic(R, n),
        C=C,
        fit_intercept=fit_intercept,
    )


def noisy_data(m=80, n=4, seed=0, flip=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    y = np.where(X @ rng.normal(size=n) + 0.3 > 0, 1, -1)
    y[rng.random(m) < flip] *= -1
    return X, y


def certificate(problem, result, nu):
    X, y, psi, w = problem.operator.X, problem.y, result.multipliers, result.coef
    q = 1.0 - y * (X @ w + result.intercept)
    gap = problem.loss.prox_distance(q, q - nu * psi, nu * problem.penalty)
    norm = np.linalg.norm
    return max(
        norm(problem.regularizer.dot(w) + X.T @ (y * psi)) / (1.0 + norm(w)),
        abs(y @ psi) / (1.0 + np.count_nonzero(psi)) if problem.fit_intercept else 0.0,
        norm(gap) / (1.0 + norm(q)),
    )


# -- as printed ---------------------------------------------------------------------------------


def printed_prox_and_set(p, psi, kappa):
    """Lemma 2 and the working set of the paper, one sample at a time."""
    q, working = p.copy(), np.zeros(len(p), dtype=bool)
    slope = 6.0 * kappa / 5.0
    for i, z in enumerate(p):
        if kappa < 5 / 18:
            edge = 2 / 3 + slope
            if 0 <= z <= slope:
                q[i] = 0.0
            elif slope < z < edge:
                q[i] = z - slope
            elif edge <= z < 1:
                q[i] = (5 * z - 18 * kappa) / (5 - 18 * kappa)
            working[i] = 0 <= z < 1
        elif kappa < 25 / 18:
            edge = 5 / 6 + 3 * kappa / 5
            if 0 <= z <= slope:
                q[i] = 0.0
            elif slope < z < edge:
                q[i] = z - slope
            working[i] = 0 <= z < edge
        else:
            edge = np.sqrt(2 * kappa)
            if 0 <= z < edge:
                q[i] = 0.0
            working[i] = 0 <= z < edge
    return q, working


def printed_iterates(X, y, C, xi, tau, n_iter):
    m, n = X.shape
    N = y[:, None] * X
    w, b, psi = np.full(n, 0.01), 0.0, np.zeros(m)
    for _ in range(n_iter):
        p = 1.0 - N @ w - b * y - psi / xi
        q, F = printed_prox_and_set(p, psi, C / xi)
        chi = -(q + b * y - 1.0 + psi / xi)
        w = np.linalg.solve(np.eye(n) + xi * N[F].T @ N[F], xi * N[F].T @ chi[F])
        b = float(y @ (-N @ w + 1.0 - q - psi / xi)) / m
        psi = np.where(F, psi + tau * xi * (q - 1.0 + N @ w + b * y), 0.0)
        yield w, b, psi


@pytest.mark.parametrize("kappa", [0.1, 0.27, 0.6, 1.3, 2.0, 8.0])
@pytest.mark.parametrize(("m", "n"), [(60, 3), (25, 40)])
def test_printed_iterates_are_the_papers(kappa, m, n):
    X, y = noisy_data(m, n, seed=3)
    C = 0.8
    xi = C / kappa
    naive = list(printed_iterates(X, y, C, xi, 1.0, 12))
    for k in (1, 2, 3, 5, 8, 12):
        solver = ADMM(penalty=xi, safeguards=(), max_iter=k, tol=1e-30)
        result = solver.solve(make_problem(X, y, C))
        w, b, psi = naive[k - 1]
        np.testing.assert_allclose(result.coef, w, atol=1e-10)
        np.testing.assert_allclose(result.intercept, b, atol=1e-10)
        np.testing.assert_allclose(result.multipliers, psi, atol=1e-10)
        assert not result.converged


def test_printed_residuals():
    X, y = noisy_data(60, 3, seed=5)
    C, xi = 0.5, 4.0
    result = ADMM(penalty=xi, safeguards=(), max_iter=5, tol=1e-30).solve(make_problem(X, y, C))
    N = y[:, None] * X
    (w4, b4, psi4), (w, b, psi) = list(printed_iterates(X, y, C, xi, 1.0, 5))[-2:]
    q, _ = printed_prox_and_set(1.0 - N @ w4 - b4 * y - psi4 / xi, psi4, C / xi)
    after, F = printed_prox_and_set(1.0 - N @ w - b * y - psi / xi, psi, C / xi)
    norm = np.linalg.norm
    last = {column: values[-1] for column, values in result.history.items()}
    assert last["working_set"] == F.sum()
    expected = {
        "stationarity": norm(w + N[F].T @ psi[F]) / (1 + norm(w)),
        "balance": abs(y[F] @ psi[F]) / (1 + F.sum()),
        "feasibility": norm(q - 1 + N @ w + b * y) / np.sqrt(len(y)),
        "prox_residual": norm(q - after) / (1 + norm(q)),
    }
    for name, value in expected.items():
        assert last[name] == pytest.approx(value, abs=1e-10)
    assert last["residual"] == pytest.approx(max(expected.values()), abs=1e-10)
    assert result.residual == last["residual"]


def test_printed_stops_at_once_at_the_origin():
    X, y = noisy_data()
    start = (np.zeros(X.shape[1]), 0.0, np.zeros(len(y)))
    result = ADMM(penalty=5.0, safeguards=()).solve(make_problem(X, y, 1.0), start=start)
    assert result.converged
    assert result.n_iter == 1
    assert result.residual == 0.0
    assert not result.coef.any()
    assert any("Trivial" in note for note in result.notes)


def test_ties_keep_the_branch_of_the_multiplier():
    # For C / xi = 2 the prox jumps from 0 to z at z = 2 exactly.
    violations = np.array([2.0, 1.5, 0.0])
    multipliers = np.array([0.0, -0.5, 0.0])
    q, working = split(HybridTruncated(), 2.0, violations, multipliers, 1.0)
    assert q.tolist() == [2.0, 0.0, 0.0]
    assert working.tolist() == [False, True, True]


# -- the same problem in other clothes ----------------------------------------------------------


@pytest.mark.parametrize("safeguards", [(), DEFAULT_SAFEGUARDS])
@pytest.mark.parametrize("n", [3, 90])
def test_weights_are_repetitions(safeguards, n):
    X, y = noisy_data(30, n, seed=2)
    weight = np.random.default_rng(0).integers(0, 4, size=len(y))
    solver = ADMM(penalty=1.0, safeguards=safeguards, max_iter=30, tol=1e-4)
    weighted = solver.solve(make_problem(X, y, 0.5, weight))
    repeated = solver.solve(make_problem(X.repeat(weight, axis=0), y.repeat(weight), 0.5))
    np.testing.assert_allclose(weighted.coef, repeated.coef, atol=1e-8)
    assert weighted.intercept == pytest.approx(repeated.intercept, abs=1e-8)
    assert weighted.n_iter == repeated.n_iter
    assert not weighted.multipliers[weight == 0].any()
    ends = np.cumsum(weight)[weight > 0] - 1
    np.testing.assert_allclose(
        weighted.multipliers[weight > 0],
        repeated.multipliers[ends] * weight[weight > 0],
        atol=1e-8,
    )


# -- safeguarded --------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [0.1, 1.0, 10.0])
def test_golden_value(penalty):
    problem = make_problem(golden.view_a(), golden.labels(), 1.0)
    result = ADMM(penalty=penalty, tol=1e-4).solve(problem)
    assert result.converged
    assert result.objective <= golden.HYBRID_TRUNCATED_OBJECTIVE + 1e-3


def test_golden_value_of_the_hinge():
    problem = make_problem(golden.view_a(), golden.labels(), 1.0, loss=Hinge())
    result = ADMM(tol=1e-5).solve(problem)
    assert result.converged
    assert result.objective == pytest.approx(golden.HINGE_OBJECTIVE, rel=1e-4)


def test_converges_to_certified_points_over_a_grid():
    good = []
    for seed in range(2):
        X, y = noisy_data(150, 5, seed=seed)
        for C in (0.25, 4.0):
            for xi in (0.1, 1.0, 10.0):
                problem = make_problem(X, y, C)
                result = ADMM(penalty=xi).solve(problem)
                nu = 1.0 / result.history["penalty"][-1]
                good.append(
                    result.converged
                    and certificate(problem, result, nu) < 1e-3
                    and result.objective < problem.trivial()[0]
                )
    assert np.mean(good) >= 0.9


@pytest.mark.parametrize("name", list(SAFEGUARDS))
def test_every_safeguard_runs_alone_and_can_be_left_out(name):
    X, y = noisy_data(60, 3, seed=10)
    problem = make_problem(X, y)
    alone = ADMM(safeguards=(name,), max_iter=60).solve(problem)
    rest = tuple(other for other in DEFAULT_SAFEGUARDS if other != name)
    without = ADMM(safeguards=rest, max_iter=60).solve(problem)
    for result in (alone, without):
        assert np.all(np.isfinite(result.coef))
        assert np.isfinite(result.objective)


def test_keep_best_and_notes_when_not_converged():
    X, y = noisy_data(100, 4, seed=11)
    result = ADMM(max_iter=7).solve(make_problem(X, y))
    assert not result.converged
    assert result.objective == pytest.approx(min(result.history["objective"]))
    assert any("Not converged after 7" in note for note in result.notes)


def test_history_has_a_row_per_iteration_and_reaches_the_callback():
    X, y = noisy_data(100, 4, seed=12)
    rows = []
    result = ADMM(callback=rows.append).solve(make_problem(X, y))
    columns = {len(values) for values in result.history.values()}
    assert columns == {len(rows)}
    assert result.history["iteration"][-1] == result.n_iter
    assert set(result.history["phase"]) <= {"convex", "main", "finish"}
    assert rows[-1]["objective"] == pytest.approx(result.objective)
    assert result.passes > 0
    assert np.isfinite(result.convex_objective)


def test_trivial_answers_are_named():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.ones(40, dtype=int)
    y[:2] = -1
    problem = make_problem(X, y, C=1e-3)
    result = ADMM().solve(problem)
    assert result.objective <= problem.trivial()[0] * (1 + 1e-9)
    if not result.coef.any():
        assert any("Trivial" in note for note in result.notes)


def test_without_intercept():
    X, y = noisy_data(100, 4, seed=13)
    problem = make_problem(X, y, fit_intercept=False)
    result = ADMM().solve(problem)
    assert result.converged
    assert result.intercept == 0.0
    assert certificate(problem, result, 1.0 / result.history["penalty"][-1]) < 1e-3


# -- errors -------------------------------------------------------------------------------------


def test_unknown_safeguard():
    with pytest.raises(ValueError, match=r"unknown names \['seatbelt'\]; known are .*convex-start"):
        ADMM(safeguards=("seatbelt",))


@pytest.mark.parametrize(("name", "value"), [("penalty", 0.0), ("dual_step", 1.7)])
def test_bad_options(name, value):
    with pytest.raises(ValueError, match=name):
        ADMM(**{name: value})


@dataclass(frozen=True)
class Squared(Loss):
    """A loss without abilities."""

    def value(self, s):
        return np.square(s)

    def subdifferential(self, s):
        return 2 * np.asarray(s), 2 * np.asarray(s)


def test_loss_without_prox():
    X, y = noisy_data()
    with pytest.raises(TypeError, match=r"ADMM needs a loss with 'prox'.*HybridTruncated"):
        ADMM().solve(make_problem(X, y, loss=Squared()))


@dataclass(frozen=True)
class ZeroOne(Loss):
    """The 0/1 loss: a prox, but no profile and no weak convexity."""

    abilities = frozenset({"prox"})

    @property
    def weak_convexity(self):
        return float("inf")

    def value(self, s):
        return np.where(np.asarray(s) > 0.0, 1.0, 0.0)

    def subdifferential(self, s):
        s = np.asarray(s, dtype=float)
        return np.zeros_like(s), np.where(s == 0.0, np.inf, 0.0)

    def prox_bounds(self, z, step):
        jump = np.sqrt(2.0 * step)
        low = np.where((z > 0.0) & (z <= jump), 0.0, z)
        high = np.where((z > 0.0) & (z < jump), 0.0, z)
        return low, high


def test_zero_one_loss_uses_the_same_engine():
    X, y = noisy_data(200, 3, seed=15, flip=0.0)
    problem = make_problem(X, y, loss=ZeroOne())
    result = ADMM().solve(problem)
    assert result.objective < problem.trivial()[0]
    assert any("no concave profile" in note for note in result.notes)


def test_interrupt_passes_through_and_leaves_nothing_broken():
    X, y = noisy_data()
    problem = make_problem(X, y)
    before = ADMM().solve(problem)

    def interrupt(row):
        if row["iteration"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ADMM(callback=interrupt).solve(problem)
    after = ADMM().solve(problem)
    np.testing.assert_array_equal(before.coef, after.coef)


@pytest.mark.slow
@pytest.mark.parametrize("C", [0.0625, 1.0, 16.0])
def test_a1a(C):
    from htsvm_paper.datasets import load

    data = load("a1a")
    problem = make_problem(data.X, data.y, C)
    result = ADMM().solve(problem)
    assert result.converged
    assert certificate(problem, result, 1.0 / result.history["penalty"][-1]) < 1e-3
    assert result.objective < problem.trivial()[0]
