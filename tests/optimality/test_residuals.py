"""The units of residuals: free of scale, and what they promise of the objective."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from htsvm import HTSVC
from htsvm.baselines import HingeSVC
from htsvm.losses import Hinge, HybridTruncated
from htsvm.optimality import certify, certify_multiclass

# Many of the fits here end as constant classifiers, which is not what they are for.
pytestmark = pytest.mark.filterwarnings("ignore::htsvm.exceptions.IgnoredClassWarning")

PENALTIES = [1e-8, 1e-4, 1.0, 1e4, 1e8]


def noisy(classes=2, m=80, n=4, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=m)
    X = rng.normal(size=(m, n)) * spread
    X[:, 0] += 1.5 * y
    y[: m // 10] = rng.integers(classes, size=m // 10)
    return X, y


def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


# ------------------------------------------------------------------------------ certificates


@pytest.mark.parametrize("C", PENALTIES)
def test_zero_is_no_solution_however_small_the_penalty(C):
    """With 1 + |w| below, w = 0 passed wherever C times the sum of the rows was below tol."""
    X, y = noisy()
    signs = np.where(y == 1, 1, -1)
    for loss in (Hinge(), HybridTruncated(cap=3.0)):
        slope = float(loss.subdifferential(1.0)[1])
        psi = np.full(len(y), -C * slope)
        psi[signs > 0] *= np.sum(signs < 0) / np.sum(signs > 0)
        c = certify(X, signs, np.zeros(4), 0.0, psi, C=C, loss=loss)
        assert c.stationarity == pytest.approx(1.0)
        assert not certify(X, signs, np.zeros(4), 0.0, psi, C=C, loss=HybridTruncated()).certified


@pytest.mark.parametrize("C", PENALTIES)
def test_several_classes_at_zero(C):
    X, y = noisy(3)
    B = np.full((len(y), 3), -C / 3)
    B[np.arange(len(y)), y] = 2 * C / 3
    c = certify_multiclass(X, y, np.zeros((3, 4)), np.zeros(3), B, C=C, loss=HybridTruncated())
    assert c.stationarity == pytest.approx(1.0)
    assert not c.certified


@pytest.mark.parametrize("a", [1e-6, 1e-3, 1e6])
@pytest.mark.parametrize("k", [1.0, 1e-5, 1e7])
def test_certificates_do_not_change_with_units(a, k):
    X, y = noisy(seed=3)
    signs = np.where(y == 1, 1, -1)
    rng = np.random.default_rng(1)
    w, weight = rng.normal(size=4), rng.uniform(0.5, 2.0, size=len(y))
    psi = -0.7 * weight * rng.uniform(0.0, 1.0, size=len(y))
    for loss in (Hinge(), HybridTruncated()):
        given = {"loss": loss, "tol": 1e-3}
        one = certify(X, signs, w, 0.2, psi, C=0.7, sample_weight=weight, **given)
        other = certify(
            a * X, signs, w / a, 0.2, psi / a**2,
            C=0.7 / (k * a**2), sample_weight=k * weight, **given,
        )  # fmt: skip
        for name in ("stationarity", "balance", "prox_residual", "relative_duality_gap"):
            assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-9)


def test_columns_of_uneven_scale_are_measured_by_the_gradient():
    """Leaving out a column whose pull is small against the others is not stationary in it."""
    X, y = noisy(spread=np.array([1.0, 1e6, 1e-6, 1.0]))
    clf = HTSVC(cap=np.inf, tol=1e-4).fit(X / np.array([1.0, 1e6, 1e-6, 1.0]), y)
    assert clf.certificate_[0].certified
    uneven = HTSVC(cap=np.inf, tol=1e-4).fit(X, y)
    assert uneven.certificate_[0].relative_duality_gap <= 1e-4


def test_beyond_the_rounding_floor_nothing_is_certified():
    X = np.array([[1e9, 1.0], [1e9, -1.0], [1e9 + 1, 0.5], [1e9 - 1, -0.5]]) * 1e9
    y = np.array([1, -1, 1, -1])
    c = certify(X, y, [3.0, 5.0], -3e18, [-1.0, -1.0, -1.0, -1.0], C=1.0, loss=Hinge(), tol=1e-3)
    assert c.rounding_floor > 1.0
    assert not c.certified
    assert any("floating point" in note for note in c.notes)
    assert "scale" in str(c)


# ------------------------------------------------------------------------------------- fits


@pytest.mark.parametrize("cap", [1.0, np.inf])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("a", "k"), [(1e3, 1.0), (1e-6, 1.0), (1.0, 1e-7), (1e2, 1e9)])
def test_fits_do_not_change_with_units(cap, classes, a, k):
    """Powers of two would be exact; others differ by rounding, which may decide a close call."""
    X, y = noisy(classes, seed=5)
    a, k = 2.0 ** np.round(np.log2([a, k]))
    one = HTSVC(C=0.3, cap=cap, starts=["convex"]).fit(X, y, np.ones(len(y)))
    other = HTSVC(C=0.3 / (k * a**2), cap=cap, starts=["convex"])
    other.fit(a * X, y, np.full(len(y), k))
    mine, others = one.certificate_[0], other.certificate_[0]
    assert others.certified == mine.certified
    if classes == 2 or (a >= 1.0 and k == 1.0):
        np.testing.assert_allclose(a * other.coef_, one.coef_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(other.intercept_, one.intercept_, rtol=1e-6, atol=1e-9)
        assert other.n_iter_ == one.n_iter_
        assert others.residual == pytest.approx(mine.residual, rel=1e-3, abs=1e-9)
    elif np.isinf(cap) or a == 1.0:
        # Several classes begin with a width that follows C, so that copies of a sample count like
        # its weight: other ways, to the same minimum.
        np.testing.assert_allclose(a**2 * k * other.objective_, k * one.objective_, rtol=1e-3)


@pytest.mark.parametrize("C", [1e-8, 1e-6, 1e-3, 1.0, 1e4])
def test_small_penalties_find_the_direction(C):
    """Accuracy on wine fell from 0.96 to 0.40 where C was below tol."""
    X, y = wine()
    loose, tight = (HTSVC(C=C, cap=np.inf, tol=tol).fit(X, y) for tol in (1e-3, 1e-6))
    assert loose.score(X, y) >= tight.score(X, y) - 0.02
    assert loose.certificate_[0].certified
    assert loose.objective_[0] <= (1.0 + 1e-3) * tight.objective_[0]


@pytest.mark.parametrize("C", [1e-6, 1e-3, 0.1, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cap", [1.0, np.inf])
def test_certified_means_within_one_plus_tol(C, seed, cap):
    """Of the tight fit that starts from the loose one, so that both are in one valley."""
    X, y = noisy(2 if seed % 2 else 3, m=60, n=3 + seed, seed=seed)
    loose = HTSVC(C=C, cap=cap, warm_start=True).fit(X, y)
    assert loose.certificate_[0].certified
    objective = loose.objective_[0]
    assert loose.certificate_[0].relative_duality_gap <= 1e-3
    tight = loose.set_params(tol=1e-7).fit(X, y)
    assert objective <= (1.0 + 1e-3) * tight.objective_[0]


def test_separable_at_large_C():
    """Certified at 72.1 where 39.8 was the minimum."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    y = X @ rng.normal(size=5) + 0.3 > 0
    for cap in (1.0, np.inf):
        clf = HTSVC(C=1e4, cap=cap).fit(X, y)
        tight = HTSVC(C=1e4, cap=np.inf, tol=1e-8).fit(X, y)
        assert clf.certificate_[0].certified
        assert clf.objective_[0] <= 1.001 * tight.objective_[0]


def test_a_convex_fit_is_certified_by_its_gap():
    for classes in (2, 3):
        X, y = noisy(classes)
        clf = HTSVC(cap=np.inf).fit(X, y)
        c = clf.certificate_[0]
        assert c.convex
        assert c.residual == c.relative_duality_gap <= 1e-3
    hinge = HingeSVC(C=1.2).fit(*noisy()).certificate_[0]
    same = HTSVC(cap=np.inf).fit(*noisy()).certificate_[0]
    assert hinge.objective - hinge.duality_gap == pytest.approx(
        same.objective - same.duality_gap, rel=2e-3
    )


def test_weights_of_any_span():
    """The best constant is not found by a difference; the objective is evaluated once."""
    X = np.arange(4.0)[:, None]
    y, weights = [0, 0, 1, 1], np.array([1e16, 1e16, 1.0, 1.0])
    with np.errstate(all="raise"):
        clf = HTSVC(C=10.0).fit(X, y, weights)
    c = clf.certificate_[0]
    assert clf.objective_[0] == c.objective
    assert c.trivial_objective == pytest.approx(20.0)
    assert c.objective <= 20.0 * (1.0 + 1e-9)
