"""WaveMvSVM and MvASYBX: golden values, gradients, many starts, and limits."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime, minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from tests.multiview.data import golden, two_views

from htsvm.extend import certify_result
from htsvm_paper.baselines import MvASYBX, WaveMvSVM
from htsvm_paper.losses import BoundedLinex, Wave
from htsvm_paper.solvers import SmoothDescent, SmoothProblem
from htsvm_paper.solvers.smooth import backtracked

BOTH = [WaveMvSVM, MvASYBX]
LOSSES = [Wave(0.5, 0.5), BoundedLinex(1.0, 1.0, 0.5), BoundedLinex(-2.0, 0.5, 1.0)]


def with_constant(views):
    """Return the views with a column of ones: a regularised intercept."""
    return [np.hstack([X, np.ones((len(X), 1))]) for X in views]


def problem_of(loss, m=40, D=0.3, fit_intercept=True, wrong=0.2):
    views, y = two_views(m, wrong=wrong)
    rng = np.random.default_rng(3)
    penalties = np.outer([1.0, 0.5], rng.uniform(0.5, 2.0, size=m))
    return SmoothProblem(
        views, np.where(y > 0, 1.0, -1.0), penalties, np.full(m, D), np.array([1.5, 1.0]), loss,
        fit_intercept=fit_intercept,
    )  # fmt: skip


def written_out(problem, z):
    """Return the objective, sample by sample."""
    coefs, b = problem.parts(z)
    total = sum(0.5 * s * (w @ w) for s, w in zip(problem.scales, coefs, strict=True))
    for i, sign in enumerate(problem.y):
        f = [X[i] @ w + shift for X, w, shift in zip(problem.views, coefs, b, strict=True)]
        for v in range(2):
            u = np.array([max(0.0, 1.0 - sign * f[v])])
            total += problem.penalties[v, i] * problem.loss(u, np.array([sign]))[0][0]
        total += problem.coupling[i] * (f[0] - f[1]) ** 2
    return total


def test_golden_wave():
    views, y = golden()
    clf = WaveMvSVM(D=0.1, a=0.5, lam=0.5, fit_intercept=False).fit(with_constant(views), y)
    assert clf.objective_[0] == pytest.approx(28.563135, abs=1e-5)
    np.testing.assert_allclose(clf.view_coef_[0], [0.766972, -0.635410, -0.160440], atol=1e-5)
    np.testing.assert_allclose(
        clf.view_coef_[1], [0.657985, 0.697995, 0.190971, -0.329662], atol=1e-5
    )


def test_golden_bounded_linex():
    views, y = golden()
    clf = MvASYBX(D=0.1, lam=0.5, fit_intercept=False).fit(with_constant(views), y)
    assert clf.objective_[0] == pytest.approx(15.714767, abs=1e-5)
    np.testing.assert_allclose(clf.view_coef_[0], [0.543902, -0.443585, 0.109188], atol=1e-5)
    np.testing.assert_allclose(
        clf.view_coef_[1], [0.448932, 0.362274, 0.123995, 0.151900], atol=1e-5
    )


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_objective_gradient_and_hessian(loss, fit_intercept):
    problem = problem_of(loss, fit_intercept=fit_intercept)
    z = np.random.default_rng(0).normal(size=problem.size)
    value, gradient = problem.value_and_gradient(z)
    assert value == pytest.approx(written_out(problem, z), rel=1e-12)
    numerical = approx_fprime(z, lambda x: problem.value_and_gradient(x)[0], 1e-7)
    np.testing.assert_allclose(gradient, numerical, atol=2e-5)
    step = 1e-6
    columns = [
        (problem.value_and_gradient(z + step * e)[1] - problem.value_and_gradient(z - step * e)[1])
        / (2 * step)
        for e in np.eye(problem.size)
    ]
    np.testing.assert_allclose(problem.hessian(z), np.array(columns), atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_no_other_start_finds_a_lower_point_on_easy_data(loss):
    problem = problem_of(loss, m=60, wrong=0.1)
    result = SmoothDescent().solve(problem)
    certificate = certify_result(problem, result, 1e-9)
    assert certificate.certified
    assert certificate.curvature > 0.0
    rng = np.random.default_rng(8)
    for _ in range(6):
        start = rng.normal(scale=rng.choice([0.3, 1.0, 3.0]), size=problem.size)
        # Another method, with numerical gradients.
        found = minimize(lambda x: problem.value_and_gradient(x)[0], start, method="BFGS")
        assert result.objective <= found.fun * (1.0 + 1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_best_constant_classifier(loss):
    problem = problem_of(loss)
    _, b = problem.parts(problem.constant())
    grid = np.linspace(-2.0, 2.0, 801)
    z = np.zeros(problem.size)
    values = []
    for shift in grid:
        z[-2:] = shift
        values.append(problem.value_and_gradient(z)[0])
    z[-2:] = b
    assert problem.value_and_gradient(z)[0] <= min(values) + 1e-6
    assert SmoothDescent(n_restarts=0).solve(problem).objective <= min(values)


@pytest.mark.parametrize("method", BOTH)
def test_without_coupling_the_views_are_independent(method):
    views, y = two_views(80)
    pair = method(D=0.0).fit(views, y)
    for v in range(2):
        alone = method(D=0.0).fit([views[v], views[v]], y)
        np.testing.assert_allclose(alone.view_coef_[0], pair.view_coef_[v], atol=1e-6)


def test_squared_hinge_as_a_limit():
    from sklearn.svm import LinearSVC

    views, y = two_views(80)
    views = with_constant(views)
    wave = WaveMvSVM(0.7, D=0.0, a=0.0, lam=1e-9, fit_intercept=False).fit(views, y)
    linex = MvASYBX(0.7, D=0.0, a=1e-3, b=2e6, lam=1e-9, fit_intercept=False).fit(views, y)
    for v in range(2):
        svc = LinearSVC(C=0.7, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(views[v], y)
        np.testing.assert_allclose(wave.view_coef_[v], svc.coef_[0], atol=1e-4)
        np.testing.assert_allclose(linex.view_coef_[v], svc.coef_[0], atol=2e-3)


@pytest.mark.parametrize("method", BOTH)
def test_kernels_see_what_no_line_does(method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = (np.linalg.norm(X, axis=1) > 1.1).astype(int)
    views = [X, X + 0.05 * rng.normal(size=X.shape)]
    clf = method(10.0, kernel="rbf").fit(views, y)
    assert clf.score(views, y) > 0.95 > method(10.0).fit(views, y).score(views, y)
    assert SVC().fit(X, y).score(X, y) > 0.9
    linear = method(kernel=lambda X, Z: X @ Z.T).fit(views, y)
    np.testing.assert_allclose(
        linear.decision_function(views), method().fit(views, y).decision_function(views), atol=1e-5
    )


@pytest.mark.parametrize("method", BOTH)
def test_what_is_not_reached_is_reported(method):
    # So many columns that Newton's method does not end what L-BFGS has begun.
    views = [sp.random(40, 2000, 0.1, format="csr", random_state=v) for v in range(2)]
    y = np.arange(40) % 2
    with pytest.warns(ConvergenceWarning, match="residual of the gradient is") as found:
        method(max_iter=1, n_restarts=0).fit(views, y)
    assert [one.filename for one in found] == [__file__]


@pytest.mark.parametrize(
    ("clf", "name"),
    [(WaveMvSVM(a=-1.0), "a"), (MvASYBX(a=0.0), "a"), (MvASYBX(b=0.0), "b"), (WaveMvSVM(lam=0.0),
     "lam")],
)  # fmt: skip
def test_bad_parameters_are_named(clf, name):
    views, y = two_views(20)
    with pytest.raises(ValueError, match=f"The '{name}' parameter"):
        clf.fit(views, y)


def test_backtracking_finds_a_lower_point_of_a_curved_valley():
    def value_and_gradient(z):
        return float(np.sum(1.0 - np.exp(-(z**2)))), 2.0 * z * np.exp(-(z**2))

    z = np.array([0.5, -0.4])
    direction = -100.0 * value_and_gradient(z)[1]
    moved = backtracked(value_and_gradient, z, direction)
    assert value_and_gradient(moved)[0] < value_and_gradient(z)[0]
    assert backtracked(value_and_gradient, z, -direction) is None
