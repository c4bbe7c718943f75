"""KernelHTSVC: against the linear model, explicit features, SVC, exact optima; and bad input."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from htsvm import HTSVC, KernelHTSVC
from htsvm.datasets import flip_labels
from htsvm.losses import HybridTruncated
from htsvm.svm import _kernel_space
from tests.oracles.convex import solve_hinge
from tests.oracles.scip import solve_globally


def moons(m=300, wrong=0.2, seed=0):
    X, y = make_moons(m, noise=0.2, random_state=seed)
    flipped = np.random.default_rng(seed).choice(m, int(wrong * m), replace=False)
    noisy = y.copy()
    noisy[flipped] = 1 - noisy[flipped]
    return X, noisy, y


def lines(m=200, n=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    y = (X @ rng.normal(size=n) + 0.7 * rng.normal(size=m) > 0).astype(int)
    return X, y


def certified(model):
    return all(certificate.certified for certificate in model.certificate_)


@parametrize_with_checks([KernelHTSVC(), KernelHTSVC(n_landmarks=5)])
def test_scikit_learns_contract(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------- it is the same model


@pytest.mark.parametrize("n_landmarks", [None, 200])
@pytest.mark.parametrize("cap", [1.0, 2.0, np.inf])
def test_the_linear_kernel_is_the_linear_model(cap, n_landmarks):
    X, y = lines()
    given = {"cap": cap, "tol": 1e-8}
    linear = HTSVC(0.5, **given).fit(X, y)
    model = KernelHTSVC(0.5, kernel="linear", n_landmarks=n_landmarks, **given).fit(X, y)
    assert certified(model)
    assert model.objective_ == pytest.approx(linear.objective_, rel=1e-6)
    np.testing.assert_allclose(
        model.decision_function(X), linear.decision_function(X), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("cap", [1.0, np.inf])
@pytest.mark.parametrize("n_landmarks", ["auto", 60])
def test_a_precomputed_kernel_is_the_named_one(cap, n_landmarks):
    X, y, _ = moons()
    options = {"cap": cap, "n_landmarks": n_landmarks, "landmark_selection": "uniform"}
    named = KernelHTSVC(3.0, gamma=2.0, tol=1e-6, **options).fit(X, y)
    given = KernelHTSVC(3.0, kernel="precomputed", tol=1e-6, **options)
    given.fit(rbf_kernel(X, gamma=2.0), y)
    rel = 1e-6 if n_landmarks == "auto" else 1e-2  # other landmarks
    assert given.objective_ == pytest.approx(named.objective_, rel=rel)
    new = np.random.default_rng(1).normal(size=(40, 2))
    scores = given.decision_function(rbf_kernel(new, X, gamma=2.0))
    np.testing.assert_allclose(scores, named.decision_function(new), atol=1e-4 if rel < 1e-3 else 1)


def test_a_callable_is_the_named_kernel():
    X, y, _ = moons(100)
    named = KernelHTSVC(kernel="poly", gamma=1.0, coef0=1.0).fit(X, y)
    called = KernelHTSVC(kernel=lambda A, B: polynomial_kernel(A, B, gamma=1.0, coef0=1.0)).fit(
        X, y
    )
    np.testing.assert_allclose(called.decision_function(X), named.decision_function(X))


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "cosine", "poly", "linear"])
def test_sparse_rows_are_dense_rows(kernel):
    X, y, _ = moons(120)
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    dense = KernelHTSVC(kernel=kernel, coef0=1.0, tol=1e-8).fit(X, y)
    sparse = KernelHTSVC(kernel=kernel, coef0=1.0, tol=1e-8).fit(sp.csr_matrix(X), y)
    assert sp.issparse(sparse.support_vectors_)
    np.testing.assert_allclose(
        sparse.decision_function(sp.csr_matrix(X)), dense.decision_function(X), atol=1e-5
    )


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_without_truncation_it_is_svc(C):
    X, y, _ = moons()
    model = KernelHTSVC(C, gamma=1.0, cap=np.inf, tol=1e-6).fit(X, y)
    rival = SVC(C=1.2 * C, gamma=1.0, tol=1e-6).fit(X, y)
    K, sign = rbf_kernel(X, gamma=1.0), np.where(y == 1, 1.0, -1.0)
    a = np.zeros(len(y))
    a[rival.support_] = rival.dual_coef_[0]
    margins = sign * (K @ a + rival.intercept_)
    best = 0.5 * a @ K @ a + 1.2 * C * np.maximum(0.0, 1.0 - margins).sum()
    assert model.objective_[0] == pytest.approx(best, rel=1e-4)


def features_of(K):
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def test_the_convex_problem_against_an_interior_point():
    X, y, _ = moons(60)
    sign = np.where(y == 1, 1, -1)
    weight = np.random.default_rng(0).uniform(0.2, 2.0, size=60)
    best = solve_hinge(features_of(rbf_kernel(X, gamma=1.0)), sign, C=1.2, sample_weight=weight)
    model = KernelHTSVC(cap=np.inf, gamma=1.0, tol=1e-7).fit(X, y, weight)
    assert model.objective_[0] == pytest.approx(best.objective, rel=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_the_truncated_problem_against_its_exact_optimum(seed):
    X, y, _ = moons(14, seed=seed)
    sign = np.where(y == 1, 1, -1)
    K = rbf_kernel(X, gamma=1.0)
    best = solve_globally(features_of(K), sign, C=2.0, loss=HybridTruncated(), seconds=20.0)
    model = KernelHTSVC(2.0, gamma=1.0, n_restarts=20, tol=1e-6).fit(X, y)
    assert model.objective_[0] >= best.bound * (1.0 - 1e-6)
    assert model.objective_[0] <= best.objective * 1.02


# --------------------------------------------------------------------------- what a fit says


def test_the_objective_and_the_decision_follow_from_the_support_vectors():
    X, y, _ = moons()
    model = KernelHTSVC(5.0).fit(X, y)
    K = rbf_kernel(X, model.support_vectors_, gamma=model.gamma_)
    scores = K @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(scores, model.decision_function(X))
    a = model.dual_coef_[0]
    violations = 1.0 - np.where(y == 1, scores, -scores)
    energy = 0.5 * a @ rbf_kernel(model.support_vectors_, gamma=model.gamma_) @ a
    total = energy + 5.0 * HybridTruncated().value(violations).sum()
    assert model.objective_[0] == pytest.approx(total)
    np.testing.assert_allclose(model.margin_violation(X, y), violations)
    assert len(model.sample_status_) == 300
    assert model.n_support_.sum() == len(model.support_) == len(model.support_vectors_)


def test_wrong_labels_are_ignored_and_are_no_support_vectors():
    X, y, clean = moons(600, wrong=0.25)
    model = KernelHTSVC(10.0).fit(X, y)
    rival = SVC(C=10.0).fit(X, y)
    assert model.score(X, clean) > 0.94
    wrong = np.flatnonzero(y != clean)
    assert np.isin(wrong, model.ignored_).mean() > 0.9
    assert len(model.support_) < 0.2 * len(rival.support_)


def test_several_classes_as_one_problem_and_one_per_class():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    for multi_class in ("auto", "crammer_singer", "ovr"):
        model = KernelHTSVC(5.0, multi_class=multi_class).fit(X, names)
        assert certified(model)
        assert model.score(X, names) > 0.95
        assert len(model.certificate_) == (3 if multi_class == "ovr" else 1)


# ------------------------------------------------------------------------------------- sizes


def test_large_data_get_landmarks(monkeypatch):
    monkeypatch.setattr(_kernel_space, "EXACT_ROWS", 100)
    X, y, clean = moons(2000)
    model = KernelHTSVC(10.0, memory_limit=5).fit(X, y)
    assert model.method_ == "landmarks"
    assert len(model.landmarks_) <= 5 * 2**20 / 8 / 2000
    assert certified(model)
    assert model.score(X, clean) > 0.95


# --------------------------------------------------------------------------------- bad input


def test_bad_kernel_matrices():
    X, y, _ = moons(60)
    K = rbf_kernel(X)
    model = KernelHTSVC(kernel="precomputed")
    with pytest.raises(ValueError, match=r"square matrix.*\(60, 50\)"):
        model.fit(K[:, :50], y)
    skew = K.copy()
    skew[3, 5] += 0.5
    with pytest.raises(ValueError, match=r"symmetric.*X\[3, 5\] = "):
        model.fit(skew, y)
    with pytest.raises(ValueError, match=r"not positive semidefinite.*eigenvalue -"):
        model.fit(K - 2.0 * np.eye(60), y)
    model.fit(K, y)
    with pytest.raises(ValueError, match="50 features, but KernelHTSVC is expecting 60"):
        model.predict(K[:, :50])


def test_bad_callables_and_parameters():
    X, y, _ = moons(60)
    with pytest.raises(ValueError, match="NaN or infinity for 3600 of 3600"):
        KernelHTSVC(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(X, y)
    with pytest.raises(ValueError, match=r"shape \(60, 60\).*got shape \(2, 2\)"):
        KernelHTSVC(kernel=lambda A, B: np.eye(2)).fit(X, y)
    with pytest.raises(ValueError, match=r"not symmetric.* differ by "):
        KernelHTSVC(kernel=lambda A, B: 1e3 * A @ A.T + A[:, :1] if len(A) == len(B) else 0).fit(
            X, y
        )
    with pytest.raises(ValueError, match="'gamma' parameter"):
        KernelHTSVC(gamma=0.0).fit(X, y)
    with pytest.raises(ValueError, match="n_landmarks=61 is more than the 60 samples"):
        KernelHTSVC(n_landmarks=61).fit(X, y)
    with pytest.raises(ValueError, match=r"'sigmoid' is not positive semidefinite"):
        KernelHTSVC(kernel="sigmoid", gamma=5.0, coef0=-2.0).fit(X, y)
    with pytest.raises(ValueError, match="'kernel' parameter"):
        KernelHTSVC(kernel="triangle").fit(X, y)


@pytest.mark.parametrize(
    ("n_landmarks", "advice"), [(None, "n_landmarks='auto'"), (5000, "n_landmarks=131")]
)
def test_too_little_memory_is_said_before_any_is_taken(n_landmarks, advice, monkeypatch):
    def never(*args):
        raise AssertionError("a kernel was computed")

    monkeypatch.setattr(_kernel_space, "kernel_matrix", never)
    X, y = np.zeros((10_000, 1)), np.arange(10_000) % 2
    with pytest.raises(MemoryError, match=advice):
        KernelHTSVC(n_landmarks=n_landmarks, memory_limit=10).fit(X, y)


def test_a_fit_on_landmarks_takes_little_beside_their_matrix():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 12))
    y, _ = flip_labels(np.where(X[:, 0] * X[:, 1] > 0.0, 1, -1), 0.2, random_state=0)
    model = KernelHTSVC(8.0, n_landmarks=500)
    tracemalloc.start()
    try:
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(model.landmarks_) == 500
    assert peak <= 1.4 * X.shape[0] * 500 * 8


# ------------------------------------------------------------------------------ pairs of samples


@pytest.mark.skipif(not _kernel_space.COMPILED, reason="nothing was compiled")
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("cap", [1.0, np.inf])
def test_pairs_end_where_newton_steps_do(monkeypatch, C, cap):
    """From the same start; with weights, and with rows that the kernel cannot tell apart."""
    X, y, _ = moons(200, wrong=0.1)
    X = np.concatenate([X, X[:20]])
    y = np.concatenate([y, y[:20]])
    weight = np.random.default_rng(0).uniform(0.0, 2.0, size=220)
    model = KernelHTSVC(C, gamma=3.0, cap=cap, tol=1e-6)
    pairs = clone(model).fit(X, y, weight)
    monkeypatch.setattr(_kernel_space, "COMPILED", False)
    steps = clone(model).fit(X, y, weight)
    assert certified(pairs)
    assert certified(steps)
    assert pairs.method_ == steps.method_ == "exact"
    if np.isinf(cap):
        assert pairs.objective_[0] == pytest.approx(steps.objective_[0], rel=1e-5)
        np.testing.assert_allclose(
            pairs.decision_function(X), steps.decision_function(X), atol=1e-3
        )
    else:
        assert pairs.objective_[0] <= 1.05 * steps.objective_[0]
