from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from htsvm.multiview import (
    ColumnViews,
    MultiViewHTSVC,
    stack_views,
    views_from_column_transformer,
)

pd = pytest.importorskip("pandas")


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    words = (["fine", "good", "the"], ["poor", "bad", "the"])
    text = [" ".join(rng.choice(words[k], 6)) for k in y]
    return pd.DataFrame(
        {"text": text, "a": 3 * y + rng.normal(size=60), "b": rng.normal(size=60)}
    ), y


@pytest.fixture
def parts():
    return ColumnTransformer(
        [("words", TfidfVectorizer(), "text"), ("numbers", StandardScaler(), ["a", "b"])],
        sparse_threshold=1.0,
    )


def test_sparse_text_can_be_cross_validated(frame, parts):
    model = make_pipeline(ColumnViews(parts), MultiViewHTSVC(C=10.0))
    assert cross_val_score(model, *frame, cv=3, error_score="raise").mean() > 0.8
    search = GridSearchCV(model, {"columnviews__transformer__words__max_features": [2, 4]}, cv=2)
    assert search.fit(*frame).best_score_ > 0.5
    views = search.best_estimator_[0].transform(frame[0])
    assert list(views) == ["words", "numbers"]
    assert views["numbers"].shape == (60, 2)


def test_other_ways_say_what_to_do(frame, parts):
    model = make_pipeline(parts, MultiViewHTSVC(views=views_from_column_transformer(parts)))
    with pytest.raises(ValueError, match=r"sparse matrices, wrap it: make_pipeline\(ColumnViews"):
        model.fit(*frame)
    # Folds hold other words than all rows: slices of the whole would cut their columns wrongly.
    X = frame[0].assign(text=[f"{text} only{i}" for i, text in enumerate(frame[0]["text"])])
    fitted = views_from_column_transformer(parts.fit(X))
    model = make_pipeline(parts, MultiViewHTSVC(views=fitted))
    with pytest.raises(ValueError, match="may change with the data: see ColumnViews"):
        cross_val_score(model, X, frame[1], cv=3, error_score="raise")
    with pytest.raises(TypeError, match="takes a ColumnTransformer, got LogisticRegression"):
        ColumnViews(LogisticRegression()).fit(*frame)


def test_frames_that_name_their_rows_differently_are_refused(frame):
    X, y = frame
    other = X[["b"]].iloc[::-1]
    for views in ({"a": X[["a"]], "b": other}, [X[["a"]], other]):
        with pytest.raises(ValueError, match="data frames whose indices differ"):
            MultiViewHTSVC().fit(views, y)
        with pytest.raises(ValueError, match="data frames whose indices differ"):
            stack_views(views)
    model = MultiViewHTSVC().fit({"a": X[["a"]], "b": X[["b"]]}, y)
    with pytest.raises(ValueError, match="data frames whose indices differ"):
        model.predict({"a": X[["a"]], "b": other})
    model.predict({"a": X[["a"]], "b": X[["b"]].to_numpy()})
