"""What the multi-view baselines have in common: everything but their problems."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from htsvm._typing import Array
from htsvm.baselines._base import constraints_without
from htsvm.baselines._certificates import GapCertificate, GradientCertificate
from htsvm.baselines._kernel_space import KernelSpace, Space, coordinate_spaces
from htsvm.exceptions import DroppedViewWarning, IgnoredClassWarning
from htsvm.linalg import as_operator
from htsvm.linalg.threads import single_threaded_blas
from htsvm.losses import Hinge
from htsvm.multiview.base import BaseMultiViewSVC
from htsvm.multiview.structure import Structure
from htsvm.multiview.views import is_view_collection
from htsvm.problems.build import binary_problems, weigh_classes
from htsvm.svm.base import _joined_history

# From here up to the call of fit: the fit on checked data, fit, and scikit-learn's wrapper of it.
TO_THE_CALLER = 5
# Coefficients up to this size are rounding errors.
ZERO = 1e-8

KERNEL_RULES: dict[str, list[Any]] = {
    "kernel": [str, list, tuple, dict, callable],
    "gamma": ["array-like", dict, str, float, int],
}


@dataclass
class BinaryFit:
    """The solution of one binary problem.

    Attributes
    ----------
    coefs, intercepts : list of ndarrays, ndarray of shape (n_views,)
        The classifiers, in the coordinates of the views.
    weights : ndarray of shape (n_views,)
        The shares of the views in the decision.
    certificate : GapCertificate or GradientCertificate
        What shows that it is a solution.
    n_iter : int
        Iterations.
    history : dict of lists
        One entry per iteration in each column.
    support : ndarray of bool, optional
        The samples that hold the classifiers in place; all where it is None.
    extra : dict
        What else the estimator wants to keep.
    """

    coefs: list[Array]
    intercepts: Array
    weights: Array
    certificate: GapCertificate | GradientCertificate
    n_iter: int
    history: dict[str, list[Any]]
    support: Array | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Prepared:
    """What all binary problems of a fit share.

    Attributes
    ----------
    spaces : list of Space
        The views in coordinates.
    structure : Structure, optional
        Their clusters.
    """

    spaces: list[Space]
    structure: Structure | None = None

    @property
    def coordinates(self) -> list[Any]:
        """The views."""
        return [space.coordinates for space in self.spaces]


class MultiViewBaseline(BaseMultiViewSVC):
    """A classifier with one linear (or kernel) function per view.

    Subclasses implement `_binary`. Samples of weight zero are taken out before; more than two
    classes are fitted one against the rest.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **constraints_without("C", "warm_start", "n_restarts", "random_state"),
        "views": BaseMultiViewSVC._parameter_constraints["views"],
    }
    # Whether the method is defined for two views alone.
    _pair: ClassVar[bool] = False

    @abstractmethod
    def _binary(self, prepared: Prepared, y: Array, factors: Array) -> BinaryFit:
        """Solve one binary problem.

        Parameters
        ----------
        prepared : Prepared
            The views in coordinates.
        y, factors : ndarrays of shape (n_samples,)
            Labels in {-1, +1}, and the weight of each sample.
        """

    def _validated_data(self, X: Any, y: Any) -> tuple[list[Any], Array]:
        views, y = super()._validated_data(X, y)
        if not self._pair:
            return views, y
        if self.views is None and not is_view_collection(X):
            # Both functions see all columns.
            self.view_names_ = [0, 1]
            self.view_columns_ = self.view_columns_ * 2
            return views * 2, y
        if len(views) != 2:
            raise ValueError(
                f"{type(self).__name__} is defined for two views, got {len(views)}: "
                f"{self.view_names_!r}. Join or leave out views, or use MvSVM2C, MvLSSVC2C or "
                "MultiViewHTSVC, which take any number."
            )
        return views, y

    def _prepared(self, views: list[Any], codes: Array, weights: Array | None) -> Prepared:
        """Return the views in coordinates."""
        return Prepared(
            coordinate_spaces(views, weights, self.kernel, self.gamma, self.view_names_)
        )

    def _fit_checked(
        self, views: list[Any], classes: Array, codes: Array, weights: Array | None
    ) -> None:
        """Fit views that have been validated."""
        factors = weigh_classes(self.class_weight, classes, codes, weights)
        kept = np.arange(len(codes))
        if weights is not None or np.any(factors == 0.0):
            total = factors[codes] if weights is None else factors[codes] * weights
            kept = np.flatnonzero(total > 0.0)
        if len(kept) < len(codes):
            same = all(view is views[0] for view in views)
            views = [views[0][kept]] * len(views) if same else [view[kept] for view in views]
            codes, weights = codes[kept], None if weights is None else weights[kept]
        prepared = self._prepared(views, codes, weights)
        problems = binary_problems(
            views[0], len(classes), codes, weights, factors, C=1.0, loss=Hinge(),
            fit_intercept=True, balanced=self._balanced_rest,
        )  # fmt: skip
        widest = max(prepared.coordinates, key=lambda view: int(view.shape[1]))
        with single_threaded_blas(as_operator(widest)):
            fits: list[BinaryFit] = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(self._binary)(prepared, one.y.astype(np.float64), one.penalty)
                for one in problems
            )
        self.classes_ = classes
        self._store_fits(fits, prepared.spaces, kept)
        self._warn_of(fits)

    # -------------------------------------------------------------------------- after the fit

    def _store_fits(self, fits: list[Any], spaces: list[Space], kept: Array) -> None:
        coefs = [
            np.vstack([space.lift(fit.coefs[v]) for fit in fits]) for v, space in enumerate(spaces)
        ]
        self._kernel_spaces = [s if isinstance(s, KernelSpace) else None for s in spaces]
        self._store_decision(
            coefs, np.array([f.intercepts for f in fits]), np.array([f.weights for f in fits])
        )
        self.certificate_: Any = [fit.certificate for fit in fits]
        self.objective_ = np.array([fit.certificate.objective for fit in fits])
        self.n_iter_ = max(fit.n_iter for fit in fits)
        self.history_ = _joined_history(fits)
        supports = [fit.support for fit in fits if fit.support is not None]
        if supports:
            self.support_ = kept[np.any(supports, axis=0)]
        for name in fits[0].extra:
            values = [fit.extra[name] for fit in fits]
            setattr(self, name, np.array(values))

    def _store_decision(self, coefs: list[Array], intercepts: Array, weights: Array) -> None:
        if all(space is None for space in self._kernel_spaces):
            super()._store_decision(coefs, intercepts, weights)
            return
        if hasattr(self, "coef_"):
            del self.coef_
        binary = len(intercepts) == 1
        self.intercept_ = np.sum(weights * intercepts, axis=1)
        self.view_coef_ = [coef[0] if binary else coef for coef in coefs]
        self.view_intercept_ = intercepts[0] if binary else intercepts
        self.view_weights_ = weights[0] if binary else weights

    def _warn_of(self, fits: list[BinaryFit]) -> None:
        """Warn of problems that were not solved, and of views without weight."""
        failed = [fit for fit in fits if not fit.certificate.certified]
        if failed:
            worst = max(failed, key=lambda fit: fit.certificate.residual)
            where = f" in {len(failed)} of {len(fits)} binary problems" if len(fits) > 1 else ""
            kind = "relative duality gap"
            if isinstance(worst.certificate, GradientCertificate):
                kind = "residual of the gradient"
            if worst.certificate.weight_change == worst.certificate.residual:
                kind = "change of the view weights in another round"
            warnings.warn(
                f"{type(self).__name__} did not converge{where}: the {kind} is "
                f"{worst.certificate.residual:.2e}, tol is {self.tol:.2e}, after {worst.n_iter} "
                "iterations. Scale the features to similar ranges (for example with "
                "StandardScaler), or increase max_iter or tol.",
                ConvergenceWarning,
                stacklevel=TO_THE_CALLER,
            )
        constant = [all(np.abs(w).max() <= ZERO for w in fit.coefs) for fit in fits]
        if any(constant):
            where = f" in {sum(constant)} of {len(fits)} binary problems" if len(fits) > 1 else ""
            coupled = " or a smaller D" if hasattr(self, "D") else ""
            warnings.warn(
                f"the best classifiers of {type(self).__name__} are constant{where}: they give up "
                f"one class. Try a larger C{coupled}, or class_weight='balanced'.",
                IgnoredClassWarning,
                stacklevel=TO_THE_CALLER,
            )
        dropped = np.any([fit.weights == 0.0 for fit in fits], axis=0)
        if dropped.any() and getattr(self, "view_weights", None) == "learned":
            names = [name for name, lost in zip(self.view_names_, dropped, strict=True) if lost]
            warnings.warn(
                f"the views {names!r} got the weight 0 and take no part in the decision; a larger "
                "weight_smoothness would keep them.",
                DroppedViewWarning,
                stacklevel=TO_THE_CALLER,
            )

    # ------------------------------------------------------------------------------- deciding

    def _view_scores(self, views: list[Any], *, weighted: bool) -> Array:
        features = [
            view if space is None or view is None else space.features(view)
            for view, space in zip(views, self._kernel_spaces, strict=True)
        ]
        scores: Array = super()._view_scores(features, weighted=weighted)
        return scores
