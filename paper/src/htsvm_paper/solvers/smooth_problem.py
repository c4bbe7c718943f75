r"""Smooth bounded losses in two views, tied by the square of their difference: the problem.

.. math::
    \min\ \tfrac12 \sum_v \theta_v \|w_v\|^2
    + \sum_v \sum_i c_{vi} L(\max(0, 1 - y_i f_v(x_i)), y_i)
    + \sum_i d_i (f_A(x_i) - f_B(x_i))^2 .

L has slope zero at zero and never falls, so slacks xi >= 1 - y f, xi >= 0 are best at
max(0, 1 - y f) and the objective has a continuous gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from htsvm._typing import Array
from htsvm.losses import SmoothLoss
from htsvm.optimality.residuals import gradient_residuals
from htsvm_paper.solvers.coupled_system import CoupledSystem


@dataclass(frozen=True, eq=False)
class SmoothProblem:
    """What to minimise.

    Attributes
    ----------
    views : list of {ndarray, CSR matrix} of shape (n_samples, n_columns)
        The two views.
    y : ndarray of shape (n_samples,)
        Labels in {-1, +1}.
    penalties : ndarray of shape (2, n_samples)
        The c of each sample in each view.
    coupling : ndarray of shape (n_samples,)
        The d of each sample.
    scales : ndarray of shape (2,)
        The theta of each view, positive.
    loss : SmoothLoss
        The loss L.
    fit_intercept : bool
        Whether the b_v are free; otherwise they are zero.
    """

    views: list[Any]
    y: Array
    penalties: Array
    coupling: Array
    scales: Array
    loss: SmoothLoss
    fit_intercept: bool = True

    @property
    def widths(self) -> list[int]:
        """The number of columns of each view."""
        return [X.shape[1] for X in self.views]

    @property
    def size(self) -> int:
        """The number of variables: both coefficients, then both intercepts."""
        return sum(self.widths) + (2 if self.fit_intercept else 0)

    def parts(self, z: Array) -> tuple[list[Array], Array]:
        """Return the coefficients and the intercepts in a vector of all variables."""
        first, both = self.widths[0], sum(self.widths)
        b = z[both:] if self.fit_intercept else np.zeros(2)
        return [z[:first], z[first:both]], b

    def violations(self, z: Array) -> tuple[Array, Array]:
        """Return max(0, 1 - y f_v) for both views, and f_A - f_B."""
        coefs, b = self.parts(z)
        f = np.array([X @ w for X, w in zip(self.views, coefs, strict=True)]) + b[:, None]
        return np.maximum(1.0 - self.y * f, 0.0), f[0] - f[1]

    def value_and_gradient(self, z: Array) -> tuple[float, Array]:
        """Return the objective and its gradient."""
        coefs, _ = self.parts(z)
        u, difference = self.violations(z)
        value = float(np.sum(self.penalties * self.loss.value(u, self.y)))
        value += float(self.coupling @ difference**2)
        value += sum(0.5 * s * float(w @ w) for s, w in zip(self.scales, coefs, strict=True))
        pull = self._pull(u, difference)
        gradient = [
            s * w + X.T @ p for s, w, X, p in zip(self.scales, coefs, self.views, pull, strict=True)
        ]
        if self.fit_intercept:
            gradient.append(pull.sum(axis=1))
        return value, np.concatenate(gradient)

    def _pull(self, u: Array, difference: Array) -> Array:
        """Return the derivatives of all losses in the decision values of both views."""
        pull: Array = -self.y * self.penalties * self.loss.slope(u, self.y)
        tie = 2.0 * self.coupling * difference
        pull[0] += tie
        pull[1] -= tie
        return pull

    def hessian(self, z: Array, system: CoupledSystem) -> Array:
        """Return the matrix of second derivatives; one-sided where a violation is zero."""
        u, _ = self.violations(z)
        own = np.where(u > 0.0, self.penalties * self.loss.curvature(u, self.y), 0.0)
        return system.matrix(own, [(0, 1, 2.0 * self.coupling)])

    def residuals(self, z: Array) -> tuple[float, float]:
        """Return the size of the gradient in the coefficients, and in the intercepts."""
        own = [s * w for s, w in zip(self.scales, self.parts(z)[0], strict=True)]
        return gradient_residuals(
            own, self.views, self._pull(*self.violations(z)), self.fit_intercept
        )

    def constant(self) -> Array:
        """Return the best variables with w = 0."""
        z = np.zeros(self.size)
        if not self.fit_intercept:
            return z
        mass = self.penalties.sum(axis=0)
        signs = np.array([-1.0, 1.0])
        per_class = np.array([mass[self.y == sign].sum() for sign in signs])

        def total(b: float) -> float:
            return float(per_class @ self.loss.value(np.maximum(1.0 - signs * b, 0.0), signs))

        # Beyond -1 and 1 one of the classes has no loss, and the other one only more.
        grid = np.linspace(-1.0, 1.0, 41)
        near = grid[int(np.argmin([total(b) for b in grid]))]
        fine = minimize_scalar(
            total, bounds=(max(near - 0.05, -1.0), min(near + 0.05, 1.0)), method="bounded"
        )
        z[-2:] = fine.x if fine.fun < total(near) else near
        return z
