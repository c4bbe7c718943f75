"""Bad and extreme input: a clear error or a correct fit; never NaN, a hang or a changed input."""

import math
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from htsvm import HTSVC, IgnoredClassWarning, KernelHTSVC

SOLVERS = ["newton", "admm"]


def separable(m=120, n=3, seed=0):
    """Return two clouds far apart."""
    centers = [[-3.0] * n, [3.0] * n]
    return make_blobs(m, n_features=n, centers=centers, cluster_std=0.7, random_state=seed)


def frozen(X):
    """Return the bytes of X, whatever its form."""
    parts = (X.data, X.indices, X.indptr) if sp.issparse(X) else (np.asarray(X),)
    return [np.ascontiguousarray(part).tobytes() for part in parts]


def fit(X, y, sample_weight=None, overflow=False, **options):
    """Fit, look that nothing given was changed and nothing is NaN; return fit and warnings."""
    given = [frozen(X), frozen(np.asarray(y)), sample_weight]
    weight = None if sample_weight is None else np.array(sample_weight, dtype=float)
    before = None if weight is None else weight.tobytes()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf = HTSVC(**options).fit(X, y, sample_weight=weight)
    assert frozen(X) == given[0]
    assert frozen(np.asarray(y)) == given[1]
    assert before is None or weight.tobytes() == before
    assert overflow or not [w for w in caught if issubclass(w.category, RuntimeWarning)]
    for name in ("coef_", "intercept_", "objective_", "dual_coef_"):
        assert np.all(np.isfinite(getattr(clf, name))), name
    assert np.all(np.isfinite(clf.decision_function(X)))
    return clf, caught


def assert_right_or_warned(clf, caught, X, y):
    """Assert that the fit is right on separable data, or that a warning says it is not."""
    told = [w for w in caught if issubclass(w.category, ConvergenceWarning | IgnoredClassWarning)]
    assert clf.score(X, y) == 1.0 or told


# ---------------------------------------------------------------------------------- X and y


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("sparse", [False, True])
def test_nan_or_infinity(value, sparse):
    X, y = separable()
    X[3, 1] = value
    X = sp.csr_matrix(X) if sparse else X
    clf = HTSVC()
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        clf.fit(X, y)
    assert not hasattr(clf, "coef_")
    clf.fit(*separable())
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        clf.predict(X)


def test_nan_labels_and_weights():
    X, y = separable()
    with pytest.raises(ValueError, match="y contains NaN"):
        HTSVC().fit(X, np.where(np.arange(120) == 3, np.nan, y))
    for value, word in ((np.nan, "NaN"), (np.inf, "infinity")):
        weight = np.ones(120)
        weight[5] = value
        with pytest.raises(ValueError, match=rf"sample_weight contains {word}"):
            HTSVC().fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("label", [0, "a", True])
def test_one_class(label):
    X, y = separable()
    with pytest.raises(ValueError, match=r"two classes.*one class"):
        HTSVC().fit(X, np.full(len(y), label))


def test_continuous_labels():
    X, y = separable()
    with pytest.raises(ValueError, match="continuous"):
        HTSVC().fit(X, y + 0.1 * np.arange(len(y)))


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_sample_per_class(solver):
    X, y = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array(["a", "b"])
    clf, _ = fit(X, y, C=10.0, solver=solver)
    assert clf.predict(X).tolist() == ["a", "b"]
    X = np.vstack([X, [[8.0, -9.0]]])
    clf, _ = fit(X, ["a", "b", "c"], C=10.0, solver=solver)
    assert clf.predict(X).tolist() == ["a", "b", "c"]


def test_samples_that_are_all_the_same():
    clf, caught = fit(np.ones((40, 2)), np.tile([0, 1], 20))
    assert clf.objective_[0] <= 20.0 * (1.0 + 1e-9)
    assert any(w.category is IgnoredClassWarning for w in caught)


@pytest.mark.parametrize("shape", [(3,), (0, 2), (4, 0), (2, 2, 2)])
def test_shapes_of_X(shape):
    y = np.tile([0, 1], 4)[: max(shape[0], 1)]
    with pytest.raises(ValueError, match=r"Expected 2D|1D array|0 sample|0 feature|dim 3"):
        HTSVC().fit(np.zeros(shape), y)


