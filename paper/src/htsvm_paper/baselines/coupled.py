"""SVM-2K and MvSVM-2C: support vector machines that should agree."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from htsvm.extend import Array, Classifiers, Prepared, SolverResult
from htsvm_paper.baselines._base import BinaryFit, MultiViewBaseline, documented
from htsvm_paper.solvers.coupled import CoupledNewton, CoupledProblem

# The share of the tolerance for the classifiers: their errors must not stir the weights.
FINER = 1e-3
# While the weights move, the gap need only be this share of what their last change gained, and at
# most so large relatively.
GAIN_SHARE, LOOSEST = 0.02, 1e-4
# What a view without weight counts for in its classifier. With much less, a view of many columns is
# all but unregularised, and hundreds of Newton steps do not settle it.
LEAST_WEIGHT = 1e-3


@dataclass(eq=False, repr=False)
class CoupledHinge(MultiViewBaseline):
    """Classifiers with hinge loss whose decisions are drawn together."""

    D: float = 0.25
    epsilon: float = 0.1
    kernel: Any = "linear"
    gamma: Any = "scale"
    max_iter: int = 1000

    def _problem(self, prepared: Prepared, y: Array, factors: Array) -> CoupledProblem:
        terms, theta = self._terms(prepared, y, factors), np.ones(len(prepared.spaces))
        intercept = bool(self.fit_intercept)
        return CoupledProblem(*terms, theta, float(self.epsilon), fit_intercept=intercept)


@documented
@dataclass(eq=False, repr=False)
class SVM2K(CoupledHinge):
    r"""Two support vector machines with hinge loss whose decisions are drawn together (SVM-2K).

    .. math::
        \min\ \tfrac12 \|w_A\|^2 + \tfrac12 \|w_B\|^2 + C_A \sum_i \xi_{A,i} \\
        + C_B \sum_i \xi_{B,i} + D \sum_i \eta_i

        \text{subject to}\quad y_i f_v(x_i) \ge 1 - \xi_{v,i}, \quad
        |f_A(x_i) - f_B(x_i)| \le \eta_i + \epsilon, \\
        \xi, \eta \ge 0,

    with :math:`f_v(x) = w_v^\top x_v + b_v`. The decision is :math:`\tfrac12 (f_A + f_B)`. The dual
    has multipliers :math:`0 \le \alpha_v \le C_v` and :math:`|\beta| \le D`, with :math:`g_A = y
    \alpha_A - \beta` and :math:`g_B = y \alpha_B + \beta`. With one matrix for both views this is
    an ordinary support vector machine.

    Parameters
    ----------
    {C of views}
    D : float, default=0.25
        Penalty of disagreement. Zero leaves independent classifiers; where the views disagree, a D
        that is large beside C leads to ``w = 0`` in both.
    {epsilon}, {kernel of views}, {gamma of views}, {views of pairs}
    {tol of gaps}
    max_iter : int, default=1000
        The largest number of Newton steps.
    {fit_intercept}, {class_weight of pairs}, {n_jobs}, {verbose of rounds}

    Attributes
    ----------
    {view_weights_ of halves}
    certificate_ : list of GapCertificate
        For each binary problem, the objective and a lower bound of its minimum.
    {support_ of views}
    dual_coef_ : list of ndarrays of shape (1 or n_classes, n_support)
        Their coefficients: :math:`w_v = \sum_i g_{vi} x_{iv}`.
    {n_support_ of views}, {objective_ of rounds}, {history_ of rounds}
    n_iter_ : int
        Newton steps (the most over the problems).
    {attributes}

    Notes
    -----
    The problem is convex and solved by Newton's method on its augmented Lagrangian, which needs
    neither a QP solver nor a kernel matrix for linear views.

    *Our choices.* The intercepts are free, as in the article; public code regularises them (K + 1
    in place of K). The article leaves epsilon open, public code takes 0, and 0.1 leaves room for
    views that measure different things. So is D: with D = C views that are noisy in different ways
    end at ``w = 0``, hence a quarter of it. Sample weights multiply both penalties.

    References
    ----------
    J. Farquhar, D. Hardoon, H. Meng, J. Shawe-Taylor, S. Szedmak. Two view learning: SVM-2K, theory
    and practice. Advances in Neural Information Processing Systems 18, 2005.
    """

    _pair: ClassVar[bool] = True

    def _binary(self, prepared: Prepared, y: Array, factors: Array) -> BinaryFit:
        problem = self._problem(prepared, y, factors)
        result = CoupledNewton(self.tol, self.max_iter, self._progress()).solve(problem)
        return self._certified(problem, result, np.full(2, 0.5))


@documented
@dataclass(eq=False, repr=False)
class MvSVM2C(CoupledHinge):
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
    {C of views}, {D}, {epsilon}, {weight_smoothness}, {view_weights}, {kernel of views},
    {gamma of views}, {views}
    tol : float, default=1e-4
        The largest change of a view weight in another round; the duality gap is far smaller.
    max_iter : int, default=1000
        The largest number of Newton steps in one round.
    {max_rounds}, {fit_intercept}, {class_weight of pairs}, {n_jobs}, {verbose of rounds}

    Attributes
    ----------
    {view_weights_}, {weight_smoothness_}
    certificate_ : list of GapCertificate
        For each binary problem, objective and lower bound for the final weights, and how much these
        would still change.
    {objective_ of rounds}, {history_ of rounds}, {n_iter_ of rounds}
    {support_ of views}
    dual_coef_ : list of ndarrays of shape (1 or n_classes, n_support)
        Their coefficients: :math:`\theta_v w_v = \sum_i g_{vi} x_{iv}`.
    {n_support_ of views}
    {attributes}

    Notes
    -----
    For fixed weights the problem is convex and solved as that of `SVM2K`; for fixed classifiers the
    weights are a projection onto the simplex. By turns, this ends where neither step gains
    anything: the problem as a whole is not convex. Weights favour views whose classifiers have a
    small norm, which need not be the accurate ones.

    *Our choices.* Of the article the abstract alone was at hand; the problem is the one printed by
    Yang et al., with two repairs: the intercepts that are missing there, and one slack per pair of
    views, counted once (their double sum counts it V times, another scale of D). The decision,
    epsilon, D and beta are left open: D is that of `SVM2K`, and the weights of the regulariser are
    taken for the decision too. A view of weight zero still has a classifier, as if of weight 1e-3.

    References
    ----------
    X. Xie, S. Sun. Multi-view support vector machines with the consensus and complementarity
    information. IEEE Transactions on Knowledge and Data Engineering 32, 2020.
    """

    _: KW_ONLY
    weight_smoothness: Any = "auto"
    view_weights: Any = "learned"
    tol: float = 1e-4
    max_rounds: int = 100

    def _binary(self, prepared: Prepared, y: Array, factors: Array) -> BinaryFit:
        solver = CoupledNewton(FINER * self.tol, self.max_iter)
        hinges = _Hinges(self._problem(prepared, y, factors), solver)
        ended = self._by_turns(hinges).run()
        fit = self._certified(hinges.problem, ended.point, ended.weights)
        return self._learned(fit, ended)


