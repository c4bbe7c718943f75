"""The SVM with the ramp loss."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from htsvm.losses import Loss, Ramp
from htsvm.solvers import Solver
from htsvm.svm.base import BaseLinearSVC


@dataclass(eq=False, repr=False)
class RampSVC(BaseLinearSVC):
    r"""Linear support vector machine with the ramp loss (Ramp-SVM).

    .. math:: \min_{w,b}\ \tfrac12\|w\|^2 + C \sum_i \min(\max(0, q_i),\ \bar\chi),
              \qquad q_i = 1 - y_i (w^\top x_i + b)

    The hinge loss, cut off at the `ceiling` :math:`\bar\chi`: a sample with a larger violation no
    longer pulls. The concave-convex procedure of Collobert et al. solves a hinge problem, takes out
    the samples beyond the ceiling, solves again, and so on; that is what `HTSVC`'s solver does
    with this loss, lowering the ceiling in steps and ending at a certified stationary point.

    More than two classes are fitted one against the rest, each of these problems with balanced
    weights, because a bounded loss finds it cheap to give up a small class.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of the loss; larger means less regularisation.
    ceiling : float, default=2.0
        The largest loss of a sample; positive. In terms of Collobert et al. it is 1 - s, so that
        the default is s = -1. They found ceilings below 1 to hurt. ``inf`` is the hinge loss.
    n_restarts : int, default=0
        Further starts; the lowest objective wins.
    starts : "auto" or list of str, default="auto"
        Which starts are compared; see `HTSVC`.
    tol : float, default=1e-3
        The largest residual of the P-stationarity conditions.
    max_iter : int, default=1000
        The largest number of iterations.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not regularised.
    class_weight : dict, "balanced" or None, default=None
        Factors of C per class; "balanced" gives all classes the same total weight.
    warm_start : bool, default=False
        Whether to start from the last solution.
    n_jobs : int or None, default=None
        Threads over the binary problems of a fit with more than two classes.
    random_state : int, RandomState or None, default=None
        Drives all that is random in the solver: the sample of rows of the first, rough phase on
        large data, and the restarts. None always takes the same seed, so that a fit can be
        repeated.
    verbose : int, default=0
        Whether to print a line per iteration.

    Attributes
    ----------
    certificate_ : list of Certificate
        For each binary problem, the residuals of P-stationarity, the interval of nu, objectives
        and whether the point is a local minimiser.
    coef_, intercept_ : ndarrays of shape (1 or n_classes, n_features), (1 or n_classes,)
        Weights and intercepts.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    objective_ : ndarray
        The objective of each binary problem.
    support_ : ndarray
        Indices of the support vectors.
    n_support_ : ndarray of shape (n_classes,)
        Their number per class.
    dual_coef_ : ndarray of shape (1 or n_classes, n_support)
        Their coefficients: ``coef_ == dual_coef_ @ X[support_]``.
    sample_status_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        What became of each sample, as a `SampleStatus`.
    ignored_ : ndarray
        Indices of the samples that were ignored (with several classes, in the problem of their
        own class).
    history_ : dict of ndarrays
        One entry per iteration in each column.
    n_iter_ : int
        Iterations (the most over the problems).
    n_passes_ : float
        The work, in units of one product ``X @ w``.
    seconds_ : list of dict
        For each problem, seconds by part.
    n_features_in_, feature_names_in_ : int, ndarray
        The number of features, and their names, if X had any.

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
