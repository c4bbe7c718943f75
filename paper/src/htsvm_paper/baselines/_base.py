"""What the multi-view baselines have in common: everything but their problems."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar, TypeVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from htsvm import IgnoredClassWarning
from htsvm.extend import (
    Array,
    BaseMultiViewSVC,
    DroppedViewWarning,
    Hinge,
    Interval,
    Prepared,
    SolverResult,
    certify_result,
    per_view,
    prepare_views,
    single_threaded_blas,
    warn_user,
)
from htsvm.extend import documented as with_entries
from htsvm_paper.certificates import GapCertificate, GradientCertificate
from htsvm_paper.solvers.views import ViewsProblem

# Coefficients up to this size are rounding errors.
ZERO = 1e-8
POSITIVE = Interval(Real, 0.0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0.0, None, closed="left")

# What several of these estimators say of their parameters and attributes, and names for some.
GROUPS = {
    "descents": "{kernel of views}, {gamma of views}, {views of pairs}, {tol of gradients}, "
    "{max_iter of descents}, {n_restarts of descents}, {random_state of starts}, {fit_intercept}, "
    "{class_weight of pairs}, {n_jobs}, {verbose of starts}",
    "attributes": "{view_coef_}, {view_intercept_}, {coef_ of views}, {intercept_ of views}, "
    "{classes_}, {view_names_}, {view_columns_}, {n_features_in_}, {feature_names_in_}",
}
ENTRIES = """\
C of views : float, array-like or dict
    Penalty of the losses. One number, or one per view, in their order or by name.
D : float
    Penalty of disagreement, for each pair of views. Zero leaves independent classifiers.
weight_smoothness : float or "auto"
    How even the view weights should be, the factor of their squares; small values let all but one
    fall to zero. "auto" takes V - 1 times the cost of all V views after the first round.
structure : float, array-like or dict
    The eta: how much a classifier should vary little within the clusters of the classes; may
    differ from view to view. Zero leaves the term out, and with it all clustering.
class_weight of pairs : dict, "balanced" or None
    Factors of C and D per class; "balanced" gives all classes the same total weight.
random_state of starts : int, RandomState or None
    Drives the random starts. None always takes the same seed, so that a fit can be repeated.
tol of gradients : float
    The largest residual of the gradient.
max_iter of descents : int
    The largest number of iterations of L-BFGS from each start.
n_restarts of descents : int
    Random starts, beside w = 0 and the best constant classifiers; the lowest objective wins.
verbose of rounds : int
    1 prints a line per round.
verbose of starts : int
    1 prints a line per start.
views of pairs : None, list or dict
    The columns of the two views in a two-dimensional X: slices, index lists, masks, column names,
    callables that return one of these, or the widths of views that lie side by side; or None with a
    list or dict of two matrices. None with a single matrix takes it for both.
epsilon : float
    Up to here views may disagree for free.
certificate_ of gradients : list of GradientCertificate
    For each binary problem, the residuals of the gradient, the smallest curvature, and the
    objective beside that of the best constant classifiers.
support_ of views : list of ndarrays
    The samples that are part of :math:`w_v`, for each view v.
n_support_ of views : ndarray of shape (n_views, n_classes)
    Their number, by view and class.
n_support_ of all : ndarray of shape (n_views, n_classes)
    NaN: every sample has a part in the classifiers. `support_` and `dual_coef_` are None.
view_weights_ : ndarray of shape (n_views,) or (n_classes, n_views)
    The theta.
objective_ of rounds : ndarray of shape (n_problems,)
    The objective of each binary problem.
history_ of rounds : dict of ndarrays
    One row per round, in which the objective never increases.
history_ of starts : dict of ndarrays
    One row per start, and one for the Newton steps at the end.
n_iter_ of rounds : int
    Rounds (the most over the problems).
n_iter_ of starts : int
    Iterations of all starts (the most over the problems).
view_weights_ of halves : ndarray
    1/2 for both views.