def test_mismatched_lengths():
    X, y = separable()
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[120, 100\]"):
        HTSVC().fit(X, y[:100])
    with pytest.raises(ValueError, match=r"sample_weight.shape.*\(100,\)"):
        HTSVC().fit(X, y, sample_weight=np.ones(100))
    with pytest.raises(ValueError, match="1D"):
        HTSVC().fit(X, y, sample_weight=np.ones((120, 2)))
    with pytest.raises(ValueError, match="y should be a 1d array"):
        HTSVC().fit(X, np.column_stack([y, y]))


def test_predict_before_fit_and_with_other_features():
    X, y = separable()
    with pytest.raises(NotFittedError, match="not fitted"):
        HTSVC().predict(X)
    clf = HTSVC().fit(X, y)
    for wrong in (X[:, :2], sp.csr_matrix(X[:, :2]), np.hstack([X, X])):
        with pytest.raises(ValueError, match=r"expecting 3 features"):
            clf.predict(wrong)
    with pytest.raises(ValueError, match="2D"):
        clf.predict(X[0])


def test_complex_and_text_data():
    X, y = separable()
    with pytest.raises(ValueError, match="Complex"):
        HTSVC().fit(X + 1j, y)
    with pytest.raises(ValueError, match="could not convert"):
        HTSVC().fit(np.full(X.shape, "text"), y)


# ---------------------------------------------------------------------------------- columns


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("sparse", [False, True])
def test_constant_duplicate_and_empty_columns(sparse, solver):
    X, y = separable()
    plain, _ = fit(X, y, tol=1e-5, solver=solver)
    wide = np.hstack([X, np.zeros((120, 2)), X[:, :1], np.full((120, 1), 7.0)])
    clf, caught = fit(sp.csr_matrix(wide) if sparse else wide, y, tol=1e-5, solver=solver)
    assert not caught
    assert clf.score(wide, y) == plain.score(X, y) == 1.0
    np.testing.assert_allclose(clf.coef_[0, 3:5], 0.0, atol=1e-9)
    assert clf.coef_[0, 5] == pytest.approx(clf.coef_[0, 0], abs=1e-3)


@pytest.mark.parametrize("n_stored", [0, 1])
def test_an_almost_empty_sparse_matrix(n_stored):
    X = sp.csr_matrix((40, 10))
    if n_stored:
        X = sp.csr_matrix(([1.0], ([0], [3])), shape=(40, 10))
    clf, caught = fit(X, np.tile([0, 1], 20))
    assert clf.certificate_[0].certified
    assert any(w.category is IgnoredClassWarning for w in caught)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2000))
    clf, _ = fit(X, np.tile([0, 1], 10))
    assert clf.score(X, np.tile([0, 1], 10)) == 1.0


# ----------------------------------------------------------------------------------- scales


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e-3, 1e3, 1e6, 1e12])
def test_scales(scale, C, sparse):
    X, y = separable()
    X = scale * X
    clf, caught = fit(sp.csr_matrix(X) if sparse else X, y, C=C, max_iter=300)
    assert_right_or_warned(clf, caught, X, y)


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e-3, 1e6, 1e12])
def test_scaling_is_undone_by_C(scale):
    """X times s with C over s² is the same problem in other units."""
    X, y = separable()
    plain, _ = fit(X, y, tol=1e-8)
    clf, _ = fit(scale * X, y, C=1.0 / scale**2, tol=1e-8)
    assert clf.score(scale * X, y) == 1.0
    np.testing.assert_allclose(clf.coef_ * scale, plain.coef_, rtol=1e-2, atol=1e-3)


def noisy_blobs():
    """Return data that are separable but for flipped labels, and the true labels."""
    X, y = make_blobs(200, n_features=3, centers=[[-2.0] * 3, [2.0] * 3], random_state=0)
    noisy = y.copy()
    noisy[::10] = 1 - noisy[::10]
    return X, noisy, y


@pytest.mark.parametrize("scale", [1e4, 1e6, 1e8])
def test_noisy_data_of_a_large_scale(scale):
    X, noisy, y = noisy_blobs()
    clf, _ = fit(scale * X, noisy, max_iter=100)
    assert clf.score(scale * X, y) > 0.95


@pytest.mark.slow
def test_noisy_data_of_a_large_scale_with_many_iterations():
    X, noisy, y = noisy_blobs()
    clf, _ = fit(1e6 * X, noisy)
    assert clf.score(1e6 * X, y) > 0.95


@pytest.mark.parametrize("sparse", [False, True])
def test_columns_of_very_different_scales(sparse):
    X, y = separable(n=5)
    X = X * np.array([1e-12, 1e-6, 1.0, 1e6, 1e12])
    clf, caught = fit(sp.csr_matrix(X) if sparse else X, y, max_iter=300)
    assert_right_or_warned(clf, caught, X, y)


