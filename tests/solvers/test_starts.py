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
from htsvm.baselines import RampSVC, ZeroOneSVC
from htsvm.exceptions import IgnoredClassWarning
from htsvm.linalg import Quadratic, as_operator, kernels
from htsvm.losses import HybridTruncated, Ramp
from htsvm.problems.coordinates import in_coordinates
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers import Newton, Problem
from htsvm.solvers.multiclass.solver import MulticlassNewton
from htsvm.solvers.newton import run as newton_run
from htsvm.solvers.starts import ALL, NAMES, BinaryTerrain, MulticlassTerrain, chosen, search
from htsvm.solvers.starts import choice as choice_module
from htsvm.solvers.starts import descents as descents_module
from htsvm.solvers.starts import portfolio as portfolio_module
from htsvm.solvers.starts import searching as search_module
from htsvm.solvers.starts.quasi_newton import minimise
from htsvm.solvers.starts.smoothing import Rounded, Sigmoid, Squares


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


def several(seed=0, m=90, k=3):
    rng = np.random.default_rng(seed)
    labels = np.arange(m) % k
    X = rng.normal(size=(m, 4)) + 2.0 * np.eye(k, 4)[labels]
    wrong = rng.random(m) < 0.2
    labels = np.where(wrong, rng.integers(k, size=m), labels)
    return MulticlassProblem(
        operator=as_operator(X), labels=labels.astype(np.intp), n_classes=k, penalty=np.ones(m),
        loss=HybridTruncated(), regularizer=Quadratic(None, 4), C=1.0,
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


def test_smooth_losses_meet_the_loss():
    loss = HybridTruncated(cap=2.0)
    q = np.linspace(-6.0, 12.0, 500)
    # A narrow kink: the loss itself; a steep sigmoid: a step of the height of an ignored sample.
    np.testing.assert_allclose(Rounded(loss, 1e-9).value_and_slope(q)[0], loss.value(q), atol=1e-8)
    steep = Sigmoid.of(loss, 1e-8).value_and_slope(q)[0]
    np.testing.assert_allclose(steep, 2.0 * (q > 1.0), atol=1e-6)


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


@pytest.mark.parametrize("kind", ["binary", "no intercept", "multi-class"])
def test_descent_ends_where_scipy_does(kind):
    if kind == "multi-class":
        terrain = MulticlassTerrain(several())
    else:
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


@pytest.mark.parametrize("stage", [Sigmoid(1.0, 0.5, 0.7), Rounded(HybridTruncated(), 0.15)])
def test_multiclass_gradient_is_a_derivative(stage):
    terrain = MulticlassTerrain(several(1))
    terrain.stage = stage
    z = np.random.default_rng(0).normal(size=len(terrain.zero()))
    _, slopes = terrain.value_and_slopes(terrain.image(z))
    gradient = terrain.pull(slopes)
    for j in (0, 5, 11, 12, 14):
        step = np.zeros_like(z)
        step[j] = 1e-6
        high, _ = terrain.value_and_slopes(terrain.image(z + step))
        low, _ = terrain.value_and_slopes(terrain.image(z - step))
        assert gradient[j] == pytest.approx((high - low) / 2e-6, abs=1e-4)


def test_search_never_goes_up():
    X, y = noisy(3)
    terrain = BinaryTerrain(stated(X, y))
    for stage in (Sigmoid(1.0, 0.5, 0.2), Rounded(HybridTruncated(), 0.15)):
        terrain.stage = stage
        z, last = np.full(5, 0.5), np.inf
        for _ in range(8):
            z, value, _ = minimise(terrain, z, 2, 0.0)
            assert value <= last
            last = value


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


def test_rescaling_takes_the_best_multiple():
    X, y = noisy(5)
    problem = stated(X, y, C=2.0)
    terrain = BinaryTerrain(problem)
    z = np.array([0.2, 0.0, 0.0, 0.0, 0.01])
    scaled = terrain.rescaled(z)
    factors = np.exp(np.linspace(-4.0, 6.0, 500))
    values = [terrain.objective(t * z) for t in factors]
    assert terrain.objective(scaled) <= 1.03 * min(values)
    np.testing.assert_allclose(scaled / scaled[0], z / z[0])


# One of them is for data of one column alone.
USUAL = [start for start in ALL if start.name != "one_column"]


@pytest.mark.parametrize("start", USUAL, ids=[start.name for start in USUAL])
def test_each_start_leads_below_its_own_beginning(start):
    X, y = noisy(6)
    problem = stated(X, y)
    found = search(BinaryTerrain(problem), [start], np.random.default_rng(0))
    assert list(found.reached) == [start.name]
    value = found.reached[start.name]
    assert value == pytest.approx(found.terrain.objective(found.point))
    assert value < float(problem.penalty.sum()) * float(problem.loss.value(1.0))


def test_the_cap_comes_down_from_the_convex_solution():
    X, y = noisy(7)
    problem = stated(X, y)
    found = search(BinaryTerrain(problem), chosen(["convex"]), np.random.default_rng(0))
    hinge = Newton(tol=1e-5).solve(replace(problem, loss=HybridTruncated(cap=np.inf)))
    near = np.append(hinge.coef, hinge.intercept)
    assert np.linalg.norm(found.convex - near) <= 0.2 * np.linalg.norm(near)
    assert found.reached["convex"] <= problem.objective_at(hinge.coef, hinge.intercept)


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


def test_nothing_to_compare():
    X, y = noisy(9, flipped=0.0)
    assert Newton().solve(stated(X, y, loss=HybridTruncated(cap=np.inf))).starts == {}
    X[:, 0] += 3.0 * y
    separable = stated(X, y, C=10.0)
    result = Newton().solve(separable)
    own = Newton(starts=("convex",)).solve(separable)
    np.testing.assert_array_equal(result.coef, own.coef)
    assert list(result.starts) == ["convex"]
    assert result.start == "convex"
    assert Newton(starts=("convex",)).solve(stated(*noisy(9))).starts == {}
    warm = Newton().solve(stated(*noisy(9)), start=(np.ones(4), 0.0, None))
    assert (warm.start, warm.starts) == ("warm", {})


def test_a_sample_of_many_rows_finds_what_all_rows_find():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 3))
    y = np.where(X[:, 0] + 0.2 * rng.normal(size=len(X)) > 0.0, 1, -1)
    y = np.where(rng.random(len(X)) < 0.4, -y, y)
    result = Newton().solve(stated(X, y))
    own = Newton(starts=("convex",)).solve(stated(X, y))
    assert result.objective <= 1.001 * own.objective
    assert max(result.starts.values()) < 2.0 * result.objective
    again = Newton().solve(stated(X, y))
    np.testing.assert_array_equal(again.coef, result.coef)


