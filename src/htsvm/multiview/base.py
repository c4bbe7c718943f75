"""What multi-view classifiers have in common: how views come in, and how decisions come out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import partial
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import (
    check_array,
    check_is_fitted,
    check_X_y,
    validate_data,
)

from htsvm._sklearn import HasMethods, Interval, StrOptions, get_feature_names
from htsvm._typing import Array
from htsvm.linalg.spaces import Space
from htsvm.multiview.alternation import Alternation, Classifiers, Point, print_round
from htsvm.multiview.parameters import fixed_weights
from htsvm.multiview.views import (
    check_same_index,
    check_same_rows,
    is_view_collection,
    named_parts,
    resolve_views,
    split_views,
)
from htsvm.svm.backend import backend_of
from htsvm.svm.base import BaseSVC
from htsvm.svm.validation import canonical, check_scale

FLOATS = [np.float64, np.float32]
# A number for all views, or one per view.
PER_VIEW = [Real, "array-like", dict]


class BaseMultiViewSVC(BaseSVC):
    """A classifier that decides by a weighted sum of one linear function per view.

    Subclasses have a parameter `views` and implement ``_fit_checked(views, classes, codes,
    weights)``: `views` is a list of matrices, one per view, C-ordered or CSR; `codes` are the
    positions of the labels in `classes`; `weights` are the sample weights or None. It ends with
    `_store_decision`. Everything a user sees of the data is done here.

    Attributes
    ----------
    view_names_ : list
        The keys of a dict of views; 0, 1, ... for a list.
    view_columns_ : list of ndarrays
        The columns of each view in X, or in the stacked views.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseSVC._parameter_constraints,
        "C": PER_VIEW,
        "structure": PER_VIEW,
        "weight_smoothness": [Interval(Real, 0.0, None, closed="neither"), StrOptions({"auto"})],
        "view_weights": [StrOptions({"learned", "uniform"}), "array-like", dict],
        "kernel": [str, list, tuple, dict, callable],
        "gamma": ["array-like", dict, str, float, int],
        "views": [None, list, tuple, dict, np.ndarray],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
        "memory": [None, str, HasMethods(["cache"])],
    }

    def _has_weights(self) -> bool:
        given = getattr(self, "kernel", "linear")
        kernels = given.values() if isinstance(given, dict) else given
        each = [kernels] if isinstance(kernels, str) or callable(kernels) else list(kernels)
        return all(isinstance(kernel, str) and kernel == "linear" for kernel in each)

    # -------------------------------------------------------------------------------- fitting

    def _validated_data(self, X: Any, y: Any) -> tuple[list[Any], Array]:
        """Return the views and y, checked, and set what is known of the features."""
        if is_view_collection(X):
            return self._validated_parts(X, y)
        given = X
        X, y = super()._validated_data(X, y)
        X = canonical(X)
        check_scale(X)
        resolved = resolve_views(self.views, given if hasattr(given, "columns") else X)
        self.view_names_, self.view_columns_ = list(resolved), list(resolved.values())
        self._names_in_views: list[Any] | None = None
        return split_views(X, self.view_columns_), y

    def _validated_parts(self, X: Any, y: Any) -> tuple[list[Any], Array]:
        """Check a list or dict of matrices."""
        if self.views is not None:
            raise ValueError(
                f"X is a {type(X).__name__} of views, so the parameter views must be None, got "
                f"{self.views!r}; it says which columns of a single matrix belong to which view."
            )
        parts = named_parts(X)
        self._complain_of_missing([name for name, part in parts.items() if part is None])
        views = list(self._checked_parts(parts).values())
        views[0], y = check_X_y(views[0], y, accept_sparse="csr", dtype=FLOATS, order="C")
        edges = np.cumsum([0] + [view.shape[1] for view in views])
        self.view_names_ = list(parts)
        self.view_columns_ = [np.arange(low, high) for low, high in pairwise(edges)]
        self._names_in_views = [get_feature_names(part) for part in parts.values()]
        self.n_features_in_ = int(edges[-1])
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return views, y

    def _checked_parts(self, parts: dict[Hashable, Any]) -> dict[Hashable, Any]:
        """Return the matrices that are there, checked."""
        if all(part is None for part in parts.values()):
            raise ValueError("X holds no view; pass at least one matrix.")
        _complain_of_dask(parts.values())
        check_same_index(parts)
        checked = {}
        for name, part in parts.items():
            if part is not None:
                part = check_array(
                    part, accept_sparse="csr", dtype=FLOATS, order="C", estimator=self,
                    input_name=f"view {name!r}",
                )  # fmt: skip
                check_scale(part)
                checked[name] = canonical(part)
        check_same_rows(checked)
        return checked

    def _smoothness(self) -> Any:
        """Return the paper's alpha, or "auto"."""
        return self.weight_smoothness

    def _by_turns(self, classifiers: Classifiers[Point], **options: Any) -> Alternation[Point]:
        """Return the search for classifiers and view weights by turns; see `Alternation`."""
        return Alternation(
            classifiers, self._smoothness(), fixed_weights(self.view_weights, self.view_names_),
            self.view_names_, self.tol, self.max_rounds,
            callback=partial(print_round, type(self).__name__) if self.verbose else None,
            **options,
        )  # fmt: skip

    def _store_decision(
        self, spaces: list[Space], coefs: list[Array], intercepts: Array, weights: Array
    ) -> None:
        """Store the functions of the views and their sum, which is linear if all of them are.

        Parameters
        ----------
        spaces : list of Space
            The coordinates of the views.
        coefs : list of ndarrays of shape (n_scores, n_columns)
            For each view, its coefficients in each score, of coordinates: one, or one per class.
        intercepts : ndarray of shape (n_scores, n_views)
            Intercepts.
        weights : ndarray of shape (n_scores or 1, n_views)
            View weights: those of each score, or the same for all. A view of weight zero takes no
            part in the decision.
        """
        coefs = [space.lift(coef) for space, coef in zip(spaces, coefs, strict=True)]
        self._kernel_spaces = [None if space.linear else space for space in spaces]
        if all(space.linear for space in spaces):
            self.coef_ = np.zeros((len(intercepts), self.n_features_in_))
            for v, columns in enumerate(self.view_columns_):
                self.coef_[:, columns] += weights[:, [v]] * coefs[v]
        elif hasattr(self, "coef_"):
            del self.coef_
        self.intercept_ = np.sum(weights * intercepts, axis=1)
        binary = len(intercepts) == 1
        self.view_coef_ = [coef[0] if binary else coef for coef in coefs]
        self.view_intercept_ = intercepts[0] if binary else intercepts
        self.view_weights_ = weights[0] if len(weights) == 1 else weights

    # The support vectors of the views; None where every sample has a part in them.
    support_: Any
    dual_coef_: Any

    def _store_view_support(self, pulls: list[Array] | None, codes: Array) -> None:
        """Store the support vectors of each view.

        Parameters
        ----------
        pulls : list of ndarrays of shape (n_scores, n_samples), or None
            What each sample adds to the classifier of each view, in each score: R_v w_v = X_v' g.
            None for methods in which every sample has a part.
        codes : ndarray of shape (n_samples,)
            The classes of the samples.
        """
        count = len(self.classes_)
        if pulls is None:
            self.support_ = self.dual_coef_ = None
            self.n_support_ = np.full((len(self.view_names_), count), np.nan)
            return
        self.support_ = [np.flatnonzero(np.any(table != 0.0, axis=0)) for table in pulls]
        self.dual_coef_ = [table[:, rows] for table, rows in zip(pulls, self.support_, strict=True)]
        self.n_support_ = np.array(
            [np.bincount(codes[rows], minlength=count) for rows in self.support_]
        )

    # ------------------------------------------------------------------------------- deciding

    def decision_function(self, X: Any) -> Array:
        """Return the weighted sum of the functions of the views.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or list or dict of views
            Samples, as one matrix or view by view; all views must be there.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, positive scores mean ``classes_[1]``.
        """
        check_is_fitted(self)
        # Functions that are not linear have no coef_.
        if hasattr(self, "coef_") and not is_view_collection(X):
            scores: Array = super().decision_function(X)
            return scores
        views = self._views_of(X)
        self._complain_of_missing(
            [name for name, view in zip(self.view_names_, views, strict=True) if view is None]
        )
        scores = self._view_scores(views, weighted=True).sum(axis=1)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def view_decision_function(self, X: Any, *, weighted: bool = True) -> Any:
        """Return what each view contributes to the decision.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or list or dict of views
            Samples. In a list a view may be None, in a dict it may be left out.
        weighted : bool, default=True
            Whether to multiply by the view weights, so that the contributions add up to
            `decision_function`. Otherwise these are the views' own decision values.

        Returns
        -------
        ndarray of shape (n_samples, n_views) or (n_samples, n_views, n_classes)
            NaN for views that are not there. For Dask data, a Dask array.
        """
        check_is_fitted(self)
        backend = backend_of(X)
        if backend is not None:
            return backend.view_scores(self, X, weighted=weighted)
        scores = self._view_scores(self._views_of(X), weighted=weighted)
        return scores[:, :, 0] if scores.shape[2] == 1 else scores

    def _view_scores(self, views: list[Any], *, weighted: bool) -> Array:
        """Return scores of shape (n_samples, n_views, n_problems)."""
        rows = next(view.shape[0] for view in views if view is not None)
        problems = len(self.intercept_)
        scores = np.full((rows, len(views), problems), np.nan)
        intercepts = self.view_intercept_.reshape(problems, -1)
        weights = np.atleast_2d(self.view_weights_)
        for v, (view, space) in enumerate(zip(views, self._kernel_spaces, strict=True)):
            if view is None:
                continue
            view = view if space is None else space.features(view)
            coef = self.view_coef_[v].reshape(problems, -1)
            scores[:, v] = safe_sparse_dot(view, coef.T, dense_output=True) + intercepts[:, v]
            if weighted:
                scores[:, v] *= weights[:, v]
        return scores

    def _views_of(self, X: Any) -> list[Any]:
        """Return the views of samples to be predicted; None for those that are not there."""
        if not is_view_collection(X):
            X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
            return split_views(canonical(X), self.view_columns_)
        parts = named_parts(X)
        unknown = [name for name in parts if name not in self.view_names_]
        if unknown:
            raise ValueError(
                f"X holds the views {unknown!r}, which {type(self).__name__} was not fitted on; "
                f"it knows {self.view_names_!r}."
            )
        given = self._checked_parts(parts)
        for v, name in enumerate(self.view_names_):
            if name in given:
                self._check_columns(v, given[name].shape[1], get_feature_names(parts[name]))
        return [given.get(name) for name in self.view_names_]

    def _check_columns(self, v: int, width: int, names: Array | None) -> None:
        """Complain if a view has other columns than in the fit."""
        name, expected = self.view_names_[v], len(self.view_columns_[v])
        if width != expected:
            raise ValueError(
                f"view {name!r} has {width} features, but {type(self).__name__} was fitted with "
                f"{expected} features in it."
            )
        known = None if self._names_in_views is None else self._names_in_views[v]
        if known is not None and names is not None and not np.array_equal(known, names):
            raise ValueError(
                f"the columns of view {name!r} must be named and ordered as in fit: "
                f"{known.tolist()!r}, got {names.tolist()!r}."
            )

    def _complain_of_missing(self, names: list[Hashable]) -> None:
        if names:
            raise ValueError(
                f"X lacks the views {names!r}; {type(self).__name__} decides by all of its views. "
                "view_decision_function gives the scores of those that are there."
            )


def _complain_of_dask(parts: Iterable[Any]) -> None:
    if any(backend_of(part) is not None for part in parts):
        raise TypeError(
            "the views of a list or dict must be in memory; put Dask views side by side, for "
            "example with dask.array.concatenate(..., axis=1), and give their widths as views."
        )
