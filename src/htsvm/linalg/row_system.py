"""The system of a quadratic regulariser and weighted rows, solved in whichever form is cheapest."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.operators import Operator
from htsvm.linalg.positive import Cholesky, Gram, conjugate_gradients
from htsvm.linalg.quadratic import Quadratic

# Rough speeds of one core in operations per second, for dense and for sparse products. Only their
# ratio matters: it decides which of the two forms is the cheaper.
DENSE_FLOPS = 8e9
SPARSE_FLOPS = 4e8
# Steps of conjugate gradients: expected per digit, and the most; more where another form would
# cost as much as those.
CG_STEPS_PER_DIGIT, MOST_CG_STEPS = 100, 250
# By how much they reduce the residual: a Newton step that is not the last need not be exact.
CG_TOLERANCE = 1e-1
# The largest side of an explicitly formed matrix: 128 MB, and some seconds to factorise.
LARGEST_MATRIX = 4000
# What is added to the curvature in the intercept, as a share of it: enough for a Cholesky factor,
# and too little to change a step by more than its tolerance.
INTERCEPT_RIDGE = 1e-10


@dataclass
class RowSystem:
    """Solve ``(diag(R, 0) + xi sum_J p_i x_i x_i') d = -g``.

    The x_i carry a 1 for the intercept, p_i is the weight of a sample, and J are some of the
    samples. Two forms:

    - *primal*: the (n+1) x (n+1) matrix. The Gram matrix of J is kept from step to step and only
      corrected by the samples that entered or left, since their weights never change;
    - *cg*: conjugate gradients on a copy of the rows, for n large.

    The factors of a system over all samples are kept as long as xi is the same.

    Parameters
    ----------
    operator, weights : Operator, ndarray
        The rows and the p_i.
    regularizer : Quadratic
        R.
    fit_intercept : bool
        Whether there is an intercept.
    gram, rows : Gram, ndarray, optional
        A system on some of the samples may share the `gram` of one on all of them; `rows` then
        says which samples of the whole its own are.
    tolerance, most_steps : float, int
        How well conjugate gradients solve, and the most steps they take.
    intercept_ridge : float
        What is added to the curvature in the intercept, as a share of it.
    """

    operator: Operator
    weights: Array
    regularizer: Quadratic
    fit_intercept: bool
    gram: Gram | None = None
    rows: Array | None = None
    tolerance: float = CG_TOLERANCE
    most_steps: int = MOST_CG_STEPS
    intercept_ridge: float = INTERCEPT_RIDGE
    forms: dict[str, int] = field(default_factory=lambda: {"primal": 0, "cg": 0})

    def __post_init__(self) -> None:
        m, n = self.operator.shape
        self.side = n + 1
        self.row_size = max(self.operator.stored / max(m, 1), 1.0)
        digits = -math.log10(self.tolerance)
        self._cg_steps = min(digits * CG_STEPS_PER_DIGIT, self.most_steps)
        self._kept: tuple[float, Cholesky] | None = None

    def solve(
        self,
        rows: Array | None,
        xi: float,
        grad_w: Array,
        grad_b: float,
        start: tuple[Array, float] | None = None,
    ) -> tuple[Array, float]:
        """Return the direction (dw, db) for some samples, None for all.

        Conjugate gradients begin at `start`.
        """
        count = self.operator.shape[0] if rows is None else len(rows)
        form = self.cheapest_form(count)
        self.forms[form] += 1
        if form == "primal":
            return self._primal(rows, xi, grad_w, grad_b)
        part = self.operator if rows is None else self.operator.take(rows)
        weights = xi * (self.weights if rows is None else self.weights[rows])
        dw, db, steps = _conjugate_solution(
            ActiveRows(part, weights), self.regularizer, grad_w, grad_b,
            self.fit_intercept, self.tolerance, self.most_steps, start,
        )  # fmt: skip
        self._cg_steps = max(self._cg_steps, float(steps))
        return dw, db

    def _step_cost(self, count: int) -> float:
        """Return about how many seconds a step of conjugate gradients takes."""
        return 4.0 * count * self.row_size / SPARSE_FLOPS + 2e-9 * self.side + 2e-5

    def cheapest_form(self, count: int) -> str:
        """Return the form in which a system of this many samples is solved."""
        n, r = self.side, self.row_size
        flops = SPARSE_FLOPS if self.operator.sparse else DENSE_FLOPS
        costs = {"cg": self._cg_steps * self._step_cost(count)}
        if n <= LARGEST_MATRIX or self.regularizer.is_matrix:
            changed = min(count, 0.3 * count + 50)
            costs["primal"] = n**3 / 3.0 / DENSE_FLOPS + changed * r**2 / flops
        return min(costs, key=lambda form: costs[form])

    def _primal(
        self, rows: Array | None, xi: float, grad_w: Array, grad_b: float
    ) -> tuple[Array, float]:
        kept = self._kept_factor(rows, xi)
        if kept is not None:
            return _primal_solution(kept, grad_w, grad_b, self.fit_intercept)
        if self.gram is None:
            self.gram = Gram(self.operator, self.weights)
        places = np.arange(self.operator.shape[0]) if rows is None else rows
        inside = places if self.rows is None else self.rows[places]
        stated = (self.regularizer, xi, grad_b, self.fit_intercept, self.intercept_ridge)
        try:
            factor = _primal_factor(self.gram.at(inside), *stated)
        except np.linalg.LinAlgError:
            # Corrections may have lost it; formed anew it is as good as can be.
            self.gram.forget()
            factor = _primal_factor(self.gram.at(inside), *stated)
        self._kept = None if rows is not None else (xi, factor)
        return _primal_solution(factor, grad_w, grad_b, self.fit_intercept)

    def _kept_factor(self, rows: Array | None, xi: float) -> Cholesky | None:
        """Return the factors of a system over all samples, if they are those asked for."""
        if rows is None and self._kept is not None and self._kept[0] == xi:
            return self._kept[1]
        return None


class ActiveRows:
    """``A = sum_i weights_i (x_i, 1)(x_i, 1)'`` by its products."""

    def __init__(self, operator: Operator, weights: Array) -> None:
        self.operator, self.weights = operator, weights
        self._ones = np.ones(len(weights), dtype=np.int8)
        self._inner = np.empty(len(weights))

    def product(self, v: Array) -> Array:
        """Return A v."""
        self.operator.signed_dot(self._ones, v[:-1], float(v[-1]), self._inner)
        np.multiply(self._inner, self.weights, out=self._inner)
        image, total = self.operator.signed_tdot(self._ones, self._inner)
        return np.append(image, total)

    def diagonal(self) -> Array:
        """Return the diagonal of A; its last entry is the sum of the weights."""
        squares = self.operator.squared_pull(self.weights[:, None])[0]
        return np.append(squares, float(self.weights.sum()))


def conjugate_direction(
    rows: Any,
    regularizer: Quadratic,
    grad_w: Array,
    grad_b: float,
    fit_intercept: bool,
) -> tuple[Array, float]:
    """Return the direction by conjugate gradients; `rows` answers like `ActiveRows`."""
    return _conjugate_solution(
        rows, regularizer, grad_w, grad_b, fit_intercept,
        CG_TOLERANCE, MOST_CG_STEPS, None,
    )[:2]  # fmt: skip


def _conjugate_solution(
    rows: Any,
    regularizer: Quadratic,
    grad_w: Array,
    grad_b: float,
    fit_intercept: bool,
    tolerance: float,
    most_steps: int,
    start: tuple[Array, float] | None,
) -> tuple[Array, float, int]:
    """Return the direction by conjugate gradients, and the number of their steps."""
    n = len(grad_w)
    diagonal = rows.diagonal()
    mass = float(diagonal[n])
    ridge = INTERCEPT_RIDGE * mass if mass > 0.0 else held(grad_b)
    scale = diagonal + np.append(regularizer.diagonal(), ridge)
    scale[scale <= 0.0] = 1.0

    def apply(v: Array) -> Array:
        image: Array = rows.product(v)
        image[:n] += regularizer.dot(v[:n])
        image[n] = image[n] + ridge * v[n] if fit_intercept else 0.0
        return image

    direction, steps = conjugate_gradients(
        apply,
        -np.append(grad_w, grad_b if fit_intercept else 0.0),
        lambda v: v / scale,
        tolerance=tolerance,
        most_steps=most_steps,
        start=None if start is None else np.append(start[0], start[1] if fit_intercept else 0.0),
    )
    return direction[:n], (float(direction[n]) if fit_intercept else 0.0), steps


def solve_primal(
    gram: Array,
    regularizer: Quadratic,
    xi: float,
    grad_w: Array,
    grad_b: float,
    fit_intercept: bool,
) -> tuple[Array, float]:
    """Return the direction from the weighted Gram matrix of the samples."""
    factor = _primal_factor(gram, regularizer, xi, grad_b, fit_intercept, INTERCEPT_RIDGE)
    return _primal_solution(factor, grad_w, grad_b, fit_intercept)


def _primal_factor(
    gram: Array,
    regularizer: Quadratic,
    xi: float,
    grad_b: float,
    fit_intercept: bool,
    ridge: float,
) -> Cholesky:
    """Return the factors of the primal form."""
    n = len(gram) - 1
    H = xi * gram
    regularizer.add_to(H)
    if not fit_intercept:
        return Cholesky(H[:n, :n])
    mass = H[n, n]
    H[n, n] += ridge * mass if mass > 0.0 else held(grad_b)
    return Cholesky(H)


def held(grad_b: float) -> float:
    """Return the curvature in the intercept where no sample curves.

    It then moves by one, the unit of the violations.
    """
    return abs(grad_b) or 1.0


def _primal_solution(
    factor: Cholesky, grad_w: Array, grad_b: float, fit_intercept: bool
) -> tuple[Array, float]:
    n = len(grad_w)
    solution = factor.solve(-np.append(grad_w, grad_b)[: n + 1 if fit_intercept else n])
    return solution[:n], float(solution[n]) if fit_intercept else 0.0