def spied(monkeypatch):
    """Return the starts that descents are run from, as they are asked for, and what they reach."""
    seen = []
    run = newton_run.Run.run

    def watched(self, start, restart=False):
        result = run(self, start, restart)
        seen.append((start is None, self.beat, result))
        return result

    monkeypatch.setattr(newton_run.Run, "run", watched)
    return seen


def test_on_many_rows_all_of_them_are_searched():
    """Where labels are wrong, the result does not hang on a sample of rows, nor on their order."""
    X, y = noisy(m=9000, n=5, flipped=0.3)
    result = Newton().solve(stated(X, y, C=1.0))
    assert result.objective <= 1.001 * min(result.starts.values())
    assert result.objective <= result.convex_objective
    for order in (np.arange(len(y))[::-1], np.random.default_rng(1).permutation(len(y))):
        other = Newton(random_state=1).solve(stated(X[order], y[order], C=1.0))
        assert other.objective == pytest.approx(result.objective, rel=2e-3)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_on_many_rows_least_squares_is_solved_at_once(sparse, fit_intercept):
    X, y = noisy(m=300)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=len(y))
    rows = sp.csr_matrix(X) if sparse else X
    problem = stated(rows, y, C=0.1, weight=weight, fit_intercept=fit_intercept)
    part = BinaryTerrain(problem.take(np.arange(50)))
    z = BinaryTerrain(problem, part).least_squares(0)
    ridge = Ridge(alpha=10.0, fit_intercept=fit_intercept).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(z, np.append(ridge.coef_, ridge.intercept_), rtol=1e-8, atol=1e-10)


