"""Wave-MvSVM and MVASY-BX: two views with a smooth bounded loss each, and a quadratic tie."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from htsvm.extend import Array, Interval, Prepared, seed_of
from htsvm_paper.baselines._base import POSITIVE, BinaryFit, MultiViewBaseline, documented
from htsvm_paper.losses import BoundedLinex, SmoothLoss, Wave
from htsvm_paper.solvers.smooth import SmoothDescent, SmoothProblem


@dataclass(eq=False, repr=False)
class SmoothPair(MultiViewBaseline):
    """Two classifiers with a smooth bounded loss, drawn together by the square of the difference.

    Subclasses give the loss, whose bound is 1 / `lam`, and the factors of the two regularisers.
    """

    _: KW_ONLY
    D: float = 0.1
    lam: float = 0.5
    kernel: Any = "linear"
    gamma: Any = "scale"
    max_iter: int = 1000
    n_restarts: int = 3
    random_state: Any = None

    _pair: ClassVar[bool] = True
    _balanced_rest: ClassVar[bool] = True

    @abstractmethod
    def _smooth_loss(self) -> SmoothLoss:
        """Return the loss that the parameters describe."""

    def _binary(self, prepared: Prepared, y: Array, factors: Array) -> BinaryFit:
        # The factors of the regularisers weigh the decision too.
        scales = np.array([float(getattr(self, "theta", 1.0)), 1.0])
        problem = SmoothProblem(
            *self._terms(prepared, y, factors), scales, self._smooth_loss(),
            fit_intercept=bool(self.fit_intercept),
        )  # fmt: skip
        solver = SmoothDescent(
            self.tol, self.max_iter, self.n_restarts, seed_of(self.random_state), self._progress()
        )
        return self._certified(problem, solver.solve(problem), scales / scales.sum())


@documented
@dataclass(eq=False, repr=False)
class WaveMvSVM(SmoothPair):
    r"""Two support vector machines with the bounded wave loss that should agree (Wave-MvSVM).

    .. math::
        \min\ \tfrac\theta2 \|w_A\|^2 + \tfrac12 \|w_B\|^2 + C_A \sum_i L(\xi_{A,i}) \\
        + C_B \sum_i L(\xi_{B,i}) + D \sum_i (f_A(x_i) - f_B(x_i))^2

        \text{subject to}\quad y_i f_v(x_i) \ge 1 - \xi_{v,i}, \quad \xi \ge 0, \\
        L(u) = \tfrac1\lambda \Bigl(1 - \frac1{1 + \lambda u^2 e^{a u}}\Bigr),

    with :math:`f_v(x) = w_v^\top x_v + b_v`. The decision is :math:`(\theta f_A + f_B) / (\theta +
    1)`.

    Parameters
    ----------
    {C of views}, {D}
    a : float, default=0.5
        How steep the loss rises; not negative.
    lam : float, default=0.2
        The authors' lambda: no sample costs more than C / lam in a view.
    theta : float, default=1.0
        The weight of the first view's regulariser, and of the first view in the decision, against
        1 for the second.
    {descents}

    Attributes
    ----------
    {certificate_ of gradients}
    view_weights_ : ndarray
        :math:`\theta / (\theta + 1)` and :math:`1 / (\theta + 1)`.
    {n_support_ of all}, {objective_ of rounds}, {history_ of starts}, {n_iter_ of starts}
    {attributes}

    Notes
    -----
    The loss rises with the slack, so the best slack is max(0, 1 - y f), which leaves an objective
    with continuous gradient in the classifiers alone. It is not convex; see `n_restarts`. More than
    two classes are fitted one against the rest with balanced weights, since a bounded loss finds it
    cheap to give up a small class.

    *Our choices.* The problem is the one that the authors' code states; their ADMM, with its
    published step lengths, stops far from the minimum. Their code also has the label in the
    exponent of the loss, which leaves one class unpenalised, takes the best of four decision rules
    by the test data, and regularises the intercept as a constant column (append one and set
    ``fit_intercept=False`` for that). Of the four rules we take the one that weighs the views as
    the regulariser does. The defaults of a, lam and theta are those of their demonstration; that of
    D is ours.

    References
    ----------
    A. Quadir, M. Akhtar, M. Tanveer. Enhancing multiview synergy: robust learning by exploiting the
    wave loss function with consensus and complementarity principles. Neural Networks, 2025.
    """

    _: KW_ONLY
    a: float = 0.5
    lam: float = 0.2
    theta: float = 1.0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SmoothPair._parameter_constraints,
        "a": SmoothPair._parameter_constraints["D"],
    }

    def _smooth_loss(self) -> SmoothLoss:
        return Wave(float(self.a), float(self.lam))


@documented
@dataclass(eq=False, repr=False)
class MvASYBX(SmoothPair):
    r"""Two support vector machines with the bounded LINEX loss that should agree (MVASY-BX).

    A reconstruction: see the notes. The problem is that of `WaveMvSVM` with theta = 1 and the loss

    .. math::
        L(y_i \xi_{v,i}), \quad
        L(t) = \tfrac1\lambda \Bigl(1 - \frac1{1 + \lambda b (e^{a t} - a t - 1)}\Bigr) .

    For a > 0 violations of the positive class, the second in `classes_`, cost exponentially more,
    those of the negative class linearly more, up to :math:`1/\lambda` both.

    Parameters
    ----------
    {C of views}, {D}
    a : float, default=1.0
        How differently the classes are treated; not zero, and a < 0 swaps them. With uneven classes
        and the wrong sign one class may be given up.
    b : float, default=1.0
        A factor within the bound: near zero the loss is :math:`\tfrac{a^2 b}2 \xi^2`.
    lam : float, default=0.5
        The lambda: no sample costs more than C / lam in a view.
    {descents}

    Attributes
    ----------
    {view_weights_ of halves}
    {certificate_ of gradients}
    {n_support_ of all}, {objective_ of rounds}, {history_ of starts}, {n_iter_ of starts}
    {attributes}

    Notes
    -----
    *A reconstruction.* Neither the article's text nor code by its authors was at hand. The loss is
    the bounded LINEX loss in its usual form; the rest, and the solver, are those of `WaveMvSVM`,
    whose public code is an edit of a LINEX code and keeps its label in the exponent. Here that is
    well posed, since the loss rises with the slack for either class. All defaults are ours: with
    a = b = 1 the loss of a small violation is that of least squares, :math:`\tfrac12 \xi^2`. A
    larger D or lam soon makes constant classifiers the best ones.

    References
    ----------
    Tang, He, Fu, Tian, Kou, Xu: MVASY-BX. Neurocomputing, 2023; as cited in the paper of `HTSVC`.
    """

    _: KW_ONLY
    a: float = 1.0
    b: float = 1.0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SmoothPair._parameter_constraints,
        "a": [POSITIVE, Interval(Real, None, 0.0, closed="neither")],
    }

    def _smooth_loss(self) -> SmoothLoss:
        return BoundedLinex(float(self.a), float(self.b), float(self.lam))
