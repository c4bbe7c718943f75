"""Regularised least squares for w, or w and b together: the linear step of the ADMM."""

from __future__ import annotations

from functools import cache

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.row_system import RowSystem
from htsvm.problems.binary import Problem

# How well conjugate gradients solve a system, and the most steps they take.
ACCURACY, MOST_STEPS = 1e-6, 200


class RidgeSystem:
    """Solve min over w (and b) of w'Rw/2 + xi/2 sum_i v_i (target_i - y_i (x_i'w + b))².

    The sum runs over some of the rows; v_i is the weight of a sample, its penalty over C.

    Parameters
    ----------
    problem : Problem
        Rows, labels, weights and R.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.weight = problem.penalty / problem.C
        self._system = cache(self._new_system)

    def _new_system(self, with_intercept: bool) -> RowSystem:
        problem = self.problem
        return RowSystem(
            problem.operator, self.weight, problem.regularizer, with_intercept,
            tolerance=ACCURACY, most_steps=MOST_STEPS, intercept_ridge=0.0,
        )  # fmt: skip

    @property
    def factorised(self) -> bool:
        """Whether a system over all rows is solved by a factorisation."""
        system = self._system(self.problem.fit_intercept)
        return system.cheapest_form(self.problem.n_samples) != "cg"

    def solve(
        self,
        rows: Array | None,
        penalty: float,
        target: Array,
        with_intercept: bool,
        guess: tuple[Array, float],
        offset: Array | None = None,
    ) -> tuple[Array, float]:
        """Return (w, b).

        Parameters
        ----------
        rows : ndarray of int, or None
            The samples that enter; None for all.
        penalty, target : float, ndarray of shape (m,)
            xi, and what y * (X w + b) should be.
        with_intercept : bool
            Whether b is solved for too; otherwise it is zero above, and that of the guess returned.
        guess : tuple of (ndarray, float)
            Where conjugate gradients start; also the b that is kept if nothing determines it.
        offset : ndarray of shape (n,), optional
            The gradient of a linear function of w to be added to what is minimised.
        """
        problem, m = self.problem, self.problem.n_samples
        if rows is not None and len(rows) == 0:
            return np.zeros(problem.n_features), guess[1]
        wished, share = self.weight * target, 1.0
        if rows is not None:
            wished, all_wished = np.zeros(m), wished
            wished[rows], share = all_wished[rows], len(rows) / m
        pull, balance = problem.operator.signed_tdot(problem.y, wished, share)
        gradient = -penalty * pull if offset is None else offset - penalty * pull
        w, b = self._system(with_intercept).solve(
            rows, penalty, gradient, -penalty * balance, guess
        )
        return w, (b if with_intercept else guess[1])
