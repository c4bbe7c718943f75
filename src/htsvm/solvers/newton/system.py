"""The Newton system of the inner problem, solved in whichever form is cheapest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import lapack

from htsvm._typing import Array
from htsvm.linalg import CSROperator, Operator, Quadratic

# Rough speeds of an ordinary core, used only to compare the three forms with each other.
DENSE_FLOPS = 8e9
SPARSE_FLOPS = 4e8
# What a conjugate gradient solve is expected to take, and the most that it may.
CG_STEPS, MOST_CG_STEPS = 100, 250
# By how much it reduces the residual.
CG_TOLERANCE = 1e-1
# The largest side of an explicitly formed matrix.
LARGEST_MATRIX = 4000


@dataclass
class NewtonSystem:
    """Solve ``(diag(R, 0) + xi sum_J p_i x_i x_i') d = -g``.

    The x_i carry a 1 for the intercept, p_i is the penalty of a sample, and J are the samples whose
    multiplier is strictly inside its bounds. Three forms:

    - *primal*: the (n+1) x (n+1) matrix. The Gram matrix of J is kept from step to step and only
      corrected by the samples that entered or left, since their weights never change;
    - *dual*: the |J| x |J| matrix of the Woodbury identity, with the intercept eliminated;
    - *cg*: conjugate gradients on a copy of the rows, for n and |J| both large.

    A system on some of the samples may share the `gram` of one on all of them; `rows` then says
    which samples of the whole its own are.
    """

    operator: Operator
    penalty: Array
    regularizer: Quadratic
    fit_intercept: bool
    gram: Gram | None = None
    rows: Array | None = None
    tolerance: float = CG_TOLERANCE
    forms: dict[str, int] = field(default_factory=lambda: {"primal": 0, "dual": 0, "cg": 0})

    def __post_init__(self) -> None:
        m, n = self.operator.shape
        self.side = n + 1
        self.row_size = max(self.operator.stored / max(m, 1), 1.0)
        self.sparse = isinstance(self.operator, CSROperator)

    def solve(
        self, active: Array, count: int, xi: float, grad_w: Array, grad_b: float
    ) -> tuple[Array, float]:
        """Return the Newton direction (dw, db) for the `count` samples marked in `active`."""
        form = self._cheapest_form(count)
        self.forms[form] += 1
        rows = np.flatnonzero(active.view(np.bool_))
        if form == "primal":
            return self._primal(rows, xi, grad_w, grad_b)
        part = self.operator.take(rows)
        self.operator.passes += len(rows) / max(self.operator.shape[0], 1)
        weights = xi * self.penalty[rows]
        if form == "dual":
            return self._dual(part, weights, grad_w, grad_b)
        return self._conjugate_gradients(part, weights, grad_w, grad_b)

    def _cheapest_form(self, count: int) -> str:
        n, r = self.side, self.row_size
        flops = SPARSE_FLOPS if self.sparse else DENSE_FLOPS
        costs = {"cg": CG_STEPS * (4.0 * count * r / SPARSE_FLOPS + 2e-9 * n + 2e-5)}
        if n <= LARGEST_MATRIX or self.regularizer.is_matrix:
            changed = min(count, 0.3 * count + 50)
            costs["primal"] = n**3 / 3.0 / DENSE_FLOPS + changed * r**2 / flops
        if self.regularizer.positive and count <= LARGEST_MATRIX:
            costs["dual"] = count**2 * r / flops + count**3 / 3.0 / DENSE_FLOPS + 1e-4
        return min(costs, key=lambda form: costs[form])

    def _primal(self, rows: Array, xi: float, grad_w: Array, grad_b: float) -> tuple[Array, float]:
        if self.gram is None:
            self.gram = Gram(self.operator, self.penalty)
        gram = self.gram.at(rows if self.rows is None else self.rows[rows])
        return solve_primal(
            gram, self.regularizer, self._unit_penalty(), xi, grad_w, grad_b, self.fit_intercept
        )

    def _unit_penalty(self) -> float:
        return float(self.penalty.max(initial=0.0)) or 1.0

    def _dual(
        self, part: Operator, weights: Array, grad_w: Array, grad_b: float
    ) -> tuple[Array, float]:
        count = part.shape[0]
        inverse = 1.0 / self.regularizer.diagonal()
        if count == 0:
            return -inverse * grad_w, -grad_b if self.fit_intercept else 0.0
        ones = np.ones(count, dtype=np.int8)
        M = part.kernel(inverse)
        M[np.arange(count), np.arange(count)] += 1.0 / weights
        rhs = np.empty((count, 2))
        rhs[:, 0] = part.signed_dot(ones, inverse * grad_w, 0.0, np.empty(count))
        rhs[:, 1] = 1.0
        solved = _solve_positive(M, rhs)
        db = 0.0
        if self.fit_intercept:
            db = -(grad_b - solved[:, 0].sum()) / solved[:, 1].sum()
        mixed = np.ascontiguousarray(solved[:, 0] - db * solved[:, 1])
        return -inverse * (grad_w - part.signed_tdot(ones, mixed)[0]), float(db)

    def _conjugate_gradients(
        self, part: Operator, weights: Array, grad_w: Array, grad_b: float
    ) -> tuple[Array, float]:
        direction = conjugate_direction(
            ActiveRows(part, weights), self.regularizer, self._unit_penalty(), grad_w, grad_b,
            self.fit_intercept, self.tolerance,
        )  # fmt: skip
        # A product over some rows, counted against the rows of the whole.
        share = part.shape[0] / max(self.operator.shape[0], 1)
        self.operator.passes += part.passes * share
        return direction


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
        squares = _column_squares(self.operator, self.weights)
        return np.append(squares, float(self.weights.sum()))


def conjugate_direction(
    rows: Any,
    regularizer: Quadratic,
    unit_penalty: float,
    grad_w: Array,
    grad_b: float,
    fit_intercept: bool,
    tolerance: float = CG_TOLERANCE,
) -> tuple[Array, float]:
    """Return the Newton direction by conjugate gradients; `rows` answers like `ActiveRows`."""
    n = len(grad_w)
    diagonal = rows.diagonal()
    mass = float(diagonal[n])
    ridge = 1e-10 * mass if mass > 0.0 else unit_penalty
    scale = diagonal + np.append(regularizer.diagonal(), ridge)
    scale[scale <= 0.0] = 1.0

    def apply(v: Array) -> Array:
        image: Array = rows.product(v)
        image[:n] += regularizer.dot(v[:n])
        image[n] = image[n] + ridge * v[n] if fit_intercept else 0.0
        return image

    rhs = -np.append(grad_w, grad_b if fit_intercept else 0.0)
    direction = _preconditioned_cg(apply, rhs, scale, tolerance)
    return direction[:n], float(direction[n]) if fit_intercept else 0.0


def solve_primal(
    gram: Array,
    regularizer: Quadratic,
    unit_penalty: float,
    xi: float,
    grad_w: Array,
    grad_b: float,
    fit_intercept: bool,
) -> tuple[Array, float]:
    """Return the Newton direction from the weighted Gram matrix of the active samples.

    `unit_penalty` holds the intercept in place where no sample does.
    """
    n = len(grad_w)
    H = xi * gram
    regularizer.add_to(H)
    side = n + 1 if fit_intercept else n
    if fit_intercept:
        mass = H[n, n]
        H[n, n] += 1e-10 * mass if mass > 0.0 else xi * unit_penalty
    solution = _solve_positive(H[:side, :side], -np.append(grad_w, grad_b)[:side])
    return solution[:n], float(solution[n]) if fit_intercept else 0.0


class Gram:
    """The weighted Gram matrix of some samples, corrected from one set of samples to the next.

    Parameters
    ----------
    operator : Operator
        All samples.
    penalty : ndarray
        Their weights.
    """

    def __init__(self, operator: Operator, penalty: Array) -> None:
        self.operator, self.penalty = operator, penalty
        self.matrix = np.zeros((operator.shape[1] + 1,) * 2)
        self.rows = np.zeros(0, dtype=np.intp)
        self.inside = np.zeros(operator.shape[0], dtype=np.uint8)

    def at(self, rows: Array) -> Array:
        """Return the matrix for `rows`; form it anew where that is less work."""
        entered = rows[self.inside[rows] == 0]
        self.inside[rows] = 2
        left = self.rows[self.inside[self.rows] == 1]
        if len(entered) + len(left) < len(rows):
            self._add(entered, 1.0)
            self._add(left, -1.0)
        else:
            self.matrix[:] = 0.0
            self._add(rows, 1.0)
        self.inside[left] = 0
        self.inside[rows] = 1
        self.rows = rows
        return self.matrix

    def lend(self, rows: Array | None) -> Array:
        """Leave out what is not among `rows`; return marks of those of `rows` that are inside."""
        if rows is None:
            return self.inside
        self.inside[rows] += 2
        left = self.rows[self.inside[self.rows] == 1]
        self.inside[rows] -= 2
        self._add(left, -1.0)
        self.inside[left] = 0
        return self.inside[rows]

    def take_back(self, rows: Array | None, marks: Array) -> None:
        """Note which samples are inside after someone else has changed the matrix."""
        places = np.flatnonzero(marks)
        self.rows = places if rows is None else rows[places]
        if rows is not None:
            self.inside[rows] = marks

    def _add(self, rows: Array, sign: float) -> None:
        if len(rows):
            self.operator.add_gram(rows, sign, self.matrix, self.penalty[rows])


def _column_squares(part: Operator, weights: Array) -> Array:
    X = part.X  # type: ignore[attr-defined]
    if isinstance(part, CSROperator):
        squares: Array = X.multiply(X).T @ weights
    else:
        squares = np.einsum("i,ij,ij->j", weights, X, X, dtype=np.float64)
    return squares


def _preconditioned_cg(
    apply: Callable[[Array], Array], rhs: Array, scale: Array, tolerance: float
) -> Array:
    """Solve a positive definite system with the diagonal `scale` as preconditioner."""
    x = np.zeros_like(rhs)
    r = rhs.copy()
    z = r / scale
    p = z.copy()
    rz = float(r @ z)
    target = tolerance * float(np.linalg.norm(rhs))
    for _ in range(MOST_CG_STEPS):
        if np.linalg.norm(r) <= target:
            break
        Ap = apply(p)
        curvature = float(p @ Ap)
        if not curvature > 1e-12 * float(p @ (scale * p)):
            # Flat: a direction of descent is all that is asked for.
            return x if np.any(x) else p
        length = rz / curvature
        x += length * p
        r -= length * Ap
        z = r / scale
        rz, old = float(r @ z), rz
        p = z + (rz / old) * p
    return x


def _cholesky_solve(H: Array, rhs: Array) -> Array | None:
    """Solve H x = rhs from the lower triangle of H; None if H is not positive definite."""
    factor, info = lapack.dpotrf(np.array(H.T, order="F"), lower=0, clean=0, overwrite_a=1)
    if info != 0:
        return None
    solution, info = lapack.dpotrs(factor, rhs, lower=0)
    return solution if info == 0 and np.all(np.isfinite(solution)) else None


def _solve_positive(H: Array, rhs: Array) -> Array:
    """Solve H x = rhs; where rounding has cost H its definiteness, scale it and add a ridge."""
    solution = _cholesky_solve(H, rhs)
    if solution is not None:
        return solution
    diagonal = np.maximum(np.diagonal(H), 0.0)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = H * scale[:, None] * scale
    rhs = (scale * rhs.T).T
    for ridge in 10.0 ** np.arange(-14.0, 1.0):
        scaled[np.arange(len(H)), np.arange(len(H))] = np.where(diagonal > 0.0, 1.0, 0.0) + ridge
        solution = _cholesky_solve(scaled, rhs)
        if solution is not None:
            unscaled: Array = (scale * solution.T).T
            return unscaled
    raise np.linalg.LinAlgError(
        "The Newton system overflows: the values of X are too large. Scale the features, for "
        "example with sklearn.preprocessing.StandardScaler or MaxAbsScaler."
    )
