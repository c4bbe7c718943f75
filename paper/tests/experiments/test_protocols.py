from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from htsvm import HTSVC
from htsvm.datasets import flip_labels, make_two_gaussians
from htsvm_paper.experiments.choosing import choose, first_best
from htsvm_paper.experiments.evaluate import evaluate, scores
from htsvm_paper.experiments.methods import METHODS, Method, Unavailable, get
from htsvm_paper.experiments.models import predict
from htsvm_paper.experiments.splits import Split, make_split
from htsvm_paper.experiments.tasks import Grid, Profile, Task, points

GRID = [2.0**k for k in range(-4, 5)]


def _task(protocol, method, values=(), grid=None):
    setting = (grid or Grid(tuple(values))).setting(method, protocol)
    return Task("single-view", protocol, "x", "none", method, setting=setting)


def _points(method, *values):
    return points(_task("paper", method, values))


@pytest.fixture(scope="module")
def split():
    X, y = make_two_gaussians(150, random_state=0)
    X = np.hstack([X, np.random.default_rng(1).normal(size=(300, 6))])
    noisy, _ = flip_labels(y, 0.15, random_state=2)
    return Split(X[::2], noisy[::2], X[1::2], noisy[1::2], y[1::2])


def test_hinge_path_chooses_like_a_grid_search_with_libsvm(split):
    chosen, score = choose(
        get("hinge"), [{"C": C} for C in GRID], split, folds=5, seed=0, fold_seed=3
    )
    inner = StratifiedKFold(5, shuffle=True, random_state=3)
    search = GridSearchCV(SVC(kernel="linear"), {"C": GRID}, cv=inner).fit(split.X, split.y)
    assert score == pytest.approx(search.best_score_, abs=0.01)
    at_chosen = search.cv_results_["mean_test_score"][GRID.index(chosen["C"])]
    assert at_chosen == pytest.approx(search.best_score_, abs=0.01)


def test_grid_search_takes_the_first_of_the_best(split):
    method = Method("x", "x", "sklearn.svm:LinearSVC", "other")
    points = [{"C": C} for C in (0.5, 1.0)]
    chosen, score = choose(method, points, split, folds=3, seed=0, fold_seed=0)
    inner = StratifiedKFold(3, shuffle=True, random_state=0)
    right = [
        np.concatenate(
            [
                method.make(p, seed=0).fit(split.X[a], split.y[a]).predict(split.X[b]) == split.y[b]
                for a, b in inner.split(split.X, split.y)
            ]
        ).mean()
        for p in points
    ]
    assert score == pytest.approx(max(right))
    assert chosen == points[int(np.argmax(right))]


def test_warm_starts_score_like_cold_ones(split):
    warm = Method("x", "x", "sklearn.linear_model:LogisticRegression", "other",
                  shapes={"fit_intercept": (True, False)})  # fmt: skip
    points = [
        {"C": C, "fit_intercept": f} for C in (0.01, 1.0) for f in (True, False)
    ]  # fmt: skip
    _, score = choose(warm, points, split, folds=3, seed=0, fold_seed=0)
    inner = StratifiedKFold(3, shuffle=True, random_state=0)
    cold = GridSearchCV(
        LogisticRegression(), {"C": [0.01, 1.0], "fit_intercept": [True, False]}, cv=inner
    ).fit(split.X, split.y)
    assert score == pytest.approx(cold.best_score_, abs=1e-9)


def test_nested_never_looks_at_the_test_part(split):
    task = _task("nested", "ht", GRID)
    (row,) = evaluate(task, split)
    spoilt = Split(split.X, split.y, split.X_test[::-1], split.y_test, split.clean_test)
    (other,) = evaluate(task, spoilt)
    assert row.params == other.params
    assert row.metrics["inner_accuracy"] == other.metrics["inner_accuracy"]


def test_paper_protocol_fits_the_whole_grid(split):
    task = _task("paper", "ht", GRID)
    rows = list(evaluate(task, split))
    assert [row.params["C"] for row in rows] == GRID
    model = HTSVC(C=GRID[3], random_state=task.seed_of("method")).fit(split.X, split.y)
    found = rows[3].metrics
    assert found["accuracy"] == model.score(split.X_test, split.y_test)
    assert found["clean_accuracy"] == model.score(split.X_test, split.clean_test)
    assert found["nsv"] == len(model.support_) <= found["n_train"] == len(split.y)


def test_short_way_of_predicting_is_libsvms(split):
    model = SVC(kernel="linear").fit(split.X, split.y)
    np.testing.assert_array_equal(predict(model, split.X_test), model.predict(split.X_test))


