"""Pictures of multi-view fits."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

from htsvm import HTSVC, SampleStatus
from htsvm.multiview import MultiViewHTSVC
from htsvm.plotting import plot_objective, plot_view_margins, plot_view_weights
from tests.multiview.data import three_classes, two_views

mpl.use("svg")


@pytest.fixture
def axes():
    from matplotlib.figure import Figure

    return Figure().subplots()


@pytest.fixture(scope="module")
def binary():
    views, y = two_views()
    views = {"hog": views[0], "lbp": views[1]}
    return MultiViewHTSVC().fit(views, y), views, y


@pytest.fixture(scope="module")
def multiclass():
    views, y = three_classes()
    return MultiViewHTSVC(multi_class="ovr").fit(views, y), views, y


def test_a_bar_per_view(axes, binary):
    model = binary[0]
    assert plot_view_weights(model, axes) is axes
    heights = [bar.get_height() for bar in axes.patches]
    np.testing.assert_array_equal(heights, model.view_weights_)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["hog", "lbp"]


def test_a_bar_per_class_divided_among_the_views(axes, multiclass):
    model = multiclass[0]
    plot_view_weights(model, axes)
    heights = np.array([bar.get_height() for bar in axes.patches]).reshape(2, 3)
    np.testing.assert_allclose(heights, model.view_weights_.T)


def test_samples_in_the_plane_of_two_views(axes, binary):
    model, views, y = binary
    plot_view_margins(model, views, y, axes)
    drawn = np.vstack([points.get_offsets() for points in axes.collections[:2]])
    own = model.view_decision_function(views, weighted=False)
    assert len(drawn) == len(y)
    np.testing.assert_allclose(np.sort(drawn, axis=0), np.sort(own, axis=0))
    ignored = (model.sample_status_ == SampleStatus.IGNORED).sum(axis=1)
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert f"ignored by one ({np.sum(ignored == 1)})" in names
    assert f"ignored by both ({np.sum(ignored == 2)})" in names
    assert axes.get_xlabel() == "decision value of view hog"


def test_a_class_against_the_rest(axes, multiclass):
    model, views, y = multiclass
    plot_view_margins(model, views, y, axes, problem=1)
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names[:2] == ["the rest", "class 1"]
    assert len(axes.collections[1].get_offsets()) == np.sum(y == 1)


def test_the_lead_of_a_class_where_all_are_one_problem(axes):
    views, y = three_classes()
    model = MultiViewHTSVC().fit(views, y)
    plot_view_margins(model, views, y, axes, problem=1)
    scores = model.view_decision_function(views, weighted=False)
    lead = scores[..., 1] - np.maximum(scores[..., 0], scores[..., 2])
    drawn = np.asarray(axes.collections[1].get_offsets())
    np.testing.assert_allclose(np.sort(drawn, axis=0), np.sort(lead[y == 1], axis=0))
    assert axes.get_xlabel() == "lead of class 1 in view 0"
    plot_objective(model, axes)
    np.testing.assert_array_equal(axes.lines[-1].get_ydata(), model.history_["objective"])


def test_what_cannot_be_drawn(axes, binary):
    model, views, y = binary
    with pytest.raises(ValueError, match="two positions from 0 to 1"):
        plot_view_margins(model, views, y, axes, views=(0, 2))
    with pytest.raises(ValueError, match="view_weights_ is needed"):
        plot_view_weights(HTSVC(), axes)
    with pytest.raises(ValueError, match="history_"):
        plot_objective(MultiViewHTSVC(), axes)
