"""Logistic regression with the hybrid truncation of the cross-entropy."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from htsvm._documented import documented
from htsvm._sklearn import Interval
from htsvm._typing import Array
from htsvm.exceptions import warn_user
from htsvm.linalg import Quadratic, as_operator
from htsvm.logistic.objective import EntropyObjective
from htsvm.losses import Hinge
from htsvm.losses.cross_entropy import TruncatedEntropy, log_probabilities
from htsvm.optimality import Certificate
from htsvm.problems import Problem
from htsvm.problems.build import class_factors
from htsvm.problems.coordinates import Coordinates, in_coordinates
from htsvm.svm.base import BaseSVC
from htsvm.svm.validation import as_number, canonical, check_scale
from htsvm.svm.warn import warn_ignored

# To this residual the logistic solution is found from which a truncated one starts.
START_TOL = 1e-2


class SoftmaxClassifier(BaseSVC):
    """A linear classifier that has probabilities."""

    @documented
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes.

        Parameters
        ----------
        {X}

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column per class, in the order of ``classes_``.
        """
        return np.exp(self.predict_log_proba(X))

    @documented
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the probabilities.

        Parameters
        ----------
        {X}

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column per class, in the order of ``classes_``.
        """
        scores = np.asarray(self.decision_function(X))
        return log_probabilities(getattr(self, "slope_", 1.0) * scores.reshape(len(scores), -1))


@dataclass(frozen=True, eq=False, kw_only=True)
class LogisticCertificate(Certificate):
    """What is known of a point (W, b) of the truncated logistic problem.

    Attributes
    ----------
    stationarity, balance : float
        The residuals of the gradient in the weights, and of that in the intercepts.
    convex : bool
        Whether the loss is not truncated.
    local_minimizer : {"yes", "no", "undecided"}
        What the Hessian says.
    curvature : float
        Its smallest eigenvalue, in units of an upper bound of its diagonal; NaN if it was not
        computed.
    """

    stationarity: float
    balance: float
    convex: bool = False
    local_minimizer: str = "undecided"
    curvature: float = math.nan

    @property
    def residual(self) -> float:
        """The larger residual."""
        return max(self.stationarity, self.balance)

    def _measures(self) -> list[tuple[str, str]]:
        more = "" if math.isnan(self.curvature) else f"  (curvature {self.curvature:.3g})"
        return [
            ("  stationarity", f"{self.stationarity:.2e}"),
            ("  balance", f"{self.balance:.2e}"),
            ("local minimiser", self.local_minimizer + more),
        ]


@documented
@dataclass(eq=False, repr=False)
class HTLogisticRegression(SoftmaxClassifier):
    r"""Logistic regression that ignores labels less likely than a share of chance.

    Minimises

    .. math:: \tfrac12\|W\|^2 + C \sum_i T(-\log p(y_i \mid x_i))

    with the softmax of linear scores as p, and the hybrid truncation T: the identity up to a knee,
    then flattening, and constant from `cap` on. Two classes have one vector of weights. Without
    truncation this is scikit-learn's `LogisticRegression`.

    Parameters
    ----------
    {C}
    cap : float, default=1.0
        From which cross-entropy on a sample is ignored, in units of log K for K classes: at 1 those
        whose label is less likely than chance. ``inf`` never ignores a sample.
    {knee}
    tol : float, default=1e-3
        The largest residual: the gradient as a share of what the samples would pull if all did so
        in full and none cancelled.
    {max_iter}, {fit_intercept}, {class_weight}
    warm_start : bool, default=False
        Whether to start from the last solution too. With a cap, the lower of the two results is
        kept.

    Attributes
    ----------
    {coef_}, {intercept_}, {classes_}, {objective_}
    certificate_ : list of LogisticCertificate
        One entry: the residuals of the gradient, and whether the point is a local minimiser.
    start_ : list of str
        One entry, where the descent began: "logistic" (the solution without truncation), "warm", or
        "constant" if that led lower.
    {ignored_}
    n_iter_ : int
        Steps of L-BFGS and of Newton's method.
    {n_passes_}
    {n_features_in_}, {feature_names_in_}

    See Also
    --------
    HTLogisticRegressionCV : Needs no C and no cap: averages many such models.
    HTSVC : The same truncation of the hinge loss, as in the paper.

    Notes
    -----
    With a cap the problem is not convex. The descent starts from the logistic solution at the same
    C; from a saddle point it goes on. Probabilities of a truncated model are too sure, since it
    does not see the labels that contradict it; those of `HTLogisticRegressionCV` are calibrated.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from htsvm import HTLogisticRegression
    >>> X, y = make_classification(n_samples=200, random_state=0)
    >>> y[:20] = 1 - y[:20]
    >>> clf = HTLogisticRegression().fit(X, y)
    >>> clf.certificate_[0].local_minimizer
    'yes'
    """

    C: float = 1.0
    _: KW_ONLY
    cap: float = 1.0
    knee: float = 2.0 / 3.0
    tol: float = 1e-3
    max_iter: int = 1000
    fit_intercept: bool = True
    class_weight: Any = None
    warm_start: bool = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: BaseSVC._parameter_constraints[name]
        for name in ("C", "tol", "max_iter", "fit_intercept", "class_weight", "warm_start")
    } | {
        "cap": [Interval(Real, 0.0, None, closed="right")],
        "knee": [Interval(Real, 0.0, 1.0, closed="neither")],
    }

    def _fit_checked(self, X: Any, classes: Array, codes: Array, weights: Array | None) -> None:
        X = canonical(sp.csr_matrix(X) if sp.issparse(X) else X)
        check_scale(X)
        codes, intercept = codes.astype(np.intp), bool(self.fit_intercept)
        mass = np.bincount(codes, weights=weights, minlength=len(classes))
        penalty = as_number("C", self.C) * class_factors(self.class_weight, classes, mass)
        penalty = penalty[codes] if weights is None else penalty[codes] * weights
        # Labels play no part in the coordinates.
        given = Problem(
            as_operator(X), np.ones(len(codes), dtype=np.int8), penalty, Hinge(),
            Quadratic(None, X.shape[1]), self.C, intercept,
        )  # fmt: skip
        coordinates = in_coordinates(given)
        operator, R = coordinates.problem.operator, coordinates.problem.regularizer
        objective = EntropyObjective(operator, R, codes, penalty, len(classes), intercept)
        z, start = self._search(objective, self._last(coordinates, classes))
        z, verdict, curvature = objective.settled(z, self.tol, self.max_iter)
        self.classes_, self.start_, self.n_iter_ = classes, [start], objective.steps
        self.coef_ = np.ascontiguousarray(np.atleast_2d(coordinates.back(z[:, :-1])))
        self.intercept_ = z[:, -1] - self.coef_ @ coordinates.mean
        stationarity, balance = objective.residuals(objective.gradient(z))
        certificate = LogisticCertificate(
            objective=objective.value(z), tol=self.tol,
            trivial_objective=objective.value(objective.constant),
            stationarity=stationarity, balance=balance, convex=objective.loss.cap == math.inf,
            local_minimizer=verdict, curvature=curvature,
        )  # fmt: skip
        self.certificate_, self.objective_ = [certificate], np.array([certificate.objective])
        self.ignored_ = np.flatnonzero(objective.logs(z)[1] >= objective.loss.cap)
        self.n_passes_ = float(operator.passes)
        warn_ignored(self, codes, weights)
        if not certificate.certified:
            warn_user(
                f"HTLogisticRegression did not converge: the residual is {certificate.residual:.2e}"
                f", tol is {self.tol:.2e}, after {self.n_iter_} steps (max_iter={self.max_iter}). "
                "Increase max_iter or tol, or lower C.",
                ConvergenceWarning,
            )

    def _search(self, objective: EntropyObjective, last: Array | None) -> tuple[Array, str]:
        """Return the lowest point that the starts lead to, and its start."""
        loss = TruncatedEntropy.of_classes(self.cap, self.knee, objective.classes)
        tol, most, constant = self.tol, self.max_iter, objective.constant
        if loss.cap == math.inf:
            start = constant if last is None else last
            return objective.descend(start, tol, most), "logistic" if last is None else "warm"
        z = objective.descend(constant, max(tol, START_TOL), most)
        objective.loss = loss
        starts = {"logistic": z, "constant": constant} | ({} if last is None else {"warm": last})
        if objective.value(z) < objective.value(constant):
            del starts["constant"]
        ends = {name: objective.descend(at, tol, most) for name, at in starts.items()}
        best = min(ends, key=lambda name: objective.value(ends[name]))
        return ends[best], best

    def _last(self, coordinates: Coordinates, classes: Array) -> Array | None:
        """Return the last solution as a start, if there is one of this shape."""
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        self.densify()
        rows = 1 if len(classes) == 2 else len(classes)
        shape = (rows, len(coordinates.mean))
        if self.coef_.shape != shape or not np.array_equal(self.classes_, classes):
            return None
        W, b, _ = coordinates.enter((self.coef_, self.intercept_, None))
        return np.column_stack([W, b if self.fit_intercept else np.zeros(rows)])
