"""Directions of other classifiers: each may be what a lowest point lies near."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.positive import solve_positive
from htsvm.solvers.starts.lines import Lines

# The ridges of least squares, in units of the largest singular value squared.
RIDGES = 10.0 ** np.array([-15.0, -12.0, -9.0, -7.0, -5.0, -4.0, -3.0, -2.0, -1.0, 0.0, 3.0])
# Newton steps of other losses, and how often a step is halved.
STEPS, HALVINGS = 12, 6
# Penalties of other losses are at most so large.
STRONGEST = 1e6
# A step that gains less than this share is the last.
ENOUGH = 1e-4
# What is added to systems that may be singular.
ALMOST = 1e-12
# The own weight of the intercept beside those of the columns.
FREE = 1e-9

# From margins to the loss, minus its derivative, and its curvature.
Smooth = Callable[[Array], tuple[Array, Array, Array]]


def of_rivals(lines: Lines, intercept: bool) -> Array:
    """Return the directions (w, b) of least squares, logistic regression and the squared hinge.

    Parameters
    ----------
    lines : Lines
        The samples.
    intercept : bool
        Whether there is an intercept.
    """
    found = _least_squares(lines, intercept)
    A = np.column_stack([lines.X, np.full(len(lines.y), float(intercept))])
    own = np.ones(A.shape[1])
    own[-1] = FREE
    top = float(lines.penalty.max())
    strengths = {min(top, STRONGEST), min(lines.problem.C, STRONGEST)}
    if A.shape[1] <= len(lines.y) + 1:
        for strength in sorted(strengths):
            penalty = lines.penalty / top * strength
            for loss in (_logistic, _squared_hinge):
                found.append(_minimised(A * lines.y[:, None], penalty, own, loss))
    table = np.reshape(found, (-1, A.shape[1]))
    kept: Array = table[np.all(np.isfinite(table), axis=1) & np.any(table[:, :-1] != 0.0, axis=1)]
    return kept


def of_columns(lines: Lines) -> Array:
    """Return each column as a direction."""
    sizes = np.abs(lines.X).max(axis=0)
    axes = np.diag(1.0 / np.where(sizes > 0.0, sizes, 1.0))
    directions: Array = np.column_stack([axes, np.zeros(len(axes))])[sizes > 0.0]
    return directions


def at_random(axes: Array, rng: np.random.Generator, count: int) -> Array:
    """Return random mixtures of some directions."""
    mixed: Array = rng.normal(size=(count, len(axes))) @ axes
    return mixed


def through_samples(lines: Lines, intercept: bool, rng: np.random.Generator, count: int) -> Array:
    """Return points that put as many random samples on their margins as there are unknowns.

    Whatever the units of the columns are: in a robust fit most samples can be trusted, and some
    choice of few of them is among these.
    """
    A = np.column_stack([lines.X, np.ones(len(lines.y))]) if intercept else lines.X
    m, n = A.shape
    if n > m:
        return np.empty((0, lines.X.shape[1] + 1))
    rows = rng.random((count, m)).argpartition(n - 1, axis=1)[:, :n]
    sizes = np.abs(A).max(axis=0)
    sizes[sizes == 0.0] = 1.0
    # Copies of samples and dependent columns leave a system without a solution of its own.
    systems = A[rows] / sizes + ALMOST * np.eye(n)
    try:
        solved = np.linalg.solve(systems, lines.y[rows][:, :, None].astype(float))
    except np.linalg.LinAlgError:
        return np.empty((0, lines.X.shape[1] + 1))
    found = np.zeros((count, lines.X.shape[1] + 1))
    found[:, :n] = solved[:, :, 0] / sizes
    kept: Array = found[np.all(np.isfinite(found), axis=1)]
    return kept


def _least_squares(lines: Lines, intercept: bool) -> list[Array]:
    """Return least squares fits with ridges from none that counts to one that leaves X'y."""
    X, y = lines.X, lines.y
    mass = lines.penalty / lines.penalty.sum()
    mean = mass @ X if intercept else np.zeros(X.shape[1])
    middle = float(mass @ y) if intercept else 0.0
    root = np.sqrt(mass)
    U, S, V = np.linalg.svd(root[:, None] * (X - mean), full_matrices=False)
    if not S[0] ** 2 > 0.0:
        return []
    parts = U.T @ (root * (y - middle))
    fits = []
    for ridge in RIDGES * S[0] ** 2:
        w = V.T @ (S / (S**2 + ridge) * parts)
        fits.append(_of_size_one(X, np.append(w, middle - float(mean @ w))))
    return fits


def _of_size_one(X: Array, z: Array) -> Array:
    """Return a point times the number that makes its typical score one."""
    size = float(np.median(np.abs(X @ z[:-1] + z[-1])))
    return z / size if size > 0.0 else z


def _logistic(margins: Array) -> tuple[Array, Array, Array]:
    p = 1.0 / (1.0 + np.exp(np.clip(margins, -500.0, 500.0)))
    return np.logaddexp(0.0, -margins), p, p * (1.0 - p)


def _squared_hinge(margins: Array) -> tuple[Array, Array, Array]:
    h = np.maximum(1.0 - margins, 0.0)
    return h * h, 2.0 * h, 2.0 * (h > 0.0)


def _minimised(A: Array, penalty: Array, own: Array, loss: Smooth) -> Array:
    """Return the minimum of sum own z²/2 + sum penalty loss(A z), by Newton's method."""
    z = np.zeros(A.shape[1])
    margins = A @ z
    values, slopes, curvatures = loss(margins)
    lowest = float(penalty @ values)
    for _ in range(STEPS):
        H = (A.T * (penalty * curvatures)) @ A
        H[np.diag_indices_from(H)] += own
        step = solve_positive(H, A.T @ (penalty * slopes) - own * z)
        before = lowest
        for halving in range(HALVINGS):
            trial = z + step / 2.0**halving
            values, slopes, curvatures = loss(A @ trial)
            value = float(own @ np.square(trial)) / 2.0 + float(penalty @ values)
            if value < before:
                z, lowest = trial, value
                break
        if not lowest < (1.0 - ENOUGH) * before:
            break
    return z
