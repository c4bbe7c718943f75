"""MultiViewHTSVC in the hands of its users: forms of data, scikit-learn's tools, bad input."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from joblib import Memory
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from htsvm import SampleStatus
from htsvm.multiview import (
    MultiViewHTSVC,
    columns_starting_with,
    stack_views,
    views_from_column_transformer,
)
from tests.multiview.data import noisy_classes, three_classes, two_views


@parametrize_with_checks(
    [
        MultiViewHTSVC(),
        MultiViewHTSVC(structure=0.5),
        MultiViewHTSVC(multi_class="ovr"),
    ]
)
def test_scikit_learn_is_content(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


# ------------------------------------------------------------------------------ forms of data


def test_lists_dicts_and_stacked_views_are_the_same():
    views, y = two_views()
    named = {"a": views[0], "b": views[1]}
    X, widths = stack_views(named)
    frame = pd.DataFrame(X, columns=[f"a{k}" for k in range(4)] + [f"b{k}" for k in range(6)])
    listed = MultiViewHTSVC(structure=0.1).fit(views, y)
    expected = listed.decision_function(views)
    by_name = {"a": make_column_selector("^a"), "b": columns_starting_with("b")}
    for model, data in [
        (MultiViewHTSVC(structure=0.1), named),
        (MultiViewHTSVC(structure=0.1, views=widths), X),
        (MultiViewHTSVC(structure=0.1, views=by_name), frame),
    ]:
        model.fit(data, y)
        np.testing.assert_allclose(model.decision_function(data), expected, atol=1e-12)
        np.testing.assert_allclose(model.decision_function(named), expected, atol=1e-12)
        assert model.view_names_ == ["a", "b"]
        assert model.n_features_in_ == 10
        np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_, expected, atol=1e-12)
    assert listed.view_names_ == [0, 1]
    assert listed.score(views, y) == np.mean(listed.predict(views) == y)
    np.testing.assert_allclose(listed.decision_function(X), expected, atol=1e-12)


def test_a_missing_view_is_an_error_but_the_others_have_scores():
    views, y = two_views()
    model = MultiViewHTSVC().fit({"hog": views[0], "lbp": views[1]}, y)
    with pytest.raises(ValueError, match=r"lacks the views \['lbp'\].*view_decision_function"):
        model.predict({"hog": views[0]})
    with pytest.raises(ValueError, match=r"lacks the views \['hog'\]"):
        model.decision_function({"hog": None, "lbp": views[1]})
    whole = model.view_decision_function({"hog": views[0], "lbp": views[1]})
    part = model.view_decision_function({"lbp": views[1]})
    np.testing.assert_array_equal(part[:, 1], whole[:, 1])
    assert np.isnan(part[:, 0]).all()
    listed = MultiViewHTSVC().fit(views, y)
    np.testing.assert_array_equal(
        listed.view_decision_function([None, views[1]])[:, 1],
        listed.view_decision_function(views)[:, 1],
    )


def test_sparse_and_dense_views_side_by_side():
    views, y = two_views()
    text = sp.csr_matrix(np.where(np.abs(views[1]) < 1.0, 0.0, views[1]))
    mixed, dense = [views[0], text], [views[0], text.toarray()]
    for eta in (0.0, 0.2):
        a = MultiViewHTSVC(structure=eta, tol=1e-7).fit(mixed, y)
        b = MultiViewHTSVC(structure=eta, tol=1e-7).fit(dense, y)
        np.testing.assert_allclose(a.objective_, b.objective_, rtol=1e-7)
        np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-4)
        stacked, widths = stack_views(mixed)
        c = MultiViewHTSVC(structure=eta, tol=1e-7, views=widths).fit(stacked, y)
        np.testing.assert_allclose(a.objective_, c.objective_, rtol=1e-7)
        np.testing.assert_allclose(
            c.decision_function(stacked), c.decision_function(mixed), atol=1e-10
        )


def test_views_may_share_columns_and_leave_some_out():
    (X, _), y = two_views()
    model = MultiViewHTSVC(views=[[0, 1], [1, 2]]).fit(X, y)
    scores = sum(
        weight * (X[:, columns] @ coef + b)
        for weight, columns, coef, b in zip(
            model.view_weights_, ([0, 1], [1, 2]), model.view_coef_, model.view_intercept_,
            strict=True,
        )
    )  # fmt: skip
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-12)
    assert model.coef_[0, 3] == 0.0


def test_a_wide_sparse_view_of_any_size_without_structure():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    words = sp.random(200, 20_000, density=1e-3, format="csr", random_state=0)
    words = (words + sp.csr_matrix((np.full(200, 2.0), (np.arange(200), y)), words.shape)).tocsr()
    model = MultiViewHTSVC(C=4.0).fit([words, rng.normal(size=(200, 3)) + y[:, None]], y)
    again = [words, rng.normal(size=(200, 3)) + y[:, None]]
    assert np.array_equal(model.view_decision_function(again)[:, 0] > 0.0, y == 1)
    assert model.score(again, y) > 0.75
    assert model.view_coef_[0].shape == (20_000,)


# --------------------------------------------------------------------- classes and weights


def test_three_classes_against_the_rest():
    views, y = three_classes()
    labels = np.array(["ash", "birch", "oak"])[y]
    model = MultiViewHTSVC(structure=0.05, multi_class="ovr").fit(views, labels)
    assert model.view_weights_.shape == (3, 2)
    assert [coef.shape for coef in model.view_coef_] == [(3, 5), (3, 3)]
    assert model.view_intercept_.shape == (3, 2)
    assert model.sample_status_.shape == (150, 2, 3)
    assert model.cluster_labels_.shape == (150, 2)
    assert len(model.certificate_) == 3
    assert all(c.certified for of_class in model.certificate_ for c in of_class)
    scores = model.view_decision_function(views)
    assert scores.shape == (150, 2, 3)
    np.testing.assert_allclose(scores.sum(axis=1), model.decision_function(views))
    assert model.score(views, labels) > 0.9
    for k in range(3):
        objective = model.history_["objective"][model.history_["problem"] == k]
        assert np.all(np.diff(objective) <= 0.0)


@pytest.mark.parametrize("samples", [two_views, noisy_classes])
@pytest.mark.parametrize("eta", [0.0, 0.3])
def test_a_sample_of_weight_k_is_k_samples(eta, samples):
    views, y = samples(80)
    weight = np.random.default_rng(0).integers(0, 4, size=80)
    model = MultiViewHTSVC(structure=eta, tol=1e-7)
    weighted = clone(model).fit(views, y, sample_weight=weight)
    repeated = clone(model).fit([np.repeat(X, weight, axis=0) for X in views], np.repeat(y, weight))
    np.testing.assert_allclose(weighted.view_weights_, repeated.view_weights_, atol=1e-6)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)


def test_parameters_per_view():
    views, y = two_views()
    named = {"a": views[0], "b": views[1]}
    by_name = MultiViewHTSVC(
        {"b": 0.5, "a": 2.0}, cap={"a": 2.0, "b": np.inf}, structure={"a": 0.0, "b": 0.4}
    ).fit(named, y)
    by_place = MultiViewHTSVC([2.0, 0.5], cap=[2.0, np.inf], structure=[0.0, 0.4]).fit(views, y)
    np.testing.assert_array_equal(by_name.coef_, by_place.coef_)
    assert not np.any(by_name.sample_status_[:, 1] == SampleStatus.IGNORED)
    one = MultiViewHTSVC(0.5, view_weights={"a": 0.25, "b": 0.75}, cap=np.inf).fit(named, y)
    np.testing.assert_array_equal(one.view_weights_, [0.25, 0.75])


def test_ignored_samples_are_ignored_by_every_view_that_counts():
    views, y = two_views()
    model = MultiViewHTSVC().fit(views, y)
    both = np.all(model.sample_status_ == SampleStatus.IGNORED, axis=1)
    np.testing.assert_array_equal(model.ignored_, np.flatnonzero(both))
    assert 0 < len(model.ignored_) < 40


# ------------------------------------------------------------------------ scikit-learn's tools


def test_pipeline_after_a_column_transformer():
    views, y = two_views()
    frame = pd.DataFrame(np.hstack(views), columns=[f"x{k}" for k in range(10)])
    parts = ColumnTransformer(
        [
            ("shape", MinMaxScaler(), [f"x{k}" for k in range(4)]),
            ("colour", StandardScaler(), [f"x{k}" for k in range(4, 10)]),
        ]
    ).set_output(transform="pandas")
    model = make_pipeline(parts, MultiViewHTSVC(views=views_from_column_transformer(parts)))
    assert cross_val_score(model, frame, y, cv=3).min() > 0.6
    model.fit(frame, y)
    assert model[-1].view_names_ == ["shape", "colour"]
    fitted = MultiViewHTSVC(views=views_from_column_transformer(model[0]))
    fitted.fit(model[0].transform(frame), y)
    np.testing.assert_array_equal(fitted.coef_, model[-1].coef_)


def test_sample_weights_are_routed():
    X, widths = stack_views(two_views()[0])
    y = two_views()[1]
    with sklearn.config_context(enable_metadata_routing=True):
        model = MultiViewHTSVC(views=widths).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"C": [1.0]}, cv=3)
        search.fit(X, y, sample_weight=np.ones(len(y)))
    assert search.best_score_ > 0.6


def test_the_structure_is_found_once_for_a_grid(tmp_path, monkeypatch):
    views, y = two_views()
    memory = Memory(str(tmp_path), verbose=0)
    plain = MultiViewHTSVC(structure=0.1, C=2.0).fit(views, y)
    MultiViewHTSVC(structure=0.1, memory=memory).fit(views, y)

    def fail(*_, **__):
        raise AssertionError("clustered again")

    monkeypatch.setattr("htsvm.multiview.structure.cluster_rows", fail)
    cached = MultiViewHTSVC(structure=0.1, C=2.0, memory=memory).fit(views, y)
    np.testing.assert_array_equal(cached.coef_, plain.coef_)
    cached = MultiViewHTSVC(structure=5.0, memory=str(tmp_path)).fit(views, y)
    assert cached.cluster_labels_ is not None
    with pytest.raises(AssertionError, match="clustered again"):
        MultiViewHTSVC(structure=0.1, memory=memory).fit([views[0] + 1e-3, views[1]], y)


def test_progress_is_printed(capsys):
    views, y = two_views()
    MultiViewHTSVC(verbose=1).fit(views, y)
    lines = capsys.readouterr().out.strip().split("\n")
    assert all(line.startswith("[MultiViewHTSVC] round") for line in lines)
    MultiViewHTSVC(verbose=2).fit(views, y)
    assert "residual" in capsys.readouterr().out


# ---------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0.0}, "C must be positive and finite"),
        ({"C": [1.0, 2.0, 3.0]}, "C must be one number or one per view, of which there are 2"),
        ({"C": {"a": 1.0}}, "C must have one entry for each of the views"),
        ({"cap": -1.0}, "cap must be positive for every view"),
        ({"structure": -0.1}, "structure must be not negative"),
        ({"structure": np.inf}, "structure must be not negative and finite"),
        ({"view_weights": [0.5, 0.6]}, "view_weights must add up to 1"),
        ({"view_weights": [1.5, -0.5]}, "view_weights must be not negative"),
        ({"view_weights": "even"}, "view_weights"),
        ({"weight_smoothness": 0.0}, "weight_smoothness"),
        ({"views": [4, 6]}, "views must be None"),
        ({"views": 2}, "views"),
        ({"solver": "sgd"}, "solver"),
        ({"solver": "admm", "n_restarts": 2}, "n_restarts=2 needs solver='newton'"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    views, y = two_views(20)
    with pytest.raises(ValueError, match=message):
        MultiViewHTSVC(**parameters).fit(views, y)


def test_bad_views_are_named():
    (a, b), y = two_views(20)
    model = MultiViewHTSVC()
    with pytest.raises(ValueError, match="numbers of rows differ"):
        model.fit([a, b[:-1]], y)
    with pytest.raises(ValueError, match=r"lacks the views \[1\]"):
        model.fit([a, None], y)
    with pytest.raises(ValueError, match="holds no view"):
        model.fit({}, y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit([a, np.full_like(b, np.nan)], y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit([a, b], y[:-1])
    with pytest.raises(NotFittedError):
        MultiViewHTSVC().predict([a, b])
    model.fit([a, b], y)
    with pytest.raises(ValueError, match="view 1 has 5 features"):
        model.predict([a, b[:, :5]])
    with pytest.raises(ValueError, match=r"views \[2\], which MultiViewHTSVC was not fitted on"):
        model.predict([a, b, a])
    with pytest.raises(ValueError, match="holds no view"):
        model.view_decision_function([None, None])
    frames = {"a": pd.DataFrame(a, columns=list("pqrs"))}
    model.fit(frames, y)
    with pytest.raises(ValueError, match="named and ordered as in fit"):
        model.predict({"a": frames["a"][list("qprs")]})


def test_the_guide_quotes_what_scikit_learn_says_of_a_dict_of_views():
    """It is raised before any code of ours runs; the guide leads from it to `stack_views`."""
    views, y = two_views()
    with pytest.raises(ValueError, match="Found input variables") as raised:
        cross_val_score(MultiViewHTSVC(), dict(enumerate(views)), y)
    guide = Path(__file__).parents[2] / "docs" / "guide" / "views.md"
    said, _, _ = str(raised.value).partition("[")
    assert f"{said}[2, 60]" in guide.read_text(encoding="utf-8")