weight_smoothness_ : ndarray of shape (n_problems,)
    The factor of :math:`\\tfrac12 \\|\\theta\\|^2` in each binary problem.
"""
Kind = TypeVar("Kind")


def documented(kind: Kind) -> Kind:
    """Fill in what a docstring names in braces: `GROUPS`, the entries of htsvm, and `ENTRIES`."""
    for name, entries in GROUPS.items():
        kind.__doc__ = kind.__doc__ and kind.__doc__.replace(f"{{{name}}}", entries)
    return with_entries(kind, ENTRIES)


@dataclass
class BinaryFit:
    """The solution of one binary problem: the classifiers in coordinates, and what shows it."""

    coefs: list[Array]
    intercepts: Array
    # The shares of the views in the decision.
    weights: Array
    certificate: GapCertificate | GradientCertificate
    n_iter: int = 0
    history: dict[str, list[Any]] = field(default_factory=dict)
    # What each sample adds to the classifier of each view; None where every sample has a part.
    pulls: Array | None = None
    # The factor of the term of learned weights.
    smoothness: float | None = None


@dataclass(eq=False, repr=False)
class MultiViewBaseline(BaseMultiViewSVC):
    """A classifier with one function per view; of several classes one against the rest.

    Subclasses implement `_binary`. Samples of weight zero are taken out before.
    """

    C: Any = 1.0
    _: KW_ONLY
    views: Any = None
    tol: float = 1e-6
    fit_intercept: bool = True
    class_weight: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseMultiViewSVC._parameter_constraints,
        **{name: [NOT_NEGATIVE] for name in ("D", "epsilon")},
        **{name: [POSITIVE] for name in ("lam", "theta", "b")},
    }
    # Whether the method is defined for two views alone.
    _pair: ClassVar[bool] = False
    _balanced_rest: ClassVar[bool] = False

    @abstractmethod
    def _binary(self, prepared: Prepared, y: Array, factors: Array) -> BinaryFit:
        """Solve one binary problem, given the labels in {-1, +1} and the weights of the samples."""

    def _validated_data(self, X: Any, y: Any) -> tuple[list[Any], Array]:
        views, y = super()._validated_data(X, y)
        if not self._pair:
            return views, y
        if self.views is None and self._names_in_views is None:
            # A single matrix: both functions see all columns.
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

    def _terms(
        self, prepared: Prepared, y: Array, factors: Array
    ) -> tuple[list[Any], Array, Array, Array]:
        """Return what a `ViewsProblem` begins with: views, labels, penalties and coupling."""
        C = per_view("C", self.C, self.view_names_)
        return prepared.coordinates, y, np.outer(C, factors), self.D * factors

    def _certified(self, problem: ViewsProblem, result: SolverResult, weights: Array) -> BinaryFit:
        """Certify the solution of a problem."""
        return BinaryFit(
            *problem.parts(problem.joined(result.coef, result.intercept)), weights,
            certify_result(problem, result, self.tol), result.n_iter, result.history,
            problem.support(result.multipliers),
        )  # fmt: skip

    def _learned(self, fit: BinaryFit, ended: Any) -> BinaryFit:
        """Return the solution with what the search for view weights, an `Outcome`, ended with."""
        found = {"objective": ended.objective, "weight_change": ended.change}
        return replace(
            fit, n_iter=len(ended.history["iteration"]), history=ended.history,
            certificate=replace(fit.certificate, **found), smoothness=ended.smoothness,
        )  # fmt: skip

    def _fit_checked(
        self, views: list[Any], classes: Array, codes: Array, weights: Array | None
    ) -> None:
        """Fit views that have been validated."""
        kept, all_codes = np.arange(len(codes)), codes

        def stated() -> list[Any]:
            widest = max(views, key=lambda view: int(view.shape[1]))
            return list(self._problems(widest, classes, codes, weights, C=1.0, loss=Hinge()))

        problems = stated()
        if weights is not None or self.class_weight is not None:
            kept = np.flatnonzero(problems[0].penalty > 0.0)
        if len(kept) < len(codes):
            same = all(view is views[0] for view in views)
            views = [views[0][kept]] * len(views) if same else [view[kept] for view in views]
            codes, weights = codes[kept], None if weights is None else weights[kept]
            problems = stated()
        views = [view.astype(np.float64, copy=False) for view in views]
        prepared = self._prepared(views, codes, weights)
        with single_threaded_blas(problems[0].operator):
            fits: list[BinaryFit] = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(self._binary)(prepared, one.y.astype(np.float64), one.penalty)
                for one in problems
            )
        self.classes_ = classes
        self._store_fits(fits, prepared, kept, all_codes)
        self._warn_of(fits)

    def _store_fits(
        self, fits: list[BinaryFit], prepared: Prepared, kept: Array, codes: Array
    ) -> None:
        """Store what was found; the support vectors among all samples, of which some were kept."""
        views = range(len(self.view_names_))
        coefs = [np.vstack([fit.coefs[v] for fit in fits]) for v in views]
        intercepts = np.array([fit.intercepts for fit in fits])
        weights = np.array([fit.weights for fit in fits])
        self._store_decision(prepared.spaces, coefs, intercepts, weights)
        self.certificate_: Any = [fit.certificate for fit in fits]
        self.objective_ = np.array([fit.certificate.objective for fit in fits])
        self.n_iter_ = max(fit.n_iter for fit in fits)
        rows = np.repeat(range(len(fits)), [len(fit.history["iteration"]) for fit in fits])
        self.history_ = {"problem": rows} if len(fits) > 1 else {}
        for name in fits[0].history:
            self.history_[name] = np.concatenate([np.array(fit.history[name]) for fit in fits])
        if fits[0].smoothness is not None:
            self.weight_smoothness_ = np.array([fit.smoothness for fit in fits])
        tables = None
        if fits[0].pulls is not None:
            tables = np.zeros((len(views), len(fits), len(codes)))
            tables[:, :, kept] = np.swapaxes([fit.pulls for fit in fits], 0, 1)
        self._store_view_support(None if tables is None else list(tables), codes)

    def _warn_of(self, fits: list[BinaryFit]) -> None:
        """Warn of problems that were not solved, and of views without weight."""

        def where(count: int) -> str:
            return f" in {count} of {len(fits)} binary problems" if len(fits) > 1 else ""

        name, failed = type(self).__name__, [one for one in fits if not one.certificate.certified]
        if failed:
            worst = max(failed, key=lambda fit: fit.certificate.residual)
            kind = worst.certificate.kind
            if worst.certificate.weight_change == worst.certificate.residual:
                kind = "change of the view weights in another round"
            warn_user(
                f"{name} did not converge{where(len(failed))}: the {kind} is "
                f"{worst.certificate.residual:.2e}, tol is {self.tol:.2e}, after {worst.n_iter} "
                "iterations. Scale the features to similar ranges (for example with "
                "StandardScaler), or increase max_iter or tol.",
                ConvergenceWarning,
            )
        constant = sum(all(np.abs(w).max() <= ZERO for w in fit.coefs) for fit in fits)
        if constant:
            coupled = " or a smaller D" if hasattr(self, "D") else ""
            text = f"the best classifiers of {name} are constant{where(constant)}: they give up one"
            text += f" class. Try a larger C{coupled}, or class_weight='balanced'."
            warn_user(text, IgnoredClassWarning)
        dropped = np.any([fit.weights == 0.0 for fit in fits], axis=0)
        if dropped.any() and getattr(self, "view_weights", None) == "learned":
            names = [view for view, lost in zip(self.view_names_, dropped, strict=True) if lost]
            text = f"the views {names!r} got the weight 0 and take no part in the decision; a "
            warn_user(text + "larger weight_smoothness would keep them.", DroppedViewWarning)