@pytest.mark.parametrize("shift", [1e3, 1e8])
def test_data_far_from_the_origin(shift):
    X, y = separable()
    clf, caught = fit(X + shift, y, max_iter=300)
    assert_right_or_warned(clf, caught, X + shift, y)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_scales_beyond_reason(scale):
    """Squares overflow or vanish: an error or a warning, never NaN."""
    X, y = separable()
    try:
        clf, caught = fit(scale * X, y, max_iter=50, overflow=True)
    except ValueError as error:
        if "large" not in str(error):
            raise
        return
    assert_right_or_warned(clf, caught, scale * X, y)


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e3, 1e9])
def test_scales_of_weights(scale):
    """Weights times s with C over s is the same problem."""
    X, y = separable()
    weight = np.linspace(0.5, 2.0, len(y))
    plain, _ = fit(X, y, sample_weight=weight, tol=1e-6)
    clf, _ = fit(X, y, sample_weight=scale * weight, C=1.0 / scale, tol=1e-6)
    assert clf.objective_[0] == pytest.approx(plain.objective_[0], rel=1e-3)


# --------------------------------------------------------------------------------- weights


def test_bad_weights():
    X, y = separable()
    with pytest.raises(ValueError, match=r"(?i)sample.weights?.*zero"):
        HTSVC().fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match=r"(?i)negative values.*sample_weight"):
        HTSVC().fit(X, y, sample_weight=np.where(np.arange(len(y)) == 7, -1.0, 1.0))
    with pytest.raises(ValueError, match=r"all but one class.*\[1\]"):
        HTSVC().fit(X, y, sample_weight=(y == 0).astype(float))


def test_one_sample_of_weight_per_class():
    X, y = separable()
    weight = np.zeros(len(y))
    weight[[np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]]] = 1.0
    clf, _ = fit(X, y, sample_weight=weight)
    assert clf.score(X, y) == 1.0
    assert set(clf.support_) <= set(np.flatnonzero(weight))


def test_a_class_without_weight():
    """Two of three classes have weight: the third is never predicted in error."""
    X, y = make_blobs(90, n_features=2, centers=[[-9, 0], [9, 0], [0, 9]], random_state=0)
    clf, _ = fit(X, y, sample_weight=(y != 2).astype(float))
    assert np.all(np.isfinite(clf.coef_))
    assert clf.classes_.tolist() == [0, 1, 2]


def test_zero_class_weight():
    X, y = make_blobs(90, n_features=2, centers=[[-9, 0], [9, 0], [0, 9]], random_state=0)
    clf, _ = fit(X, y, class_weight={2: 0.0})
    assert np.mean(clf.predict(X[y != 2]) == y[y != 2]) == 1.0


# ------------------------------------------------------------------------------- parameters


BAD_PARAMETERS = {
    "C": [0, 0.0, -1.0, math.nan, "1", None],
    "cap": [0.0, -1.0, math.nan, "1", None],
    "knee": [0.0, 1.0, -0.1, 1.5, math.nan, "x"],
    "tol": [0.0, -1e-3, math.nan, "x", None],
    "max_iter": [0, -1, 1.5, None],
    "n_restarts": [-1, 0.5, None],
    "solver": ["sgd", None, 3],
    "class_weight": ["even", 3],
    "fit_intercept": ["yes"],
    "warm_start": ["no"],
    "random_state": [-1, "x"],
    "n_jobs": [1.5],
    "verbose": [-1],
}


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in BAD_PARAMETERS.items() for value in values],
)
def test_bad_parameters(name, value):
    X, y = separable()
    clf = HTSVC(**{name: value})
    expected = rf"'?{name}'?.*must be.*(Got|got)"
    with pytest.raises(ValueError, match=expected) as error:
        clf.fit(X, y)
    assert repr(value) in str(error.value)
    assert not hasattr(clf, "coef_")


@pytest.mark.parametrize(
    ("params", "weight", "match"),
    [
        ({"C": 1e-320}, None, "C=1e-320 is too small"),
        ({"cap": 1e-310}, None, "cap=1e-310 is too small"),
        ({"C": 1e200}, 1e200, r"C=1e\+200 times the largest weight, 1e\+200, overflows"),
    ],
)
@pytest.mark.parametrize("kind", [HTSVC, KernelHTSVC])
@pytest.mark.parametrize("classes", [2, 3])
def test_what_floating_point_cannot_hold_is_named(kind, params, weight, match, classes):
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % classes
    weights = None if weight is None else np.full(30, weight)
    with pytest.raises(ValueError, match=match):
        kind(**params).fit(X, y, sample_weight=weights)


