"""What counts as a view, and what does not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from htsvm.multiview import (
    columns_starting_with,
    stack_views,
    views_from_column_transformer,
)
from htsvm.multiview.views import resolve_views, split_views

X = np.arange(24.0).reshape(4, 6)
FRAME = pd.DataFrame(X, columns=["hog_1", "hog_2", "hog_3", "lbp_1", "lbp_2", "lbp_3"])


@pytest.mark.parametrize(
    ("views", "data"),
    [
        ([slice(0, 3), slice(3, None)], X),
        ([slice(None, -3), slice(-3, None)], X),
        ([[0, 1, 2], [3, 4, 5]], X),
        ([np.array([0, 1, 2]), range(3, 6)], X),
        ([[0, 1, 2], [-3, -2, -1]], X),
        ([3, 3], X),
        (np.array([3, 3]), X),
        ((3, 3), sp.csr_matrix(X)),
        ([np.arange(6) < 3, (np.arange(6) >= 3).tolist()], X),
        ([["hog_1", "hog_2", "hog_3"], slice("lbp_1", "lbp_3")], FRAME),
        ([make_column_selector("^hog"), columns_starting_with("lbp_")], FRAME),
        ([lambda data: slice(0, 3), lambda data: [3, 4, 5]], X),
    ],
)
def test_every_way_to_name_columns_gives_the_same_views(views, data):
    found = resolve_views(views, data)
    assert list(found) == [0, 1]
    assert [columns.tolist() for columns in found.values()] == [[0, 1, 2], [3, 4, 5]]


def test_a_dict_names_the_views_and_keeps_their_order():
    found = resolve_views({"b": [4], "a": slice(0, 2)}, X)
    assert list(found) == ["b", "a"]
    assert [columns.tolist() for columns in found.values()] == [[4], [0, 1]]


def test_none_is_one_view_of_all_columns():
    (columns,) = resolve_views(None, X).values()
    assert columns.tolist() == list(range(6))


@pytest.mark.parametrize(
    ("views", "data", "message"),
    [
        ([2, 3], X, "add up to 5, but X has 6 columns"),
        ([6, 0], X, "at least 1, got 0"),
        ([2, [3, 4]], X, "mixes widths"),
        ([], X, "views is empty"),
        ("hog", X, "list or dict of column sets or of widths, got 'hog'"),
        (3, X, "list or dict of column sets or of widths, got 3"),
        ([[0, 6]], X, r"names the columns \[6\], but X has 6 columns"),
        ([[-7]], X, r"names the columns \[-7\]"),
        ([[0, 0]], X, "twice"),
        ([[]], X, "selects no column"),
        ([slice(6, None)], X, "selects no column"),
        ([slice(0, 3), slice(3, 7)], X, r"views\[1\] ends with column 7, but X has 6.*ColumnViews"),
        ([[True, False]], X, "mask of length 2"),
        ([["hog_1"]], X, "X has none; pass a data frame"),
        ([["hog_9"]], FRAME, r"columns that X does not have: \['hog_9'\]"),
        ([[0.5]], X, "positions, names or truth values"),
        ([[[0, 1]]], X, "must be a slice"),
        ([columns_starting_with("hog")], X, "set_output"),
        ([columns_starting_with("sift")], FRAME, "selects no column"),
    ],
)
def test_views_that_make_no_sense_are_refused_with_the_reason(views, data, message):
    with pytest.raises(ValueError, match=message):
        resolve_views(views, data)


def test_stacked_views_split_again():
    first, second = X[:, :2], X[:, 2:]
    stacked, views = stack_views([first, second])
    assert views == [2, 4]
    parts = split_views(stacked, list(resolve_views(views, stacked).values()))
    np.testing.assert_array_equal(parts[0], first)
    np.testing.assert_array_equal(parts[1], second)


def test_sparse_and_dense_views_come_back_as_what_they_were():
    text = sp.random(50, 40, density=0.05, random_state=0, format="csr")
    image = np.random.default_rng(0).normal(size=(50, 3))
    stacked, views = stack_views({"text": text, "image": image})
    assert sp.issparse(stacked)
    assert views == {"text": 40, "image": 3}
    parts = split_views(stacked, list(resolve_views(views, stacked).values()))
    assert sp.issparse(parts[0])
    assert isinstance(parts[1], np.ndarray)
    np.testing.assert_array_equal(parts[0].toarray(), text.toarray())
    np.testing.assert_array_equal(parts[1], image)


def _column_transformer() -> ColumnTransformer:
    return ColumnTransformer(
        [
            ("numbers", StandardScaler(), ["a", "b"]),
            ("unused", "drop", ["d"]),
            ("words", OneHotEncoder(sparse_output=False), ["c"]),
        ]
    )


MIXED = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [3.0, 1.0, 2.0], "c": list("xyx"), "d": [1, 2, 3]})


def test_views_of_a_fitted_column_transformer_are_slices():
    transformer = _column_transformer()
    out = transformer.fit_transform(MIXED)
    views = views_from_column_transformer(transformer)
    assert list(views) == ["numbers", "words"]
    assert [columns.tolist() for columns in resolve_views(views, out).values()] == [[0, 1], [2, 3]]


def test_views_of_an_unfitted_column_transformer_go_by_name():
    transformer = _column_transformer().set_output(transform="pandas")
    views = views_from_column_transformer(transformer)
    out = transformer.fit_transform(MIXED)
    assert [columns.tolist() for columns in resolve_views(views, out).values()] == [[0, 1], [2, 3]]
