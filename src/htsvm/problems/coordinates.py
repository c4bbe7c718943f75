"""The one change of variables before a problem is solved.

With a free intercept ``x -> x - mean`` changes b alone, and ``x -> x / spread`` turns R into
``R / spread**2``: objective, multipliers and certificate stay. But searches, whose steps and
directions know the columns one by one at best, get nowhere near a minimum where columns have large
means or very different spreads. Dense rows that are fewer than their columns are taken into the
space that they span, and those with a matrix R, if that pays, to where it is the identity.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, lapack, qr, solve_triangular

from htsvm._typing import Array
from htsvm.linalg import CSROperator, DenseOperator, Quadratic
from htsvm.linalg.operators import double
from htsvm.linalg.scaled import Moments, Scaled
from htsvm.linalg.spaces import spanning_rows

# A spread that is this share of the mean is rounding; beyond the range its square is zero or inf.
ROUNDING, SMALLEST, LARGEST = 1e-13, 1e-100, 1e100
# What a solution is multiplied by on its way back: four roundings.
GROWTH = 1.0 + 2.0**-50
# Up to so many dense values, 8 MB, are copied: passes over 1,797 x 64 take a third less time.
COPIED = 1 << 20
# From so many sparse columns on the dual is solved by coordinate descent.
MANY_COLUMNS = 2000


@dataclass(frozen=True, eq=False)
class Coordinates:
    """A problem in other coordinates, and the way back.

    Attributes
    ----------
    problem : Problem or MulticlassProblem
        The problem on the rows ``(x - mean) A``.
    mean : ndarray of shape (n_features,)
        What is taken off the rows.
    into, back : callable
        From w to the coordinates u that have ``w = A u``, and from u to w; several classes are
        rows.
    """

    problem: Any
    mean: Array
    into: Callable[[Array], Array]
    back: Callable[[Array], Array]

    def enter(self, start: Any) -> Any:
        """Return a start (w, b, multipliers) of the given problem as one of this; None stays."""
        if start is None or self.back is _same:
            return start
        w, b, multipliers = start
        return self.into(w), b + w @ self.mean, multipliers

    def leave(self, result: Any) -> Any:
        """Return a result of this problem as one of the given."""
        if self.back is _same:
            return result
        # Rounding may cost a margin its last digit, which C may make more than all else.
        w, b = np.ascontiguousarray(self.back(GROWTH * result.coef)), GROWTH * result.intercept
        return replace(result, coef=w, intercept=b - w @ self.mean)

    def solved(self, solve: Callable[[Any, Any], Any], start: Any) -> Any:
        """Return what `solve` finds for the problem and a start, in the given coordinates."""
        if self.back is _same:
            return solve(self.problem, start)
        return self.leave(solve(self.problem, self.enter(start)))


def _same(w: Array) -> Array:
    return w


def in_coordinates(problem: Any, *, copied: int = COPIED) -> Coordinates:
    """Return a problem in the coordinates in which it is solved.

    They are its own where the rows are those of a kernel, and where they were changed already.
    Dense rows of up to so many values are `copied`.
    """
    X, R, n = problem.operator, problem.regularizer, problem.n_features
    here = isinstance(X, (DenseOperator, CSROperator))
    own = Coordinates(problem, np.zeros(n), _same, _same)
    if not (here or problem.solved_by is not None) or n == 0 or X.columns is not None:
        return own
    found = problem.moments()
    if not found.mass > 0.0:
        return own
    free = problem.fit_intercept & np.isfinite(found.mean)
    mean = np.where(free, found.mean, 0.0)
    inside = None
    if here and not X.sparse and R.is_matrix:
        inside = _whitened(problem, mean)
    elif here and not X.sparse and R.positive:
        inside = _in_row_space(problem, mean)
    return inside or _in_columns(problem, found, mean, copied) or own


def as_stated(problem: Any) -> Any:
    """Return a problem that is solved in its own coordinates."""
    operator = copy(problem.operator)
    operator.columns = operator.columns or ()
    return replace(problem, operator=operator)


def _in_columns(problem: Any, found: Moments, mean: Array, copied: int) -> Coordinates | None:
    """Return a problem on centred, scaled columns; None where they are so already."""
    X, R, n = problem.operator, problem.regularizer, problem.n_features
    with np.errstate(over="ignore", invalid="ignore"):
        variances = found.squares / found.mass
        spread = np.sqrt(variances + np.square(found.mean - mean))
        if found.sparse:
            # At least half of the values of such a column are stored already.
            mean = np.where(np.abs(mean) > spread, mean, 0.0)
        squares = variances + np.square(found.mean - mean)
    # Coordinate descent in the dual asks for an R that is a number, and where rows are fewer than
    # columns the solution is chosen by R.
    wide = n > problem.n_samples or (found.sparse and n >= MANY_COLUMNS)
    scaled = problem.n_scores == 1 and not R.is_matrix and not wide
    usable = (spread > ROUNDING * np.abs(mean)) & (spread > SMALLEST) & (spread < LARGEST)
    scale = np.divide(1.0, spread, out=np.ones(n), where=usable & scaled)
    if np.all(scale == 1.0) and not np.any(mean):
        return None
    inside = problem.in_columns(mean, scale)
    if isinstance(inside.operator, Scaled) and X.stored <= copied:
        inside = replace(inside, operator=inside.operator.copied())
    if scaled:
        inside = replace(inside, regularizer=Quadratic(R.diagonal() * scale**2, n))
    length = inside.regularizer.length(scale * np.sqrt(squares))
    if np.isfinite(length):
        inside.operator.row_length = length
    return Coordinates(inside, mean, lambda w: w / scale, lambda u: u * scale)


def _in_row_space(problem: Any, mean: Array) -> Coordinates | None:
    """Return a problem on the space of its rows, where R = I; None if they are enough to span all.

    Neither their order nor repetitions matter.
    """
    spanning = spanning_rows(problem.operator.X, problem.penalty)
    if spanning is None:
        return None
    scale = 1.0 / np.sqrt(problem.regularizer.diagonal())
    rows = double(Scaled(problem.operator, mean, scale).block(slice(None)))
    (factors, tau), triangle = qr(
        rows[spanning].T, mode="raw", overwrite_a=True, check_finite=False
    )
    side = len(spanning)

    def turned(W: Array, how: str) -> Array:
        several = np.atleast_2d(W).T
        found, _, _ = lapack.dormqr("L", how, factors, tau, several, 64 * several.shape[1])
        out: Array = found.T.reshape(*W.shape[:-1], -1)
        return out

    def back(u: Array) -> Array:
        empty = np.zeros((*u.shape[:-1], len(scale) - side))
        w: Array = turned(np.concatenate([u, empty], axis=-1), "N") * scale
        return w

    inside = np.zeros((len(rows), side))
    inside[spanning] = triangle[:side].T
    others = (problem.penalty > 0.0) & ~np.isin(np.arange(len(rows)), spanning)
    if others.any():
        inside[others] = turned(rows[others], "T")[:, :side]
    return _plain(problem, inside, mean, lambda w: turned(w / scale, "T")[..., :side], back)


def _whitened(problem: Any, mean: Array) -> Coordinates | None:
    """Return a problem with R = I, or None where that cannot be had or does not pay.

    With ``R = L L'`` the rows are ``L^-1 x``. One factorisation and one product with all rows, and
    solvers can use what they have for R = I.
    """
    X = problem.operator
    if problem.n_scores > 1:
        pays = X.stored * problem.n_scores >= 5_000_000
    else:
        pays = 2 * problem.n_features >= problem.n_samples
    if not pays:
        return None
    try:
        # Symmetric, so that its transpose is the same matrix, in the order that LAPACK wants.
        root = cholesky(problem.regularizer.values.T, lower=True, check_finite=False)
    except LinAlgError:
        return None
    rows = (X.X - mean).T
    inner = solve_triangular(root, rows, lower=True, check_finite=False, overwrite_b=True)
    return _plain(
        problem, inner.T, mean, lambda w: w @ root,
        lambda u: solve_triangular(root, u.T, lower=True, trans="T", check_finite=False).T,
    )  # fmt: skip


def _plain(problem: Any, rows: Array, mean: Array, into: Any, back: Any) -> Coordinates:
    """Return a problem on other rows, of the regulariser |u|²/2."""
    operator = problem.operator.adopted(DenseOperator(rows))
    operator.columns = ()
    plain = Quadratic(None, rows.shape[1])
    return Coordinates(replace(problem, operator=operator, regularizer=plain), mean, into, back)
