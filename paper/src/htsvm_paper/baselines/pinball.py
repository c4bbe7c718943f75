"""The SVM with the pinball loss."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from htsvm._documented import documented
from htsvm.baselines.single._base import ConvexSVC
from htsvm.losses import Loss, Pinball


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class PinballSVC(ConvexSVC):
    r"""Linear support vector machine with the pinball loss (Pin-SVM).

    .. math:: \min_{w,b}\ \tfrac12\|w\|^2 + C \sum_i \max(q_i,\ -\tau q_i), \\
              q_i = 1 - y_i (w^\top x_i + b)

    Samples beyond the margin cost something too, so that the margin is placed by a quantile of each
    class rather than by its nearest samples: less sensitive to noise in the features. The price is
    sparsity: with :math:`\tau > 0` every sample has a multiplier,
    :math:`-\tau C \le \lambda_i \le C`. ``tau=0`` is `HingeSVC`; ``tau=1`` is support vector
    regression on the labels with epsilon 0.

    More than two classes are fitted one against the rest, without balancing.

    Parameters
    ----------
    {C}
    tau : float, default=0.5
        The slope of the loss beyond the margin, in [0, 1]. Negative values, which some authors
        allow, reward large margins without limit.
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

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from htsvm.baselines import PinballSVC
    >>> X, y = make_classification(n_samples=200, random_state=0)
    >>> int(PinballSVC(tau=0.5).fit(X, y).n_support_.sum())
    200
    """

    tau: float = 0.5

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ConvexSVC._parameter_constraints,
        "tau": [Interval(Real, 0.0, 1.0, closed="both")],
    }

    def _loss(self) -> Loss:
        return Pinball(self.tau)
