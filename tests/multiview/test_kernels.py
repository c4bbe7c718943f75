"""`MultiViewHTSVC` with kernels: beside explicit features, beside names, and beside data that no
linear view can tell apart."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from htsvm import IgnoredClassWarning, MultiViewHTSVC


def data(seed=0, m=120):
    """Return two views: a ring around a disc, and one that helps a little by itself."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=m)
    angle = rng.uniform(0.0, 2.0 * np.pi, size=m)
    radius = np.where(y == 1, 2.0, 0.5) + 0.15 * rng.normal(size=m)
    ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    other = rng.normal(size=(m, 3)) + 0.4 * y[:, None]
    return [ring, other], y


@pytest.mark.parametrize("structure", [0.0, 0.5])
def test_a_linear_kernel_is_the_linear_model(structure):
    views, y = data(1)
    options = {"structure": structure, "tol": 1e-6}
    plain = MultiViewHTSVC(**options).fit(views, y)
    kernel = MultiViewHTSVC(kernel=lambda X, Z: X @ Z.T, **options).fit(views, y)
    fresh, _ = data(2)
    np.testing.assert_allclose(
        kernel.decision_function(fresh), plain.decision_function(fresh), atol=1e-3
    )


def test_polynomial_kernel_is_the_model_of_its_features():
    views, y = data(3)

    def features(X):
        first, second = X.T
        return np.column_stack([first**2, np.sqrt(2.0) * first * second, second**2])

    ring = views[0]
    explicit = MultiViewHTSVC(tol=1e-6, structure=0.0).fit([features(ring), views[1]], y)
    kernel = MultiViewHTSVC(
        kernel=[lambda X, Z: (X @ Z.T) ** 2, "linear"], tol=1e-6, structure=0.0
    ).fit(views, y)
    fresh, _ = data(4)
    np.testing.assert_allclose(
        kernel.decision_function(fresh),
        explicit.decision_function([features(fresh[0]), fresh[1]]),
        atol=1e-3,
    )


def test_names_are_callables_and_a_ring_needs_one():
    views, y = data(5)
    fresh, truth = data(6)
    named = MultiViewHTSVC(kernel="rbf", C=10.0, gamma=[0.5, 0.1]).fit(views, y)
    own = MultiViewHTSVC(
        kernel=[lambda X, Z: rbf_kernel(X, Z, gamma=0.5), lambda X, Z: rbf_kernel(X, Z, gamma=0.1)],
        C=10.0,
    ).fit(views, y)
    np.testing.assert_allclose(named.decision_function(fresh), own.decision_function(fresh))
    linear = MultiViewHTSVC(C=10.0).fit(views, y)
    mixed = MultiViewHTSVC(kernel=["rbf", "linear"], gamma=0.5, C=10.0).fit(views, y)
    for model, least, most in ((named, 0.95, 1.0), (mixed, 0.95, 1.0), (linear, 0.0, 0.75)):
        right = np.mean((model.view_decision_function(fresh)[:, 0] > 0.0) == truth)
        assert least <= right <= most
    assert mixed.view_weights_[0] > mixed.view_weights_[1]
    assert named.score(fresh, truth) > linear.score(fresh, truth) + 0.1


def test_wrong_kernels_are_named():
    views, y = data(7)
    with pytest.raises(
        ValueError, match=r"kernel of view 0 must be one of .* or a callable, got 'banana'"
    ):
        MultiViewHTSVC(kernel="banana").fit(views, y)
    with pytest.raises(ValueError, match="kernel"):
        MultiViewHTSVC(kernel=["rbf", "rbf", "rbf"]).fit(views, y)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_class_that_is_given_up_is_a_warning_with_kernels_too(classes):
    """Kernels leave no `coef_`; the warning has to do without."""
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(60, 2)), rng.normal(size=(60, 3))]
    y = np.r_[np.zeros(50), np.arange(10) % (classes - 1) + 1]
    model = MultiViewHTSVC(C=1e-3, kernel="rbf")
    with pytest.warns(IgnoredClassWarning, match="ignores 100% .* constant classifier"):
        model.fit(views, y)
