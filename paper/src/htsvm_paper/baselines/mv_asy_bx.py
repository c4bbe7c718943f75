"""MVASY-BX: two views with the bounded LINEX loss."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from htsvm._documented import documented
from htsvm_paper.baselines._smooth_pair import POSITIVE, SmoothPair
from htsvm.losses import BoundedLinex, SmoothLoss


@documented
@dataclass(eq=False, repr=False)
class MvASYBX(SmoothPair):
    r"""Two support vector machines with the bounded LINEX loss that should agree (MVASY-BX).

    A reconstruction: see the notes.

    .. math::
        \min\ \tfrac12 \|w_A\|^2 + \tfrac12 \|w_B\|^2 + C_A \sum_i L(y_i \xi_{A,i}) \\
        + C_B \sum_i L(y_i \xi_{B,i}) + D \sum_i (f_A(x_i) - f_B(x_i))^2

        \text{subject to}\quad y_i f_v(x_i) \ge 1 - \xi_{v,i}, \quad \xi \ge 0, \\
        L(t) = \tfrac1\lambda \Bigl(1 - \frac1{1 + \lambda b (e^{a t} - a t - 1)}\Bigr),

    with :math:`f_v(x) = w_v^\top x_v + b_v`. The decision is :math:`\tfrac12 (f_A + f_B)`. For
    a > 0 violations of the positive class, the second in `classes_`, cost exponentially more, those
    of the negative class linearly more, up to :math:`1/\lambda` both.

    Parameters
    ----------
    C : float, array-like or dict, default=1.0
        Penalty of the losses, for both views or one for each.
    D : float, default=0.1
        Penalty of disagreement. Zero leaves two independent classifiers.
    a : float, default=1.0
        How differently the classes are treated; not zero, and a < 0 swaps them. With uneven classes
        and the wrong sign one class may be given up.
    b : float, default=1.0
        A factor within the bound: near zero the loss is :math:`\tfrac{a^2 b}2 \xi^2`.
    lam : float, default=0.5
        The lambda: no sample costs more than C / lam in a view.
    {kernel of views}, {gamma of views}, {views of pairs}
    tol : float, default=1e-6
        The largest residual of the gradient.
    max_iter : int, default=1000
        The largest number of iterations of L-BFGS from each start.
    n_restarts : int, default=3
        Random starts, beside w = 0 and the best constant classifiers; the lowest objective wins.
    {fit_intercept}, {class_weight of pairs}, {n_jobs}, {random_state of starts}
    verbose : int, default=0
        1 prints a line per start.

    Attributes
    ----------
    view_weights_ : ndarray
        1/2 for both views.
    certificate_ : list of GradientCertificate
        For each binary problem, the residuals of the gradient, the smallest curvature, and the
        objective beside that of the best constant classifiers.
    objective_, history_, n_iter_
        The objective; one row per start and one for the Newton steps at the end; all iterations.
    {n_support_ of all}, {view_coef_}, {view_intercept_}, {coef_ of views}, {intercept_ of views},
    {classes_}, {view_names_}, {view_columns_}, {n_features_in_}, {feature_names_in_}

    Notes
    -----
    *A reconstruction.* Neither the article's text nor code by its authors was at hand. The loss is
    the bounded LINEX loss in its usual form; the rest of the problem is that of `WaveMvSVM`, whose
    public code is an edit of a LINEX code and keeps its label in the exponent. Here that is well
    posed, since the loss rises with the slack for either class. The decision weighs the views
    alike, as the regulariser does. All defaults are ours: with a = b = 1 the loss of a
    small violation is that of least squares, :math:`\tfrac12 \xi^2`. A larger D or lam soon makes
    constant classifiers the best ones.

    For the solver see `WaveMvSVM`.

    References
    ----------
    Tang, He, Fu, Tian, Kou, Xu: MVASY-BX. Neurocomputing, 2023; as cited by Y. Yang, C. Chen, Y.
    Liu, H. Wang. Robust and sparse support vector machine via hybrid truncated loss for supervised
    classification.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from htsvm.baselines import MvASYBX
    >>> X, y = make_classification(n_samples=200, random_state=0)
    >>> clf = MvASYBX(views=[slice(0, 10), slice(10, 20)]).fit(X, y)
    >>> clf.certificate_[0].certified
    True
    """

    _: KW_ONLY
    a: float = 1.0
    b: float = 1.0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SmoothPair._parameter_constraints,
        "a": [
            Interval(Real, 0.0, None, closed="neither"),
            Interval(Real, None, 0.0, closed="neither"),
        ],
        "b": [POSITIVE],
    }

    def _smooth_loss(self) -> SmoothLoss:
        return BoundedLinex(float(self.a), float(self.b), float(self.lam))
