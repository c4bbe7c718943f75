"""The estimator of the paper: a linear SVM with the hybrid truncated loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from htsvm.losses import HybridTruncated, Loss
from htsvm.solvers import Solver
from htsvm.svm import elsewhere
from htsvm.svm.base import BaseLinearSVC


@dataclass(eq=False, repr=False)
class HTSVC(BaseLinearSVC):
    r"""Linear support vector classifier that resists wrong labels.

    Minimises (the paper's L_ht-SVM)

    .. math:: \tfrac12\|w\|^2 + C \sum_i \ell(1 - y_i (w^\top x_i + b))

    with the hybrid truncated loss: zero for samples that are safe, linear for those inside the
    margin, constant for those further on the wrong side than `cap` allows. The last kind no
    longer pulls at the model; `ignored_` lists them.

    More than two classes are one problem (`multi_class`), in which a sample has one violation,

    .. math:: h_i = \max(0,\ 1 + \max_{j \ne y_i} f_j(x_i) - f_{y_i}(x_i)), \qquad
        \tfrac12\|W\|^2 + C \sum_i \ell(h_i),

    and is truncated once, not once per class. The intercepts sum to zero, as do the rows of W.
    For two classes this problem with C would be the binary one with 2C.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of the loss; larger means less regularisation.
    cap : float, default=1.0
        The margin violation from which on a sample is ignored. 1 is the paper's: on the wrong side
        of the decision boundary. ``inf`` never ignores a sample (a hinge loss SVM with 6C/5).
    knee : float, default=2/3
        Where the straight part of the loss ends, as a share of the cap.
    solver : {"newton", "admm"} or solver object, default="newton"
        "newton" majorises and uses a semismooth Newton method. "admm" is the paper's algorithm
        with safeguards; pass `htsvm.solvers.ADMM(penalty=..., safeguards=())` for other settings.
        An object's own tol, max_iter, n_restarts and random_state give way to those here.
    tol : float, default=1e-3
        The largest residual of the P-stationarity conditions; without a cap, the largest relative
        duality gap. Free of scale: see `htsvm.optimality.residuals`.
    max_iter : int, default=1000
        The largest number of iterations.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not regularised.
    class_weight : dict, "balanced" or None, default=None
        Factors of C per class.
    multi_class : {"auto", "joint", "crammer_singer", "ovr"}, default="auto"
        How to fit more than two classes. "joint" solves one problem for all; it needs the "newton"
        solver ("crammer_singer" is another name for it). "ovr" fits each class against the rest,
        with balanced weights, because a bounded loss finds it cheap to give up the smaller side.
        "auto" is "joint", but "ovr" with the "admm" solver. Two classes are one binary problem in
        any case.
    warm_start : bool, default=False
        Whether to start from the last solution.
    starts : "auto" or list of str, default="auto"
        Where the "newton" solver starts, where the loss is truncated and there is no warm
        start: "convex" (the solution without truncation), "least_squares", "annealed", "ladder",
        "balanced" (least squares with equal classes), "spread" (convex solutions with other sample
        weights), "pushed", "one_column" (the lowest point of all, for up to 150 samples of one
        column) and "lines" (exact searches along the directions of other classifiers, for up to
        150 samples). They are compared by quick searches, and the
        one that leads lowest is taken; "auto" tries all of them, for several classes the first, the
        third and, if classes are uneven, the fifth. ``["convex"]`` is the quickest.
    n_restarts : int, default=0
        Further, expensive starts for the "newton" solver, from convex solutions with random sample
        weights; the lowest objective wins.
    n_jobs : int or None, default=None
        Threads over the binary problems of a fit with ``multi_class="ovr"`` (on Dask data,
        problems at a time).
    random_state : int, RandomState or None, default=None
        Drives the sample of rows of the first, rough phase on large data, and the restarts, of the
        "newton" solver. None always takes the same seed, so that a fit can be repeated.
    verbose : int, default=0
        Whether to print a line per iteration.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray
        The class labels.
    objective_ : ndarray
        The objective of each problem: one, or with "ovr" one per class.
    start_ : list of str
        For each problem, the start that led to the solution; "warm" for the last solution,
        "constant" where no start led below the best constant classifier.
    starts_ : list of dict
        For each problem, the objective that each start reached in the search: before the solver
        went on, and on large data for a sample of the rows, with its loss scaled up. NaN for one
        that failed. Empty where there was nothing to compare.
    certificate_ : list of BinaryCertificate or MulticlassCertificate
        For each problem residuals, duality gap and objectives, computed apart from the solver. For
        a binary one also the interval of nu in which the point is P-stationary and the
        second-order verdict.
    support_ : ndarray
        Indices of the support vectors.
    n_support_ : ndarray of shape (n_classes,)
        Their number per class.
    dual_coef_ : ndarray of shape (1 or n_classes, n_support)
        Their coefficients: ``coef_ == dual_coef_ @ X[support_]``.
    sample_status_ : ndarray of shape (n_samples,), or (n_samples, n_classes) with "ovr"
        What became of each sample, as a `SampleStatus`: safe, on the margin, inside it, in the
        transition zone, or ignored. After a fit on Dask data, a Dask array, like `ignored_`.
    ignored_ : ndarray
        Indices of the samples that were ignored (with "ovr", in the problem of their own class).
    history_ : dict of ndarrays
        One entry per iteration in each column; ``pandas.DataFrame(clf.history_)`` shows it. After
        a fit on Dask data also the passes over the network so far, and the bytes they moved.
    n_iter_ : int
        Iterations (the most over the problems).
    n_passes_ : float
        The work, in units of one product ``X @ w``.
    seconds_ : list of dict
        For each problem, seconds by part.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray
        Their names, if X had any.

    See Also
    --------
    HTSVCCV : Chooses C and cap by cross-validation.
    ht_path : Fits a whole grid of C.

    Notes
    -----
    The problem is not convex: the result is a certified stationary point, in practice a local
    minimiser. Probabilities: wrap it in `sklearn.calibration.CalibratedClassifierCV`.

    References
    ----------
    Y. Yang, C. Chen, Y. Liu, H. Wang. Robust and sparse support vector machine via hybrid
    truncated loss for supervised classification.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from htsvm import HTSVC
    >>> X, y = make_classification(n_samples=200, random_state=0)
    >>> y[:20] = 1 - y[:20]
    >>> clf = HTSVC().fit(X, y)
    >>> clf.certificate_[0].certified
    True
    """

    C: float = 1.0
    _: KW_ONLY
    cap: float = 1.0
    knee: float = 2.0 / 3.0
    solver: Any = "newton"
    tol: float = 1e-3
    max_iter: int = 1000
    fit_intercept: bool = True
    class_weight: Any = None
    multi_class: str = "auto"
    warm_start: bool = False
    starts: Any = "auto"
    n_restarts: int = 0
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseLinearSVC._parameter_constraints,
        "cap": [Interval(Real, 0.0, None, closed="right")],
        "knee": [Interval(Real, 0.0, 1.0, closed="neither")],
        "solver": [str, Solver],
    }

    def _loss(self) -> Loss:
        return HybridTruncated(knee=self.knee, cap=self.cap)

    def _solver(self) -> Solver:
        return self._named_solver(self.solver)

    def _fitter_on(self, backend: Any) -> Callable[[Any, Any, Any, Any], None]:
        return partial(elsewhere.fit, backend)
