"""Logistic regression with the hybrid truncation of the cross-entropy."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from htsvm._documented import documented
from htsvm._sklearn import Interval
from htsvm._typing import Array
from htsvm.exceptions import warn_user
from htsvm.linalg import Operator, Quadratic, as_operator
from htsvm.linalg.operators import dense, double
from htsvm.linalg.threads import single_threaded_blas
from htsvm.logistic.batch import levels
from htsvm.losses import Hinge
from htsvm.losses.cross_entropy import TruncatedEntropy, log_probabilities, pulled
from htsvm.optimality import Certificate
from htsvm.optimality.residuals import balance
from htsvm.problems.build import Task, class_factors
from htsvm.problems.coordinates import Coordinates, in_coordinates
from htsvm.solvers.lbfgs import minimise
from htsvm.svm.base import BaseSVC
from htsvm.svm.fitted import is_warm
from htsvm.svm.validation import as_number, canonical, check_scale
from htsvm.svm.warn import warn_ignored

# L-BFGS ends where a step gains less than this share; Newton's method does the rest.
LEAST_GAIN = 1e-12
# Up to so many variables the Hessian is formed; values of rows looked at together, 4 MB.
FORMED, BLOCK_VALUES = 600, 1 << 19
# Curvature counts if it is more than this share of the largest that the loss can have.
CURVED = 1e-7
# A Newton step is halved so often at most; flat directions get this share of the largest curvature.
MOST_HALVINGS, FLAT = 30, 1e-14
# From a saddle point the descent goes on along the direction of negative curvature, so often.
MOST_ESCAPES = 3
# To this residual the logistic solution is found from which a truncated one starts.
START_TOL = 1e-2


class SoftmaxClassifier(BaseSVC):
    """A linear classifier that has probabilities."""

    def _validated_data(self, X: Any, y: Any) -> tuple[Any, Array]:
        X, y = super()._validated_data(X, y)
        check_scale(X)
        return canonical(sp.csr_matrix(X) if sp.issparse(X) else X), y

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


class EntropyObjective:
    """A function of z = (W, b), a row per score, the intercept last. It counts its `steps` down.

    Parameters
    ----------
    operator, R : Operator, Quadratic
        The rows and the regulariser.
    codes, penalty : ndarray
        The classes of the rows, and C times their weights.
    classes, intercept : int, bool
        How many classes there are; two have one score. Whether b is free.
    """

    def __init__(
        self, operator: Operator, R: Quadratic, codes: Array, penalty: Array, classes: int,
        intercept: bool,
    ) -> None:  # fmt: skip
        self.operator, self.codes, self.penalty = operator, codes, penalty
        self.R, self.classes, self.intercept = R, classes, intercept
        self.scores = 1 if classes == 2 else classes
        bound = (classes - 1) / classes**2
        diagonal = R.diagonal() + bound * operator.squared_pull(penalty[:, None])[0]
        self.diagonal = np.append(diagonal, bound * float(penalty.sum()) if intercept else 1.0)
        self.loss, self.steps = TruncatedEntropy(), 0

    @cached_property
    def constant(self) -> Array:
        """Zero weights, with intercepts that say how frequent classes are."""
        z = np.zeros((self.scores, len(self.diagonal)))
        if self.intercept:
            found = levels(self.codes, self.penalty, self.classes, 0.0)
            z[:, -1] = found - (found.mean() if self.scores > 1 else 0.0)
        return z

    # ---------------------------------------------------------- what `lbfgs.minimise` asks for

    def precondition(self, z: Array) -> Array:
        """Return z over a bound of the diagonal of the Hessian."""
        scaled: Array = z / self.diagonal
        if not self.intercept:
            scaled[:, -1] = 0.0
        return scaled

    def image(self, z: Array) -> Array:
        """Return the scores."""
        return self.operator.scores(np.ascontiguousarray(z[:, :-1]), z[:, -1])

    def value_slopes(self, image: Array) -> tuple[float, Array]:
        """Return the total of the loss and its derivatives in the scores."""
        slopes = image[:, None].copy()
        total = pulled(slopes, self.codes, self.penalty, self.loss)
        return float(total[0]), slopes[:, 0]

    def pull(self, slopes: Array) -> Array:
        """Return the gradient of the loss, from the derivatives."""
        return np.column_stack([self.operator.pull(slopes), slopes.sum(axis=0) * self.intercept])

    def smooth(self, z: Array) -> Array:
        """Return the gradient of the regulariser."""
        return np.column_stack([self.R.dot(z[:, :-1]), np.zeros(len(z))])

    def largest(self, image: Array) -> float:
        """Return the largest change of a score that counts."""
        return float(np.abs(image[self.penalty > 0.0]).max(initial=0.0))

    # ---------------------------------------------------------------- values and derivatives

    def value(self, z: Array) -> float:
        """Return the objective."""
        return self.value_slopes(self.image(z))[0] + 0.5 * float(np.vdot(z, self.smooth(z)))

    def gradient(self, z: Array) -> Array:
        """Return its gradient."""
        return self.smooth(z) + self.pull(self.value_slopes(self.image(z))[1])

    def logs(self, z: Array) -> tuple[Array, Array]:
        """Return the logarithms of all probabilities, and the cross-entropy of each label."""
        logs = log_probabilities(self.image(z))
        return logs, -logs[np.arange(len(logs)), self.codes]

    def residuals(self, gradient: Array) -> tuple[float, float]:
        """Return the residuals of the gradient in W and in b, free of units.

        They are shares of what the samples would pull if all did so in full, and none cancelled.
        """
        unit = float(self.penalty.sum())
        force = self.R.length(gradient[:, :-1]) / (self.operator.row_length or 1.0)
        return balance(force, unit), balance(float(np.linalg.norm(gradient[:, -1])), unit)

    def hessian(self, z: Array) -> Array:
        """Return the Hessian at z, the variables of each score together.

        A common change of all intercepts, and intercepts that are not there, get a curvature.
        """
        logs, entropy = self.logs(z)
        slope = self.loss.value_slope(entropy)[1]
        bend = self.penalty * self.loss.curvature(entropy)
        weight = self.penalty if slope is None else self.penalty * slope
        k, side = z.shape
        likely = np.exp(logs[:, -k:])
        miss = likely - np.equal.outer(self.codes, np.arange(self.classes)[-k:])
        out = np.zeros((k, side, k, side))
        for rows, part in self.operator.blocks(max(BLOCK_VALUES // side, 1)):
            X = np.column_stack([dense(double(part)), np.ones(rows.stop - rows.start)])
            for i, j in np.ndindex(k, k):
                each = weight[rows] * likely[rows, i] * ((i == j) - likely[rows, j])
                each += bend[rows] * miss[rows, i] * miss[rows, j]
                out[i, :, j] += X.T @ (each[:, None] * X)
        columns = np.arange(side - 1)
        for i in range(k):
            out[i, columns, i, columns] += self.R.diagonal()
        if not self.intercept:
            out[:, -1], out[:, :, :, -1] = 0.0, 0.0
            out[np.arange(k), -1, np.arange(k), -1] = self.diagonal[-1]
        elif k > 1:
            out[:, -1, :, -1] += self.diagonal[-1] / k
        return out.reshape(k * side, k * side)

    # ------------------------------------------------------------------------------ the way down

    def descend(self, z: Array, tol: float, most: int) -> Array:
        """Return where `most` steps lead, or as many as bring the residuals below `tol`."""

        def enough(gradient: Array) -> bool:
            return max(self.residuals(gradient)) <= tol

        z, _, steps = minimise(self, z, most, LEAST_GAIN, enough)
        gradient = self.gradient(z)
        while steps < most and z.size <= FORMED and not enough(gradient):
            # Newton's method with the sizes of the curvatures, which never goes up.
            values, vectors = np.linalg.eigh(self.hessian(z))
            sizes = np.maximum(np.abs(values), FLAT * np.abs(values).max(initial=1e-300))
            step = -(vectors @ (vectors.T @ gradient.ravel() / sizes)).reshape(z.shape)
            slope, value = float(np.vdot(step, gradient)), self.value(z)
            for share in 0.5 ** np.arange(MOST_HALVINGS):
                new = z + share * step
                if self.value(new) <= value + 1e-4 * share * slope + 1e-15 * abs(value):
                    break
            else:
                break
            z, gradient, steps = new, self.gradient(new), steps + 1
        self.steps += steps
        return z

    def lowest_curvature(self, z: Array) -> tuple[float, Array]:
        """Return the smallest eigenvalue of the Hessian, in units of its bound, and its direction.

        NaN where there are too many variables to form it.
        """
        if z.size > FORMED:
            return math.nan, np.zeros_like(z)
        scale = np.tile(1.0 / np.sqrt(self.diagonal), len(z))
        values, vectors = np.linalg.eigh(scale[:, None] * self.hessian(z) * scale)
        return float(values[0]), (scale * vectors[:, 0]).reshape(z.shape)

    def settled(self, z: Array, tol: float, most: int) -> tuple[Array, str, float]:
        """Leave saddle points; return the end, whether it is a minimiser, and the curvature."""
        for _ in range(MOST_ESCAPES + 1):
            if math.isinf(self.loss.cap) or not np.any(self.loss.curvature(self.logs(z)[1])):
                # Convex near the point.
                return z, "yes", math.nan
            curvature, direction = self.lowest_curvature(z)
            if not curvature < -CURVED:
                break
            step = direction / max(self.largest(self.image(direction)), 1e-300)
            ends = [self.descend(z + s * step, tol, most) for s in (1, -1)]
            best = min(ends, key=self.value)
            if not self.value(best) < self.value(z):
                break
            z = best
        if abs(curvature) > CURVED:
            return z, "yes" if curvature > 0.0 else "no", curvature
        return z, "undecided", curvature


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
        Its smallest eigenvalue, in units of a bound of its diagonal; NaN if it was not computed.
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

    with the softmax p of linear scores, one for two classes, and the hybrid truncation T: the
    identity up to a knee, then flattening, and constant from `cap` on. Without truncation this is
    scikit-learn's `LogisticRegression`.

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
    With a cap the problem is not convex; from a saddle point the descent goes on. Probabilities of
    a truncated model are too sure, since it does not see the labels that contradict it; those of
    `HTLogisticRegressionCV` are calibrated.

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
        codes, intercept = codes.astype(np.intp), bool(self.fit_intercept)
        mass = np.bincount(codes, weights=weights, minlength=len(classes))
        factors = class_factors(self.class_weight, classes, mass)
        # Labels and loss play no part in the coordinates.
        task = Task(factors, as_number("C", self.C), Hinge(), intercept, positive=1)
        given = task.problem(as_operator(X), codes, weights)
        coordinates = in_coordinates(given)
        operator, R = coordinates.problem.operator, coordinates.problem.regularizer
        objective = EntropyObjective(operator, R, codes, given.penalty, len(classes), intercept)
        with single_threaded_blas(operator):
            z, start = self._search(objective, self._last(coordinates, classes))
            z, verdict, curvature = objective.settled(z, self.tol, self.max_iter)
        self.classes_, self.start_, self.n_iter_ = classes, [start], objective.steps
        self.coef_ = np.ascontiguousarray(np.atleast_2d(coordinates.back(z[:, :-1])))
        self.intercept_ = z[:, -1] - self.coef_ @ coordinates.mean
        stationarity, balanced = objective.residuals(objective.gradient(z))
        certificate = LogisticCertificate(
            objective=objective.value(z), tol=self.tol,
            trivial_objective=objective.value(objective.constant),
            stationarity=stationarity, balance=balanced, convex=objective.loss.cap == math.inf,
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
        if not is_warm(self, classes, len(coordinates.mean)):
            return None
        W, b, _ = coordinates.enter((self.coef_, self.intercept_, None))
        return np.column_stack([W, b * bool(self.fit_intercept)])
