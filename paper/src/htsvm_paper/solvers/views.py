"""Problems of several views whose classifiers are tied sample by sample, and Newton systems."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg

from htsvm.extend import Array, balance, stationarity

# Curvatures of the terms of differences between two views u and v.
Shared = list[tuple[int, int, Array]]

# The largest side of an explicitly formed matrix, and of a kernel matrix: 128 MB per view.
LARGEST_SIDE, KERNEL_SAMPLES = 4000, 4000
# What keeps a direction in which nothing curves from being infinitely long.
RIDGE = 1e-9
# Shares of the diagonal that are tried where rounding has cost a matrix its definiteness.
RIDGES = 10.0 ** np.arange(-14.0, 1.0)
# How well conjugate gradients solve a system, and the most steps they take.
CG_TOLERANCE, MOST_CG_STEPS = 1e-2, 250


@dataclass(frozen=True, eq=False)
class ViewsProblem:
    """What problems of tied views share: the data, and the terms of their decision values.

    The variables z are the coefficients of all views, then their intercepts if they have any.

    Attributes
    ----------
    views, y : list of {ndarray, CSR matrix} of shape (n_samples, n_columns), ndarray
        The views, and the labels in {-1, +1}.
    penalties, coupling : ndarrays of shape (n_views, n_samples), (n_samples,)
        The c of each sample in each view, positive; and its d, the price of disagreement.
    scales, fit_intercept : ndarray of shape (n_views,), bool
        The theta of each view, positive; and whether the b_v are free, otherwise zero.
    kernels : list of ndarray
        The inner products of the rows of each view, once they were needed; problems that differ in
        their scales share them.
    """

    views: list[Any]
    y: Array
    penalties: Array
    coupling: Array
    scales: Array
    _: KW_ONLY
    fit_intercept: bool = True
    kernels: list[Array] = field(default_factory=list)

    @cached_property
    def edges(self) -> Array:
        """Where the coefficients of each view begin, and where the last ones end."""
        return np.cumsum([0, *(X.shape[1] for X in self.views)])

    @property
    def size(self) -> int:
        """The number of variables."""
        return int(self.edges[-1]) + self.fit_intercept * len(self.views)

    @cached_property
    def weights(self) -> Array:
        """The theta of each coefficient."""
        return np.repeat(self.scales, np.diff(self.edges))

    def joined(self, coef: Array, intercept: Array) -> Array:
        """Return the variables of a classifier: all coefficients, and an intercept per view."""
        return np.append(coef, intercept) if self.fit_intercept else coef

    def parts(self, z: Array) -> tuple[list[Array], Array]:
        """Return the coefficients of each view, and the intercepts."""
        end = int(self.edges[-1])
        b = z[end:] if self.fit_intercept else np.zeros(len(self.views))
        return np.split(z[:end], self.edges[1:-1]), b

    def decisions(self, z: Array) -> Array:
        """Return f_v(x_i) for all views v and samples i."""
        coefs, b = self.parts(z)
        return np.array([X @ w for X, w in zip(self.views, coefs, strict=True)]) + b[:, None]

    def energy(self, z: Array) -> float:
        """Return the regulariser."""
        w = z[: len(self.weights)]
        return 0.5 * float(w @ (self.weights * w))

    def gradient(self, z: Array, slopes: Array) -> Array:
        """Return the gradient, given the slopes of all losses in the decision values."""
        total = np.zeros(self.size)
        total[: len(self.weights)] = self.weights * z[: len(self.weights)] + self.pull(slopes)
        if self.fit_intercept:
            total[len(self.weights) :] = slopes.sum(axis=1)
        return total

    def pull(self, slopes: Array) -> Array:
        """Return X_v' g_v of all views, one after the other."""
        return np.concatenate([X.T @ one for X, one in zip(self.views, slopes, strict=True)])

    def residuals(self, own: Array, slopes: Array) -> tuple[float, float]:
        """Return stationarity and balance, given the gradient of the regulariser and all slopes."""
        pull, gross = self.pull(slopes), np.abs(slopes).sum(axis=1)
        row = max(float(np.sqrt(row_squares(X).mean())) for X in self.views)
        gradient, energy, losses = (float(np.linalg.norm(v)) for v in (own + pull, own, pull))
        off = slopes.sum(axis=1) * self.fit_intercept
        return (
            stationarity(gradient, energy, losses, float(gross.sum()) * row),
            max(balance(float(t), float(g)) for t, g in zip(off, gross, strict=True)),
        )

    def support(self, multipliers: Any) -> Array | None:
        """Return what each sample adds to the classifiers; None where every sample has a part."""
        return None

    # ------------------------------------------------------------------------- Newton systems

    def direction(self, own: Array, shared: Shared, gradient: Array, form: str = "") -> Array:
        """Return the solution of (diag(theta, 0) + sum_i Z_i' Omega_i Z_i) d = -gradient.

        Z_i holds the rows of sample i in all views, with a one for the intercept; Omega_i is a
        symmetric matrix with a row and column per view. Three forms: the matrix itself; where it
        has more rows than there are samples that matter, the Woodbury identity with the kernels of
        the views; conjugate gradients where both are large.

        Parameters
        ----------
        own, shared : ndarray of shape (n_views, n_samples), list of (u, v, ndarray)
            Curvatures of the terms of single views, not negative, which are added to the diagonals
            of Omega; and of the terms of differences between views u and v.
        gradient, form : ndarray, {"kernels", "matrix", "cg"}
            The right-hand side, but for its sign; and how to solve it: by the least work.
        """
        forms = {"kernels": self._by_kernels, "matrix": self._by_matrix, "cg": self._by_cg}
        return forms[form or self._cheapest(own, shared)](own, shared, gradient)

    def _cheapest(self, own: Array, shared: Shared) -> str:
        """Return the form that takes the fewest products; kernels have only to be factorised."""
        widths, side = np.diff(self.edges), int(self.edges[-1])
        terms = [(np.count_nonzero(one), v, v) for v, one in enumerate(own)]
        terms += [(np.count_nonzero(one), u, v) for u, v, one in shared]
        work = sum(count * widths[u] * widths[v] for count, u, v in terms)
        count = sum(count for count, _, _ in terms)
        few = count <= LARGEST_SIDE and count**3 < 3.0 * float(work) + side**3
        if few and len(self.y) <= KERNEL_SAMPLES:
            return "kernels"
        return "matrix" if side <= LARGEST_SIDE else "cg"

    def matrix(self, own: Array, shared: Shared) -> Array:
        """Return the matrix."""
        V, edges, omega = len(own), self.edges, _omega(own, shared)
        side = int(edges[-1])
        H = np.zeros((side + V, side + V))
        for u, v in combinations_with_replacement(range(V), 2):
            rows = np.flatnonzero(omega[u, v])
            if not len(rows):
                continue
            weights = omega[u, v, rows]
            left, right = self.views[u][rows], self.views[v][rows]
            at_u, at_v = slice(*edges[u : u + 2]), slice(*edges[v : v + 2])
            H[at_u, at_v] = weighted_product(left, right, weights)
            H[at_v, at_u] = H[at_u, at_v].T
            H[at_u, side + v] = H[side + v, at_u] = left.T @ weights
            H[at_v, side + u] = H[side + u, at_v] = right.T @ weights
            H[side + u, side + v] = H[side + v, side + u] = weights.sum()
        places = np.arange(side)
        H[places, places] += self.weights
        return H if self.fit_intercept else H[:side, :side]

    def _by_matrix(self, own: Array, shared: Shared, gradient: Array) -> Array:
        H = self.matrix(own, shared)
        last = np.arange(int(self.edges[-1]), len(H))
        H[last, last] += _ridge(H[last, last])
        return solve_positive(H, -gradient)

    def _by_kernels(self, own: Array, shared: Shared, gradient: Array) -> Array:
        """Use one row of a matrix per curved term: (1/omega + A A'/theta) z = r + A_b db."""
        if not self.kernels:
            self.kernels.extend(_dense(X @ X.T) for X in self.views)
        slopes, (gradients, slope) = np.zeros(own.shape), self.parts(gradient)
        db = -slope
        rows, signs, curvature = _terms(own, shared)
        if len(rows):
            M, r = np.diag(1.0 / curvature), np.zeros(len(rows))
            for v, sign in enumerate(signs):
                at = np.flatnonzero(sign)
                K = self.kernels[v][np.ix_(rows[at], rows[at])]
                M[np.ix_(at, at)] += np.outer(sign[at] / self.scales[v], sign[at]) * K
                r[at] -= sign[at] * (self.views[v] @ gradients[v])[rows[at]] / self.scales[v]
            solved = solve_positive(M, np.column_stack([r, signs.T]))
            z = solved[:, 0]
            if self.fit_intercept:
                S = signs @ solved[:, 1:]
                S += np.diag(_ridge(np.diagonal(S)))
                db = np.linalg.solve(S, -slope - signs @ z)
                z = z + solved[:, 1:] @ db
            slopes = np.array([np.bincount(rows, sign * z, len(self.y)) for sign in signs])
        coef = gradient[: len(self.weights)] + self.pull(slopes)
        return self.joined(-coef / self.weights, db)

    def _by_cg(self, own: Array, shared: Shared, gradient: Array) -> Array:
        omega = _omega(own, shared)
        mass = np.einsum("vvi->v", omega)
        ridge = self.joined(np.zeros(len(self.weights)), _ridge(mass))

        def product(z: Array) -> Array:
            pulled = np.einsum("uvi,vi->ui", omega, self.decisions(z))
            return np.asarray(self.gradient(z, pulled) + ridge * z)

        scale = self.joined(self.weights, mass) + ridge
        shape = (len(gradient), len(gradient))
        solution, _ = sp.linalg.cg(
            sp.linalg.LinearOperator(shape, product), -gradient, maxiter=MOST_CG_STEPS,
            M=sp.linalg.LinearOperator(shape, lambda v: v / scale),
            atol=CG_TOLERANCE * float(np.linalg.norm(gradient)),
        )  # fmt: skip
        return np.asarray(solution)


