"""Odd input of every kind to every estimator: an answer that is right, or a clear refusal."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from htsvm import HTSVC, HTSVCCV, KernelHTSVC, KernelHTSVCCV, MultiViewHTSVC
from htsvm.baselines import HingeSVC, LeastSquaresSVC, RampSVC
from htsvm.multiview import MultiViewHTSVCCV
from htsvm_paper import baselines

VIEWS = {"views": [2, 2]}
GRID = {"Cs": [0.1, 1.0], "cv": 2}
MODELS = {
    "HTSVC": HTSVC(),
    "HTSVCCV": HTSVCCV(**GRID),
    "KernelHTSVC": KernelHTSVC(),
    "KernelHTSVCCV": KernelHTSVCCV(**GRID),
    "MultiViewHTSVC": MultiViewHTSVC(**VIEWS),
    "MultiViewHTSVC rbf": MultiViewHTSVC(kernel="rbf", **VIEWS),
    "MultiViewHTSVCCV": MultiViewHTSVCCV(Cs=[1.0], cv=2, **VIEWS),
    "HingeSVC": HingeSVC(),
    "RampSVC": RampSVC(),
    "LeastSquaresSVC": LeastSquaresSVC(),
    **{name: getattr(baselines, name)() for name in ("PinballSVC", "ZeroOneSVC")},
    **{
        name: getattr(baselines, name)(**VIEWS)
        for name in ("SVM2K", "MvSVM2C", "MvLSSVC2C", "MvSL01SVM", "MvASYBX", "WaveMvSVM")
    },
}
everywhere = pytest.mark.parametrize("name", MODELS)
M = 40


def data():
    X = np.random.default_rng(0).normal(size=(M, 4))
    return X, (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)


def fitted(name, X, y, **options):
    model = MODELS[name]
    model = type(model)(**model.get_params())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y, **options)


@cache
def plain_fit(name):
    return fitted(name, *data())


def halves(X):
    """Return a CSR matrix in which each entry is there twice, by halves."""
    S = sp.csr_matrix(X)
    return sp.csr_matrix(
        (np.repeat(S.data / 2, 2), np.repeat(S.indices, 2), 2 * S.indptr), shape=S.shape
    )


def backwards(X):
    """Return a CSR matrix with the columns of each row in the wrong order."""
    S = sp.csr_matrix(X)
    turned = np.arange(S.nnz).reshape(M, -1)[:, ::-1].ravel()
    return sp.csr_matrix((S.data[turned], S.indices[turned], S.indptr), shape=S.shape)


FORMS = {
    "halves": halves,
    "backwards": backwards,
    "coo": lambda X: sp.coo_matrix(halves(X)),
    "csr array": sp.csr_array,
    "big endian": lambda X: X.astype(">f8"),
    "long double": lambda X: X.astype(np.longdouble),
    "object": lambda X: X.astype(object),
    "sparse frame": lambda X: pd.DataFrame(X).astype(pd.SparseDtype(float, 0.0)),
}


@everywhere
@pytest.mark.parametrize("form", FORMS)
def test_forms_of_the_same_numbers(name, form):
    """Kernels of a matrix with repeated entries were those of another matrix."""
    X, y = data()
    given = FORMS[form](X)
    kept = given.copy() if sp.issparse(given) else None
    plain, model = plain_fit(name), fitted(name, given, y)
    np.testing.assert_allclose(model.objective_, plain.objective_, rtol=1e-3)
    expected = plain.decision_function(X)
    found = plain.decision_function(given)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    if kept is not None:
        # What the user has is not put in order.
        assert given.nnz == kept.nnz
        np.testing.assert_array_equal(given.data, kept.data)


LABELS = {
    "bool": lambda y: y.astype(bool),
    "words": lambda y: np.where(y, "u", "t"),
    "categories": lambda y: pd.Categorical(np.where(y, "u", "t"), categories=["w", "u", "t"]),
    "Int64": lambda y: pd.Series(y, dtype="Int64", index=np.arange(M)[::-1]),
    "beyond doubles": lambda y: np.where(y, 2**62 + 1, 2**62),
    "dates": lambda y: np.where(y, np.datetime64("2020-01-02"), np.datetime64("2020-01-01")),
}


@everywhere
@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_type(name, kind):
    X, y = data()
    labels = LABELS[kind](y)
    plain, model = plain_fit(name), fitted(name, X, labels)
    np.testing.assert_allclose(model.objective_, plain.objective_, rtol=1e-9)
    said = dict(zip(plain.classes_.tolist(), model.classes_.tolist(), strict=True))
    assert [said[c] for c in plain.predict(X).tolist()] == model.predict(X).tolist()


def refused():
    X, y = data()
    some = pd.Series([None, *np.where(y, "u", "t")[1:]], dtype="string")
    yield (X, some, {}), "y has None among its labels, in 1 of 40"
    yield (1e200 * X, y, {}), "values of X .*are too large"
    weights = {"sample_weight": np.full(M, 5e-324)}
    yield (X, y, weights), "sample_weight is too small .* largest is 4.94e-324"
    weights = {"sample_weight": np.full(M, 1e300)}
    yield (X, y, weights), r"sample_weight is too large .* largest is 1e\+300"
    yield (np.empty((M, 0)), y, {}), "0 feature"
    yield (np.empty((0, 4)), np.empty(0), {}), "0 sample"


@everywhere
def test_what_cannot_be_fitted_is_refused(name):
    for (X, y, options), match in refused():
        with pytest.raises(ValueError, match=match):
            fitted(name, X, y, **options)


@everywhere
def test_parameters_that_cannot_be_used(name):
    X, y = data()
    for option, match in (
        ({"C": 10**400}, "C is too large"),
        ({"class_weight": {0: 0.0}}, "class_weight is zero for all but one"),
        ({"cap": 1e15}, r"cap=1000000000000000.0 is too large to compute with; give 1e\+12"),
    ):
        model = type(MODELS[name])(**MODELS[name].get_params())
        if set(option) <= set(model.get_params()):
            with pytest.raises(ValueError, match=match):
                model.set_params(**option).fit(X, y)


@everywhere
def test_a_huge_C_and_tiny_values_end_without_numpys_warnings(name):
    X, y = data()
    model = type(MODELS[name])(**MODELS[name].get_params())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if "C" in model.get_params():
            model.set_params(C=1e300).fit(X, y)
            assert np.all(np.isfinite(model.decision_function(X)))
            model.set_params(C=1.0)
        if {"kernel", "views"} & set(model.get_params()):
            with pytest.raises(ValueError, match="values of X are too small"):
                model.fit(1e-310 * X, y)
        else:
            model.fit(1e-310 * X, y)
    assert not [str(w.message) for w in caught if w.category is RuntimeWarning]


def test_kernels_with_weights_that_span_many_orders():
    """The descent left the right start for the constant classifier, at 20 and at 1e17."""
    X, weights = np.arange(4.0)[:, None], [1e16, 1e16, 1.0, 1.0]
    for y in ([0, 0, 1, 1], [0, 1, 0, 1]):
        for kernel, most in (("linear", HTSVC(C=10).fit(X, y, weights).objective_[0]), ("rbf", 3)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = KernelHTSVC(kernel=kernel, C=10.0).fit(X, y, weights)
            assert model.objective_[0] <= (1.0 + 1e-3) * most


@pytest.mark.parametrize("gamma", ["scale", 0.5])
@pytest.mark.parametrize("offset", [1e6, 1e8, 1e10])
def test_distances_of_rows_far_from_the_origin(gamma, offset):
    """Squares of 1e16 cancelled: the kernel was noise from columns of 1e8 on."""
    X = np.random.default_rng(0).normal(size=(150, 2))
    y = (np.sum(X**2, axis=1) > 1.2).astype(int)
    near, far = (KernelHTSVC(gamma=gamma, C=10.0).fit(Z, y) for Z in (X, X + offset))
    assert far.gamma_ == pytest.approx(near.gamma_, rel=1e-5)
    assert far.objective_[0] == pytest.approx(near.objective_[0], rel=5e-3)
    assert np.mean(far.predict(X + offset) == near.predict(X)) > 0.97
