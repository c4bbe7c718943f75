"""A loss from outside the package, by the recipe of CONTRIBUTING: it fits and certifies."""

from dataclasses import dataclass

import numpy as np
import pytest

from htsvm import HTSVC
from htsvm.losses import ConvexLoss, Hinge, Wave, register, registered, require
from htsvm.optimality import certify
from htsvm.problems.build import stated_problems
from htsvm.solvers import Newton, solve_certified


@register
@dataclass(frozen=True)
class Steep(ConvexLoss):
    """``slope * max(s, 0)``, with nothing but what the recipe asks for."""

    slope: float = 3.0

    name = "steep"
    abilities = frozenset({"prox", "profile"})

    def value(self, s):
        return self.slope * np.maximum(s, 0.0)

    def subdifferential(self, s):
        s = np.asarray(s, dtype=float)
        return np.where(s > 0.0, self.slope, 0.0), np.where(s < 0.0, 0.0, self.slope)

    def prox_bounds(self, z, step):
        z = np.asarray(z, dtype=float)
        unique = np.where(z < 0.0, z, np.maximum(z - self.slope * step, 0.0))
        return unique, unique.copy()

    def profile(self, h):
        return self.slope * np.asarray(h, dtype=float)

    def profile_slope(self, h):
        return np.full(np.shape(h), self.slope)


class SteepSVC(HTSVC):
    def _loss(self):
        return Steep()


def data(classes=2):
    rng = np.random.default_rng(0)
    y = rng.integers(classes, size=120)
    X = rng.normal(size=(120, 3)) + y[:, None]
    return X, y


def test_a_problem_with_it_is_solved_and_certified():
    X, y = data()
    (problem,) = stated_problems(X, y, None, np.ones(2), C=0.4, loss=Steep(), fit_intercept=True)
    result, certificate = solve_certified(problem, Newton(tol=1e-6))
    assert certificate.certified
    assert certificate.convex
    assert certificate.relative_duality_gap <= 1e-6
    again = certify(
        X, np.where(y == 1, 1, -1), result.coef, result.intercept, result.multipliers,
        C=3.0 * 0.4, loss=Hinge(), tol=1e-6,
    )  # fmt: skip
    assert again.certified
    assert again.objective == pytest.approx(certificate.objective, rel=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
def test_an_estimator_with_it(classes):
    X, y = data(classes)
    ours = SteepSVC(C=0.4, tol=1e-6).fit(X, y)
    # HTSVC without a cap is the hinge loss with a slope of 6/5.
    same = HTSVC(C=1.0, cap=np.inf, tol=1e-6).fit(X, y)
    assert ours.certificate_[0].certified
    np.testing.assert_allclose(ours.coef_, same.coef_, rtol=1e-3, atol=1e-4)


def test_errors_name_it():
    assert Steep in registered()
    assert Wave in registered()
    with pytest.raises(TypeError, match="Steep"):
        require(Wave(a=1.0, lam=1.0), ("profile",), "a solver")
    with pytest.raises(TypeError, match="BoundedLinex, Wave"):
        require(Hinge(), ("smooth",), "a solver")
