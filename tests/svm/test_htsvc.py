"""The estimator: scikit-learn's contract, all kinds of input, and what it promises of itself."""

import math
import pickle
import time
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from htsvm import HTSVC, IgnoredClassWarning, SampleStatus
from htsvm.losses import HybridTruncated
from htsvm.solvers import ADMM, Newton


@parametrize_with_checks([HTSVC()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([HTSVC(solver="admm")])
def test_scikit_learn_checks_with_admm(estimator, check):
    check(estimator)


def two_classes(m=240, n=5, seed=0, flip=0.1):
    """Return data with a linear boundary and some flipped labels in {0, 1}."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    y = (X @ rng.normal(size=n) + 0.3 * rng.normal(size=m) > 0.0).astype(int)
    flipped = rng.random(m) < flip
    return X, np.where(flipped, 1 - y, y)


def three_classes(m=180, seed=0):
    return make_blobs(m, n_features=4, centers=3, cluster_std=1.5, random_state=seed)


def same_fit(a, b, atol=1e-9):
    np.testing.assert_allclose(a.coef_, b.coef_, atol=atol)
    np.testing.assert_allclose(a.intercept_, b.intercept_, atol=atol)


# ------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize("names", [["x", "y", "z"], [0, 1, 2], [1.0, 2.0, 9.0]], ids=str)
def test_several_classes(names):
    X, codes = three_classes()
    y = np.asarray(names)[codes]
    clf = HTSVC(C=0.1, multi_class="ovr").fit(X, y)
    assert clf.coef_.shape == (3, 4)
    assert clf.intercept_.shape == clf.objective_.shape == (3,)
    assert len(clf.certificate_) == len(clf.seconds_) == 3
    assert clf.decision_function(X).shape == (180, 3)
    assert clf.sample_status_.shape == (180, 3)
    assert clf.n_support_.shape == (3,)
    assert clf.score(X, y) > 0.9
    assert all(c.certified for c in clf.certificate_)


def test_decision_function_and_predict_agree():
    X, y = two_classes()
    clf = HTSVC().fit(X, y)
    scores = clf.decision_function(X)
    np.testing.assert_allclose(scores, X @ clf.coef_[0] + clf.intercept_[0])
    np.testing.assert_array_equal(clf.predict(X), (scores > 0.0).astype(int))


# ------------------------------------------------------------------------------- forms of X


def test_float32_is_close_to_float64():
    X, y = two_classes()
    narrow, wide = HTSVC(tol=1e-5).fit(X.astype(np.float32), y), HTSVC(tol=1e-5).fit(X, y)
    same_fit(narrow, wide, atol=1e-3)
    np.testing.assert_allclose(narrow.objective_, wide.objective_, rtol=1e-4)


def sparse_data(m=300, n=20, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.3)
    y = np.where(X @ rng.normal(size=n) > 0.0, "p", "n")
    y[rng.random(m) < 0.1] = "p"
    return X, y


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("real", [np.float64, np.float32])
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array])
def test_sparse_equals_dense(index, real, kind):
    X, y = sparse_data()
    X = X.astype(real)
    given = kind(X)
    given.indices, given.indptr = given.indices.astype(index), given.indptr.astype(index)
    a, b = HTSVC(tol=1e-6).fit(given, y), HTSVC(tol=1e-6).fit(X.astype(np.float64), y)
    same_fit(a, b, atol=1e-4)
    np.testing.assert_array_equal(a.predict(given), b.predict(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_data_are_never_made_dense(n_classes, monkeypatch):
    """Small blocks may be (the second-order test looks at a few rows), the data may not."""
    rng = np.random.default_rng(0)
    X = sp.random(2000, 400, density=0.02, format="csr", random_state=0)
    y = rng.integers(0, n_classes, 2000)
    X = sp.csr_matrix(X + sp.csr_matrix((y, (np.arange(2000), y)), shape=(2000, 400)))

    def guard(original):
        def convert(self, *args, **kwargs):
            assert np.prod(self.shape) < 2000 * 400 / 4, f"made dense: {self.shape}"
            return original(self, *args, **kwargs)

        return convert

    for kind in (sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.csc_array):
        for name in ("toarray", "todense"):
            monkeypatch.setattr(kind, name, guard(getattr(kind, name)))
    HTSVC(C=0.3).fit(X, y).predict(X)


@pytest.mark.parametrize("form", ["fortran", "readonly", "memmap", "strided", "reversed", "int"])
def test_layouts_of_dense_data(form, tmp_path):
    X, y = two_classes()
    plain = HTSVC().fit(X, y)
    if form == "fortran":
        given = np.asfortranarray(X)
    elif form == "readonly":
        given = X.copy()
        given.setflags(write=False)
    elif form == "memmap":
        np.save(tmp_path / "X.npy", X)
        given = np.load(tmp_path / "X.npy", mmap_mode="r")
    elif form == "strided":
        given = np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2]
    elif form == "reversed":
        given = X[::-1].copy()[::-1]
    else:
        given = np.rint(10 * X).astype(int)
        plain = HTSVC().fit(given.astype(float), y)
    same_fit(HTSVC().fit(given, y), plain)


def test_readonly_memory_mapped_csr(tmp_path):
    X, y = sparse_data()
    tidy = sp.csr_matrix(X)
    parts = []
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(tidy, name))
        parts.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    mapped = sp.csr_matrix(tuple(parts), shape=X.shape, copy=False)
    same_fit(HTSVC().fit(mapped, y), HTSVC().fit(tidy, y))


def test_data_frames():
    X, y = two_classes(n=3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    clf = HTSVC().fit(frame, pd.Series(y, index=frame.index[::-1]))
    assert clf.feature_names_in_.tolist() == ["a", "b", "c"]
    assert clf.n_features_in_ == 3
    same_fit(clf, HTSVC().fit(X, y))
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(frame[["b", "a", "c"]])
    with pytest.warns(UserWarning, match="feature names"):
        clf.predict(X)


# ------------------------------------------------------------------------------------ weights


@pytest.mark.parametrize("solver", ["newton", "admm"])
def test_weight_k_equals_k_repetitions(solver):
    X, y = two_classes(m=90)
    k = np.random.default_rng(0).integers(0, 4, 90)
    index = np.repeat(np.arange(90), k)
    given = {"tol": 1e-6, "solver": solver, "max_iter": 5000}
    weighted = HTSVC(**given).fit(X, y, sample_weight=k)
    repeated = HTSVC(**given).fit(X[index], y[index])
    np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-5)
    same_fit(weighted, repeated, atol=1e-3)
    a, b = weighted.certificate_[0], repeated.certificate_[0]
    assert a.nu_max == pytest.approx(b.nu_max, rel=1e-2)
    assert a.trivial_objective == pytest.approx(b.trivial_objective)


def test_weight_zero_equals_removal():
    X, y = two_classes()
    keep = np.arange(len(y)) % 3 != 0
    a = HTSVC(tol=1e-6).fit(X, y, sample_weight=keep.astype(float))
    b = HTSVC(tol=1e-6).fit(X[keep], y[keep])
    same_fit(a, b, atol=1e-4)
    assert len(a.sample_status_) == len(y)
    assert np.all(keep[a.support_])


def test_a_common_weight_is_a_factor_of_C():
    X, y = two_classes()
    a = HTSVC(C=0.4, tol=1e-6).fit(X, y, sample_weight=np.full(len(y), 2.5))
    same_fit(a, HTSVC(C=1.0, tol=1e-6).fit(X, y), atol=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", ["dict", "balanced"])
def test_class_weight_is_a_sample_weight(form, weighted):
    X, y = two_classes()
    y = np.where(y == 1, "pos", "neg")
    X, y = X[: len(y) - 60], y[: len(y) - 60]
    weight = np.linspace(0.5, 2.0, len(y)) if weighted else np.ones(len(y))
    mass = {label: weight[y == label].sum() for label in ("neg", "pos")}
    factor = {"pos": 3.0, "neg": 0.5}
    if form == "balanced":
        factor = {label: weight.sum() / (2.0 * mass[label]) for label in mass}
    per_sample = weight * np.array([factor[label] for label in y])
    by_class = HTSVC(class_weight=factor if form == "dict" else form, tol=1e-6)
    by_class.fit(X, y, sample_weight=weight if weighted else None)
    by_sample = HTSVC(tol=1e-6).fit(X, y, sample_weight=per_sample)
    same_fit(by_class, by_sample, atol=1e-5)


def test_unknown_class_in_class_weight():
    X, y = two_classes()
    with pytest.raises(ValueError, match=r"class_weight names \[7\].*\[0, 1\]"):
        HTSVC(class_weight={0: 1.0, 7: 2.0}).fit(X, y)
    with pytest.raises(ValueError, match=r"class_weight\[1\].*-2"):
        HTSVC(class_weight={1: -2.0}).fit(X, y)


# ------------------------------------------------------------------------- warm start and copies


@pytest.mark.parametrize("n_classes", [2, 3])
def test_warm_start_survives_other_data(n_classes):
    X, y = two_classes() if n_classes == 2 else three_classes()
    half = len(y) // 2
    clf = HTSVC(C=0.3, warm_start=True).fit(X[:half], y[:half])
    clf.fit(X, y)
    assert all(c.certified for c in clf.certificate_)
    assert clf.sample_status_.shape[0] == len(y)
    clf.fit(X[:, :3], y)
    assert clf.coef_.shape[1] == 3
    clf.fit(X[:, :3], np.where(y == 0, 5, y))
    assert clf.classes_.tolist() == [1, 5] if n_classes == 2 else [1, 2, 5]
    clf.set_params(C=3.0).fit(X[:, :3], y)
    assert all(c.certified for c in clf.certificate_)


def test_clone_params_and_pickle():
    X, y = two_classes()
    clf = HTSVC(C=2.0, cap=1.5, knee=0.4, solver=Newton(), class_weight={0: 2.0}, random_state=3)
    assert clone(clf).get_params() == clf.get_params()
    assert set(clf.get_params(deep=False)) == set(HTSVC().get_params())
    clf.fit(X, y)
    other = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(other.decision_function(X), clf.decision_function(X))
    assert str(other.certificate_[0]) == str(clf.certificate_[0])
    assert "C=2.0" in repr(clf)
    assert not hasattr(clone(clf), "coef_")


# ------------------------------------------------------------------------- inside scikit-learn


def test_pipeline_grid_search_and_calibration():
    X, y = two_classes()
    pipeline = make_pipeline(StandardScaler(), HTSVC())
    grid = {"htsvc__C": [0.1, 1.0], "htsvc__cap": [1.0, math.inf]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    calibrated = CalibratedClassifierCV(HTSVC(), cv=3).fit(X, y)
    probability = calibrated.predict_proba(X)
    assert probability.shape == (len(y), 2)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    assert np.mean(probability.argmax(axis=1) == y) > 0.8


def test_sample_weights_are_routed():
    X, y = two_classes()
    weight = np.ones(len(y))
    weight[:80] = 0.0
    with sklearn.config_context(enable_metadata_routing=True):
        clf = HTSVC().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        routed = cross_val_score(clf, X, y, cv=3, params={"sample_weight": weight})
        plain = HTSVC().set_fit_request(sample_weight=False).set_score_request(sample_weight=False)
        assert routed.shape == cross_val_score(plain, X, y, cv=3, params={}).shape
        seen = GridSearchCV(clf, {"C": [1.0]}, cv=3).fit(X, y, sample_weight=weight)
    assert np.all(seen.best_estimator_.support_ >= 80)


# --------------------------------------------------------------------------- fitted attributes


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_expansion_in_support_vectors(n_classes, sparse):
    X, y = two_classes() if n_classes == 2 else three_classes()
    clf = HTSVC(tol=1e-6).fit(sp.csr_matrix(X) if sparse else X, y)
    expansion = clf.dual_coef_ @ X[clf.support_]
    size = 1.0 + np.linalg.norm(clf.coef_, axis=1, keepdims=True)
    assert np.all(np.abs(expansion - clf.coef_) <= 1e-5 * size)
    assert clf.n_support_.sum() == len(clf.support_)
    np.testing.assert_array_equal(clf.n_support_, np.bincount(y[clf.support_]))
    assert clf.dual_coef_.shape == (len(clf.coef_), len(clf.support_))
    assert np.all(np.any(clf.dual_coef_ != 0.0, axis=0))
    assert np.all(np.diff(clf.support_) > 0)


@pytest.mark.parametrize("cap", [0.7, 1.0, 2.0])
def test_statuses_are_those_of_the_margins(cap):
    X, y = two_classes(m=400, flip=0.2)
    clf = HTSVC(cap=cap, tol=1e-6).fit(X, y)
    q = 1.0 - np.where(y == 1, 1, -1) * clf.decision_function(X)
    status, near = clf.sample_status_, 1e-3
    knee = 2.0 / 3.0 * cap
    assert np.all(q[status == SampleStatus.SAFE] < near)
    assert np.all(np.abs(q[status == SampleStatus.ON_MARGIN]) < near)
    inside = q[status == SampleStatus.INSIDE_MARGIN]
    assert np.all((inside > -near) & (inside <= knee + near))
    between = q[status == SampleStatus.TRANSITION]
    assert np.all((between > knee - near) & (between < cap + near))
    assert np.any(status == SampleStatus.ON_MARGIN)
    np.testing.assert_array_equal(clf.ignored_, np.flatnonzero(status == SampleStatus.IGNORED))
    clear = np.abs(q - cap) > near
    np.testing.assert_array_equal((status == SampleStatus.IGNORED)[clear], (q >= cap)[clear])
    assert len(clf.ignored_) > 10
    assert not set(clf.ignored_) & set(clf.support_)


@pytest.mark.parametrize("solver", ["newton", "admm"])
def test_history_is_a_table(solver):
    X, y = two_classes()
    clf = HTSVC(solver=solver).fit(X, y)
    table = pd.DataFrame(clf.history_)
    assert len(table) == clf.n_iter_
    assert {"iteration", "objective", "residual", "seconds"} <= set(table.columns)
    assert table["iteration"].tolist() == list(range(1, clf.n_iter_ + 1))
    assert table["objective"].iloc[-1] >= clf.objective_[0] * (1.0 - 1e-9)


def breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def iris():
    return load_iris(return_X_y=True)


@pytest.mark.parametrize("C", [2.0**-4, 1.0, 2.0**4])
@pytest.mark.parametrize("data", [breast_cancer, iris, two_classes, sparse_data])
def test_every_fit_is_certified(data, C):
    X, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        warnings.simplefilter("ignore", IgnoredClassWarning)
        clf = HTSVC(C=C).fit(X, y)
    for certificate, objective in zip(clf.certificate_, clf.objective_, strict=True):
        assert certificate.certified
        assert certificate.objective == pytest.approx(objective, rel=1e-9)
        assert objective <= certificate.trivial_objective * (1.0 + 1e-12)
        if not math.isnan(certificate.convex_objective):
            assert objective <= certificate.convex_objective * (1.0 + 1e-3)
    assert clf.n_passes_ > 0.0


@pytest.mark.parametrize("y", [np.arange(120) % 2, np.arange(120) % 3])
@pytest.mark.parametrize("solver", ["newton", "admm"])
def test_one_clock_whose_parts_add_up(y, solver):
    """Search and certificate are in it, and it does not exceed the wall time of the fit."""
    if solver == "admm" and y.max() > 1:
        pytest.skip("the published algorithm has two classes")
    X = np.random.default_rng(0).normal(size=(120, 3))
    began = time.perf_counter()
    spent = HTSVC(solver=solver).fit(X, y).seconds_
    wall = time.perf_counter() - began
    for seconds in spent:
        parts = [value for name, value in seconds.items() if name != "total"]
        assert len(parts) >= 3
        assert min(parts) >= 0.0
        assert sum(parts) == pytest.approx(seconds["total"])
    assert 0.0 < sum(seconds["total"] for seconds in spent) <= wall


def test_no_fit_ends_on_a_saddle_point():
    for data in (breast_cancer, iris, two_classes, sparse_data):
        for C in (2.0**-4, 1.0, 2.0**4):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                clf = HTSVC(C=C, multi_class="ovr").fit(*data())
            assert all(c.local_minimizer != "no" for c in clf.certificate_), (data.__name__, C)


# --------------------------------------------------------------------- what the loss is there for


def long_clouds(m, seed):
    """Return two long clouds, separable by the first feature, and which labels are wrong.

    Two fifths of one class, a fifth of all. Wrong labels far out are what misleads a convex loss.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, m)
    along = 0.5 + rng.exponential(2.0, m)
    X = np.column_stack([np.where(y == 1, along, -along), rng.normal(size=m)])
    return X, y, (y == 1) & (rng.random(m) < 0.4)


@pytest.mark.parametrize("seed", range(4))
def test_wrong_labels_are_resisted_and_found(seed):
    X, clean, flipped = long_clouds(400, seed)
    assert 0.15 < flipped.mean() < 0.25
    noisy = np.where(flipped, 1 - clean, clean)
    X_test, y_test, _ = long_clouds(2000, seed + 100)
    clf = HTSVC(C=1.0).fit(X, noisy)
    assert clf.score(X_test, y_test) >= 0.95
    assert np.mean(np.isin(np.flatnonzero(flipped), clf.ignored_)) >= 0.8
    assert np.mean(np.isin(clf.ignored_, np.flatnonzero(flipped))) >= 0.8
    hinge = HTSVC(C=1.0, cap=math.inf).fit(X, noisy)
    assert hinge.score(X_test, y_test) < 0.9
    assert len(hinge.ignored_) == 0
    rival = LinearSVC(loss="hinge", C=1.2, max_iter=100_000, dual=True).fit(X, noisy)
    assert rival.score(X_test, y_test) < 0.9


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_without_a_cap_it_is_the_hinge_svm(C):
    X, y = two_classes(m=120)
    a = HTSVC(C=C, cap=math.inf, tol=1e-6).fit(X, y)
    b = SVC(C=1.2 * C, kernel="linear", tol=1e-6).fit(X, y)
    same_fit(a, b, atol=1e-2)
    q = 1.0 - np.where(y == 1, 1, -1) * b.decision_function(X)
    rival = 0.5 * np.sum(b.coef_**2) + 1.2 * C * np.maximum(q, 0.0).sum()
    assert a.objective_[0] == pytest.approx(rival, rel=1e-5)


def test_no_intercept():
    X, y = two_classes()
    clf = HTSVC(fit_intercept=False).fit(X + 0.5, y)
    assert clf.intercept_.tolist() == [0.0]
    assert clf.certificate_[0].certified


def test_knee_and_cap_reach_the_loss():
    X, y = two_classes(flip=0.2)
    clf = HTSVC(knee=0.3, cap=1.7, tol=1e-6).fit(X, y)
    q = 1.0 - np.where(y == 1, 1, -1) * clf.decision_function(X)
    expected = 0.5 * np.sum(clf.coef_**2) + HybridTruncated(0.3, 1.7).value(q).sum()
    assert clf.objective_[0] == pytest.approx(expected)


# ----------------------------------------------------------------------------------- warnings


def lopsided(seed=0):
    """Return 100 samples, five of them of a class that lies among the others."""
    X = np.random.default_rng(seed).normal(size=(100, 2))
    return X, np.where(np.arange(100) < 5, "rare", "common")


def test_a_class_that_is_given_up_is_named():
    X, y = lopsided()
    with pytest.warns(IgnoredClassWarning) as caught:
        clf = HTSVC(C=0.1).fit(X, y)
    assert len(caught) == 1
    text = str(caught[0].message)
    for part in ("'rare'", "100%", "class_weight='balanced'", "C", "cap"):
        assert part in text
    assert clf.predict(X).tolist() == ["common"] * 100
    assert caught[0].filename == __file__


def test_the_convergence_warning_says_what_and_what_to_do():
    X, y = two_classes(m=400, n=10)
    with pytest.warns(ConvergenceWarning) as caught:
        clf = HTSVC(C=0.05, max_iter=1, tol=1e-4, cap=math.inf).fit(X, y)
    assert sum(issubclass(w.category, ConvergenceWarning) for w in caught) == 1
    text = str(caught[0].message)
    residual = clf.certificate_[0].residual
    for part in ("the residual is", f"{residual:.2e}", "tol is 1.00e-04", "1 iterations",
                 "max_iter=1", "increase max_iter", "Scale"):  # fmt: skip
        assert part in text
    assert caught[0].filename == __file__
    assert not clf.certificate_[0].certified


# ---------------------------------------------------------------------------- solvers and options


def test_verbose_prints_a_line_per_iteration(capsys):
    clf = HTSVC(verbose=1, starts=["convex"]).fit(*two_classes())
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == clf.n_iter_
    assert all(part in lines[0] for part in ("HTSVC", "iteration", "objective", "residual"))
    HTSVC().fit(*two_classes())
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("solver", ["admm", ADMM(), ADMM(penalty=2.0)], ids=repr)
def test_admm(solver):
    X, y = two_classes()
    clf = HTSVC(solver=solver).fit(X, y)
    best = HTSVC().fit(X, y)
    assert clf.certificate_[0].certified
    assert clf.objective_[0] <= best.objective_[0] * 1.1
    assert clf.score(X, y) > 0.8


def test_a_solver_object_is_not_changed():
    X, y = two_classes()
    rows = []
    solver = Newton(tol=0.5, max_iter=7, callback=rows.append)
    clf = HTSVC(solver=solver, tol=1e-5).fit(X, y)
    assert solver == Newton(tol=0.5, max_iter=7, callback=rows.append)
    assert clf.certificate_[0].residual <= 1e-5
    assert len(rows) >= clf.n_iter_
    same_fit(clf, HTSVC(tol=1e-5).fit(X, y), atol=0.0)


@pytest.mark.parametrize("state", [None, 0, 7, "RandomState"])
def test_fits_can_be_repeated(state):
    X, y = two_classes(m=100, flip=0.3)

    def fit():
        seed = np.random.RandomState(5) if state == "RandomState" else state
        return HTSVC(n_restarts=3, random_state=seed).fit(X, y)

    same_fit(fit(), fit(), atol=0.0)
