"""The least squares SVM."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from htsvm._documented import documented
from htsvm.baselines.single._base import constraints_without
from htsvm.losses import LeastSquares, Loss
from htsvm.solvers import LinearSystem, Solver
from htsvm.svm.base import BaseLinearSVC


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
    certificate_ : list of Certificate
        For each binary problem, the residuals of the optimality conditions and the duality gap.
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints_without(
        "n_restarts", "starts", "warm_start", "random_state"
    )
    _balanced_rest: ClassVar[bool] = False
    _cap_name: ClassVar[str | None] = None

    def _loss(self) -> Loss:
        return LeastSquares()

    def _solver(self) -> Solver:
        return LinearSystem(tol=self.tol, max_iter=self.max_iter, callback=self._progress())