def row_squares(X: Any) -> Array:
    """Return the squared lengths of the rows."""
    squares = X.multiply(X) if sp.issparse(X) else np.square(X)
    return np.asarray(squares.sum(axis=1)).ravel()


def factorised(H: Array, shifts: Any) -> Any:
    """Return the Cholesky factor of H plus the first of some diagonals that suffices, or None."""
    places = np.arange(len(H))
    for shift in shifts:
        shifted = H.copy()
        shifted[places, places] += shift
        with suppress(scipy.linalg.LinAlgError):
            factor = scipy.linalg.cho_factor(shifted, lower=True, check_finite=False)
            if np.all(np.isfinite(np.diagonal(factor[0]))):
                return factor
    return None


def solve_positive(H: Array, rhs: Array) -> Array:
    """Solve H x = rhs, with the smallest ridge that helps where H is not positive definite."""
    diagonal = np.diagonal(H)
    diagonal = np.where(diagonal > 0.0, diagonal, 1.0)
    factor = factorised(H, [0.0, *np.outer(RIDGES, diagonal)])
    if factor is None:
        raise scipy.linalg.LinAlgError(
            "A linear system overflows: the values of X or the weights are too large. Scale the "
            "features, for example with sklearn.preprocessing.StandardScaler or MaxAbsScaler."
        )
    return np.asarray(scipy.linalg.cho_solve(factor, rhs, check_finite=False))


