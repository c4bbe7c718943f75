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

from typing import NamedTuple

import numpy as np
from scipy import linalg

from htsvm._typing import Array
from htsvm.linalg import Operator, Quadratic
from htsvm.optimality.critical import (
    CriticalSamples,
    Space,
    chunks,
    full_space,
    null_space,
    row_space,
)

# Up to this dimension eigenvalues are as quick as the way around them: 3 ms and 4 ms of CPU time at
# 256, 18 ms and 17 ms at 512.
SMALL = 256


class Verdict(NamedTuple):
    """The answer, with what it rests on."""

    local_minimizer: str
    curvature: float = float("nan")
    direction: Array | None = None
    note: str = ""


def second_order_verdict(
    operator: Operator,
    samples: CriticalSamples,
    regularizer: Quadratic,
    *,
    fit_intercept: bool = True,
    max_dimension: int = 1000,
) -> Verdict:
    """Decide whether a first-order stationary point is a local minimiser.

    Works in the space of dimension min(n, number of critical samples) + 1, with dense LAPACK
    routines. Beyond `max_dimension` the answer is "undecided", unless no sample is curved (then
    the objective is convex near the point: "yes") or none is on the margin (then moving the
    intercept alone lowers the objective: "no").

    Parameters
    ----------
    operator : Operator
        The rows of X.
    samples : CriticalSamples
        The curved samples and those on the margin.
    regularizer : Quadratic
        R, positive semidefinite.
    fit_intercept : bool, default=True
        Whether z has a component db.
    max_dimension : int, default=1000
        The largest dimension to work in.

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
    change = _ExactChange(operator, samples, regularizer)
    if dimension > max_dimension:
        return _intercept_only(change, samples, n, fit_intercept, dimension, max_dimension)
    make = row_space if by_rows else full_space
    return _decide(make(operator, samples, regularizer, fit_intercept), samples, change)


def _intercept_only(
    change: _ExactChange,
    samples: CriticalSamples,
    n: int,
    fit_intercept: bool,
    dimension: int,
    limit: int,
) -> Verdict:
    """Try the one direction that needs no linear algebra."""
    if fit_intercept and not np.any(samples.active):
        direction = np.zeros(n + 1)
        direction[n] = 1.0
        value, signed = change.best_sign(direction)
        if value < 0.0:
            return Verdict("no", value, signed)
    return Verdict("undecided", note=f"second order needs dimension {dimension} > {limit}")


def _decide(space: Space, samples: CriticalSamples, change: _ExactChange) -> Verdict:
    """Look for "yes" on the larger null space, then for "no" on the smaller one."""
    free = space.free
    if free.shape[1] == 0:
        return Verdict("yes", float("inf"), note="the samples on the margin leave no direction")
    lowest, vector, noise = _smallest(*_reduced_hessian(space, samples, samples.bends, free))
    if lowest > noise:
        return Verdict("yes", lowest)
    candidates = [free @ vector]
    tried = [samples.bends]
    if np.any(samples.active != samples.strong):
        free = null_space(len(space.quadratic), space.blocks(np.flatnonzero(samples.active)))
        tried = []
    for bends in (samples.bends, samples.curved):
        if free.shape[1] > 0 and not any(np.array_equal(bends, other) for other in tried):
            tried.append(bends)
            _, vector, _ = _smallest(*_reduced_hessian(space, samples, bends, free))
            candidates.append(free @ vector)
    found = [change.best_sign(space.lift(z)) for z in candidates]
    value, direction = min(found, key=lambda pair: pair[0])
    if value < -noise:
        return Verdict("no", value, direction)
    return Verdict("undecided", note="the second-order form is neither positive nor negative")


class _ExactChange:
    """Twice the second-order change along a direction, one-sided where the loss is."""

    def __init__(
        self, operator: Operator, samples: CriticalSamples, regularizer: Quadratic
    ) -> None:
        self.operator, self.samples, self.regularizer = operator, samples, regularizer

    def best_sign(self, direction: Array) -> tuple[float, Array]:
        """Return the value and direction of the better of z and -z, z of unit length."""
        z = direction / np.linalg.norm(direction)
        products = _row_products(self.operator, self.samples, z)
        forward, backward = self._value(z, products), self._value(z, -products)
        return (forward, z) if forward <= backward else (backward, -z)

    def _value(self, z: Array, products: Array) -> float:
        s = self.samples
        slack = 1e-8 * float(np.abs(products).max(initial=0.0))
        blocked = (s.at_zero & (products < -slack)) | (s.at_top & (products > slack))
        if np.any(blocked):
            return float("inf")
        bends = s.curved | (s.at_cap & (products > 0.0)) | (s.at_knee & (products < 0.0))
        bent = products[bends]
        return 2.0 * self.regularizer.energy(z[:-1]) - float(s.weight[bends] @ bent**2)


def _row_products(operator: Operator, samples: CriticalSamples, z: Array) -> Array:
    """Return n_i'z over the critical samples."""
    out = np.empty(len(samples.rows))
    w = np.ascontiguousarray(z[:-1])
    for part in chunks(len(samples.rows), operator.shape[1]):
        some = operator.take(samples.rows[part])
        some.signed_dot(samples.y[part], w, float(z[-1]), out[part])
    return out


def _reduced_hessian(
    space: Space, samples: CriticalSamples, bends: Array, free: Array
) -> tuple[Array, float]:
    """Return the form with the samples in `bends`, on the columns of `free`, and its rounding."""
    hessian: Array = free.T @ (space.quadratic @ free)
    scale = float(np.linalg.norm(hessian))
    positions = np.flatnonzero(bends)
    root = np.sqrt(samples.weight[positions])
    for part, rows in space.blocks(positions):
        projected = (rows * root[part, None]) @ free
        hessian -= projected.T @ projected
        scale += float(np.square(projected).sum())
    return hessian, 16.0 * float(np.finfo(np.float64).eps) * scale


def _smallest(matrix: Array, noise: float) -> tuple[float, Array, float]:
    """Return the smallest eigenvalue, its vector, and `noise`, the rounding error in it.

    A large matrix is first tried as positive definite: a Cholesky factorisation is much cheaper
    than eigenvalues, and inverse iteration with its factor gives the smallest one.
    """
    if len(matrix) > SMALL:
        try:
            factor = linalg.cho_factor(matrix)
        except linalg.LinAlgError:
            pass
        else:
            return *_inverse_iteration(matrix, factor), noise
    values, vectors = linalg.eigh(matrix, subset_by_index=[0, 0])
    return float(values[0]), vectors[:, 0], noise


def _inverse_iteration(
    matrix: Array, factor: tuple[Array, bool], steps: int = 20
) -> tuple[float, Array]:
    vector = np.random.default_rng(0).standard_normal(len(matrix))
    for _ in range(steps):
        vector = linalg.cho_solve(factor, vector)
        vector /= np.linalg.norm(vector)
    return float(vector @ matrix @ vector), vector