def test_labels_of_two_types():
    X = np.arange(4.0)[:, None]
    with pytest.raises(ValueError, match=r"y has words and other values .* 'a' and 1; make them"):
        HTSVC().fit(X, np.array([1, "a", 1, "a"], dtype=object))


def test_infinite_C():
    """No model ignores all regularisation: inf is an error that names C."""
    X, y = separable()
    with pytest.raises(ValueError, match=r"\bC\b.*inf"):
        HTSVC(C=math.inf).fit(X, y)


def test_infinite_tol():
    """Any point will do: it still has to be a model without NaN."""
    clf, _ = fit(*separable(), tol=1e3)
    assert clf.n_iter_ >= 1


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("C", [1e-300, 1e-12, 1e12, 1e300])
def test_extreme_C(C, solver):
    X, y = separable()
    clf, caught = fit(X, y, C=C, max_iter=100, solver=solver, overflow=C == 1e300)
    assert_right_or_warned(clf, caught, X, y)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("cap", [1e-6, 0.01, 1e6])
def test_extreme_caps(cap, solver):
    X, y = separable()
    clf, caught = fit(X, y, cap=cap, max_iter=300, solver=solver)
    assert_right_or_warned(clf, caught, X, y)


@pytest.mark.parametrize("knee", [1e-9, 0.01, 0.99, 1 - 1e-9])
def test_extreme_knees(knee):
    X, y = separable()
    clf, caught = fit(X, y, knee=knee, max_iter=300)
    assert_right_or_warned(clf, caught, X, y)


@pytest.mark.parametrize("tol", [1e-12, 1e-300])
def test_a_tolerance_below_rounding_ends(tol):
    X, y = separable()
    clf, caught = fit(X, y, tol=tol)
    assert clf.score(X, y) == 1.0
    assert clf.certificate_[0].certified or caught


# ------------------------------------------------------------------------------ sparse oddities


def test_explicit_zeros_unsorted_and_duplicate_indices():
    X, y = separable()
    plain, _ = fit(X, y)
    tidy = sp.csr_matrix(X)
    m, n = X.shape
    indices = np.tile([2, 0, 1, 0], m)
    data = np.column_stack([X[:, 2], X[:, 0] - 5.0, X[:, 1], np.full(m, 5.0)]).ravel()
    odd = sp.csr_matrix((data, indices, np.arange(0, 4 * m + 1, 4)), shape=(m, n))
    assert not odd.has_canonical_format
    clf, _ = fit(odd, y)
    np.testing.assert_allclose(clf.coef_, plain.coef_, atol=1e-9)
    assert odd.nnz == 4 * m
    stored = tidy.copy()
    stored.data[::7] = 0.0
    dense = stored.toarray()
    a, _ = fit(stored, y)
    b, _ = fit(dense, y)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-6)
    assert stored.nnz == tidy.nnz


def test_index_types_that_differ():
    X, y = separable()
    odd = sp.csr_matrix(X)
    odd.indptr = odd.indptr.astype(np.int64)
    clf, _ = fit(odd, y)
    np.testing.assert_allclose(clf.coef_, fit(X, y)[0].coef_, atol=1e-6)


def test_readonly_sparse_parts():
    X, y = separable()
    odd = sp.csr_matrix(X)
    for part in (odd.data, odd.indices, odd.indptr):
        part.setflags(write=False)
    fit(odd, y)


def test_readonly_labels_and_weights():
    X, y = separable()
    y = y.copy()
    weight = np.linspace(0.5, 1.0, len(y))
    for array in (X, y, weight):
        array.setflags(write=False)
    before = weight.tobytes()
    HTSVC(class_weight="balanced").fit(X, y, sample_weight=weight)
    assert weight.tobytes() == before


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["dense", "csr", "csc"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_input_is_never_changed(solver, form, real, order):
    """The bytes are compared in `fit`; here with weights, flips and several classes."""
    X, y = make_blobs(150, n_features=4, centers=3, random_state=1)
    X = np.array(X, dtype=real, order=order)
    given = {"dense": X, "csr": sp.csr_matrix(X), "csc": sp.csc_matrix(X)}[form]
    weight = np.linspace(0.0, 2.0, 150)
    fit(given, y, sample_weight=weight, class_weight="balanced", solver=solver, max_iter=20)
    fit(given, y == 1, sample_weight=weight, solver=solver, max_iter=20)
