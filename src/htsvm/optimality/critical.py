"""The samples that decide the second order, and coordinates of the directions that they span."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg

from htsvm._typing import Array
from htsvm.linalg import Operator, Quadratic
from htsvm.linalg.operators import dense, double

# Values per block where rows are made dense: 16 MB.
BLOCK_VALUES = 2_000_000
# Rounding of a sum of products, beside their sizes: a sample moves if it is more.
STILL = 1e-9


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


class Space(NamedTuple):
    """Coordinates in which the quadratic form is looked at.

    `free` is a basis of the directions that leave the strong samples in place.
    """

    quadratic: Array
    blocks: Callable[[Array], Iterator[tuple[slice, Array]]]
    lift: Callable[[Array], Array]
    free: Array


def full_space(
    operator: Operator, samples: CriticalSamples, regularizer: Quadratic, fit_intercept: bool
) -> Space:
    """Return all of (w, b) as the space."""
    n = regularizer.n
    quadratic = np.zeros((n + int(fit_intercept),) * 2)
    regularizer.add_to(quadratic)

    def blocks(positions: Array) -> Iterator[tuple[slice, Array]]:
        for part in chunks(len(positions), n):
            where = positions[part]
            sign = samples.y[where].astype(np.float64)[:, None]
            rows = sign * _dense_rows(operator, samples.rows[where])
            yield part, np.hstack([rows, sign]) if fit_intercept else rows

    def lift(z: Array) -> Array:
        return z if fit_intercept else np.append(z, 0.0)

    still = null_space(len(quadratic), blocks(np.flatnonzero(samples.strong)))
    return Space(quadratic, blocks, lift, still)


def row_space(
    operator: Operator, samples: CriticalSamples, regularizer: Quadratic, fit_intercept: bool
) -> Space:
    """Return the span of the critical rows, in the inner product of R, and b.

    With the signed rows N and N R⁻¹ N' = L L' the coordinates of row i are row i of L. What is
    orthogonal to all rows only adds R's positive curvature. The strong samples come first in the
    triangular L: they have no coordinates beyond their own, and all others are free.
    """
    inverse = 1.0 / regularizer.diagonal()
    sign = samples.y.astype(np.float64)
    part = operator.take(samples.rows)
    gram = part.kernel(inverse) * np.outer(sign, sign)
    coordinates, basis, own = _triangular(gram, samples.strong)
    lower, rank = coordinates[basis], len(basis)
    free = np.eye(rank + int(fit_intercept))[:, own:]
    quadratic = np.eye(rank + int(fit_intercept))
    if fit_intercept:
        quadratic[rank, rank] = 0.0
        free = _with_intercept(free, coordinates[samples.strong], sign[samples.strong],
                               lower[:own, :own], sign[basis[:own]])  # fmt: skip
        coordinates = np.hstack([coordinates, sign[:, None]])

    def blocks(positions: Array) -> Iterator[tuple[slice, Array]]:
        yield slice(0, len(positions)), coordinates[positions]

    def lift(z: Array) -> Array:
        combination = np.zeros(len(sign))
        if rank > 0:
            combination[basis] = linalg.solve_triangular(lower, z[:rank], lower=True, trans="T")
        w, _ = part.signed_tdot(samples.y, combination)
        return np.append(inverse * w, z[rank] if fit_intercept else 0.0)

    return Space(quadratic, blocks, lift, free)


def _triangular(gram: Array, first: Array) -> tuple[Array, Array, int]:
    """Return coordinates of rows with these inner products, triangular over a basis of rows.

    Parameters
    ----------
    gram : ndarray of shape (m, m)
        The inner products.
    first : ndarray of bool
        The rows whose span comes first.

    Returns
    -------
    coordinates : ndarray of shape (m, rank)
        Row i for row i.
    basis : ndarray of shape (rank,)
        Rows whose coordinates form a lower triangular matrix.
    own : int
        How many of the basis are among the first.
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
    return coordinates, np.append(basis, tail[others[: rest.shape[1]]]), own


def _with_intercept(free: Array, rows: Array, sign: Array, lower: Array, signs: Array) -> Array:
    """Return a basis of free directions with the intercept, where it is free too.

    It is if the strong samples' own coordinates can make up for it in all of them. `lower` has the
    coordinates of a basis of them, and `signs` their labels.
    """
    own = len(lower)
    direction = np.zeros(len(free))
    direction[-1] = 1.0
    if own:
        direction[:own] = linalg.solve_triangular(lower, -signs, lower=True)
    moved = rows[:, :own] @ direction[:own] + sign
    size = 1.0 + np.abs(rows[:, :own]) @ np.abs(direction[:own])
    others = free[:, :-1]
    if np.any(np.abs(moved) > STILL * size):
        return others
    return np.column_stack([others, direction / np.linalg.norm(direction)])


def _dense_rows(operator: Operator, rows: Array) -> Array:
    """Return a few rows of X as a dense float64 array."""
    return dense(double(operator.take(rows).block(slice(None))))


def _pivoted_cholesky(gram: Array, tolerance: float) -> tuple[Array, Array]:
    """Return L (rows in pivoted order, as many columns as the rank) and the pivots."""
    if len(gram) == 0:
        return np.zeros((0, 0)), np.zeros(0, dtype=np.intp)
    factor, pivots, rank, _ = linalg.lapack.dpstrf(gram, lower=1, tol=tolerance)
    if gram[pivots[0] - 1, pivots[0] - 1] <= tolerance:
        rank = 0
    return np.tril(factor)[:, :rank], pivots - 1


def null_space(dimension: int, blocks: Iterable[tuple[slice, Array]]) -> Array:
    """Return an orthonormal basis of the directions in which no row of the blocks moves."""
    span: Array = np.empty((0, dimension))
    for _, rows in blocks:
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        span = np.vstack([span, rows / np.where(norms > 0.0, norms, 1.0)])
        if len(span) > dimension:
            span = linalg.qr(span, mode="r")[0][:dimension]
    if len(span) == 0:
        return np.eye(dimension)
    q, r, _ = linalg.qr(span.T, pivoting=True)
    sizes = np.abs(np.diagonal(r))
    rank = int(np.count_nonzero(sizes > 1e-10 * max(float(sizes[0]), 1e-300)))
    basis: Array = q[:, rank:]
    return basis


def chunks(count: int, width: int) -> Iterator[slice]:
    """Yield parts of so many rows that are small enough to be made dense."""
    size = max(64, BLOCK_VALUES // max(width, 1))
    for low in range(0, count, size):
        yield slice(low, low + size)
