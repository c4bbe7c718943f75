r"""Hinge losses in several views, tied together where the views disagree: the problem.

For classifiers :math:`f_v(x) = w_v^\top x_v + b_v` of V views

.. math::
    \min\ \tfrac12 \sum_v \theta_v \|w_v\|^2 + \sum_v \sum_i c_{vi} \max(0, 1 - y_i f_v(x_i))
    + \sum_{u<v} \sum_i d_i \max(0, |f_u(x_i) - f_v(x_i)| - \epsilon) .

With multipliers :math:`0 \le \alpha_{vi} \le c_{vi}` of the losses and :math:`|\beta_{uvi}| \le
d_i` of the disagreements, and :math:`g_v = y \alpha_v - \sum_{u>v} \beta_{vu} + \sum_{u<v}
\beta_{uv}`, its dual is

.. math::
    \max\ \sum_{vi} \alpha_{vi} - \epsilon \sum_{u<v} \sum_i |\beta_{uvi}|
    - \tfrac12 \sum_v \tfrac1{\theta_v} \|X_v^\top g_v\|^2
    \quad\text{subject to}\quad 1^\top g_v = 0 \text{ with intercepts.}
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from htsvm._typing import Array


@dataclass(frozen=True, eq=False)
class CoupledProblem:
    """What to minimise.

    Attributes
    ----------
    views : list of {ndarray, CSR matrix} of shape (n_samples, n_columns)
        The views.
    y : ndarray of shape (n_samples,)
        Labels in {-1, +1}.
    penalties : ndarray of shape (n_views, n_samples)
        The c of each sample in each view, positive.
    coupling : ndarray of shape (n_samples,)
        The d of each sample; zero everywhere leaves the disagreements out.
    tube : float
        The epsilon up to which views may disagree for free.
    scales : ndarray of shape (n_views,)
        The theta of each view, positive.
    fit_intercept : bool
        Whether the b_v are free; otherwise they are zero.
    kernels : list of ndarray
        The inner products of the rows of each view, once somebody has needed them; problems that
        differ in their scales share them.
    """

    views: list[Any]
    y: Array
    penalties: Array
    coupling: Array
    tube: float
    scales: Array
    fit_intercept: bool = True
    kernels: list[Array] = field(default_factory=list)

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of views that are coupled."""
        if not np.any(self.coupling > 0.0):
            return []
        return list(combinations(range(len(self.views)), 2))

    def decisions(self, coefs: list[Array], intercepts: Array) -> Array:
        """Return f_v(x_i) for all views v and samples i."""
        products = [X @ w for X, w in zip(self.views, coefs, strict=True)]
        values: Array = np.array(products) + intercepts[:, None]
        return values

    def differences(self, values: Array) -> Array:
        """Return f_u - f_v for each pair of views."""
        pairs = self.pairs
        return values[[u for u, _ in pairs]] - values[[v for _, v in pairs]]

    def pulls(self, alpha: Array, beta: Array) -> Array:
        """Return g, what each sample adds to the classifier of each view."""
        g: Array = self.y * alpha
        for (u, v), one in zip(self.pairs, beta, strict=True):
            g[u] -= one
            g[v] += one
        return g

    def sums(self, g: Array) -> list[Array]:
        """Return X_v' g_v for each view."""
        return [X.T @ one for X, one in zip(self.views, g, strict=True)]

    def objective(self, coefs: list[Array], values: Array) -> float:
        """Return the objective for classifiers with the given decision values."""
        energy = sum(0.5 * s * float(w @ w) for s, w in zip(self.scales, coefs, strict=True))
        loss = float(np.sum(self.penalties * np.maximum(1.0 - self.y * values, 0.0)))
        beyond = np.maximum(np.abs(self.differences(values)) - self.tube, 0.0)
        return float(energy) + loss + float(np.sum(beyond @ self.coupling))

    def bound(self, alpha: Array, beta: Array) -> float:
        """Return the dual objective at multipliers made feasible: a lower bound of the minimum."""
        if self.fit_intercept:
            alpha, beta = self._balanced(alpha, beta)
        energy = sum(
            0.5 * float(total @ total) / s
            for total, s in zip(self.sums(self.pulls(alpha, beta)), self.scales, strict=True)
        )
        return float(alpha.sum()) - self.tube * float(np.abs(beta).sum()) - float(energy)

    def _balanced(self, alpha: Array, beta: Array) -> tuple[Array, Array]:
        """Move the multipliers of the losses, within their bounds, until every g_v sums to zero.

        Near a solution the sums are tiny. Where the bounds leave no room, all multipliers are set
        to zero: feasible, but a bound of zero.
        """
        excess = self.pulls(alpha, beta).sum(axis=1)
        up = np.where(self.y > 0.0, self.penalties - alpha, alpha)
        down = np.where(self.y > 0.0, alpha, self.penalties - alpha)
        room = np.where(excess[:, None] > 0.0, down, up)
        total = room.sum(axis=1)
        if np.any(total < np.abs(excess)):
            return np.zeros_like(alpha), np.zeros_like(beta)
        share = np.divide(excess, total, out=np.zeros_like(excess), where=total > 0.0)
        return alpha - self.y * share[:, None] * room, beta
