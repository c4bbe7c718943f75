"""Starts: each against a formula written down again, and what the search does with odd data."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.linear_model import Ridge

from htsvm import HTSVC
from htsvm.exceptions import IgnoredClassWarning
from htsvm.linalg import Quadratic, as_operator, kernels
from htsvm.losses import HybridTruncated, Ramp
from htsvm.problems.coordinates import in_coordinates
from htsvm.solvers import Newton, Problem
from htsvm.solvers.starts import ALL, NAMES, BinaryTerrain, search
from htsvm.solvers.starts import choice as choice_module
from htsvm.solvers.starts import portfolio as portfolio_module
from htsvm.solvers.starts.terrain import Rounded, Sigmoid, Squares


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
    Squares(), Sigmoid(2.0, 0.7, 0.3), Rounded(HybridTruncated(cap=2.0), 0.3),
    Rounded(HybridTruncated(cap=np.inf), 0.3),
]  # fmt: skip


@pytest.mark.parametrize("stage", STAGES)
def test_slopes_are_derivatives(stage):
    q = np.linspace(-3.0, 5.0, 401) + 1e-4
    value, slope = stage.value_and_slope(q)
    step = 1e-6
    numerical = (stage.value_and_slope(q + step)[0] - stage.value_and_slope(q - step)[0]) / 2e-6
    np.testing.assert_allclose(slope, numerical, atol=1e-4)
    assert np.all(np.diff(value[q > 0.0]) >= 0.0)


# ------------------------------------------------------------------------------- descents


@pytest.mark.parametrize("stage", [*STAGES, Rounded(Ramp(1.5), 0.2)])
@pytest.mark.parametrize("sparse", [False, True])
def test_compiled_search_is_the_reference(stage, sparse):
    if not kernels.COMPILED:
        pytest.skip("nothing was compiled")
    X, y = noisy(1)
    R = np.diag([1.0, 2.0, 3.0, 4.0]) + 0.1
    weight = np.arange(len(y)) % 3
    problem = stated(sp.csr_matrix(X) if sparse else X, y, weight=weight, R=R)
    terrain, plain = BinaryTerrain(problem), BinaryTerrain(problem)
    plain._kernel = None
    z = np.array([0.3, -0.2, 0.1, 0.0, 0.2])
    for steps in (1, 5):
        a = terrain.descend(z, stage, steps, 0.0)
        b = plain.descend(z, stage, steps, 0.0)
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kind", ["binary", "no intercept"])
def test_descent_ends_where_scipy_does(kind):
    X, y = noisy(2)
    terrain = BinaryTerrain(stated(X, y, fit_intercept=kind == "binary"))
    terrain.stage = stage = Squares()

    def function(z):
        value, slopes = terrain.value_and_slopes(terrain.image(z))
        return value + 0.5 * z @ terrain.smooth(z), terrain.smooth(z) + terrain.pull(slopes)

    wanted = minimize(function, terrain.zero(), jac=True, tol=1e-10)
    z = terrain.descend(terrain.zero(), stage, 200, 0.0)
    assert function(z)[0] == pytest.approx(wanted.fun, rel=1e-8)
    np.testing.assert_allclose(function(z)[1], 0.0, atol=1e-4)


# ------------------------------------------------------------------------------ the starts


@pytest.mark.parametrize("balanced", [False, True])
def test_least_squares_is_ridge(balanced):
    X, y = noisy(4, m=200)
    y[:150] = 1
    weight = np.arange(200) % 4
    problem = stated(X, y, C=0.7, weight=weight)
    z = BinaryTerrain(problem).least_squares(200, balanced=balanced)
    if balanced:
        sides = np.array([weight[y == -1].sum(), weight[y == 1].sum()])
        weight = weight * np.where(y == 1, *(0.5 * weight.sum() / sides[[1, 0]]))
    ridge = Ridge(alpha=1.0 / 0.7).fit(X, y, sample_weight=weight)
    wanted = np.append(ridge.coef_, ridge.intercept_)
    assert np.linalg.norm(z - wanted) <= 0.05 * np.linalg.norm(wanted)


USUAL = ALL


def test_waves_depend_on_row_and_label_alone():
    X, y = noisy(8, m=40)
    weight = 1.0 + np.arange(40) % 2
    terrain = BinaryTerrain(stated(X, y, weight=weight))
    repeated = np.repeat(np.arange(40), weight.astype(int))
    other = BinaryTerrain(stated(X[repeated][::-1], y[repeated][::-1]))
    a = terrain.wave(np.random.default_rng(3))
    b = other.wave(np.random.default_rng(3))
    np.testing.assert_allclose(b[::-1], a[repeated], rtol=1e-9)
    assert a.min() >= 0.0
    assert a.max() <= 2.0
    assert a.std() > 0.3


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
        assert set(ours.starts) == {start.name for start in USUAL}
        assert ours.start in {*NAMES, "constant"}
    assert lower >= 2


def test_little_data_end_no_higher_than_the_exact_convex_solution(monkeypatch):
    X, y = noisy(m=60, flipped=0.3)
    problem = in_coordinates(stated(X, y, C=10.0)).problem
    convex = Newton(starts=("convex",)).solve(replace(problem, loss=HybridTruncated(cap=np.inf)))
    reached = problem.objective_at(convex.coef, convex.intercept)
    poor = replace(convex, objective=2.0 * reached, start="convex")
    monkeypatch.setattr(choice_module, "best_start", lambda *rest: poor)
    result = Newton().solve(problem)
    assert result.objective <= 1.001 * reached
    assert result.start == "convex"


def test_points_of_a_sample_get_better_on_all_rows():
    X, y = noisy(m=8000, n=6, flipped=0.2)
    problem = stated(X, y, C=1.0)
    part = replace(problem.take(np.arange(500)), penalty=np.full(500, 16.0), C=16.0)
    found = search(BinaryTerrain(part), ALL, np.random.default_rng(0))
    assert set(found.points) == {name for name, value in found.reached.items() if value == value}
    whole = BinaryTerrain(part).on(problem)
    if kernels.COMPILED:
        assert whole is not None
        for z in found.points.values():
            assert whole.objective(whole.settle(z, 10)) <= whole.objective(z) * (1.0 + 1e-3)


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

    def interrupted(self, search):
        raise KeyboardInterrupt

    monkeypatch.setattr(portfolio_module.Pushed, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        clf.set_params(C=2.0).fit(X, y)
    np.testing.assert_array_equal(clf.coef_, before)
    monkeypatch.undo()
    clf.fit(X, y)
    assert clf.certificate_[0].certified