def test_on_many_rows_the_ladder_is_tried_where_it_is_named(monkeypatch):
    X, y = noisy(m=12_000, flipped=0.4)
    monkeypatch.setattr(search_module, "MET", -1.0)
    tried = HTSVC(starts=["annealed", "ladder"]).fit(X, y).starts_[0]
    assert list(tried) == ["annealed", "ladder"]
    tried = HTSVC().fit(X, y).starts_[0]
    assert "pushed" in tried
    assert "ladder" not in tried


def test_on_many_rows_a_fit_without_truncation_needs_one_start():
    X, y = noisy(m=9000, n=5, flipped=0.0)
    result = Newton().solve(stated(np.where(y[:, None] == 1, X + 20.0, X - 20.0), y, C=1.0))
    assert (result.start, list(result.starts)) == ("convex", ["convex"])


def test_starts_that_meet_end_the_search(monkeypatch):
    X, y = noisy(m=9000, n=5, flipped=0.02)
    X[:, 0] += 2.0 * np.sign(X[:, 0])
    problem = stated(X, y, C=1.0)
    assert list(Newton().solve(problem).starts) == ["convex", "least_squares"]
    monkeypatch.setattr(search_module, "MET", -1.0)
    assert "pushed" in Newton().solve(problem).starts
    monkeypatch.setattr(search_module, "USELESS", -1.0)
    assert list(Newton().solve(problem).starts)[-1] == "annealed"


@pytest.mark.skipif(not kernels.COMPILED, reason="rows are left out by compiled searches only")
def test_steps_on_the_rows_near_the_bends_never_lead_up():
    """The margins are so wide that a step moves rows that were left out across the bends."""
    X, y = noisy(m=6000, n=5, flipped=0.2)
    problem = stated(np.where(np.arange(6000)[:, None] < 40, X, 50.0 * X), y, C=1.0)
    terrain = BinaryTerrain(problem)
    for seed in range(8):
        z = np.random.default_rng(seed).normal(size=6)
        assert terrain.objective(terrain.settle(z, 25)) <= terrain.objective(z) * (1.0 + 1e-3)


@pytest.mark.skipif(not kernels.COMPILED, reason="Newton steps take part in compiled searches only")
@pytest.mark.parametrize("wide", [1.0, 50.0])
def test_newton_steps_of_a_search_lead_near_a_minimum(wide):
    """Also from zero and from far off, where no row is near a bend of the loss."""
    X, y = noisy(m=9000, n=5, flipped=0.2)
    terrain = BinaryTerrain(stated(wide * X, y, C=1.0))
    assert terrain.by_newton
    for z in (
        np.zeros(6),
        np.array([3.0, -2.0, 0.5, 1.0, 0.0, 0.3]) / wide,
        np.full(6, 4.0 / wide),
    ):
        for stretch in (2.0, np.inf):
            stage = terrain.final_stage(stretch)

            def value(point, stage=stage):
                q = 1.0 - y * (wide * X @ point[:-1] + point[-1])
                return 0.5 * point[:-1] @ point[:-1] + stage.value_and_slope(q)[0].sum()

            end = terrain.settle(z, 40, stretch=stretch)
            assert value(end) <= value(z)
            scaled = minimize(lambda p, value=value: value(p / wide), wide * end, method="BFGS")
            assert value(end) <= 1.02 * scaled.fun