def _ridge(mass: Array) -> Array:
    """Return what is added to the curvatures in the intercepts."""
    whole = float(mass.max(initial=0.0))
    return np.where(mass > 0.0, RIDGE * mass, whole if whole > 0.0 else 1.0)


def _omega(own: Array, shared: Shared) -> Array:
    """Return the matrices of all samples, as an array of shape (n_views, n_views, n_samples)."""
    omega = np.zeros((len(own), *own.shape))
    omega[range(len(own)), range(len(own))] = own
    for u, v, one in shared:
        omega[[u, v], [u, v]] += one
        omega[[u, v], [v, u]] -= one
    return omega


def _terms(own: Array, shared: Shared) -> tuple[Array, Array, Array]:
    """Return, for each curved term, its sample, its signs in the views and its curvature."""
    unit = np.eye(len(own))
    groups = [(unit[v], one) for v, one in enumerate(own)]
    groups += [(unit[u] - unit[v], one) for u, v, one in shared]
    places = [np.flatnonzero(one) for _, one in groups]
    signs = np.repeat([sign for sign, _ in groups], [len(at) for at in places], axis=0).T
    curvatures = [one[at] for (_, one), at in zip(groups, places, strict=True)]
    return np.concatenate(places), signs, np.concatenate(curvatures)


def _dense(part: Any) -> Array:
    return np.asarray(part.toarray() if sp.issparse(part) else part)


def weighted_product(left: Any, right: Any, weights: Array) -> Array:
    """Return left' diag(weights) right as an array."""
    if sp.issparse(right):
        return _dense(left.T @ right.multiply(weights[:, None]).tocsr())
    return _dense(left.T @ (weights[:, None] * right))
