"""Exact searches along lines, and the directions of other classifiers."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.linear_model import LogisticRegression, Ridge

from htsvm import HTSVC
from htsvm.linalg import as_operator
from htsvm.losses import Hinge, HybridTruncated, Ramp
from htsvm.problems.build import BinaryTask
from htsvm.solvers.starts import BinaryTerrain, chosen, search
from htsvm.solvers.starts.directions import at_random, of_columns, of_rivals, through_samples
from htsvm.solvers.starts.lines import Lines, suits
from htsvm.solvers.starts.portfolio import Convex, LinesStart


def drawn(seed, m=14, n=3, loss=None, intercept=True, C=3.0, weights=True):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(m, n)), rng.integers(0, 2, m)
    y[:2] = 0, 1
    weight = rng.uniform(0.0, 3.0, m) if weights else None
    return stated(X, y, C, loss or HybridTruncated(0.6, 1.3), weight, intercept), X, y, rng


def stated(X, y, C, loss, weights=None, intercept=True):
    task = BinaryTask(np.ones(2), C, loss, intercept, 1, np.ones(2))
    return task.problem(as_operator(X), y, weights)


def value(problem, z):
    return problem.objective_at(np.ascontiguousarray(z[:-1]), float(z[-1]))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", [HybridTruncated(0.6, 1.3), HybridTruncated(0.01, 0.1), Ramp(2.1)])
@pytest.mark.parametrize("seed", range(3))
def test_nothing_on_a_line_is_lower(seed, loss, intercept):
    problem, _, _, rng = drawn(seed, loss=loss, intercept=intercept)
    point, way = rng.normal(size=4), rng.normal(size=4)
    if not intercept:
        point[-1] = way[-1] = 0.0
    found, values = Lines(problem).lowest(point[None], way[None])
    assert value(problem, found[0]) == pytest.approx(values[0])
    steps = np.concatenate([np.linspace(-4.0, 4.0, 801), np.linspace(-40.0, 40.0, 401)])
    shifts = np.linspace(-4.0, 4.0, 41) if intercept else [0.0]
    for b in shifts:
        line = [value(problem, point + t * way + [0.0, 0.0, 0.0, b]) for t in steps]
        assert values[0] <= min(line) + 1e-9
    best = minimize_scalar(lambda t: value(problem, point + t * way))
    assert values[0] <= best.fun + 1e-9


def test_copies_and_order_play_no_part():
    problem, X, y, rng = drawn(3, weights=False)
    twice = rng.permutation(np.repeat(np.arange(14), 2))
    copies = stated(X[twice], y[twice], 1.5, problem.loss)
    ways = rng.normal(size=(5, 4))
    ours, its = (Lines(p).lowest(np.zeros((5, 4)), ways) for p in (problem, copies))
    assert len(Lines(copies).y) == 14
    np.testing.assert_allclose(ours[0], its[0])
    np.testing.assert_allclose(ours[1], its[1])


def test_some_samples_on_the_margin_are_nearly_as_good_as_all():
    problem, _, _, rng = drawn(4, m=60)
    ways = rng.normal(size=(4, 4))
    every, some = (Lines(problem, k).lowest(np.zeros((4, 4)), ways)[1][0] for k in (60, 20))
    assert every <= some <= 1.1 * every


def test_which_problems_suit():
    assert suits(drawn(0)[0])
    assert not suits(drawn(0, loss=Hinge())[0])
    assert not suits(drawn(0, loss=HybridTruncated(cap=np.inf))[0])
    assert LinesStart.suits(drawn(0)[0])
    assert not LinesStart.suits(drawn(0, n=1)[0])
    assert not LinesStart.suits(drawn(0, m=200)[0])


@pytest.mark.parametrize("intercept", [True, False])
def test_directions_of_other_classifiers(intercept):
    """Those of scikit-learn are among them."""
    problem, X, y, _ = drawn(5, m=40, intercept=intercept, weights=False)
    found = of_rivals(Lines(problem), intercept)
    for rival in (
        LogisticRegression(C=3.0, fit_intercept=intercept, tol=1e-8),
        Ridge(alpha=1e-9, fit_intercept=intercept),
    ):
        w = rival.fit(X, 2 * y - 1).coef_.ravel()
        similar = found[:, :-1] @ w / np.linalg.norm(found[:, :-1], axis=1) / np.linalg.norm(w)
        assert similar.max() > 0.9999
    if not intercept:
        assert not np.any(found[:, -1])


@pytest.mark.parametrize("intercept", [True, False])
def test_points_with_some_samples_on_their_margins(intercept):
    samples = Lines(drawn(0, m=12, n=3, intercept=intercept)[0])
    # In other units of a column the points are the same, in other units.
    samples.X = samples.X * np.array([1e-6, 1.0, 1e6])
    found = through_samples(samples, intercept, np.random.default_rng(0), 20)
    assert found.shape == (20, 4)
    margins = samples.y * (found[:, :3] @ samples.X.T + found[:, 3:])
    assert np.all(np.sum(np.abs(margins - 1.0) < 1e-6, axis=1) >= 3 + intercept)
    assert intercept or not np.any(found[:, 3])
    few = Lines(drawn(0, m=3, n=8, intercept=intercept)[0])
    assert through_samples(few, intercept, np.random.default_rng(0), 20).shape == (0, 9)


def test_columns_and_mixtures():
    problem, X, _, rng = drawn(6)
    axes = of_columns(Lines(problem))
    np.testing.assert_allclose(np.abs(X @ axes[:, :-1].T).max(axis=0), 1.0, rtol=0.5)
    assert at_random(axes, rng, 7).shape == (7, 4)


@pytest.mark.parametrize("seed", range(4))
def test_never_above_what_they_began_with(seed):
    problem, _, _, _ = drawn(10 + seed, m=25, n=4)
    terrain = BinaryTerrain(problem)
    found = search(terrain, chosen(["least_squares", "lines"]), np.random.default_rng(0))
    assert found.reached["lines"] <= found.reached["least_squares"] * (1.0 + 1e-9)
    samples = Lines(problem)
    rivals = of_rivals(samples, True)
    alone = samples.lowest(np.zeros_like(rivals), rivals)[1][0]
    assert found.reached["lines"] <= alone * (1.0 + 1e-9)


def test_a_convex_solution_is_proved_or_compared():
    """The lightest sample where the loss bends costs more than the whole solution."""
    X = np.array([[-2.0, 0.0], [-1.0, 1.0], [1.0, 0.0], [2.0, 1.0]])
    problem, *_ = drawn(0)
    bend = problem.loss.value(problem.loss.curved_interval[0])
    light = problem.penalty[problem.penalty > 0.0].min()
    assert Convex.good_enough(problem) == pytest.approx(light * bend)
    proved = HTSVC(C=10.0).fit(X, [0, 0, 1, 1])
    assert list(proved.starts_[0]) == ["convex"]
    compared = HTSVC(C=0.3).fit(X, [0, 0, 1, 1])
    assert "lines" in compared.starts_[0]
