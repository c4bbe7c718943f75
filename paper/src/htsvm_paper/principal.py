"""Second views as the paper makes them: principal components beside the columns themselves."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted, validate_data

from htsvm.extend import Interval, validated_fit
from htsvm_paper._typing import Array

# What the names of the columns of the two views start with.
FIRST, SECOND = "given__", "principal__"


class PrincipalViews(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Append the principal components of X to its columns, as a second view.

    In a Pipeline the classifier has to be told which columns belong to which view while the number
    of components is still unknown. Either by position, since the first view is as wide as X,
    ``views=[slice(0, n), slice(n, None)]``; or, with ``set_output(transform="pandas")``, by the
    names that this transformer gives the columns,
    ``views=[columns_starting_with("given__"), columns_starting_with("principal__")]``.

    Parameters
    ----------
    n_components : float or int, default=0.95
        Between 0 and 1, the share of the variance to keep; otherwise the number of components.

    Attributes
    ----------
    pca_ : PCA
        The fitted components.
    views_ : dict of slices
        The columns of the two views, "given" and "principal", in the output.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0.0, 1.0, closed="neither"),
        ]
    }

    def __init__(self, n_components: float = 0.95) -> None:
        self.n_components = n_components

    @validated_fit
    def fit(self, X: Any, y: Any = None) -> PrincipalViews:
        """Find the principal components of training data; `y` is ignored."""
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        self.pca_ = PCA(n_components=self.n_components, svd_solver="full").fit(X)
        width = X.shape[1]
        self.views_ = {
            "given": slice(0, width),
            "principal": slice(width, width + int(self.pca_.n_components_)),
        }
        return self

    def transform(self, X: Any) -> Array:
        """Return X with its components appended."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return np.hstack([X, self.pca_.transform(X)])

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns, ``"given__..."`` and ``"principal__0"``, ..."""
        check_is_fitted(self)
        names = OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        given = [f"{FIRST}{name}" for name in names]
        made = [f"{SECOND}{k}" for k in range(self.pca_.n_components_)]
        return np.array(given + made, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def make_views(n_components: float = 0.95) -> PrincipalViews:
    """Return a transformer that appends principal components as a second view.

    This is how the paper makes two views of one. Its components come from the training data alone
    when it is part of a Pipeline. They are linear in the columns, so that the second view tells a
    linear model nothing new. `n_components` is that of `PrincipalViews`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from htsvm import MultiViewHTSVC
    >>> from htsvm_paper.datasets import make_views
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = MultiViewHTSVC(views=[slice(0, 30), slice(30, None)])
    >>> model = make_pipeline(MinMaxScaler((-1, 1)), make_views(), classifier)
    >>> bool(model.fit(X, y).score(X, y) > 0.95)
    True
    """
    return PrincipalViews(n_components=n_components)