def test_scores_of_two_and_of_many_classes():
    found = scores(np.array([1, 1, 1, -1]), np.array([1, 1, -1, 1]))
    assert found["accuracy"] == 0.5
    assert found["precision"] == found["recall"] == found["f1"] == pytest.approx(2 / 3)
    assert scores(np.array([1, -1]), np.array([-1, -1]))["precision"] == 0.0
    many = scores(np.array([0, 1, 2]), np.array([0, 1, 1]))
    assert many["recall"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("noise", ["none", "per-class:0.1", "boundary:0.2"])
def test_all_methods_and_protocols_see_the_same_data(noise):
    one = make_split(Task("label-noise", "paper", "heart", noise, "ht", 2))
    other = make_split(Task("label-noise", "nested", "heart", noise, "pin", 2))
    for name in ("X", "y", "X_test", "y_test", "clean_test"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    clean = make_split(Task("label-noise", "paper", "heart", "none", "ht", 2))
    np.testing.assert_array_equal(one.X, clean.X)
    np.testing.assert_array_equal(one.clean_test, clean.y_test)
    wrong = int(np.sum(one.y != clean.y) + np.sum(one.y_test != clean.y_test))
    assert wrong > 0 if noise != "none" else wrong == 0


def test_folds_partition_the_data_and_draws_differ():
    parts = [make_split(Task("two-view", "paper", "iris", "none", "ht", k)) for k in range(5)]
    assert sum(len(part.y_test) for part in parts) == 150
    draws = [make_split(Task("s", "paper", "gaussians:50", "none", "ht", k)) for k in range(2)]
    assert draws[0].X.shape == draws[0].X_test.shape == (50, 2)
    assert not np.array_equal(draws[0].X, draws[1].X)


def test_seeds_differ_by_axis_and_base():
    task = Task("s", "paper", "x", "none", "ht")
    seeds = {task.seed_of(axis) for axis in ("folds", "noise", "inner folds", "method", "draw")}
    assert len(seeds) == 5
    assert Task("s", "paper", "x", "none", "ht", seed=1).seed_of("folds") not in seeds


def test_registry():
    assert get("hinge").make({"C": 2.0}, seed=0).get_params()["C"] == 2.0
    with pytest.raises(ValueError, match=r"Unknown method 'hinges'; did you mean hinge"):
        get("hinges")
    gone = Method("x", "x", "htsvm:NoSuchClass", "other")
    with pytest.raises(Unavailable, match="htsvm has no NoSuchClass"):
        gone.resolve()
    with pytest.raises(Unavailable, match=r"no_such_package:X cannot be imported"):
        Method("x", "x", "no_such_package:X", "other").resolve()
    assert all(name == method.name for name, method in METHODS.items())


def test_points_of_a_grid():
    tried = _points("pin-tuned", 1.0, 0.5)
    assert len(tried) == 6
    assert tried[0] == {"C": 0.5, "tau": 0.1}
    assert _points("pin", 1.0, 0.5) == [{"C": 0.5}, {"C": 1.0}]
    small = Grid((0.5, 1.0), quick=(2.0,), quick_rows=10).of(Profile("quick"))
    assert points(_task("nested", "pin-tuned", grid=small)) == [{"C": 2.0, "tau": 0.1}]


def test_a_change_of_grid_or_protocol_makes_a_cell_new():
    base = _task("nested", "mvht", (1.0,))
    others = [
        _task("nested", "mvht", (1.0, 2.0)),
        _task("nested", "mvht", grid=Grid((1.0,), inner_folds=2)),
        _task("nested", "mvht", grid=Grid((1.0,), rows=5)),
        _task("nested", "mvht", grid=Grid((1.0,), fixed={"mvht": {"tol": 0.1}})),
        _task("paper", "mvht", grid=Grid((1.0,), sweep=True)),
        _task("paper", "mvht", (1.0,)),
    ]
    assert len({base, *others}) == 7
    assert base == _task("nested", "mvht", (1.0,))


def test_ties_go_to_the_first_point_whatever_the_order_of_sums():
    values = [0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1]
    assert values[0] != values[1]
    assert first_best(values) == first_best(values[::-1]) == 0
    assert first_best([0.5, 0.7, 0.7]) == 1
    assert first_best([float("nan"), 0.2]) == 1


@pytest.fixture(scope="module")
def two_views():
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], 30)
    X = np.hstack([rng.normal(size=(60, 4)) + 0.9 * y[:, None], rng.normal(size=(60, 3))])
    return Split(X[::2], y[::2], X[1::2], y[1::2], y[1::2], view_widths=(4, 3))


def test_a_sweep_finds_what_cold_fits_find(two_views):
    """Convex losses have one optimum, so that the way there makes no difference."""
    # Without intercepts: those of a hinge loss may lie anywhere in an interval.
    fixed = {"cap": np.inf, "view_weights": "uniform", "fit_intercept": False}
    grid = Grid((0.25, 4.0), fixed={"mvht": fixed})
    cold = list(evaluate(_task("paper", "mvht", grid=grid), two_views))
    grid = Grid(grid.values, fixed=grid.fixed, sweep=True)
    swept = list(evaluate(_task("paper", "mvht", grid=grid), two_views))
    assert [row.params for row in swept] == [row.params for row in cold]
    assert len(swept) == 8
    for name in ("accuracy", "precision", "recall", "f1"):
        found = [row.metrics[name] for row in swept]
        np.testing.assert_allclose(found, [row.metrics[name] for row in cold], atol=0.034)


def test_a_sweep_cross_validates_on_the_training_part(two_views):
    from htsvm.multiview import MultiViewHTSVCCV

    points = _points("mvht-auto", 0.25, 4.0)
    method = get("mvht-auto")
    chosen, score = choose(method, points, two_views, folds=3, seed=5, fold_seed=3)
    search = MultiViewHTSVCCV(
        Cs=[0.25, 4.0], structures=[0.25, 4.0], views=[4, 3], random_state=5, scoring="accuracy",
        cv=StratifiedKFold(3, shuffle=True, random_state=3),
    ).fit(two_views.X, two_views.y)  # fmt: skip
    assert score == pytest.approx(search.scores_.mean(axis=0).max())
    assert chosen in points
    assert set(chosen) == {"C", "structure"}
