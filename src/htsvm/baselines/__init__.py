"""Support vector machines with other losses, to compare with and to use: hinge, squares, ramp."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

from htsvm._documented import documented
from htsvm._moved import moved
from htsvm._sklearn import Interval
from htsvm.losses import Hinge, LeastSquares, Loss, Ramp
from htsvm.solvers import LinearSystem, Solver
from htsvm.svm.base import BaseLinearSVC

__all__ = ["HingeSVC", "LeastSquaresSVC", "RampSVC"]

MOVED = ["SVM2K", "MvASYBX", "MvLSSVC2C", "MvSL01SVM", "MvSVM2C", "PinballSVC", "WaveMvSVM",
         "ZeroOneSVC"]  # fmt: skip
__getattr__ = moved(__name__, dict.fromkeys(MOVED, "htsvm_paper.baselines"))


@dataclass(eq=False, repr=False)
class ConvexSVC(BaseLinearSVC):
    """A linear classifier with a convex loss, by Newton's method: no restarts, no balancing."""

    C: float = 1.0
    _: KW_ONLY
    tol: float = 1e-4
    max_iter: int = 1000
    fit_intercept: bool = True
    class_weight: Any = None
    warm_start: bool = False
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    _balanced_rest: ClassVar[bool] = False
    _cap_name: ClassVar[str | None] = None

    def _solver(self) -> Solver:
        return self._named_solver("newton")


@documented
class HingeSVC(ConvexSVC):
    r"""The classical soft-margin linear support vector machine, with a free intercept.

    .. math:: \min_{w,b}\ \tfrac12\|w\|^2 + C \sum_i \max(0,\ 1 - y_i (w^\top x_i + b))

    This is the model of `sklearn.svm.SVC(kernel="linear")`, solved without a kernel matrix.
    `sklearn.svm.LinearSVC(loss="hinge")` is another one: it also penalises the intercept.

    More than two classes are fitted one against the rest, without balancing.

    Parameters
    ----------
    {C}, {tol of gaps}, {max_iter}, {fit_intercept}, {class_weight}, {warm_start}, {n_jobs},
    {random_state}, {verbose}

    Attributes
    ----------
    {certificate_ of gaps}, {coef_}, {intercept_}, {classes_}, {objective_}, {support_},
    {n_support_}, {dual_coef_}
    sample_status_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        What became of each sample, as a `SampleStatus`; no sample is ever ignored.
    {history_}, {n_iter_}, {n_passes_}, {seconds_}, {n_features_in_}, {feature_names_in_}

    See Also
    --------
    RampSVC : With a ceiling on the loss of a sample.

    References
    ----------
    C. Cortes, V. Vapnik. Support-vector networks. Machine Learning 20, 1995.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from htsvm.baselines import HingeSVC
    >>> X, y = make_classification(n_samples=200, random_state=0)
    >>> clf = HingeSVC().fit(X, y)
    >>> clf.certificate_[0].relative_duality_gap < 1e-3
    True
    """

    def _loss(self) -> Loss:
        return Hinge()


