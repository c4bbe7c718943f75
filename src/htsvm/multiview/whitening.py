"""Problems in coordinates in which their regulariser is the identity.

With R = L L' and u = L'w the problem with the rows x and the regulariser w'Rw/2 is that with the
rows L⁻¹x and |u|²/2. One factorisation and one product with all rows, and the solvers can use what
they have for R = I: Newton systems of the few samples that matter, coordinate descent in the dual.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from htsvm._typing import Array
from htsvm.linalg import Quadratic
from htsvm.linalg.dense import DenseOperator
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers import Problem, SolverResult
from htsvm.solvers.multiclass.sweeps import LARGE

# With two classes it pays where a Newton system of the columns is the larger one. On a pair of
# STL-10 (631 samples and coordinates) a fit takes half the time, on 3,000 images of 280 columns
# a third more.
# With several classes it pays where coordinate descent takes over: on 3,000 images with views of
# 324 and 236 columns and ten classes a fit took 7 seconds, where it had taken minutes.
COLUMNS_PER_SAMPLE = 0.5


@dataclass(frozen=True, eq=False)
class Whitened:
    """A problem with R = I, and the way back.

    Attributes
    ----------
    problem : Problem or MulticlassProblem
        The problem in the coordinates u.
    root : ndarray of shape (n, n)
        The lower triangular L.
    """

    problem: Any
    root: Array

    def enter(self, result: SolverResult) -> SolverResult:
        """Return a result of the given problem as one of this."""
        return replace(result, coef=result.coef @ self.root)

    def leave(self, result: SolverResult) -> SolverResult:
        """Return a result of this problem as one of the given."""
        coef = solve_triangular(
            self.root, result.coef.T, lower=True, trans="T", check_finite=False
        ).T
        return replace(result, coef=np.ascontiguousarray(coef))


@dataclass(frozen=True, eq=False)
class Unchanged:
    """A problem that is solved as it is, with the methods of `Whitened`."""

    problem: Any

    def enter(self, result: SolverResult) -> SolverResult:
        """Return the result."""
        return result

    def leave(self, result: SolverResult) -> SolverResult:
        """Return the result."""
        return result


def whitened(problem: Problem | MulticlassProblem) -> Whitened | None:
    """Return a problem with R = I, or None where that cannot be had or does not pay."""
    if not problem.regularizer.is_matrix or problem.rows is not None or problem.operator.sparse:
        return None
    if problem.n_scores > 1:
        pays = problem.operator.stored * problem.n_scores >= LARGE
    else:
        pays = problem.n_features >= COLUMNS_PER_SAMPLE * problem.n_samples
    if not pays:
        return None
    try:
        # Symmetric, so that its transpose is the same matrix, in the order that LAPACK wants.
        root = cholesky(problem.regularizer.values.T, lower=True, check_finite=False)
    except LinAlgError:
        return None
    rows = problem.operator.block(slice(None)).astype(np.float64, copy=False)
    inner = solve_triangular(root, rows.T, lower=True, check_finite=False)
    plain = Quadratic(None, problem.n_features)
    operator = DenseOperator(np.ascontiguousarray(inner.T))
    # Many Newton systems of some rows each.
    operator.keeps_kernel = problem.n_scores == 1
    return Whitened(replace(problem, operator=operator, regularizer=plain), root)
