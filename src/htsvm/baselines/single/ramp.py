"""The SVM with the ramp loss."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

from htsvm._documented import documented
from htsvm._sklearn import Interval
from htsvm.losses import Loss, Ramp
from htsvm.solvers import Solver
from htsvm.svm.base import BaseLinearSVC


@documented
@dataclass(eq=False, repr=False)
class RampSVC(BaseLinearSVC):
    r"""Linear support vector machine with the ramp loss (Ramp-SVM).

    .. math:: \min_{w,b}\ \tfrac12\|w\|^2 + C \sum_i \min(\max(0, q_i),\ \bar\chi), \\
              q_i = 1 - y_i (w^\top x_i + b)

    The hinge loss, cut off at the `ceiling` :math:`\bar\chi`: a sample with a larger violation no
    longer pulls. The concave-convex procedure of Collobert et al. solves a hinge problem, takes out
    the samples beyond the ceiling, solves again, and so on; that is what `HTSVC`'s solver does
    with this loss, lowering the ceiling in steps and ending at a certified stationary point.

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
