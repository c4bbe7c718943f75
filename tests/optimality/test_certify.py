"""The certificate against naive recomputation, and its behaviour on all kinds of input."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from htsvm.linalg import Operator, as_operator
from htsvm.losses import Hinge, HybridTruncated, Loss
from htsvm.optimality import certify
from tests.optimality.points import KNOWN, two_samples

LOSS = HybridTruncated()


def some_point(m=50, n=4, seed=0):
    """Return a point that is far from stationary but has all kinds of samples."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.7)
    y = np.where(rng.random(m) < 0.4, 1, -1)
    w, b = 0.5 * rng.normal(size=n), 0.3
    q = 1.0 - y * (X @ w + b)
    psi = -0.7 * LOSS.subdifferential(q)[1] + 0.01 * rng.normal(size=m) * (q > 0)
    return X, y, w, b, psi


def test_residuals_are_their_formulas():
    X, y, w, b, psi = some_point()
    weight = np.linspace(0.5, 2.0, 50)
    R = np.diag(np.arange(1.0, 5.0)) + 0.1
    c = certify(
        X, y, w, b, psi, C=0.7, loss=LOSS, sample_weight=weight, regularizer=R, nu=0.1, tol=1e-3
    )
    N, penalty = y[:, None] * X, 0.7 * weight
    q = 1.0 - N @ w - b * y
    # A sample of weight k is k samples with a k-th of the multiplier each.
    prox = LOSS.prox(q - 0.1 * psi / weight, 0.1 * 0.7)
    norm = np.linalg.norm
    own, pull = R @ w, N.T @ psi
    parts = norm(own) + norm(pull)
    fixed = certify(
        X, y, w, 0.0, psi, C=0.7, loss=LOSS, sample_weight=weight, regularizer=R,
        fit_intercept=False,
    )  # fmt: skip
    assert fixed.stationarity == pytest.approx(norm(own + pull) / parts, rel=1e-12)
    assert c.balance == pytest.approx(abs(y @ psi) / np.abs(psi).sum(), rel=1e-12)
    size = weight @ (1.0 + q**2)
    assert c.prox_residual == pytest.approx(np.sqrt(weight @ (q - prox) ** 2 / size), rel=1e-12)
    everything = (c.stationarity, c.balance, c.prox_residual, c.relative_duality_gap)
    assert c.residual == max(everything)
    assert c.objective == pytest.approx(0.5 * w @ R @ w + penalty @ LOSS.value(q), rel=1e-12)
    assert c.trivial_objective == pytest.approx(min(penalty[y > 0].sum(), penalty[y < 0].sum()))
    assert c.n_support == np.count_nonzero(psi)
    assert not c.certified
    assert c.nu_max == 0.0
    assert c.local_minimizer == "undecided"


def test_moving_all_rows_changes_no_residual():
    X, y, w, b, psi = some_point()
    shift = np.array([1e6, -1e3, 0.0, 30.0])
    here = certify(X, y, w, b, psi, C=0.7, loss=LOSS)
    there = certify(X + shift, y, w, b - shift @ w, psi, C=0.7, loss=LOSS)
    assert here.balance > 0.01
    for name in ("stationarity", "balance", "prox_residual", "duality_gap", "objective"):
        assert getattr(there, name) == pytest.approx(getattr(here, name), rel=1e-6), name


def test_without_intercept():
    X, y, w, _, psi = some_point()
    c = certify(X, y, w, 0.0, psi, C=0.7, loss=LOSS, fit_intercept=False)
    assert c.balance == 0.0
    assert c.trivial_objective == pytest.approx(0.7 * 50)
    q = 1.0 - y * (X @ w)
    assert c.objective == pytest.approx(0.5 * w @ w + 0.7 * LOSS.value(q).sum())
    with pytest.raises(ValueError, match="fit_intercept"):
        certify(X, y, w, 0.1, psi, C=0.7, loss=LOSS, fit_intercept=False)


@pytest.mark.parametrize("name", KNOWN)
def test_counter_examples_are_stationary(name):
    c = certify(**KNOWN[name], tol=1e-12)
    assert c.residual < 1e-12
    assert c.certified
    assert c.nu_max == pytest.approx(2.0 * c.nu)


def stationary_for(point, nu):
    """Return whether every sample satisfies its prox condition, with the set-valued prox."""
    q = 1.0 - point["y"] * (point["X"] @ point["coef"] + point["intercept"])
    z = q - nu * point["multipliers"]
    return bool(np.all(point["loss"].prox_distance(q, z, nu * point["C"]) < 1e-9))


