"""Support vector machines with the pinball and with the 0/1 loss."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

from htsvm.extend import (
    ADMM,
    BaseLinearSVC,
    ConvexSVC,
    Interval,
    Loss,
    Solver,
    StrOptions,
    documented,
)
from htsvm_paper.losses import Pinball, ZeroOne
from htsvm_paper.solvers import ZeroOneSolver


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class PinballSVC(ConvexSVC):
    r"""Linear support vector machine with the pinball loss (Pin-SVM).

    .. math:: \min_{w,b}\ \tfrac12\|w\|^2 + C \sum_i \max(q_i,\ -\tau q_i), \\
              q_i = 1 - y_i (w^\top x_i + b)

    Samples beyond the margin cost something too, so that it is placed by a quantile of each class:
    less sensitive to noise in the features, but not sparse, since with :math:`\tau > 0` every
    sample has a multiplier, :math:`-\tau C \le \lambda_i \le C`. ``tau=0`` is `HingeSVC`;
    ``tau=1`` is support vector regression on the labels with epsilon 0. More than two classes are
    fitted one against the rest, without balancing.

    Parameters
    ----------
    {C}
    tau : float, default=0.5
        The slope of the loss beyond the margin, in [0, 1].
    {tol of gaps}, {max_iter}, {fit_intercept}, {class_weight}, {warm_start}, {n_jobs},
    {random_state}, {verbose}

    Attributes
    ----------
    {certificate_ of gaps}
    sample_status_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        On which side of the margin each sample is; those that are "safe" pull here too.
    {coef_}, {intercept_}, {classes_}, {objective_}, {support_}, {n_support_}
    dual_coef_ : ndarray of shape (1 or n_classes, n_support)
        Their coefficients, :math:`y_i \lambda_i`: ``coef_ == dual_coef_ @ X[support_]``.
    {history_}, {n_iter_}, {n_passes_}, {seconds_}, {n_features_in_}, {feature_names_in_}

    References
    ----------
    X. Huang, L. Shi, J. A. K. Suykens. Support vector machine classifier with pinball loss. IEEE
    Transactions on Pattern Analysis and Machine Intelligence 36, 2014.
    """

    tau: float = 0.5

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ConvexSVC._parameter_constraints,
        "tau": [Interval(Real, 0.0, 1.0, closed="both")],
    }

    def _loss(self) -> Loss:
        return Pinball(self.tau)


@documented
@dataclass(eq=False, repr=False)
class ZeroOneSVC(BaseLinearSVC):
    r"""Linear support vector machine with the 0/1 loss (:math:`L_{0/1}`-SVM).

    .. math:: \min_{w,b}\ \tfrac12\|w\|^2 + C\, \#\{i : y_i (w^\top x_i + b) < 1\}

    It counts the samples inside the *margin*, however far. All support vectors lie on the margin,
    so there are few of them: often no more than features.

    More than two classes are fitted one against the rest, each of these problems with balanced
    weights, because a bounded loss finds it cheap to give up a small class.

    Parameters
    ----------
    C : float, default=1.0
        What a sample inside the margin costs.
    solver : {"newton", "admm"} or ADMM, default="newton"
        How the samples that are to be satisfied are found: "newton" follows ramp losses that close
        in on the 0/1 loss; "admm" is the published algorithm with safeguards, which seldom settles
        on real data and is slower by far. Either way their margin is then made exact.
    {tol}, {max_iter}
    n_restarts : int, default=0
        Further starts for the "newton" solver; the lowest objective wins.
    starts : "auto" or list of str, default="auto"
        Which starts are compared for the ramp of height one, from which a second descent follows:
        those of `RampSVC`. ``["convex"]`` leaves that descent out.
    {fit_intercept}, {class_weight}, {warm_start}, {n_jobs}, {random_state}, {verbose}

    Attributes
    ----------
    certificate_ : list of Certificate
        For each binary problem, the residuals of P-stationarity for the 0/1 loss, the interval of
        nu, and objectives; `convex_objective` is the 0/1 objective of the hinge solution.
    sample_status_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        What became of each sample: safe, on the margin, or ignored, which here is every sample
        inside the margin.
    {coef_}, {intercept_}, {classes_}, {objective_}, {support_}, {n_support_}, {dual_coef_},
    {ignored_}
    history_ : dict of ndarrays
        One entry per iteration in each column; the objectives are those of the losses on the way.
    {n_iter_}, {n_passes_}, {seconds_}, {n_features_in_}, {feature_names_in_}

    Notes
    -----
    What is found is a stationary point, which for this loss is a local minimiser. Its objective is
    never above that of the hinge solution, nor above that of the best constant classifier, C times
    the number k of samples in the smaller class. A violation of up to 1e-6 counts as none.

    ``coef_ = 0`` may well be the true optimum. To satisfy samples of both classes takes
    :math:`\|w\| \ge 2/D`, with D the largest distance between two samples of different classes, so
    that no classifier beats the constant one while :math:`C k \le 2 / D^2`. A fit that ends there
    gives an `IgnoredClassWarning`; a larger C is the remedy.

    References
    ----------
    H. Wang, Y. Shao, S. Zhou, C. Zhang, N. Xiu. Support vector machine classifier via L0/1
    soft-margin loss. IEEE Transactions on Pattern Analysis and Machine Intelligence 44, 2022.
    """

    C: float = 1.0
    _: KW_ONLY
    solver: Any = "newton"
    tol: float = 1e-3
    max_iter: int = 1000
    fit_intercept: bool = True
    class_weight: Any = None
    warm_start: bool = False
    starts: Any = "auto"
    n_restarts: int = 0
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseLinearSVC._parameter_constraints,
        "solver": [StrOptions({"newton", "admm"}), ADMM],
    }
    _cap_name: ClassVar[str | None] = None

    def _loss(self) -> Loss:
        return ZeroOne()

    def _solver(self) -> Solver:
        admm = None if self.solver == "newton" else self._named_solver(self.solver)
        return self._named_solver(ZeroOneSolver(admm=admm))
