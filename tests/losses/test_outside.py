"""A loss from outside the package, by the recipe of CONTRIBUTING: it fits and certifies."""

from dataclasses import dataclass

import numpy as np
import pytest

from htsvm import HTSVC, certify
from htsvm.extend import ADMM, ConvexLoss, Hinge, LeastSquares, register_loss


@register_loss
@dataclass(frozen=True)
class Steep(ConvexLoss):
    """``slope * max(s, 0)``, with nothing but what the recipe asks for."""

    slope: float = 3.0

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


def test_a_fit_with_it_is_certified_and_is_that_of_the_hinge_loss():
    X, y = data()
    model = SteepSVC(C=0.4, tol=1e-6).fit(X, y)
    certificate = model.certificate_[0]
    assert certificate.certified
    assert certificate.convex
    assert certificate.relative_duality_gap <= 1e-6
    signs = np.where(y == 1, 1, -1)
    psi = np.zeros(len(y))
    psi[model.support_] = -model.dual_coef_[0] * signs[model.support_]
    again = certify(
        X, signs, model.coef_[0], model.intercept_[0], psi, C=3.0 * 0.4, loss=Hinge(), tol=1e-6
    )
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
    class SquaresSVC(HTSVC):
        def _loss(self):
            return LeastSquares()

    with pytest.raises(TypeError, match=r"Newton needs a loss with 'profile'.*Steep"):
        SquaresSVC().fit(*data())
    assert SteepSVC(solver=ADMM()).fit(*data()).certificate_[0].certified
