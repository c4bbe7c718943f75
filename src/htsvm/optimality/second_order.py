r"""The second-order verdict: whether a stationary point is a local minimiser.

Near a stationary point the objective changes to second order along z = (dw, db) by half of

.. math:: dw^T R\, dw - \rho \sum_{i \in B} c_i (n_i^T z)^2, \qquad n_i = y_i (x_i, 1),

for the z that keep q_i = 0 on the margin samples whose multiplier is strictly inside its bounds.
B are the samples on the curved part of the loss, rho its curvature, c_i their penalties. A sample
at an end of that part (the knee, the cap) bends in one direction only: it counts fully against a
"yes", and for a "no" only where the direction leads into the curved part. A margin sample whose
multiplier sits at a bound holds back one direction only: it counts not at all for a "yes", and
fully against a "no".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg

from htsvm._typing import Array
from htsvm.linalg import Operator, Quadratic
from htsvm.linalg.operators import dense, double

# Up to this dimension the verdict is looked for: a matrix of that side takes a third of a second.
MOST_DIMENSIONS = 1000
# Values per block where rows are made dense: 16 MB.
BLOCK_VALUES = 2_000_000
# Rows of unit length that differ by less are the same direction.
STILL = 1e-10


class Verdict(NamedTuple):
    """The answer, with what it rests on."""

    local_minimizer: str = "undecided"
    curvature: float = float("nan")
    direction: Array | None = None
    note: str = ""


def second_order_verdict(
    operator: Operator,
    samples: CriticalSamples,
    regularizer: Quadratic,
    *,
    fit_intercept: bool = True,
    max_dimension: int = MOST_DIMENSIONS,
) -> Verdict:
    """Decide whether a first-order stationary point is a local minimiser.

    Works in the space of dimension min(n, number of critical samples) + 1, with dense LAPACK
    routines. Beyond `max_dimension` the answer is "undecided", unless no sample is curved (then
    the objective is convex near the point: "yes") or none is on the margin (then moving the
    intercept alone lowers the objective: "no").

    R is the `regularizer`, positive semidefinite; with `fit_intercept` z has a component db.

    Returns
    -------
    Verdict
        "yes", "no" or "undecided"; the smallest curvature over unit directions z in the reduced
        space, and for a "no" a direction (dw, db) of negative curvature.
    """
    if not np.any(samples.bends):
        return Verdict("yes", note="the objective is convex near the point")
    n = regularizer.n
    by_rows = len(samples.rows) < n and regularizer.positive
    dimension = (len(samples.rows) if by_rows else n) + int(fit_intercept)

    def change(direction: Array) -> tuple[float, Array]:
        return exact_change(operator, samples, regularizer, direction)

    if dimension > max_dimension:
        if fit_intercept and not np.any(samples.active):
            value, direction = change(np.append(np.zeros(n), 1.0))
            if value < 0.0:
                return Verdict("no", value, direction)
        return Verdict(note=f"second order needs dimension {dimension} > {max_dimension}")
    make = row_space if by_rows else full_space
    return _decide(make(operator, samples, regularizer, fit_intercept), samples, change)


def _decide(
    space: QuadraticForm, samples: CriticalSamples, change: Callable[[Array], tuple[float, Array]]
) -> Verdict:
    """Look for "yes" on the larger null space, then for "no" on the smaller one."""
    free = space.free(samples.strong)
    if free.shape[1] == 0:
        return Verdict("yes", float("inf"), note="the samples on the margin leave no direction")
    lowest, vector, noise = _lowest(space, samples, samples.bends, free)
    if lowest > noise:
        return Verdict("yes", lowest)
    candidates, tried = [free @ vector], [samples.bends]
    if np.any(samples.active != samples.strong):
        free, tried = space.free(samples.active), []
    for bends in (samples.bends, samples.curved):
        if free.shape[1] > 0 and not any(np.array_equal(bends, other) for other in tried):
            tried.append(bends)
            _, vector, _ = _lowest(space, samples, bends, free)
            candidates.append(free @ vector)
    value, direction = min((change(space.lift(z)) for z in candidates), key=lambda pair: pair[0])
    if value < -noise:
        return Verdict("no", value, direction)
    return Verdict(note="the second-order form is neither positive nor negative")


def exact_change(
    operator: Operator, samples: CriticalSamples, R: Quadratic, direction: Array
) -> tuple[float, Array]:
    """Return twice the second-order change along a direction or its opposite, and which it is.

    The direction gets unit length. The change is one-sided where the loss is, infinite where
    samples on the margin are in the way.
    """
    s, z = samples, direction / np.linalg.norm(direction)
    w, products = np.ascontiguousarray(z[:-1]), np.empty(len(s.rows))
    for part in chunks(len(s.rows), operator.shape[1]):
        operator.take(s.rows[part]).signed_dot(s.y[part], w, float(z[-1]), products[part])
    slack = 1e-8 * float(np.abs(products).max(initial=0.0))
    values = []
    for moved in (products, -products):
        blocked = (s.at_zero & (moved < -slack)) | (s.at_top & (moved > slack))
        bent = moved * (s.curved | (s.at_cap & (moved > 0.0)) | (s.at_knee & (moved < 0.0)))
        value = 2.0 * R.energy(w) - float(s.weight @ bent**2)
        values.append(float("inf") if np.any(blocked) else value)
    return (values[0], z) if values[0] <= values[1] else (values[1], -z)


def _lowest(
    space: QuadraticForm, samples: CriticalSamples, bends: Array, free: Array
) -> tuple[float, Array, float]:
    """Return the smallest eigenvalue of the form, its vector, and what rounding may add.

    The form is that with the samples in `bends`, on the columns of `free`.
    """
    hessian: Array = free.T @ (space.quadratic @ free)
    scale = float(np.linalg.norm(hessian))
    positions = np.flatnonzero(bends)
    root = np.sqrt(samples.weight[positions])
    for part, rows in space.blocks(positions):
        projected = (rows * root[part, None]) @ free
        hessian -= projected.T @ projected
        scale += float(np.square(projected).sum())
    values, vectors = linalg.eigh(hessian, subset_by_index=[0, 0])
    return float(values[0]), vectors[:, 0], 16.0 * float(np.finfo(np.float64).eps) * scale


@dataclass(frozen=True, eq=False)
class CriticalSamples:
    """The samples that matter to second order: curved ones and those on the margin.

    Attributes
    ----------
    rows : ndarray of intp
        Their rows in X.
    y : ndarray of int8
        Their labels.
    weight : ndarray
        Penalty times curvature rho.
    curved, at_knee, at_cap : ndarray of bool
        Strictly inside the curved part, and at its two ends.
    strong, at_zero, at_top : ndarray of bool
        On the margin with a multiplier inside its bounds, at zero, and at its other bound.
    """

    rows: Array
    y: Array
    weight: Array
    curved: Array
    at_knee: Array
    at_cap: Array
    strong: Array
    at_zero: Array
    at_top: Array

    @property
    def bends(self) -> Array:
        """Whether a sample bends down in at least one direction."""
        return self.curved | self.at_knee | self.at_cap

    @property
    def active(self) -> Array:
        """Whether a sample is on the margin."""
        return self.strong | self.at_zero | self.at_top


class QuadraticForm(NamedTuple):
    """The quadratic form in some coordinates.

    `blocks` yields the signed rows of some of the critical samples in these coordinates, a few at a
    time, and `lift` leads back to (w, b).
    """

    quadratic: Array
    blocks: Callable[[Array], Iterator[tuple[slice, Array]]]
    lift: Callable[[Array], Array]

    def free(self, held: Array) -> Array:
        """Return an orthonormal basis of the directions in which none of these samples moves."""
        dimension, span = len(self.quadratic), np.empty((0, len(self.quadratic)))
        for _, rows in self.blocks(np.flatnonzero(held)):
            norms = np.linalg.norm(rows, axis=1, keepdims=True)
            span = np.vstack([span, rows / np.where(norms > 0.0, norms, 1.0)])
            if len(span) > dimension:
                span = linalg.qr(span, mode="r")[0][:dimension]
        if len(span) == 0:
            return np.eye(dimension)
        q, r, _ = linalg.qr(span.T, pivoting=True)
        sizes = np.abs(np.diagonal(r))
        rank = int(np.count_nonzero(sizes > STILL * max(float(sizes[0]), 1e-300)))
        basis: Array = q[:, rank:]
        return basis


def full_space(
    operator: Operator, samples: CriticalSamples, regularizer: Quadratic, fit_intercept: bool
) -> QuadraticForm:
    """Return all of (w, b) as the space."""
    n = regularizer.n
    quadratic = np.zeros((n + int(fit_intercept),) * 2)
    regularizer.add_to(quadratic)

    def blocks(positions: Array) -> Iterator[tuple[slice, Array]]:
        for part in chunks(len(positions), n):
            where = positions[part]
            sign = samples.y[where].astype(np.float64)[:, None]
            rows = sign * dense(double(operator.take(samples.rows[where]).block(slice(None))))
            yield part, np.hstack([rows, sign]) if fit_intercept else rows

    def lift(z: Array) -> Array:
        return z if fit_intercept else np.append(z, 0.0)

    return QuadraticForm(quadratic, blocks, lift)


def row_space(
    operator: Operator, samples: CriticalSamples, regularizer: Quadratic, fit_intercept: bool
) -> QuadraticForm:
    """Return the span of the critical rows, in the inner product of R, and b.

    With the signed rows N and N R⁻¹ N' = L L' the coordinates of row i are row i of L. What is
    orthogonal to all rows only adds R's positive curvature. The strong samples come first in the
    triangular L: they have no coordinates beyond their own, and all others are free.
    """
    inverse = 1.0 / regularizer.diagonal()
    sign = samples.y.astype(np.float64)
    part = operator.take(samples.rows)
    coordinates, basis = _triangular(part.kernel(inverse) * np.outer(sign, sign), samples.strong)
    lower, rank = coordinates[basis], len(basis)
    quadratic = np.eye(rank + int(fit_intercept))
    if fit_intercept:
        quadratic[rank, rank] = 0.0
        coordinates = np.hstack([coordinates, sign[:, None]])

    def blocks(positions: Array) -> Iterator[tuple[slice, Array]]:
        yield slice(0, len(positions)), coordinates[positions]

    def lift(z: Array) -> Array:
        combination = np.zeros(len(sign))
        if rank > 0:
            combination[basis] = linalg.solve_triangular(lower, z[:rank], lower=True, trans="T")
        w, _ = part.signed_tdot(samples.y, combination)
        return np.append(inverse * w, z[rank] if fit_intercept else 0.0)

    return QuadraticForm(quadratic, blocks, lift)


def _triangular(gram: Array, first: Array) -> tuple[Array, Array]:
    """Return coordinates of rows with these inner products, and a basis of rows.

    The coordinates of the basis are a lower triangular matrix; the span of the rows that are
    `first` comes first.
    """
    # Rows of unit length: a short one is as independent of the others as a long one.
    lengths = np.sqrt(np.diagonal(gram))
    lengths[lengths == 0.0] = 1.0
    gram = gram / np.outer(lengths, lengths)
    tolerance = len(gram) * float(np.finfo(np.float64).eps)
    head, tail = np.flatnonzero(first), np.flatnonzero(~first)
    left, pivots = _pivoted_cholesky(gram[np.ix_(head, head)], tolerance)
    own = left.shape[1]
    basis = head[pivots[:own]]
    cross: Array = np.zeros((len(tail), own))
    if own:
        cross = linalg.solve_triangular(left[:own], gram[np.ix_(basis, tail)], lower=True).T
    # What is left of rows within the span of the first ones is the rounding of a difference.
    left_over = gram[np.ix_(tail, tail)] - cross @ cross.T
    rest, others = _pivoted_cholesky(left_over, 16.0 * tolerance)
    coordinates = np.zeros((len(gram), own + rest.shape[1]))
    coordinates[head[pivots], :own] = left
    coordinates[tail, :own] = cross
    coordinates[tail[others], own:] = rest
    coordinates *= lengths[:, None]
    return coordinates, np.append(basis, tail[others[: rest.shape[1]]])


def _pivoted_cholesky(gram: Array, tolerance: float) -> tuple[Array, Array]:
    """Return L (rows in pivoted order, as many columns as the rank) and the pivots."""
    if len(gram) == 0:
        return np.zeros((0, 0)), np.zeros(0, dtype=np.intp)
    factor, pivots, rank, _ = linalg.lapack.dpstrf(gram, lower=1, tol=tolerance)
    if gram[pivots[0] - 1, pivots[0] - 1] <= tolerance:
        rank = 0
    return np.tril(factor)[:, :rank], pivots - 1


def chunks(count: int, width: int) -> Iterator[slice]:
    """Yield parts of so many rows that are small enough to be made dense."""
    size = max(64, BLOCK_VALUES // max(width, 1))
    for low in range(0, count, size):
        yield slice(low, low + size)