def hinge_like_point(loss, q, slope_at_zero=0.4):
    """Return a stationary point of a no-intercept problem with the given violations.

    Sample i is the unit vector i times a length that makes its violation q_i.
    """
    q = np.asarray(q, dtype=float)
    slope = np.where(q == 0.0, slope_at_zero, loss.subdifferential(q)[1])
    C = 1.3
    # w_i = length_i * C * slope_i and length_i * w_i = 1 - q_i.
    length = np.sqrt(np.maximum(1.0 - q, 0.0) / np.where(slope > 0.0, C * slope, 1.0))
    return {"X": np.diag(length), "y": np.ones(len(q), dtype=int), "coef": length * C * slope,
            "intercept": 0.0, "multipliers": -C * slope, "C": C, "loss": loss}  # fmt: skip


@pytest.mark.parametrize("loss", [LOSS, HybridTruncated(0.4, 0.9), HybridTruncated(0.8, 2.5)])
@pytest.mark.parametrize("q", [[0.3], [0.6, 0.1], [0.0], [0.0, 0.2], [0.75], [0.99, 0.0, 0.1]])
def test_nu_max_against_brute_force(loss, q):
    point = hinge_like_point(loss, q)
    c = certify(**point, fit_intercept=False, tol=1e-10)
    assert c.certified
    assert np.isfinite(c.nu_max)
    # Not at nu_max itself: there the prox has two values, and rounding picks one.
    grid = c.nu_max * np.linspace(0.01, 2.99, 150)
    verdicts = [stationary_for(point, nu) for nu in grid]
    assert verdicts == [bool(nu <= c.nu_max) for nu in grid]


@pytest.mark.parametrize("kind", ["csr", "csc", "int64", "operator", "list", "fortran"])
def test_any_form_of_X_gives_the_same(kind):
    X, y, w, b, psi = some_point()
    other = {
        "csr": sp.csr_matrix(X), "csc": sp.csc_array(X), "int64": sp.csr_matrix(X),
        "operator": as_operator(X), "list": X.tolist(), "fortran": np.asfortranarray(X),
    }[kind]  # fmt: skip
    if kind == "int64":
        other.indices, other.indptr = other.indices.astype("i8"), other.indptr.astype("i8")
    plain = certify(X, y, w, b, psi, C=0.7, loss=LOSS, tol=10.0)
    same = certify(other, y, w, b, psi, C=0.7, loss=LOSS, tol=10.0)
    assert_same(plain, same, rtol=1e-12)


def assert_same(a, b, rtol=1e-9):
    for name in ("stationarity", "balance", "prox_residual", "objective", "nu_max", "curvature"):
        assert getattr(a, name) == pytest.approx(getattr(b, name), rel=rtol, abs=1e-13, nan_ok=True)
    assert a.local_minimizer == b.local_minimizer
    assert a.counts == b.counts


class Opaque(Operator):
    """An operator that shows nothing of its storage."""

    def __init__(self, inner):
        super().__init__()
        self.inner, self.shape = inner, inner.shape

    stored = property(lambda self: self.inner.stored)

    def block(self, rows):
        return self.inner.block(rows)

    def _taken(self, rows):
        return Opaque(self.inner.take(rows))


def test_a_large_sparse_matrix_is_never_made_dense():
    m, n = 20_000, 1_000_000
    rng = np.random.default_rng(0)
    X = sp.csr_matrix((rng.random(m), (np.arange(m), rng.integers(0, n, m))), shape=(m, n))
    y = np.where(np.arange(m) % 2, 1, -1)
    c = certify(X, y, np.zeros(n), 0.0, np.zeros(m), C=1.0, loss=LOSS)
    assert c.certified
    assert c.local_minimizer == "no"
    assert c.escape_direction[-1] != 0.0


def repeated(point, k):
    """Return the point with sample i k_i times, and the one with sample i of weight k_i."""
    index = np.repeat(np.arange(len(k)), k)
    rows = {key: np.asarray(point[key])[index] for key in ("X", "y", "multipliers")}
    weighted = {**point, "multipliers": k * point["multipliers"], "sample_weight": k}
    return {**point, **rows}, weighted, index


def assert_equal_but_for_the_number_of_samples(many, one, k, index):
    """Compare every field of two certificates, `one` of the weights k."""
    compared = {"counts", "sample_status", "n_support", "escape_direction", "rounding_floor"}
    for name, value in dataclasses.asdict(many).items():
        other = getattr(one, name)
        if isinstance(value, float) and name not in compared:
            assert other == pytest.approx(value, rel=1e-9, abs=1e-14, nan_ok=True), name
        elif name not in compared:
            assert other == value, name
    np.testing.assert_array_equal(many.sample_status, one.sample_status[index])
    numbers = np.bincount(one.sample_status, weights=k, minlength=5)
    assert list(many.counts.values()) == numbers.tolist()
    assert one.n_support <= many.n_support <= k.max() * one.n_support
    assert 0.1 * one.rounding_floor <= many.rounding_floor <= 10.0 * one.rounding_floor
    if many.escape_direction is None:
        assert one.escape_direction is None
    else:
        np.testing.assert_allclose(
            np.abs(many.escape_direction), np.abs(one.escape_direction), rtol=1e-6, atol=1e-9
        )


