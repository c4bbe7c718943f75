"""The Newton system of several classes in the space of the ties between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from htsvm._typing import Array
from htsvm.linalg import Quadratic
from htsvm.linalg.positive import Cholesky


class TieSystem:
    """Solves H (dW, db) = -(gW, gb) by a matrix with a row per tie.

    A sample that is undecided among c classes has c - 1 ties: orthonormal directions v of the
    scores, with which ``H = R (x) I + sum sigma_i (v v') (x) (x_i, 1)(x_i, 1)'``. With few of them
    the matrix ``diag(1 / sigma) + K * (V V')``, K the inner products of rows by the inverse of R,
    is small whatever the numbers of features and classes, and exact however badly H is conditioned
    (the formula of Sherman, Morrison and Woodbury).

    Parameters
    ----------
    regularizer : Quadratic
        R.
    fit_intercept : bool
        Whether b is free.
    """

    def __init__(self, regularizer: Quadratic, fit_intercept: bool) -> None:
        self.R, self.fit_intercept = regularizer, fit_intercept
        self.factor: Any = cho_factor(regularizer.values) if regularizer.is_matrix else None

    def solve(self, rows: Any, ridge: float, gradient: tuple[Array, Array]) -> Array:
        """Return (dW, db) as one array of shape (n_classes, n_features + 1).

        Parameters
        ----------
        rows : Undecided
            The rows.
        ridge : float
            What is added to the curvature in b.
        gradient : (gW, gb)
            The gradient.
        """
        gW, gb = gradient
        at, V = tie_directions(rows.mask)
        often = np.bincount(at, minlength=len(rows.mask))
        matrix = self._inner(rows).repeat(often, axis=0).repeat(often, axis=1)
        matrix *= V @ V.T
        matrix[np.diag_indices_from(matrix)] += 1.0 / rows.sigma[at]
        factors = Cholesky(matrix)
        scaled = self._inverse(gW)
        pushed = np.einsum("ij,ij->i", V, rows.rows.scores(scaled, np.zeros(len(gb)))[at])
        db, y = np.zeros_like(gb), -factors.solve(pushed)
        if self.fit_intercept:
            turned = factors.solve(V)
            by_intercepts = V.T @ turned
            by_intercepts[np.diag_indices_from(by_intercepts)] += ridge
            db = np.linalg.solve(by_intercepts, -V.T @ y - gb)
            y = y + turned @ db
        pulls = np.zeros(rows.mask.shape)
        np.add.at(pulls, at, y[:, None] * V)
        dW = -self._inverse(gW + rows.rows.pull(pulls))
        return np.column_stack([dW, db])

    def _inner(self, rows: Any) -> Array:
        """Return the inner products of the rows by the inverse of R."""
        if self.factor is None:
            inner: Array = rows.rows.kernel(1.0 / self.R.diagonal())
            return inner
        whole = rows.rows.scores(np.eye(self.R.n), np.zeros(self.R.n))
        crossed: Array = whole @ cho_solve(self.factor, whole.T)
        return crossed

    def _inverse(self, V: Array) -> Array:
        """Return the rows of V times the inverse of R."""
        if self.factor is None:
            return V / self.R.diagonal()
        solved: Array = cho_solve(self.factor, V.T).T
        return solved


def tie_directions(mask: Array) -> tuple[Array, Array]:
    """Return the rows that ties belong to, and an orthonormal set of directions for each row.

    Parameters
    ----------
    mask : ndarray of shape (n_rows, n_classes)
        Nonzero for the classes among which a row is undecided.
    """
    rank = np.cumsum(mask, axis=1, dtype=np.intp) - 1
    at, last = np.nonzero(mask.astype(bool) & (rank > 0))
    t = rank[at, last].astype(np.float64)
    size = 1.0 / np.sqrt(t * (t + 1.0))
    V = (mask[at] != 0) & (rank[at] < t[:, None])
    directions = V * size[:, None]
    directions[np.arange(len(at)), last] = -t * size
    return at, directions