@pytest.mark.parametrize(("close", "takes_part"), [(np.inf, True), (-0.5, False)])
def test_what_is_far_behind_on_all_rows_is_left_out(monkeypatch, close, takes_part):
    X, y = noisy(m=900, flipped=0.3)
    problem = stated(X, y, C=10.0)
    monkeypatch.setattr(descents_module, "CLOSE", close)
    seen = spied(monkeypatch)
    result = Newton().solve(problem)
    assert min(result.starts, key=result.starts.get) != "convex"
    assert any(own for own, _, _ in seen) == takes_part
    assert np.isfinite(result.convex_objective)


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


def test_a_descent_that_falls_behind_ends(monkeypatch):
    X, y = noisy(m=400, flipped=0.3)
    problem = stated(X, y, C=10.0)
    whole = newton_run.Run(problem, Newton(), np.random.default_rng(0)).run(None)
    hopeless = newton_run.Run(
        problem, Newton(), np.random.default_rng(0), beat=0.5 * whole.objective
    ).run(None)
    level = newton_run.Run(problem, Newton(), np.random.default_rng(0), beat=whole.objective).run(
        None
    )
    assert hopeless.n_iter < whole.n_iter
    assert not hopeless.converged
    assert level.objective == whole.objective


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


def test_multiclass_search():
    problem = several(3, m=150)
    ours = MulticlassNewton(max_iter=1000).solve(problem)
    own = MulticlassNewton(max_iter=1000, starts=("convex",)).solve(problem)
    assert ours.objective <= 1.005 * own.objective
    assert set(ours.starts) <= set(NAMES)
    assert len(ours.starts) > 1


def test_estimators_tell_which_start_won():
    X, y = noisy(11)
    clf = HTSVC().fit(X, y)
    assert clf.start_[0] in NAMES
    assert set(clf.starts_[0]) == {start.name for start in USUAL}
    some = HTSVC(starts=["least_squares", "annealed"]).fit(X, y)
    assert list(some.starts_[0]) == ["least_squares", "annealed"]
    assert HTSVC(starts=["convex"]).fit(X, y).start_ == ["convex"]
    assert RampSVC(ceiling=1.0).fit(X, y).starts_[0]
    assert ZeroOneSVC().fit(X, y).start_[0] in {*NAMES, "constant"}
    assert HTSVC(warm_start=True).fit(X, y).fit(X, y).start_ == ["warm"]
    a, b = (HTSVC(random_state=3).fit(X, y).coef_ for _ in range(2))
    np.testing.assert_array_equal(a, b)


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


def test_one_clear_message_where_the_constant_is_best():
    X, y = noisy(13, m=80)
    y[:60] = 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf = HTSVC(C=1e-6).fit(X, y)
    assert not np.any(clf.coef_)
    assert clf.start_ == ["constant"]
    assert len(caught) == 1
    assert "constant classifier" in str(caught[0].message)
    assert "a larger C" in str(caught[0].message)


def test_a_start_that_fails_is_left_out(monkeypatch):
    X, y = noisy(14)

    def broken(self, search):
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setattr(portfolio_module.LeastSquares, "run", broken)
    clf = HTSVC().fit(X, y)
    assert np.isnan(clf.starts_[0]["least_squares"])
    assert clf.certificate_[0].certified
    only = HTSVC(starts=["least_squares"]).fit(X, y)
    assert only.start_ == ["convex"]


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


def test_rows_of_the_search_are_not_those_that_a_user_drew_with_the_same_seed():
    """Labels flipped with `default_rng(0)` must not all be in the sample."""
    from htsvm.solvers.starts.choice import own_generator

    flipped = np.random.default_rng(0).choice(30_000, size=12_000, replace=False)
    searched = own_generator(0).choice(30_000, size=3000, replace=False)
    assert abs(np.isin(searched, flipped).mean() - 0.4) < 0.05
    drawn = np.random.default_rng(0).choice(30_000, size=3000, replace=False)
    assert abs(np.isin(drawn, flipped).mean() - 0.4) > 0.05
