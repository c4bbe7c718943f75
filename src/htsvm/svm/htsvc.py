"""The estimator of the paper: a linear SVM with the hybrid truncated loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

from htsvm._documented import documented
from htsvm._sklearn import Interval
from htsvm.losses import HybridTruncated, Loss
from htsvm.solvers import Solver
from htsvm.svm.base import BaseLinearSVC


@documented
@dataclass(eq=False, repr=False)
class HTSVC(BaseLinearSVC):
    r"""Linear support vector classifier that resists wrong labels.

    Minimises (the paper's L_ht-SVM)

    .. math:: \tfrac12\|w\|^2 + C \sum_i \ell(1 - y_i (w^\top x_i + b))

    with the hybrid truncated loss: zero for samples that are safe, linear for those inside the
    margin, constant for those further on the wrong side than `cap` allows. The last kind no
    longer pulls at the model; `ignored_` lists them.

    More than two classes are one problem (`multi_class`),

    .. math:: \tfrac12\|W\|^2 + C \sum_i \ell(h_i), \\
        h_i = \max(0,\ 1 + \max_{j \ne y_i} f_j(x_i) - f_{y_i}(x_i)),

    in which a sample has one violation and is truncated once, not once per class. The intercepts
    sum to zero, as do the rows of W. For two classes this problem with C would be the binary one
    with 2C.

    Parameters
    ----------
    {C}
    cap : float, default=1.0
        The margin violation from which on a sample is ignored. 1 is the paper's: on the wrong side
        of the decision boundary. ``inf`` never ignores a sample (a hinge loss SVM with 6C/5).
    {knee}
    solver : {"newton", "admm"} or solver object, default="newton"
        "newton" majorises and uses a semismooth Newton method. "admm" is the paper's algorithm
        with safeguards; pass `htsvm.solvers.ADMM(penalty=..., safeguards=())` for other settings.
        An object's own tol, max_iter, n_restarts and random_state give way to those here.
    tol : float, default=1e-3
        The largest residual of the P-stationarity conditions; without a cap, the largest relative
        duality gap. Free of scale: see `htsvm.optimality.residuals`.
    {max_iter}, {fit_intercept}, {class_weight}
    multi_class : {"auto", "joint", "crammer_singer", "ovr"}, default="auto"
        How to fit more than two classes. "joint" solves one problem for all; it needs the "newton"
        solver ("crammer_singer" is another name for it). "ovr" fits each class against the rest,
        with balanced weights, because a bounded loss finds it cheap to give up the smaller side.
        "auto" is "joint", but "ovr" with the "admm" solver. Two classes are one binary problem in
        any case.
    {warm_start}, {starts}
    n_restarts : int, default=0
        Further pushes for the "newton" solver, from the lowest point so far with other sample
        weights; the lowest objective wins.
    n_jobs : int or None, default=None
        Threads over the binary problems of a fit with ``multi_class="ovr"`` (on Dask data,
        problems at a time).
    {random_state}, {verbose}

    Attributes
    ----------
    {coef_}, {intercept_}, {classes_}, {objective_}
    start_ : list of str
        For each problem, the start that led to the solution; "warm" for the last solution,
        "constant" where no start led below the best constant classifier.
    starts_ : list of dict
        For each problem, the objective that each start reached in the search: before the solver
        went on, and on large data for a sample of the rows, with its loss scaled up. Empty where
        there was nothing to compare.
    certificate_ : list of BinaryCertificate or MulticlassCertificate
        For each problem residuals, duality gap and objectives, computed apart from the solver. For
        a binary one also the interval of nu in which the point is P-stationary and the
        second-order verdict.
    {support_}, {n_support_}, {dual_coef_}
    sample_status_ : ndarray of shape (n_samples,), or (n_samples, n_classes) with "ovr"
        What became of each sample, as a `SampleStatus`: safe, on the margin, inside it, in the
        transition zone, or ignored. After a fit on Dask data, a Dask array, like `ignored_`.
    {ignored_}
    history_ : dict of ndarrays
        One entry per iteration in each column; ``pandas.DataFrame(clf.history_)`` shows it. With
        the "newton" solver: iteration, the start whose search ended there, width (how far the kink
        of the loss is rounded), objective, residual, steps, passes over the data, seconds; with
        several classes in one problem also sweeps. After a fit on Dask data also the passes over
        the network so far, and the bytes they moved.
    {n_iter_}, {n_passes_}, {seconds_}, {n_features_in_}, {feature_names_in_}

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
        fitter: Callable[[Any, Any, Any, Any], None] = backend.fit
        return fitter