@documented
@dataclass(eq=False, repr=False)
class LeastSquaresSVC(BaseLinearSVC):
    r"""Linear least squares support vector machine (LS-SVM).

    .. math:: \min_{w,b}\ \tfrac12\|w\|^2 + C \sum_i (1 - y_i (w^\top x_i + b))^2

    The literature on LS-SVM mostly writes :math:`\tfrac{\gamma}{2} \sum_i e_i^2`, so that
    :math:`\gamma = 2C`. Since :math:`y_i^2 = 1`, this is ridge regression on the labels -1 and 1
    with a free intercept and ``alpha = 1 / (2 * C)``. It is solved as one linear system on the
    smaller side of the data: features or samples, by conjugate gradients where both are large.

    More than two classes are fitted one against the rest, without balancing.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of the loss; half of the usual gamma.
    tol : float, default=1e-4
        The largest residual of the optimality conditions. Only conjugate gradients stop there; a
        factorised system is solved as well as rounding allows.
    max_iter : int, default=1000
        The largest number of solves and corrections.
    {fit_intercept}, {class_weight}, {n_jobs}, {verbose}

    Attributes
    ----------
    {certificate_ of gaps}
    sample_status_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        On which side of the margin each sample is; those that are "safe" pull here too.
    {coef_}, {intercept_}, {classes_}, {objective_}
    support_ : ndarray
        Indices of the support vectors. Every sample that is not exactly on the margin is one.
    {n_support_}, {dual_coef_}, {history_}, {n_iter_}, {n_passes_}, {seconds_}, {n_features_in_},
    {feature_names_in_}

    See Also
    --------
    sklearn.linear_model.RidgeClassifier : The same model in other words.

    References
    ----------
    J. A. K. Suykens, J. Vandewalle. Least squares support vector machine classifiers. Neural
    Processing Letters 9, 1999.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from htsvm.baselines import LeastSquaresSVC
    >>> X, y = make_classification(n_samples=200, random_state=0)
    >>> clf = LeastSquaresSVC(C=0.5).fit(X, y)
    >>> int(clf.n_support_.sum()), clf.certificate_[0].certified
    (200, True)
    """

    C: float = 1.0
    _: KW_ONLY
    tol: float = 1e-4
    max_iter: int = 1000
    fit_intercept: bool = True
    class_weight: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    _balanced_rest: ClassVar[bool] = False
    _cap_name: ClassVar[str | None] = None

    def _loss(self) -> Loss:
        return LeastSquares()

    def _solver(self) -> Solver:
        return LinearSystem(tol=self.tol, max_iter=self.max_iter, callback=self._progress())


@documented
@dataclass(eq=False, repr=False)
class RampSVC(BaseLinearSVC):
    r"""Linear support vector machine with the ramp loss (Ramp-SVM).

    .. math:: \min_{w,b}\ \tfrac12\|w\|^2 + C \sum_i \min(\max(0, q_i),\ \bar\chi), \\
              q_i = 1 - y_i (w^\top x_i + b)

    The hinge loss, cut off at the `ceiling` :math:`\bar\chi`: a sample with a larger violation no
    longer pulls. The concave-convex procedure of Collobert et al. solves a hinge problem, takes out
    the samples beyond the ceiling, solves again, and so on, as `HTSVC`'s solver does.

    More than two classes are fitted one against the rest, each of these problems with balanced
    weights, because a bounded loss finds it cheap to give up a small class.

    Parameters
    ----------
    {C}
    ceiling : float, default=2.0
        The largest loss of a sample; positive. In terms of Collobert et al. it is 1 - s, so that
        the default is s = -1. They found ceilings below 1 to hurt. ``inf`` is the hinge loss.
    n_restarts : int, default=0
        Further starts; the lowest objective wins.
    {starts}, {tol}, {max_iter}, {fit_intercept}, {class_weight}, {warm_start}, {n_jobs},
    {random_state}, {verbose}

    Attributes
    ----------
    certificate_ : list of Certificate
        For each binary problem, the residuals of P-stationarity, the interval of nu, objectives
        and whether the point is a local minimiser.
    {coef_}, {intercept_}, {classes_}, {objective_}, {support_}, {n_support_}, {dual_coef_}
    sample_status_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        What became of each sample, as a `SampleStatus`.
    {ignored_}, {history_}, {n_iter_}, {n_passes_}, {seconds_}, {n_features_in_},
    {feature_names_in_}

    Notes
    -----
    The problem is not convex. The objective is never above its value at the solution of the convex
    start, nor above that of the best constant classifier.

    References
    ----------
    R. Collobert, F. Sinz, J. Weston, L. Bottou. Trading convexity for scalability. International
    Conference on Machine Learning, 2006.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from htsvm.baselines import RampSVC
    >>> X, y = make_classification(n_samples=200, random_state=0)
    >>> y[:20] = 1 - y[:20]
    >>> clf = RampSVC(ceiling=1.0).fit(X, y)
    >>> clf.certificate_[0].local_minimizer
    'yes'
    """

    C: float = 1.0
    _: KW_ONLY
    ceiling: float = 2.0
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
        "ceiling": [Interval(Real, 0.0, None, closed="right")],
    }
    _cap_name: ClassVar[str | None] = "ceiling"

    def _loss(self) -> Loss:
        return Ramp(self.ceiling)

    def _solver(self) -> Solver:
        return self._named_solver("newton")
