from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from htsvm import HTSVC
from htsvm.datasets import flip_labels, make_two_gaussians
from htsvm.experiments.choosing import choose
from htsvm.experiments.evaluate import evaluate, scores
from htsvm.experiments.methods import METHODS, Method, Unavailable, get
from htsvm.experiments.predicting import predict
from htsvm.experiments.splits import Split, make_split
from htsvm.experiments.tasks import Task

GRID = [2.0**k for k in range(-4, 5)]


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


def test_paths_choose_among_the_grid(split):
    points = get("ht-cap").points([0.25, 1.0])
    chosen, score = choose(get("ht-cap"), points, split, folds=3, seed=0, fold_seed=0)
    assert chosen in points
    assert 0.5 < score <= 1.0


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
    points = warm.points([0.01, 1.0])
    _, score = choose(warm, points, split, folds=3, seed=0, fold_seed=0)
    inner = StratifiedKFold(3, shuffle=True, random_state=0)
    cold = GridSearchCV(
        LogisticRegression(), {"C": [0.01, 1.0], "fit_intercept": [True, False]}, cv=inner
    ).fit(split.X, split.y)
    assert score == pytest.approx(cold.best_score_, abs=1e-9)


def test_nested_never_looks_at_the_test_part(split):
    task = Task("single-view", "nested", "x", "none", "ht")
    (row,) = evaluate(task, split, GRID)
    spoilt = Split(split.X, split.y, split.X_test[::-1], split.y_test, split.clean_test)
    (other,) = evaluate(task, spoilt, GRID)
    assert row.params == other.params
    assert row.metrics["inner_accuracy"] == other.metrics["inner_accuracy"]


def test_paper_protocol_fits_the_whole_grid(split):
    task = Task("single-view", "paper", "x", "none", "ht")
    rows = list(evaluate(task, split, GRID))
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
    method = Method("x", "x", "a:B", "other", penalties=("C", "D"), shapes={"tau": (0.5, 1.0)})
    assert len(method.points([1.0, 0.5])) == 8
    assert method.points([1.0, 0.5])[0] == {"C": 0.5, "D": 0.5, "tau": 0.5}
    assert len(method.points([1.0], quick=True)) == 1
    tied = method.points([1.0, 0.5], tied=True)
    assert {(point["C"], point["D"]) for point in tied} == {(0.5, 0.5), (1.0, 1.0)}
    assert {point["tau"] for point in tied} == {point["tau"] for point in method.points([1.0])}


def test_the_hinge_slope_is_that_of_the_loss():
    from htsvm.experiments.choosing import HINGE_SLOPE
    from htsvm.losses import HybridTruncated

    step = 1e-6
    assert pytest.approx(float(HybridTruncated().value(step)) / step) == HINGE_SLOPE
