"""Newton systems of several views, whose classifiers are coupled sample by sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from htsvm._typing import Array
from htsvm.linalg.operators import dense
from htsvm.linalg.positive import conjugate_gradients, solve_positive

# The largest side of an explicitly formed matrix.
LARGEST_SIDE = 4000
# Kernel matrices are kept for this many samples at most: 128 MB per view.
KERNEL_SAMPLES = 4000
# What keeps a direction in which nothing curves from being infinitely long.
RIDGE = 1e-9
# How well conjugate gradients solve a system, and the most steps they take.
CG_TOLERANCE, MOST_CG_STEPS = 1e-2, 250


class CoupledSystem:
    """Solve (diag(theta, 0) + sum_i Z_i' Omega_i Z_i) d = -g.

    Z_i holds the rows of sample i in all views, with a one for the intercept; Omega_i is a
    symmetric matrix with a row and column per view. Three forms: the matrix itself; where it has
    more rows than there are samples that matter, the Woodbury identity with the kernels of the
    views; conjugate gradients where both are large.

    Parameters
    ----------
    views : list of {ndarray, CSR matrix} of shape (n_samples, n_columns)
        The views.
    scales : ndarray of shape (n_views,)
        The theta, positive.
    fit_intercept : bool
        Whether there are intercepts.
    kernels : list of ndarray, optional
        Where the kernels of the views are kept; empty until they are needed.
    """

    def __init__(
        self,
        views: list[Any],
        scales: Array,
        fit_intercept: bool,
        kernels: list[Array] | None = None,
    ) -> None:
        self.views, self.scales, self.fit_intercept = views, scales, fit_intercept
        self.widths = [X.shape[1] for X in views]
        self.edges = np.cumsum([0, *self.widths])
        self.kernels: list[Array] = [] if kernels is None else kernels

    def solve(
        self, own: Array, shared: list[tuple[int, int, Array]], gradients: list[Array], slope: Array
    ) -> tuple[list[Array], Array]:
        """Return the direction (dw, db).

        Parameters
        ----------
        own : ndarray of shape (n_views, n_samples)
            Curvatures of the terms of single views, not negative: added to the diagonals of Omega.
        shared : list of (u, v, ndarray of shape (n_samples,))
            Curvatures of the terms of differences between views u and v.
        gradients, slope : list of ndarrays, ndarray of shape (n_views,)
            The gradient in w_v and in b_v.
        """
        count = np.count_nonzero(own) + sum(np.count_nonzero(one) for _, _, one in shared)
        side = int(self.edges[-1])
        few = count <= LARGEST_SIDE and count**3 < 3.0 * self._matrix_work(own, shared)
        if few and self.views[0].shape[0] <= KERNEL_SAMPLES:
            return self._by_kernels(own, shared, gradients, slope)
        if side <= LARGEST_SIDE:
            return self._by_matrix(own, shared, gradients, slope)
        return self._by_cg(own, shared, gradients, slope)

    def _matrix_work(self, own: Array, shared: list[tuple[int, int, Array]]) -> float:
        """Return how many products it takes to form the matrix and to factorise it.

        The kernels are there already, so that their form only has to be factorised.
        """
        rows = [np.count_nonzero(one) for one in own]
        work = sum(count * n**2 for count, n in zip(rows, self.widths, strict=True))
        for u, v, one in shared:
            work += np.count_nonzero(one) * self.widths[u] * self.widths[v]
        return float(work) + int(self.edges[-1]) ** 3 / 3.0

    def matrix(self, own: Array, shared: list[tuple[int, int, Array]]) -> Array:
        """Return the matrix in the coefficients of all views, then their intercepts."""
        side, V = int(self.edges[-1]), len(self.views)
        H = np.zeros((side + V, side + V))
        blocks = {(v, v): own[v].copy() for v in range(V)}
        for u, v, one in shared:
            blocks[u, u] += one
            blocks[v, v] += one
            blocks[u, v] = -one
        for (u, v), weights in blocks.items():
            rows = np.flatnonzero(weights)
            if not len(rows):
                continue
            weights = weights[rows]
            left, right = self.views[u][rows], self.views[v][rows]
            at_u, at_v = slice(*self.edges[u : u + 2]), slice(*self.edges[v : v + 2])
            H[at_u, at_v] = _weighted_product(left, right, weights)
            H[at_u, side + v] = left.T @ weights
            H[side + v, at_u] = H[at_u, side + v]
            H[at_v, side + u] = right.T @ weights
            H[side + u, at_v] = H[at_v, side + u]
            H[side + u, side + v] = H[side + v, side + u] = weights.sum()
            if u != v:
                H[at_v, at_u] = H[at_u, at_v].T
        places = np.arange(side)
        H[places, places] += np.repeat(self.scales, self.widths)
        return H if self.fit_intercept else H[:side, :side]

    def _by_matrix(
        self, own: Array, shared: list[tuple[int, int, Array]], gradients: list[Array], slope: Array
    ) -> tuple[list[Array], Array]:
        H = self.matrix(own, shared)
        side = int(self.edges[-1])
        rhs = -np.concatenate([*gradients, slope])[: len(H)]
        if self.fit_intercept:
            last = np.arange(side, len(H))
            H[last, last] += self._ridge(H[last, last])
        solution = solve_positive(H, rhs)
        return self._parts(solution)

    def _parts(self, stacked: Array) -> tuple[list[Array], Array]:
        side = int(self.edges[-1])
        coefs = np.split(stacked[:side], self.edges[1:-1])
        V = len(self.views)
        return coefs, stacked[side:] if len(stacked) > side else np.zeros(V)

    def _ridge(self, mass: Array) -> Array:
        """Return what is added to the curvature in the intercepts."""
        whole = float(mass.max(initial=0.0))
        ridge: Array = np.where(mass > 0.0, RIDGE * mass, whole if whole > 0.0 else 1.0)
        return ridge

    def _by_kernels(
        self, own: Array, shared: list[tuple[int, int, Array]], gradients: list[Array], slope: Array
    ) -> tuple[list[Array], Array]:
        """Use one row of a matrix per curved term: (1/omega + A A'/theta) z = r + A_b db."""
        if not self.kernels:
            self.kernels.extend(dense(X @ X.T) for X in self.views)
        V, m = own.shape
        rows, signs, curvature = _terms(own, shared)
        if not len(rows):
            dw = [-g / s for g, s in zip(gradients, self.scales, strict=True)]
            return dw, -slope if self.fit_intercept else np.zeros(V)
        M = self._kernel_matrix(own, shared)
        r = np.zeros(len(rows))
        for v in range(V):
            at = np.flatnonzero(signs[v])
            r[at] -= signs[v, at] * (self.views[v] @ gradients[v])[rows[at]] / self.scales[v]
        places = np.arange(len(rows))
        M[places, places] += 1.0 / curvature
        solved = solve_positive(M, np.column_stack([r, signs.T]))
        z, db = solved[:, 0], np.zeros(V)
        if self.fit_intercept:
            S = signs @ solved[:, 1:]
            S[np.arange(V), np.arange(V)] += self._ridge(np.diagonal(S))
            db = np.linalg.solve(S, -slope - signs @ z)
            z = z + solved[:, 1:] @ db
        dw = [
            -(gradients[v] + self.views[v].T @ np.bincount(rows, signs[v] * z, m)) / self.scales[v]
            for v in range(V)
        ]
        return dw, db

    def _kernel_matrix(self, own: Array, shared: list[tuple[int, int, Array]]) -> Array:
        """Return (the lower triangle of) A A'/theta, for the terms in the order of `_terms`.

        Between two groups of terms, views that both of them have add a block of their kernel.
        """
        groups = [(np.flatnonzero(one), {v: 1.0}) for v, one in enumerate(own)]
        groups += [(np.flatnonzero(one), {u: 1.0, v: -1.0}) for u, v, one in shared]
        edges = np.cumsum([0] + [len(rows) for rows, _ in groups])
        M = np.zeros((edges[-1], edges[-1]))
        for i, (rows, signs) in enumerate(groups):
            for j, (others, other_signs) in enumerate(groups[: i + 1]):
                block = M[edges[i] : edges[i + 1], edges[j] : edges[j + 1]]
                for v in signs.keys() & other_signs.keys():
                    factor = signs[v] * other_signs[v] / self.scales[v]
                    block += factor * self.kernels[v][rows][:, others]
        return M

    def _by_cg(
        self, own: Array, shared: list[tuple[int, int, Array]], gradients: list[Array], slope: Array
    ) -> tuple[list[Array], Array]:
        V = len(self.views)
        mass = own.sum(axis=1) + sum(
            (one.sum() * np.isin(np.arange(V), (u, v)) for u, v, one in shared), np.zeros(V)
        )
        ridge = self._ridge(mass) if self.fit_intercept else np.zeros(V)

        def apply(stacked: Array) -> Array:
            dw, db = self._parts(stacked)
            moved = np.array([X @ w for X, w in zip(self.views, dw, strict=True)]) + db[:, None]
            pulled = own * moved
            for u, v, one in shared:
                difference = one * (moved[u] - moved[v])
                pulled[u] += difference
                pulled[v] -= difference
            images = [
                s * w + X.T @ p
                for s, w, X, p in zip(self.scales, dw, self.views, pulled, strict=True)
            ]
            last = [pulled.sum(axis=1) + ridge * db] if self.fit_intercept else []
            return np.concatenate(images + last)

        rhs = -np.concatenate([*gradients, slope] if self.fit_intercept else gradients)
        scales = [np.repeat(self.scales, self.widths)] + [mass + ridge] * self.fit_intercept
        scale = np.concatenate(scales)
        solution, _ = conjugate_gradients(
            apply, rhs, lambda v: v / scale, tolerance=CG_TOLERANCE, most_steps=MOST_CG_STEPS
        )
        return self._parts(solution)


def _terms(own: Array, shared: list[tuple[int, int, Array]]) -> tuple[Array, Array, Array]:
    """Return, for each curved term, its sample, its signs in the views and its curvature."""
    V = len(own)
    rows, signs, curvatures = [], [], []
    for v in range(V):
        at = np.flatnonzero(own[v])
        rows.append(at)
        signs.append(np.outer(np.arange(V) == v, np.ones(len(at))))
        curvatures.append(own[v, at])
    for u, v, one in shared:
        at = np.flatnonzero(one)
        rows.append(at)
        sign = (np.arange(V) == u).astype(float) - (np.arange(V) == v)
        signs.append(np.outer(sign, np.ones(len(at))))
        curvatures.append(one[at])
    return np.concatenate(rows), np.hstack(signs), np.concatenate(curvatures)


def _weighted_product(left: Any, right: Any, weights: Array) -> Array:
    """Return left' diag(weights) right as an array."""
    if sp.issparse(right):
        return dense(left.T @ right.multiply(weights[:, None]).tocsr())
    return dense(left.T @ (weights[:, None] * right))
