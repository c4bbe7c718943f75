"""Two views with a smooth bounded loss each and a quadratic tie: what two of the baselines are."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from htsvm._seeds import seed_of
from htsvm._typing import Array
from htsvm_paper.baselines._base import BinaryFit, MultiViewBaseline
from htsvm.losses import SmoothLoss
from htsvm.multiview.base import KERNEL_RULES
from htsvm.multiview.parameters import per_view
from htsvm.multiview.preparation import Prepared
from htsvm.optimality import GradientCertificate
from htsvm_paper.solvers.smooth_descent import SmoothDescent
from htsvm_paper.solvers.smooth_problem import SmoothProblem

POSITIVE = Interval(Real, 0.0, None, closed="neither")


@dataclass(eq=False, repr=False)
class SmoothPair(MultiViewBaseline):
    """Two classifiers with a smooth bounded loss, drawn together by the square of the difference.

    Subclasses give the loss, whose bound is 1 / `lam`, and the factors of the two regularisers.
    """

    C: Any = 1.0
    _: KW_ONLY
    D: float = 0.1
    lam: float = 0.5
    kernel: Any = "linear"
    gamma: Any = "scale"
    views: Any = None
    tol: float = 1e-6
    max_iter: int = 1000
    n_restarts: int = 3
    fit_intercept: bool = True
    class_weight: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MultiViewBaseline._parameter_constraints,
        **KERNEL_RULES,
        "C": [Real, "array-like", dict],
        "D": [Interval(Real, 0.0, None, closed="left")],
        "lam": [POSITIVE],
        "n_restarts": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    }
    _pair: ClassVar[bool] = True

    @abstractmethod
    def _smooth_loss(self) -> SmoothLoss:
        """Return the loss that the parameters describe."""

    def _scales(self) -> Array:
        """Return the factors of the regularisers, which also weigh the decision."""
        return np.ones(2)

    def _binary(self, prepared: Prepared, y: Array, factors: Array) -> BinaryFit:
        C = per_view("C", self.C, self.view_names_)
        scales = self._scales()
        problem = SmoothProblem(
            prepared.coordinates, y, np.outer(C, factors), self.D * factors,
            scales, self._smooth_loss(), bool(self.fit_intercept),
        )  # fmt: skip
        result = SmoothDescent(
            self.tol, self.max_iter, self.n_restarts, seed_of(self.random_state), self._progress()
        ).solve(problem)
        certificate = GradientCertificate(
            stationarity=result.stationarity, balance=result.balance,
            objective=result.objective, tol=self.tol,
            trivial_objective=result.trivial_objective, curvature=result.curvature,
        )  # fmt: skip
        return BinaryFit(
            result.coefs, result.intercepts, scales / scales.sum(), certificate, result.n_iter,
            result.history,
        )  # fmt: skip
