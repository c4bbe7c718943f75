"""Points that a solver takes for good enough and their certificate does not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from htsvm import HTSVC
from htsvm.linalg import Quadratic, as_operator
from htsvm.losses import HybridTruncated
from htsvm.problems import Problem
from htsvm.solvers import Newton
from htsvm.solvers.api import Solver
from htsvm.solvers.certified import FINER, solve_certified


def noisy(m, n=10):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, n))
    y = (X[:, 0] + X[:, 1] - 0.5 * X[:, 2] > 0).astype(int)
    return X, np.where(rng.random(m) < 0.2, 1 - y, y)


def test_a_refused_point_is_improved():
    """The weights of the last round were settled, those of the point were not."""
    model = HTSVC(starts=["convex"]).fit(*noisy(20_000))
    assert model.certificate_[0].certified


@dataclass(frozen=True)
class Hasty(Solver):
    """Newton's method whose multipliers are off by three times the tolerance."""

    asked: ClassVar[list[float]] = []
    tol: float = 1e-3

    def solve(self, problem, *, start=None):
        self.asked.append(self.tol)
        result = Newton(tol=self.tol, starts=("convex",)).solve(problem, start=start)
        return replace(result, multipliers=(1.0 - 3.0 * self.tol) * result.multipliers)


@dataclass(frozen=True)
class Published(Hasty):
    """The same, to be left as it is."""

    asked: ClassVar[list[float]] = []
    refines: ClassVar[bool] = False


@pytest.mark.parametrize(("kind", "most"), [(Hasty, 2), (Published, 1)])
def test_a_solver_goes_on_with_a_finer_tolerance(kind, most):
    X, y = noisy(2000)
    problem = Problem(
        as_operator(X), np.where(y == 1, 1, -1).astype(np.int8), np.full(2000, 0.1),
        HybridTruncated(), Quadratic(None, 10), C=0.1,
    )  # fmt: skip
    kind.asked.clear()
    first = kind().solve(problem)
    kind.asked.clear()
    result, certificate = solve_certified(problem, kind())
    assert kind.asked == [1e-3, FINER * 1e-3][: len(kind.asked)]
    assert 1 + (kind is Hasty) <= len(kind.asked) <= most
    assert certificate.certified or len(kind.asked) == most
    assert (len(kind.asked) > 1) == (result.n_iter > first.n_iter)
