"""The parts of a ColumnTransformer as views, whatever they put out."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted


class ColumnViews(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Hand on what each part of a ColumnTransformer puts out as a view of its own.

    Stands before a multi-view classifier in a Pipeline, which can then be cross-validated:
    the widths of the views need not be known before, and parts may put out sparse matrices.

    Parameters
    ----------
    transformer : ColumnTransformer
        What makes the columns; a clone of it is fitted.

    Attributes
    ----------
    transformer_ : ColumnTransformer
        The fitted clone.

    See Also
    --------
    views_from_column_transformer : For dense output, or a ColumnTransformer that is fitted.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.compose import ColumnTransformer
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from htsvm.multiview import ColumnViews, MultiViewHTSVC
    >>> X = pd.DataFrame({"text": ["good", "bad", "so good", "so bad"], "size": [1, 5, 2, 6]})
    >>> parts = ColumnTransformer(
    ...     [("words", TfidfVectorizer(), "text"), ("sizes", StandardScaler(), ["size"])]
    ... )
    >>> model = make_pipeline(ColumnViews(parts), MultiViewHTSVC()).fit(X, [1, 0, 1, 0])
    >>> model[-1].view_names_
    ['words', 'sizes']
    """

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def fit(self, X: Any, y: Any = None) -> ColumnViews:
        """Fit the transformer.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_features)
            What the transformer takes.
        y : array-like of shape (n_samples,), optional
            Labels, for parts that want them.
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> dict[Hashable, Any]:
        """Fit the transformer and return the views of X.

        Parameters
        ----------
        X, y
            As in `fit`.
        """
        if not hasattr(self.transformer, "transformers"):
            raise TypeError(
                f"ColumnViews takes a ColumnTransformer, got {type(self.transformer).__name__}."
            )
        self.transformer_ = clone(self.transformer)
        return self._views(self.transformer_.fit_transform(X, y))

    def transform(self, X: Any) -> dict[Hashable, Any]:
        """Return the views of X by the names of the parts.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_features)
            What the transformer takes.

        Returns
        -------
        dict of matrices
            Without parts that put out no column.
        """
        check_is_fitted(self)
        return self._views(self.transformer_.transform(X))

    def _views(self, columns: Any) -> dict[Hashable, Any]:
        take = columns.iloc if hasattr(columns, "iloc") else columns
        return {
            name: take[:, place]
            for name, place in self.transformer_.output_indices_.items()
            if place.stop > place.start
        }
