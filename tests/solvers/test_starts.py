"""Starts: each against a formula written down again, and what the search does with odd data."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.linear_model import Ridge

from htsvm import HTSVC
from htsvm.exceptions import IgnoredClassWarning
from htsvm.linalg import Quadratic, as_operator
from htsvm.losses import Hinge, HybridTruncated, Ramp
from htsvm.losses.rounded import Sigmoid, rounded
from htsvm.solvers import Newton, Problem, rows
from htsvm.solvers.newton import NewtonSteps
from htsvm.solvers.search import NAMES, Search
from htsvm.solvers.system import RidgeSystem


def noisy(seed=0, m=120, n=4, flipped=0.25):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=m) > 0.0, 1, -1)
    return X, np.where(rng.random(m) < flipped, -y, y)


def stated(X, y, C=1.0, loss=None, weight=None, R=None, fit_intercept=True):
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    return Problem(
        operator=as_operator(X), y=np.asarray(y, dtype=np.int8), penalty=C * weight,
        loss=loss or HybridTruncated(), regularizer=Quadratic(R, X.shape[1]), C=C,
        fit_intercept=fit_intercept,
    )  # fmt: skip


# --------------------------------------------------------------------------- smooth losses

STAGES = [
    Sigmoid(2.0, 0.7, 0.3), rounded(HybridTruncated(cap=2.0), 0.3), rounded(Hinge(), 0.15),
    rounded(HybridTruncated(cap=np.inf), 0.3), rounded(Ramp(1.5), 0.1),
]  # fmt: skip


@pytest.mark.parametrize("stage", STAGES)
def test_slopes_and_curvatures_are_derivatives(stage):
    q, step = np.linspace(-3.0, 5.0, 401) + 1e-4, 1e-6
    shift = None if isinstance(stage, Sigmoid) else np.full(401, 0.05)
    low, high = stage.value_slope(q - step, shift), stage.value_slope(q + step, shift)
    np.testing.assert_allclose(
        stage.value_slope(q, shift)[1], (high[0] - low[0]) / (2.0 * step), atol=1e-4
    )
    up, down = stage.curvature(q, shift)
    assert np.all(up >= 0.0)
    assert np.all(down >= 0.0)
    numerical = (high[1] - low[1]) / (2.0 * step)
    assert np.mean(np.abs(up - down - numerical) < 1e-3) > 0.98


@pytest.mark.parametrize("cap", [0.5, 1.0, 4.0, np.inf])
@pytest.mark.parametrize("knee", [0.1, 2 / 3])
def test_a_narrow_width_is_the_loss_itself(cap, knee):
    loss = HybridTruncated(knee=knee, cap=cap)
    q = np.linspace(-1.0, 6.0, 1001)
    value, slope = rounded(loss, 1e-9).value_slope(q)
    np.testing.assert_allclose(value, loss.value(q), atol=1e-8)
    away = np.abs(q) > 1e-6
    np.testing.assert_allclose(slope[away], loss.subdifferential(q)[0][away], atol=1e-8)


# ------------------------------------------------------------------------------- descents


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("R", [None, "matrix"])
def test_compiled_steps_are_the_reference(stage, sparse, intercept, R):
    if rows.compiled is None:
        pytest.skip("nothing was compiled")
    X, y = noisy(1)
    R = None if R is None else np.diag([1.0, 2.0, 3.0, 4.0]) + 0.1
    weight = np.arange(len(y)) % 3
    X = sp.csr_matrix(X) if sparse else X
    problem = stated(X, y, weight=weight, R=R, fit_intercept=intercept)
    linear = np.array([0.3, -0.2, 0.1, 0.0, 0.2 * intercept])
    options = {
        "base": 2.0, "linear": linear, "rest": 1.0, "tol": 1e-9, "gain": 0.0, "reach": np.inf,
        "bending": True, "shift": np.linspace(-0.05, 0.05, len(y)),
    }  # fmt: skip
    ours, plain = rows._steps_on(problem), NewtonSteps(problem)
    assert type(ours) is not type(plain)
    for most in (1, 5):
        a, b = linear.copy(), linear.copy()
        assert ours.run(a, stage, most=most, **options) == plain.run(b, stage, most=most, **options)
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)
        assert ours.value == pytest.approx(plain.value, rel=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_compiled_survey_is_the_reference(monkeypatch, sparse):
    X, y = noisy(3)
    descent = rows.Descent(stated(sp.csr_matrix(X) if sparse else X, y))
    descent.reach, z = 0.2, np.array([0.4, 0.4, 0.4, 0.4, -0.1])
    found = descent._survey(z, STAGES[1], None)
    monkeypatch.setattr(rows, "compiled", None)
    for one, other in zip(found, descent._survey(z, STAGES[1], None), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("intercept", [False, True])
def test_a_descent_ends_where_scipy_does(intercept):
    X, y = noisy(2)
    problem, stage = stated(X, y, fit_intercept=intercept), STAGES[3]

    def function(z):
        values, slopes = stage.value_slope(1.0 - y * (X @ z[:-1] + z[-1]))
        gradient = -(problem.penalty * slopes * y) @ np.column_stack(
            [X, intercept * np.ones(len(y))]
        )
        own = np.append(z[:-1], 0.0)
        return problem.penalty @ values + 0.5 * own @ own, gradient + own

    wanted = minimize(function, np.zeros(5), jac=True, tol=1e-12)
    z = rows.Descent(problem).run(np.zeros(5), stage, gain=0.0, most=200, tol=1e-10)
    assert function(z)[0] == pytest.approx(wanted.fun, rel=1e-8)
    np.testing.assert_allclose(function(z)[1], 0.0, atol=1e-6)


def test_a_descent_on_some_rows_is_one_on_all(monkeypatch):
    X, y = noisy(5, m=6000, n=6)
    problem = stated(X, y)
    start, options = np.full(7, 0.3), {"gain": 0.0, "most": 60, "tol": 1e-8}
    some = rows.Descent(problem).run(start, STAGES[1], **options)
    monkeypatch.setattr(rows, "COPIED", np.inf)
    whole = rows.Descent(problem).run(start, STAGES[1], **options)
    np.testing.assert_allclose(some, whole, rtol=1e-5, atol=1e-6)


# ------------------------------------------------------------------------------ the starts


def test_least_squares_is_ridge():
    X, y = noisy(4, m=200)
    weight = np.arange(200) % 4
    problem = stated(X, y, C=0.7, weight=weight)
    z = RidgeSystem(problem).solve(problem.penalty, np.ones(200), with_intercept=True)
    ridge = Ridge(alpha=1.0 / 0.7).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(z, np.append(ridge.coef_, ridge.intercept_), rtol=1e-6)


def test_pushes_depend_on_row_and_label_alone():
    """The weight of a sample counts like copies, and the order of rows does not matter."""
    X, y = noisy(8, m=40)
    weight = 1.0 + np.arange(40) % 2
    repeated = np.repeat(np.arange(40), weight.astype(int))
    ends = []
    for problem in (stated(X, y, weight=weight), stated(X[repeated][::-1], y[repeated][::-1])):
        run = Search(problem, Newton())
        run.add("least_squares", run.settled(run.least_squares()))
        ends.append(run.pushed())
    np.testing.assert_allclose(*ends, rtol=1e-6, atol=1e-8)


# ---------------------------------------------------------------------------- the choice


def test_better_than_the_convex_way_and_never_above_what_is_known():
    lower = 0
    for seed in range(6):
        X, y = noisy(10 + seed, m=150, n=6, flipped=0.35)
        problem = stated(X, y, C=4.0)
        ours = Newton(max_iter=1000).solve(problem)
        own = Newton(max_iter=1000, starts=("convex",)).solve(problem)
        lower += ours.objective < own.objective * (1.0 - 1e-3)
        assert ours.objective <= 1.001 * own.objective
        assert ours.objective <= problem.trivial()[0]
        assert ours.objective <= ours.convex_objective
        assert ours.objective <= 1.001 * min(ours.starts.values())
        assert set(ours.starts) <= {*NAMES, "constant"}
        assert ours.start in {*NAMES, "constant"}
    assert lower >= 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"starts": ["hot"]}, r"starts names \['hot'\].*'least_squares'"),
        ({"starts": []}, "starts is empty"),
        ({"starts": ["annealed"], "solver": "admm"}, "needs solver='newton'"),
    ],
)
def test_bad_starts(parameters, message):
    X, y = noisy(11)
    with pytest.raises(ValueError, match=message):
        HTSVC(**parameters).fit(X, y)


# ------------------------------------------------------------------------------- odd data


def odd(kind):
    X, y = noisy(12, m=60)
    weight = None
    if kind == "constant columns":
        X[:, 1], X[:, 2] = 0.0, 7.0
    elif kind == "wide":
        X = np.random.default_rng(0).normal(size=(60, 150))
    elif kind == "one sample per class":
        X, y = X[:2], np.array([1, -1])
    elif kind == "zero weights":
        weight = np.arange(60) % 2
    elif kind == "all beyond the cap":
        X, y = np.ones((60, 4)), np.arange(60) % 2 * 2 - 1
    elif kind == "huge numbers":
        X = 1e150 * X
    return X, y, weight


KINDS = [
    "constant columns", "wide", "one sample per class", "zero weights", "all beyond the cap",
]  # fmt: skip


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_odd_data(kind, sparse):
    X, y, weight = odd(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IgnoredClassWarning)
        clf = HTSVC().fit(sp.csr_matrix(X) if sparse else X, y, sample_weight=weight)
    assert np.all(np.isfinite(clf.coef_))
    assert clf.certificate_[0].certified
    assert clf.objective_[0] <= clf.certificate_[0].trivial_objective * (1.0 + 1e-9)


def test_zero_weights_are_as_if_absent():
    X, y, weight = odd("zero weights")
    kept = weight > 0
    a = HTSVC().fit(X, y, sample_weight=weight)
    b = HTSVC().fit(X[kept], y[kept])
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-6, atol=1e-8)


def test_interrupt_during_a_start_leaves_the_old_fit(monkeypatch):
    X, y = noisy(15)
    clf = HTSVC().fit(X, y)
    before = clf.coef_.copy()

    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "pushed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        clf.set_params(C=2.0).fit(X, y)
    np.testing.assert_array_equal(clf.coef_, before)
    monkeypatch.undo()
    clf.fit(X, y)
    assert clf.certificate_[0].certified
