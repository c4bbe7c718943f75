from __future__ import annotations

import sys

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_classification

from htsvm import HTSVC, HTSVCCV, HTLogisticRegressionCV
from htsvm.losses import Hinge, HybridTruncated, LeastSquares, Ramp
from htsvm.plotting import plot_average, plot_boundary, plot_grid, plot_history, plot_losses
from htsvm_paper.losses import Pinball, ZeroOne

mpl.use("svg")


@pytest.fixture
def axes():
    from matplotlib.figure import Figure

    return Figure().subplots()


@pytest.fixture(scope="module")
def noisy_plane():
    X, y = make_blobs(120, centers=[[-2.0, 0.0], [2.0, 0.0]], random_state=0)
    y[:12] = 1 - y[:12]
    return X, y


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_losses_by_default(axes):
    assert plot_losses(ax=axes) is axes
    drawn = {
        "hinge": Hinge(),
        "pinball, tau 0.5": Pinball(0.5),
        "least squares": LeastSquares(),
        "ramp, ceiling 2": Ramp(2.0),
        "0/1": ZeroOne(),
        "hybrid truncated": HybridTruncated(),
    }
    assert labels(axes) == list(drawn)
    for line, loss in zip(axes.lines, drawn.values(), strict=False):
        np.testing.assert_array_equal(line.get_ydata(), loss.value(line.get_xdata()))


def test_losses_given(axes):
    plot_losses([HybridTruncated(cap=0.5)], ax=axes)
    assert labels(axes) == ["HybridTruncated(knee=2/3, cap=0.5)"]
    values = axes.lines[0].get_ydata()
    assert values.max() == pytest.approx(0.5)


def test_history_shows_every_iteration_and_stage(noisy_plane, axes):
    model = HTSVC().fit(*noisy_plane)
    plot_history(model, ax=axes)
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), model.history_["objective"])
    stages = 1 + np.count_nonzero(np.diff(model.history_["width"]))
    assert len(axes.texts) == stages


def test_history_needs_a_fit(axes):
    with pytest.raises(ValueError, match="fitted estimator with history_"):
        plot_history(HTSVC(), ax=axes)


def test_history_of_two_classes_has_one_problem(noisy_plane, axes):
    with pytest.raises(ValueError, match="problem=1 does not exist"):
        plot_history(HTSVC().fit(*noisy_plane), ax=axes, problem=1)


def test_boundary_marks_the_ignored(noisy_plane, axes):
    model = HTSVC().fit(*noisy_plane)
    assert len(model.ignored_) >= 12
    plot_boundary(model, *noisy_plane, ax=axes)
    assert labels(axes) == ["class 0", "class 1", f"ignored ({len(model.ignored_)})"]


def test_boundary_refuses_other_shapes(noisy_plane, axes):
    X, y = noisy_plane
    model = HTSVC().fit(X, y)
    with pytest.raises(ValueError, match=r"two features, but X has the shape \(120, 3\)"):
        plot_boundary(model, np.ones((120, 3)), y, ax=axes)
    with pytest.raises(ValueError, match="120 samples, but y has 119"):
        plot_boundary(model, X, y[:-1], ax=axes)


def test_new_axes_by_default():
    import matplotlib.pyplot as plt

    ax = plot_losses()
    assert ax.figure is not None
    plt.close(ax.figure)


def test_missing_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install matplotlib$"):
        plot_losses()


def test_plot_grid_draws_a_curve_per_cap_and_marks_the_choice():
    X, y = make_classification(120, 4, random_state=0)
    search = HTSVCCV(Cs=3, caps=[np.inf, 1.0], cv=3).fit(X, y)
    ax = plot_grid(search)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[:2] == ["no cap", "cap 1"]
    assert labels[2].startswith(f"chosen: C = {search.C_:g}")
    np.testing.assert_allclose(ax.lines[1].get_ydata(), search.scores_.mean(axis=0)[1])
    drawn = plot_grid(search, column="agreement")
    np.testing.assert_allclose(drawn.lines[0].get_ydata(), search.agreement_[0])
    with pytest.raises(ValueError, match="nonsense"):
        plot_grid(search, column="nonsense")
    with pytest.raises(ValueError, match="cv_results_"):
        plot_grid(HTSVCCV())


def test_plot_average_draws_a_curve_per_loss(noisy_plane):
    X, y = noisy_plane
    model = HTLogisticRegressionCV(Cs=3, caps=[1.0]).fit(X, y)
    ax = plot_average(model)
    names = [label.rpartition(" (")[0] for label in labels(ax)]
    assert names == ["logistic", "truncated, cap 1", "corrected"]
    sizes = np.concatenate([drawn.get_sizes() for drawn in ax.collections])
    np.testing.assert_allclose(np.sort(sizes), np.sort(4.0 + 600.0 * model.weights_))
    with pytest.raises(ValueError, match="call fit first"):
        plot_average(HTLogisticRegressionCV())
