"""One truncated logistic model: scikit-learn's without a cap, and what its certificate says."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from htsvm import HTLogisticRegression
from htsvm.linalg import Quadratic, as_operator
from htsvm.logistic.regression import EntropyObjective
from htsvm.losses.cross_entropy import TruncatedEntropy


def noisy(classes=2, rows=400, columns=6, seed=0):
    return make_classification(
        rows, columns, n_informative=4, n_redundant=0, n_classes=classes, flip_y=0.3,
        random_state=seed,
    )  # fmt: skip


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_without_a_cap_it_is_logistic_regression(classes, C, weighted, intercept):
    X, y = noisy(classes)
    weights = np.random.default_rng(0).uniform(0.0, 3.0, size=len(y)) if weighted else None
    ours = HTLogisticRegression(C=C, cap=np.inf, tol=1e-12, fit_intercept=intercept)
    ours.fit(X, y, sample_weight=weights)
    other = LogisticRegression(
        C=C, tol=1e-12, max_iter=1000, solver="newton-cg", fit_intercept=intercept
    )
    other.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.coef_, other.coef_, atol=1e-6)
    # Those of several classes are known up to a constant.
    np.testing.assert_allclose(
        ours.intercept_ - ours.intercept_[0] * (classes > 2),
        other.intercept_ - other.intercept_[0] * (classes > 2),
        atol=1e-6,
    )
    np.testing.assert_allclose(ours.predict_proba(X), other.predict_proba(X), atol=1e-6)
    assert ours.certificate_[0].convex
    assert ours.certificate_[0].certified


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, np.asfortranarray])
def test_forms_of_data(form):
    X, y = noisy()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    model = HTLogisticRegression(C=0.1, tol=1e-9).fit(X, y)
    other = HTLogisticRegression(C=0.1, tol=1e-9).fit(form(X), y)
    np.testing.assert_allclose(other.coef_, model.coef_, atol=1e-5)
    single = HTLogisticRegression(C=0.1, tol=1e-6).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.coef_, model.coef_, atol=1e-3)


def test_weights_are_copies_and_offsets_do_not_matter():
    X, y = noisy()
    weights = np.random.default_rng(0).integers(0, 4, size=len(y))
    copies = np.repeat(np.arange(len(y)), weights)
    one = HTLogisticRegression(tol=1e-9).fit(X, y, sample_weight=weights)
    two = HTLogisticRegression(tol=1e-9).fit(X[copies], y[copies])
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-5)
    far = HTLogisticRegression(tol=1e-9).fit(X + 1e5, y, sample_weight=weights)
    np.testing.assert_allclose(far.coef_, one.coef_, atol=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
def test_truncated_fit_is_a_certified_minimum(classes):
    X, y = noisy(classes)
    model = HTLogisticRegression(C=0.3, tol=1e-8).fit(X, y)
    certificate = model.certificate_[0]
    assert certificate.certified
    assert certificate.local_minimizer == "yes"
    assert certificate.objective < certificate.trivial_objective
    assert "local minimiser" in str(certificate)

    loss = TruncatedEntropy.of_classes(1.0, 2.0 / 3.0, classes)

    def objective(coef, intercept):
        scores = X @ coef.T + intercept
        if classes == 2:
            scores = np.column_stack([np.zeros(len(X)), scores])
        entropy = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(y)), y]
        return 0.5 * np.sum(coef**2) + 0.3 * loss.value_slope(entropy)[0].sum()

    lowest = objective(model.coef_, model.intercept_)
    assert lowest == pytest.approx(certificate.objective)
    rng = np.random.default_rng(0)
    for _ in range(200):
        step = 1e-3 * rng.normal(size=model.coef_.shape), 1e-3 * rng.normal(size=len(model.coef_))
        assert objective(model.coef_ + step[0], model.intercept_ + step[1]) > lowest
    scores = model.predict_proba(X)[np.arange(len(y)), y]
    np.testing.assert_array_equal(model.ignored_, np.flatnonzero(scores <= 1.0 / classes))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_derivatives(classes, intercept):
    X, y = noisy(classes, rows=40)
    penalty = np.random.default_rng(0).uniform(0.1, 1.0, size=40)
    objective = EntropyObjective(as_operator(X), Quadratic(None, 6), y, penalty, classes, intercept)
    objective.loss = TruncatedEntropy.of_classes(1.5, 0.5, classes)
    z = np.random.default_rng(1).normal(size=(objective.scores, 7))
    if not intercept:
        z[:, -1] = 0.0

    def gradient(flat):
        at = flat.reshape(z.shape)
        return objective.gradient(at).ravel()

    by_values = approx_fprime(z.ravel(), lambda v: objective.value(v.reshape(z.shape)), 1e-7)
    if not intercept:
        by_values.reshape(z.shape)[:, -1] = 0.0
    np.testing.assert_allclose(gradient(z.ravel()), by_values, atol=1e-4)
    matrix = objective.hessian(z)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-10)
    for v in np.random.default_rng(2).normal(size=(5, *z.shape)):
        v[:, -1] = 0.0
        step = 1e-6 * v.ravel()
        change = (gradient(z.ravel() + step) - gradient(z.ravel() - step)) / 2e-6
        found = matrix @ v.ravel()
        np.testing.assert_allclose(change, found, atol=2e-2 * np.abs(found).max())


def test_a_saddle_point_is_left():
    # At W = 0 two clusters pull equally to both sides: the gradient vanishes, the curvature does
    # not.
    X = np.array([[1.0], [-1.0]] * 20)
    y = np.array([0, 0, 1, 1] * 10)
    y[X[:, 0] > 0.0] = np.arange(20) % 2
    y[X[:, 0] < 0.0] = np.arange(20) % 2
    objective = EntropyObjective(as_operator(X), Quadratic(None, 1), y, np.full(40, 5.0), 2, True)
    objective.loss = TruncatedEntropy.of_classes(1.2, 0.2, 2)
    curvature, direction = objective.lowest_curvature(np.zeros((1, 2)))
    assert curvature < 0.0
    end = objective.descend(0.1 * direction, 1e-8, 100)
    assert objective.value(end) < objective.value(np.zeros((1, 2)))
    model = HTLogisticRegression(C=5.0, cap=1.2, knee=0.2).fit(X, y)
    assert model.objective_[0] < objective.value(np.zeros((1, 2)))
    assert model.certificate_[0].local_minimizer == "yes"


def test_wide_rows_and_large_dimension():
    rng = np.random.default_rng(0)
    X = sp.random(300, 2000, density=0.02, random_state=0, format="csr")
    y = (np.asarray(X.sum(axis=1)).ravel() + 0.1 * rng.normal(size=300) > 20.0).astype(int)
    model = HTLogisticRegression(C=1.0, cap=2.0).fit(X, y)
    assert model.certificate_[0].certified
    dense = HTLogisticRegression(C=1.0, cap=np.inf, tol=1e-10).fit(X.toarray(), y)
    sparse = HTLogisticRegression(C=1.0, cap=np.inf, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=1e-5)


def test_warm_start_is_no_worse_and_quick():
    X, y = noisy(rows=2000)
    model = HTLogisticRegression(C=1.0, warm_start=True).fit(X, y)
    first = model.objective_[0]
    assert model.fit(X, y).objective_[0] <= first * (1.0 + 1e-6)
    convex = HTLogisticRegression(cap=np.inf, warm_start=True).fit(X, y)
    cold = convex.n_iter_
    assert convex.fit(X, y).n_iter_ < cold
    assert convex.start_ == ["warm"]
    # Other classes: a cold start.
    convex.fit(X, np.arange(2000) % 3)


def test_a_robust_fit_is_better_than_a_plain_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 5))
    true = (X[:, 0] > 0.0).astype(int)
    # A few far points with the wrong label.
    X[:50, 0] = 5.0
    true[:50], y = 1, true.copy()
    y[:50] = 0
    robust, plain = (
        HTLogisticRegression(C=0.1, cap=cap).fit(X, y).score(X, true) for cap in (1.0, np.inf)
    )
    assert robust > plain


def test_small_and_odd_inputs():
    X = np.array([[0.0], [1.0], [2.0]])
    model = HTLogisticRegression(C=10.0).fit(X, ["a", "b", "b"])
    assert set(model.predict(X)) <= {"a", "b"}
    constant = HTLogisticRegression(cap=np.inf).fit(np.ones((9, 1)), np.arange(9) % 3 > 0)
    np.testing.assert_allclose(constant.predict_proba([[1.0]]), [[1.0 / 3.0, 2.0 / 3.0]], atol=1e-3)
    logs = constant.predict_log_proba([[1.0]])
    np.testing.assert_allclose(np.exp(logs).sum(), 1.0)


def test_too_few_steps_are_told():
    X, y = noisy()
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        HTLogisticRegression(cap=np.inf, max_iter=1, tol=1e-10).fit(X, y)


@pytest.mark.parametrize("options", [{"cap": 0.0}, {"knee": 1.0}, {"C": -1.0}, {"tol": 0.0}])
def test_wrong_parameters(options):
    X, y = noisy(rows=40)
    with pytest.raises(ValueError, match=f"'{next(iter(options))}' parameter"):
        HTLogisticRegression(**options).fit(X, y)
