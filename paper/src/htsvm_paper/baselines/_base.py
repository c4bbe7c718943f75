"""What the multi-view baselines have in common: everything but their problems."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from htsvm._typing import Array
from htsvm.baselines.single._base import constraints_without
from htsvm.exceptions import DroppedViewWarning, IgnoredClassWarning, warn_user
from htsvm.linalg import as_operator
from htsvm.linalg.spaces import Space
from htsvm.linalg.threads import single_threaded_blas
from htsvm.losses import Hinge
from htsvm.multiview.alternation import Alternation, Classifiers, Outcome, Point, print_round
from htsvm.multiview.base import BaseMultiViewSVC
from htsvm.multiview.parameters import fixed_weights
from htsvm.multiview.preparation import Prepared, prepare_views
from htsvm.multiview.views import is_view_collection
from htsvm.optimality import GapCertificate, GradientCertificate
from htsvm.problems.build import stated_problems, weigh_classes
from htsvm.svm.fitted import joined_history

# Coefficients up to this size are rounding errors.
ZERO = 1e-8


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
    pulls : ndarray of shape (n_views, n_samples), optional
        What each sample adds to the classifiers; None where every sample has a part.
    extra : dict
        What else the estimator wants to keep.
    """

    coefs: list[Array]
    intercepts: Array
    weights: Array
    certificate: GapCertificate | GradientCertificate
    n_iter: int
    history: dict[str, list[Any]]
    pulls: Array | None = None
    extra: dict[str, Any] = field(default_factory=dict)


class MultiViewBaseline(BaseMultiViewSVC):
    """A classifier with one linear (or kernel) function per view.

    Subclasses implement `_binary`. Samples of weight zero are taken out before; more than two
    classes are fitted one against the rest.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **constraints_without("C", "warm_start", "starts", "n_restarts", "random_state"),
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
        return prepare_views(
            views, self.view_names_, codes, weights, kernel=self.kernel, gamma=self.gamma
        )

    def _alternated(self, classifiers: Classifiers[Point]) -> Outcome[Point]:
        """Find classifiers and view weights by turns."""
        return Alternation(
            classifiers, self.weight_smoothness, fixed_weights(self.view_weights, self.view_names_),
            self.view_names_, self.tol, self.max_rounds,
            callback=partial(print_round, type(self).__name__) if self.verbose else None,
        ).run()  # fmt: skip

    def _fit_checked(
        self, views: list[Any], classes: Array, codes: Array, weights: Array | None
    ) -> None:
        """Fit views that have been validated."""
        factors = weigh_classes(self.class_weight, classes, codes, weights)
        kept, all_codes = np.arange(len(codes)), codes
        if weights is not None or np.any(factors == 0.0):
            total = factors[codes] if weights is None else factors[codes] * weights
            kept = np.flatnonzero(total > 0.0)
        if len(kept) < len(codes):
            same = all(view is views[0] for view in views)
            views = [views[0][kept]] * len(views) if same else [view[kept] for view in views]
            codes, weights = codes[kept], None if weights is None else weights[kept]
        views = [view.astype(np.float64, copy=False) for view in views]
        prepared = self._prepared(views, codes, weights)
        problems: list[Any] = stated_problems(
            views[0], codes, weights, factors, C=1.0, loss=Hinge(), fit_intercept=True,
            balanced=self._balanced_rest,
        )  # fmt: skip
        widest = max(prepared.coordinates, key=lambda view: int(view.shape[1]))
        with single_threaded_blas(as_operator(widest)):
            fits: list[BinaryFit] = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(self._binary)(prepared, one.y.astype(np.float64), one.penalty)
                for one in problems
            )
        self.classes_ = classes
        self._store_fits(fits, prepared.spaces)
        self._store_support_of(fits, kept, all_codes)
        self._warn_of(fits)

    # -------------------------------------------------------------------------- after the fit

    def _store_fits(self, fits: list[Any], spaces: list[Space]) -> None:
        coefs = [np.vstack([fit.coefs[v] for fit in fits]) for v in range(len(spaces))]
        intercepts = np.array([fit.intercepts for fit in fits])
        self._store_decision(spaces, coefs, intercepts, np.array([fit.weights for fit in fits]))
        self.certificate_: Any = [fit.certificate for fit in fits]
        self.objective_ = np.array([fit.certificate.objective for fit in fits])
        self.n_iter_ = max(fit.n_iter for fit in fits)
        self.history_ = joined_history(fits)
        for name in fits[0].extra:
            values = [fit.extra[name] for fit in fits]
            setattr(self, name, np.array(values))

    def _store_support_of(self, fits: list[BinaryFit], kept: Array, codes: Array) -> None:
        """Store the support vectors among all samples, of which only `kept` were fitted."""
        if fits[0].pulls is None:
            self._store_view_support(None, codes)
            return
        tables = np.zeros((len(fits), len(self.view_names_), len(codes)))
        for k, fit in enumerate(fits):
            tables[k][:, kept] = fit.pulls
        self._store_view_support(list(tables.transpose(1, 0, 2)), codes)

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
            warn_user(
                f"{type(self).__name__} did not converge{where}: the {kind} is "
                f"{worst.certificate.residual:.2e}, tol is {self.tol:.2e}, after {worst.n_iter} "
                "iterations. Scale the features to similar ranges (for example with "
                "StandardScaler), or increase max_iter or tol.",
                ConvergenceWarning,
            )
        constant = [all(np.abs(w).max() <= ZERO for w in fit.coefs) for fit in fits]
        if any(constant):
            where = f" in {sum(constant)} of {len(fits)} binary problems" if len(fits) > 1 else ""
            coupled = " or a smaller D" if hasattr(self, "D") else ""
            warn_user(
                f"the best classifiers of {type(self).__name__} are constant{where}: they give up "
                f"one class. Try a larger C{coupled}, or class_weight='balanced'.",
                IgnoredClassWarning,
            )
        dropped = np.any([fit.weights == 0.0 for fit in fits], axis=0)
        if dropped.any() and getattr(self, "view_weights", None) == "learned":
            names = [name for name, lost in zip(self.view_names_, dropped, strict=True) if lost]
            warn_user(
                f"the views {names!r} got the weight 0 and take no part in the decision; a larger "
                "weight_smoothness would keep them.",
                DroppedViewWarning,
            )