@dataclass
class _Hinges(Classifiers[SolverResult]):
    """The classifiers for fixed weights."""

    problem: CoupledProblem
    solver: CoupledNewton

    def solve(self, weights: Array, before: SolverResult | None, gain: float) -> SolverResult:
        """Solve the convex problem, as exactly as the last change of the weights asks for."""
        self.problem = replace(self.problem, scales=np.maximum(weights, LEAST_WEIGHT))
        if before is None:
            return self.solver.solve(self.problem)
        needed = GAIN_SHARE * gain / max(abs(before.objective), 1e-300)
        return self._improved(before, max(min(needed, LOOSEST), self.solver.tol))

    def settle(self, point: SolverResult, weights: Array) -> SolverResult:
        """Solve the last problem to the end."""
        done = point.residual <= self.solver.tol
        return point if done else self._improved(point, self.solver.tol)

    def _improved(self, before: SolverResult, tol: float) -> SolverResult:
        """Solve the problem; keep the earlier classifiers where they are no worse."""
        start = before.coef, before.intercept, before.multipliers
        after = replace(self.solver, tol=tol).solve(self.problem, start=start)
        objective = self.problem.objective(self.problem.joined(before.coef, before.intercept))
        if after.objective <= objective:
            return after
        bound = (1.0 - after.residual) * after.objective
        return replace(
            after, coef=before.coef, intercept=before.intercept, objective=objective,
            residual=max(objective - bound, 0.0) / max(objective, 1e-300),
        )  # fmt: skip

    def costs(self, point: SolverResult) -> Array:
        """Return the squared norms."""
        return np.asarray(np.add.reduceat(point.coef**2, self.problem.edges[:-1]))

    def objective(self, point: SolverResult, weights: Array) -> float:
        """Return the objective, without the term of the weights alone."""
        change = np.maximum(weights, LEAST_WEIGHT) - self.problem.scales
        return point.objective + 0.5 * float(change @ self.costs(point))
