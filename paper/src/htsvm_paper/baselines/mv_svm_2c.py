"""MvSVM-2C: support vector machines that should agree, with learned view weights."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from htsvm._documented import documented
from htsvm._typing import Array
from htsvm_paper.baselines._base import BinaryFit, MultiViewBaseline
from htsvm.multiview.alternation import Classifiers
from htsvm.multiview.base import KERNEL_RULES
from htsvm.multiview.parameters import per_view
from htsvm.multiview.preparation import Prepared
from htsvm.optimality import GapCertificate
from htsvm_paper.solvers.coupled_problem import CoupledProblem
from htsvm_paper.solvers.coupled_hinge import CoupledNewton, CoupledResult

# The share of the tolerance for the classifiers: their errors must not stir the weights.
FINER = 1e-3
# As long as the weights move, the gap need only be this share of what their last change gained, and
# at most so large relatively.
GAIN_SHARE, LOOSEST = 0.02, 1e-4
# What a view without weight counts for in its classifier. With much less, a view with more columns
# than samples is all but unregularised, and hundreds of Newton steps do not settle it.
LEAST_WEIGHT = 1e-3


@documented
@dataclass(eq=False, repr=False)
class MvSVM2C(MultiViewBaseline):
    r"""Support vector machines in any number of views, by consensus and complementarity (MvSVM-2C).

    .. math::
        \min\ \tfrac12 \sum_v \theta_v \|w_v\|^2 + \tfrac\beta2 \|\theta\|^2
        + C \sum_v \sum_i \xi_{v,i} + D \sum_{u<v} \sum_i \eta_{uv,i}

        \text{subject to}\quad y_i f_v(x_i) \ge 1 - \xi_{v,i}, \\
        |f_u(x_i) - f_v(x_i)| \le \eta_{uv,i} + \epsilon, \\
        \xi, \eta \ge 0, \quad \theta \ge 0, \ \sum_v \theta_v = 1,

    with :math:`f_v(x) = w_v^\top x_v + b_v`. The decision is :math:`\sum_v \theta_v f_v`.
    With one view this is an ordinary support vector machine with hinge loss.

    Parameters
    ----------
    C : float, array-like or dict, default=1.0
        Penalty of the losses. One number, or one per view, in their order or by name.
    D : float, default=0.25
        Penalty of disagreement, for each pair of views.
    {epsilon}
    weight_smoothness : float or "auto", default="auto"
        The beta: how even the view weights should be. Small values let the weights of all views but
        one fall to zero. "auto" takes V - 1 times the sum of all ``||w_v||²`` after the first
        round; see `weight_smoothness_`.
    {view_weights}, {kernel of views}, {gamma of views}, {views}
    tol : float, default=1e-4
        The largest change of a view weight in another round; the relative duality gap of the
        classifiers is far smaller.
    max_iter : int, default=1000
        The largest number of Newton steps in one round.
    {max_rounds}, {fit_intercept}, {class_weight of pairs}, {n_jobs}, {verbose of rounds}

    Attributes
    ----------
    {view_weights_}
    weight_smoothness_ : ndarray of shape (n_problems,)
        The beta of each binary problem.
    certificate_ : list of GapCertificate
        For each binary problem, objective and lower bound for the final weights, and how much these
        would still change.
    objective_, history_, n_iter_
        The objective; one row per round, in which it never increases; the number of rounds.
    {support_ of views}
    dual_coef_ : list of ndarrays of shape (1 or n_classes, n_support)
        Their coefficients: :math:`\theta_v w_v = \sum_i g_{vi} x_{iv}`.
    {n_support_ of views}, {view_coef_}, {view_intercept_}, {coef_ of views}, {intercept_ of views},
    {classes_}, {view_names_}, {view_columns_}, {n_features_in_}, {feature_names_in_}

    Notes
    -----
    For fixed weights the problem is convex and solved by Newton's method on its augmented
    Lagrangian; for fixed classifiers the weights are a projection onto the simplex. By turns, this
    ends where neither step gains anything: the problem as a whole is not convex. Weights favour
    views whose classifiers have a small norm, which need not be the accurate ones.

    *Our choices.* Of the article the abstract alone was at hand, which couples the views and learns
    their weights by quadratic programs; the problem is the one printed by Yang et al., with two
    repairs: the intercepts that are missing there, and one slack per pair of views, counted once
    (their double sum counts it V times, which is another scale of D). The decision, epsilon, D and
    beta are left open (D is that of `SVM2K`); the weights of the regulariser are taken for the
    decision too. A view of weight zero still has a classifier, for which its weight is taken as
    1e-3.

    References
    ----------
    X. Xie, S. Sun. Multi-view support vector machines with the consensus and complementarity
    information. IEEE Transactions on Knowledge and Data Engineering 32, 2020.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from htsvm.baselines import MvSVM2C
    >>> X, y = make_classification(n_samples=200, random_state=0)
    >>> clf = MvSVM2C(views=[slice(0, 10), slice(10, 15), slice(15, 20)]).fit(X, y)
    >>> clf.certificate_[0].certified
    True
    """

    C: Any = 1.0
    _: KW_ONLY
    D: float = 0.25
    epsilon: float = 0.1
    weight_smoothness: Any = "auto"
    view_weights: Any = "learned"
    kernel: Any = "linear"
    gamma: Any = "scale"
    views: Any = None
    tol: float = 1e-4
    max_iter: int = 1000
    max_rounds: int = 100
    fit_intercept: bool = True
    class_weight: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MultiViewBaseline._parameter_constraints,
        **KERNEL_RULES,
        "C": [Real, "array-like", dict],
        "D": [Interval(Real, 0.0, None, closed="left")],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "weight_smoothness": [Interval(Real, 0.0, None, closed="neither"), StrOptions({"auto"})],
        "view_weights": [StrOptions({"learned", "uniform"}), "array-like", dict],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
    }
    _balanced_rest: ClassVar[bool] = False

    def _binary(self, prepared: Prepared, y: Array, factors: Array) -> BinaryFit:
        C = per_view("C", self.C, self.view_names_)
        problem = CoupledProblem(
            prepared.coordinates, y, np.outer(C, factors), self.D * factors,
            float(self.epsilon), np.ones(len(C)), bool(self.fit_intercept),
        )  # fmt: skip
        solver = CoupledNewton(FINER * self.tol, self.max_iter)
        ended = self._alternated(_Hinges(problem, solver))
        result = ended.point
        certificate = GapCertificate(
            objective=ended.objective, duality_gap=max(result.objective - result.bound, 0.0),
            tol=self.tol, weight_change=ended.change,
        )  # fmt: skip
        return BinaryFit(
            result.coefs, result.intercepts, ended.weights, certificate,
            len(ended.history["iteration"]), ended.history,
            problem.pulls(result.alpha, result.beta),
            {"weight_smoothness_": ended.smoothness},
        )  # fmt: skip


@dataclass
class _Hinges(Classifiers[CoupledResult]):
    """The classifiers for fixed weights."""

    problem: CoupledProblem
    solver: CoupledNewton

    def solve(self, weights: Array, before: CoupledResult | None, gain: float) -> CoupledResult:
        """Solve the convex problem, as exactly as the last change of the weights asks for."""
        self.scales = np.maximum(weights, LEAST_WEIGHT)
        if before is None:
            return self.solver.solve(replace(self.problem, scales=self.scales))
        needed = GAIN_SHARE * gain / max(abs(before.objective), 1e-300)
        return self._improved(before, max(min(needed, LOOSEST), self.solver.tol))

    def settle(self, point: CoupledResult, weights: Array) -> CoupledResult:
        """Solve the last problem to the end."""
        done = point.relative_gap <= self.solver.tol
        return point if done else self._improved(point, self.solver.tol)

    def _improved(self, before: CoupledResult, tol: float) -> CoupledResult:
        """Solve the problem; keep the earlier classifiers where they are no worse."""
        problem = replace(self.problem, scales=self.scales)
        after = replace(self.solver, tol=tol).solve(problem, start=before)
        values = problem.decisions(before.coefs, before.intercepts)
        objective = problem.objective(before.coefs, values)
        if after.objective <= objective:
            return after
        return replace(after, coefs=before.coefs, intercepts=before.intercepts, objective=objective)

    def costs(self, point: CoupledResult) -> Array:
        """Return the squared norms."""
        return np.array([float(w @ w) for w in point.coefs])

    def objective(self, point: CoupledResult, weights: Array) -> float:
        """Return the objective, without the term of the weights alone."""
        change = np.maximum(weights, LEAST_WEIGHT) - self.scales
        return point.objective + 0.5 * float(change @ self.costs(point))
