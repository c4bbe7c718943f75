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
from htsvm.logistic.decisions import SoftmaxClassifier
from htsvm.logistic.objective import CURVED, EntropyObjective, descend, lowest_curvature
from htsvm.losses import Hinge
from htsvm.losses.cross_entropy import TruncatedEntropy
from htsvm.optimality import Certificate
from htsvm.problems import Problem
from htsvm.problems.build import class_factors
from htsvm.problems.coordinates import Coordinates, in_coordinates
from htsvm.svm.base import BaseSVC
from htsvm.svm.validation import as_number, canonical, check_scale
from htsvm.svm.warn import warn_ignored

# From a saddle point the descent goes on along the direction of negative curvature, so often.
MOST_ESCAPES = 3
# To this residual the logistic solution is found from which a truncated one starts.
START_TOL = 1e-2


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
        inside = coordinates.problem
        objective = EntropyObjective(
            inside.operator, codes, penalty, inside.regularizer, len(classes), intercept
        )
        z, start, steps = self._search(objective, self._last(coordinates, classes))
        z, verdict, curvature, more = self._settled(objective, z)
        self.classes_, self.start_, self.n_iter_ = classes, [start], steps + more
        W = np.atleast_2d(coordinates.back(z[:, :-1]))
        self.coef_ = np.ascontiguousarray(W)
        self.intercept_ = z[:, -1] - W @ coordinates.mean
        self._certify(objective, z, verdict, curvature)
        warn_ignored(self, codes, weights)
        self.n_passes_ = float(inside.operator.passes)

    def _search(self, objective: EntropyObjective, last: Array | None) -> tuple[Array, str, int]:
        """Return the lowest point that the starts lead to, its start, and the steps."""
        loss = TruncatedEntropy.of_classes(self.cap, self.knee, objective.classes)
        constant, convex = self._constant(objective), loss.cap == math.inf
        if convex and last is not None:
            return descend(objective, last, self.tol, self.max_iter, "warm")
        exact = self.tol if convex else max(self.tol, START_TOL)
        z, start, steps = descend(objective, constant, exact, self.max_iter, "logistic")
        if convex:
            return z, start, steps
        objective.use(loss)
        starts = {"logistic": z, "constant": constant} | ({} if last is None else {"warm": last})
        if objective.value(z) < objective.value(constant):
            del starts["constant"]
        found = [descend(objective, at, self.tol, self.max_iter, by) for by, at in starts.items()]
        best = min(found, key=lambda end: objective.value(end[0]))
        return best[0], best[1], steps + sum(end[2] for end in found)

    def _constant(self, objective: EntropyObjective) -> Array:
        """Return zero weights, with intercepts that say how frequent classes are."""
        columns = objective.operator.shape[1]
        z = np.zeros((objective.scores, columns + 1))
        if objective.intercept:
            mass = np.bincount(
                objective.codes, weights=objective.penalty, minlength=objective.classes
            )
            levels = np.log(np.maximum(mass / mass.sum(), 1e-12))
            z[:, -1] = levels[1] - levels[0] if len(z) == 1 else levels - levels.mean()
        return z

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

    def _settled(self, objective: EntropyObjective, z: Array) -> tuple[Array, str, float, int]:
        """Leave saddle points; return where that ends, the verdict, the curvature and steps."""
        if objective.loss.cap == math.inf:
            return z, "yes", math.nan, 0
        taken = 0
        for _ in range(MOST_ESCAPES + 1):
            if not np.any(objective.loss.curvature(objective.likelihoods(objective.image(z))[1])):
                # Convex near the point.
                return z, "yes", math.nan, taken
            curvature, direction = lowest_curvature(objective, z)
            if not curvature < -CURVED:
                break
            step = direction / max(objective.largest(objective.image(direction)), 1e-300)
            ends = [descend(objective, z + s * step, self.tol, self.max_iter) for s in (1, -1)]
            taken += sum(steps for *_, steps in ends)
            best = min((end[0] for end in ends), key=objective.value)
            if not objective.value(best) < objective.value(z):
                break
            z = best
        if math.isnan(curvature) or abs(curvature) <= CURVED:
            return z, "undecided", curvature, taken
        return z, "yes" if curvature > 0.0 else "no", curvature, taken

    def _certify(
        self, objective: EntropyObjective, z: Array, verdict: str, curvature: float
    ) -> None:
        """Store the certificate and what was ignored; warn if there is no convergence."""
        stationarity, balance = objective.residuals(objective.gradient(z))
        certificate = LogisticCertificate(
            objective=objective.value(z), tol=self.tol,
            trivial_objective=objective.value(self._constant(objective)),
            stationarity=stationarity, balance=balance, convex=objective.loss.cap == math.inf,
            local_minimizer=verdict, curvature=curvature,
        )  # fmt: skip
        self.certificate_, self.objective_ = [certificate], np.array([certificate.objective])
        self.ignored_ = np.flatnonzero(
            objective.likelihoods(objective.image(z))[1] >= objective.loss.cap
        )
        if not certificate.certified:
            warn_user(
                f"HTLogisticRegression did not converge: the residual is {certificate.residual:.2e}"
                f", tol is {self.tol:.2e}, after {self.n_iter_} steps (max_iter={self.max_iter}). "
                "Increase max_iter or tol, or lower C.",
                ConvergenceWarning,
            )
