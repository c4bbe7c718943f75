"""What the baselines share beyond `BaseLinearSVC`."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from htsvm.solvers import Solver
from htsvm.svm.base import BaseLinearSVC


def constraints_without(*names: str) -> dict[str, list[Any]]:
    """Return the parameter constraints of `BaseLinearSVC` but for some parameters."""
    known = BaseLinearSVC._parameter_constraints
    return {name: rules for name, rules in known.items() if name not in names}


@dataclass(eq=False, repr=False)
class ConvexSVC(BaseLinearSVC):
    """A linear classifier with a convex loss, solved by Newton's method.

    There is one optimum: no restarts, and no need to balance one class against the rest.
    """

    C: float = 1.0
    _: KW_ONLY
    tol: float = 1e-4
    max_iter: int = 1000
    fit_intercept: bool = True
    class_weight: Any = None
    warm_start: bool = False
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints_without(
        "n_restarts", "starts"
    )
    _balanced_rest: ClassVar[bool] = False
    _cap_name: ClassVar[str | None] = None

    def _solver(self) -> Solver:
        return self._named_solver("newton")