@pytest.mark.parametrize("nu", [None, 0.05, 3.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", [LOSS, HybridTruncated(0.4, 1.7), Hinge()], ids=str)
def test_weight_k_counts_as_k_samples(loss, fit_intercept, nu):
    X, y, w, b, psi = some_point(m=40)
    point = {"X": X, "y": y, "coef": w, "intercept": b if fit_intercept else 0.0,
             "multipliers": psi, "C": 0.7, "loss": loss}  # fmt: skip
    k = np.arange(40) % 4 + 1
    many, one, index = repeated(point, k)
    given = {"fit_intercept": fit_intercept, "nu": nu, "tol": 50.0}
    a, b = certify(**many, **given), certify(**one, **given)
    assert a.nu_max > 0.0
    assert a.prox_residual > 0.0
    assert_equal_but_for_the_number_of_samples(a, b, k, index)


@pytest.mark.parametrize("name", KNOWN)
def test_weight_k_counts_as_k_samples_at_a_stationary_point(name):
    """Three times each sample, with a third of C: the same point stays stationary."""
    point = dict(KNOWN[name])
    k = np.full(len(point["y"]), 3)
    point = {**point, "C": point["C"] / 3.0, "multipliers": point["multipliers"] / 3.0}
    many, one, index = repeated(point, k)
    a, b = certify(**many), certify(**one)
    assert a.certified
    assert b.certified
    assert a.local_minimizer == b.local_minimizer == "no"
    assert_equal_but_for_the_number_of_samples(a, b, k, index)
    plain = certify(**KNOWN[name])
    assert b.objective == pytest.approx(plain.objective)
    assert b.curvature == pytest.approx(plain.curvature)
    assert b.nu_max == pytest.approx(3.0 * plain.nu_max)


def test_zero_weights_drop_out():
    X, y, w, b, psi = some_point()
    keep = np.arange(50) % 4 != 0
    weighted = certify(X, y, w, b, psi, C=0.7, loss=LOSS, sample_weight=keep, tol=50.0)
    alone = certify(X[keep], y[keep], w, b, psi[keep], C=0.7, loss=LOSS, tol=50.0)
    assert_same(weighted, alone)
    assert weighted.n_support == alone.n_support
    assert weighted.trivial_objective == pytest.approx(alone.trivial_objective)


def test_nothing_is_changed_and_readonly_is_fine():
    X, y, w, b, psi = some_point()
    given = [X, y, w, psi]
    before = [array.copy() for array in given]
    for array in given:
        array.setflags(write=False)
    certify(X, y, w, b, psi, C=0.7, loss=LOSS, tol=50.0)
    for array, copy in zip(given, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_rounding_floor_covers_what_rounding_does():
    """Data with a huge offset cannot be solved to 1e-12: the floor says so, and how far."""
    point = two_samples(LOSS)
    exact = certify(**point)
    assert exact.rounding_floor < 1e-14
    shift = 1e10
    moved = {**point, "X": point["X"] + shift, "intercept": -shift * float(point["coef"][0])}
    c = certify(**moved, tol=1e-12)
    assert c.residual > 1e-12
    assert c.residual <= c.rounding_floor < 1e-3
    assert c.certified


class NoProx(Loss):
    """A loss that cannot be certified."""

    def value(self, s):
        return np.square(s)

    def subdifferential(self, s):
        return 2.0 * s, 2.0 * s


BAD = {
    "y": [np.zeros(50), np.full(50, 2), np.ones(49), np.array(["a"] * 50), np.full(50, np.nan)],
    "coef": [np.zeros(3), np.full(4, np.nan)],
    "intercept": [np.inf],
    "multipliers": [np.zeros(3), np.full(50, np.inf)],
    "C": [0.0, -1.0, np.inf, np.nan, np.ones(50)],
    "sample_weight": [np.zeros(50), -np.ones(50), np.ones(3), np.full(50, np.nan)],
    "regularizer": [np.ones(3), -1.0],
    "nu": [0.0, np.inf],
    "on_margin": [-1.0],
    "X": [np.ones(50), np.full((50, 4), np.nan), np.ones((0, 4))],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD.items() for value in values]
)
def test_bad_input_names_the_argument(name, value):
    X, y, w, b, psi = some_point()
    given = {"X": X, "y": y, "coef": w, "intercept": b, "multipliers": psi, "C": 1.0}
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        certify(**{**given, "loss": LOSS, name: value})


def test_bad_loss():
    X, y, w, b, psi = some_point()
    with pytest.raises(TypeError, match=r"certify needs.*'prox'.*HybridTruncated"):
        certify(X, y, w, b, psi, C=1.0, loss=NoProx())
    with pytest.raises(TypeError, match="loss"):
        certify(X, y, w, b, psi, C=1.0, loss="hinge")
