"""MVASY-BX: two views with the bounded LINEX loss."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from htsvm.baselines.multiview._smooth_pair import POSITIVE, SmoothPair
from htsvm.losses.bounded_linex import BoundedLinex
from htsvm.solvers.coupled.smooth_problem import SmoothLoss


class MvASYBX(SmoothPair):
    r"""Two support vector machines with the bounded LINEX loss that should agree (MVASY-BX).

    A reconstruction: see the notes.

    .. math::
        \min\ \tfrac12 \|w_A\|^2 + \tfrac12 \|w_B\|^2 + C_A \sum_i L(y_i \xi_{A,i})
        + C_B \sum_i L(y_i \xi_{B,i}) + D \sum_i (f_A(x_i) - f_B(x_i))^2

        \text{subject to}\quad y_i f_v(x_i) \ge 1 - \xi_{v,i}, \quad \xi \ge 0, \qquad
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
    kernel, gamma
        As for `SVM2K`.
    views : None, list or dict, default=None
        As for `SVM2K`: two views; None takes a single matrix for both.
    tol, max_iter, n_restarts, random_state
        As for `WaveMvSVM`.
    fit_intercept, class_weight, n_jobs, verbose
        As for `SVM2K`.

    Attributes
    ----------
    view_weights_ : ndarray
        1/2 for both views.
    certificate_, objective_, history_, n_iter_
        As for `WaveMvSVM`.
    view_coef_, view_intercept_, coef_, intercept_, classes_, view_names_, ...
        As for `SVM2K`.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SmoothPair._parameter_constraints,
        "a": [
            Interval(Real, 0.0, None, closed="neither"),
            Interval(Real, None, 0.0, closed="neither"),
        ],
        "b": [POSITIVE],
    }

    def __init__(
        self,
        C: Any = 1.0,
        *,
        D: float = 0.1,
        a: float = 1.0,
        b: float = 1.0,
        lam: float = 0.5,
        kernel: Any = "linear",
        gamma: Any = "scale",
        views: Any = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_restarts: int = 3,
        fit_intercept: bool = True,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.D = D
        self.a = a
        self.b = b
        self.lam = lam
        self.kernel = kernel
        self.gamma = gamma
        self.views = views
        self.tol = tol
        self.max_iter = max_iter
        self.n_restarts = n_restarts
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _smooth_loss(self) -> SmoothLoss:
        return BoundedLinex(float(self.a), float(self.b), float(self.lam))
