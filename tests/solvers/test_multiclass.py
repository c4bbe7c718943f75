from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from htsvm.linalg import Quadratic, as_operator, kernels
from htsvm.linalg import _numpy as twin
from htsvm.linalg.simplex import project_to_simplex
from htsvm.losses import Hinge, HybridTruncated
from htsvm.optimality import certify
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers import Newton, Problem, solve_certified
from htsvm.solvers.multiclass import search as multiclass_search
from htsvm.solvers.multiclass import sweeps as multiclass_sweeps
from htsvm.solvers.multiclass import system as multiclass_system
from htsvm.solvers.multiclass.finish import finish
from htsvm.solvers.multiclass.newton import (
    Iterate,
    MulticlassSteps,
    Rest,
    RoundedMaximum,
    line_search,
)
from htsvm.solvers.multiclass.system import NewtonSystem, Undecided
from tests.oracles.multiclass import solve_crammer_singer, solve_multiclass_globally

PRECISE = Newton(tol=1e-7, max_iter=1000)


def data(seed, m=60, n=4, k=3, noise=0.2):
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=m)
    labels[:k] = np.arange(k)
    X = rng.normal(size=(m, n)) + 1.5 * rng.normal(size=(k, n))[labels]
    wrong = rng.random(m) < noise
    labels[wrong] = rng.integers(k, size=int(wrong.sum()))
    labels[:k] = np.arange(k)
    return X, labels.astype(np.intp)


def stated(X, labels, *, C=1.0, loss=None, weight=None, fit_intercept=True, R=None, k=None):
    weight = np.ones(len(labels)) if weight is None else np.asarray(weight, dtype=float)
    return MulticlassProblem(
        as_operator(X), labels, int(labels.max()) + 1 if k is None else k, C * weight,
        HybridTruncated() if loss is None else loss, Quadratic(R, X.shape[1]), C=C,
        fit_intercept=fit_intercept,
    )  # fmt: skip


@pytest.fixture
def sweeps(monkeypatch):
    """Make small problems use the sweeps as well."""
    if not kernels.COMPILED:
        pytest.skip("sweeps need the compiled kernels")
    everywhere = partial(finish, sweeping=lambda *_: True)
    monkeypatch.setattr(multiclass_search, "finish", everywhere)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("seed", "C", "k"), [(0, 0.1, 3), (1, 1.0, 4), (2, 10.0, 3), (3, 1.0, 20)])
def test_convex_solution_is_that_of_an_interior_point(seed, C, k, fit_intercept):
    X, labels = data(seed, k=k)
    weight = np.random.default_rng(seed).random(len(X)) * (np.arange(len(X)) % 5 > 0)
    exact = solve_crammer_singer(X, labels, k, C * weight, fit_intercept=fit_intercept)
    problem = stated(X, labels, C=C, loss=Hinge(), weight=weight, fit_intercept=fit_intercept)
    result, certificate = solve_certified(problem, PRECISE)
    assert certificate.certified
    assert result.objective == pytest.approx(exact.objective, rel=1e-5)
    np.testing.assert_allclose(result.coef, exact.coef, atol=2e-3)
    assert -1e-9 * exact.objective <= certificate.duality_gap <= 1e-4 * exact.objective


@pytest.mark.parametrize("sparse", [False, True])
def test_sweeps_find_the_same_convex_solution(sweeps, sparse):
    X, labels = data(3, k=4)
    exact = solve_crammer_singer(X, labels, 4, np.ones(len(X)))
    problem = stated(sp.csr_matrix(X) if sparse else X, labels, loss=Hinge())
    result, certificate = solve_certified(problem, Newton(tol=1e-5, max_iter=3000))
    assert certificate.certified
    assert result.objective == pytest.approx(exact.objective, rel=1e-3)
    assert sum(result.history["sweeps"]) > 0
    rough, certificate = solve_certified(problem, Newton(tol=1e-2))
    assert certificate.certified
    assert sum(rough.history["sweeps"]) > 0 == sum(rough.history["steps"])


@pytest.mark.parametrize("sparse", [False, True])
def test_sweeps_do_not_mind_a_part_that_all_rows_share(sweeps, sparse):
    X, labels = data(3, k=4)
    results = []
    for moved in (X, X + 10.0):
        problem = stated(sp.csr_matrix(moved) if sparse else moved, labels, loss=Hinge())
        result, certificate = solve_certified(problem, Newton(tol=1e-4, max_iter=3000))
        assert certificate.certified
        results.append(result)
    here, there = results
    assert there.objective == pytest.approx(here.objective, rel=1e-3)
    np.testing.assert_allclose(there.coef, here.coef, atol=0.02)
    assert there.passes <= 4.0 * here.passes


@pytest.mark.parametrize("kind", [np.float64, np.float32, sp.csr_matrix])
def test_a_sweep_solves_the_problem_of_each_sample_in_turn(sweeps, kind):
    X, labels = data(5, k=3, n=7)
    X = X.astype(np.float32).astype(np.float64)
    problem = stated(X.astype(kind) if kind is np.float32 else kind(X), labels)
    rounds = multiclass_sweeps.BlockSweeps(problem, np.random.default_rng(0))
    m, own = len(X), np.eye(3)[labels]
    weights = np.random.default_rng(1).random(m) * (np.arange(m) % 7 > 0)
    alpha, b = np.zeros((m, 3)), np.array([0.3, -0.1, -0.2])
    alpha[np.arange(m), (labels + 1) % 3] = 0.5 * weights
    alpha += own * (weights - alpha.sum(axis=1))[:, None]
    at, found = Iterate(np.zeros((3, 7)), b.copy(), own, own), alpha.copy()
    rounds.near = np.zeros(m)
    rounds._refresh(found)
    slack, expected = rounds._sweep(at, weights, found, np.arange(m)), 0.0
    stiffness = rounds.stiffness
    for i in range(m):
        B = own * weights[:, None] - alpha
        levels = 1.0 - own[i] + X[i] @ (X.T @ B) + b + stiffness * B.sum(axis=0)
        held = np.where(own[i] > 0.0, np.maximum(alpha[i], 0.0), alpha[i])
        expected += held @ (levels.max() - levels)
        curvature = np.square(X[i]).sum() + stiffness
        alpha[i] = project_to_simplex(alpha[i] + levels / curvature, weights[i])
    np.testing.assert_allclose(found, alpha, atol=1e-9)
    assert slack == pytest.approx(expected)


@pytest.mark.parametrize("cap", [1.0, 2.0, np.inf])
def test_two_classes_with_C_are_the_binary_problem_with_twice_C(cap):
    X, labels = data(5, k=2, m=80)
    loss = HybridTruncated(cap=cap)
    joint, _ = solve_certified(stated(X, labels, C=0.7, loss=loss), PRECISE)
    y = np.where(labels == 1, 1, -1).astype(np.int8)
    penalty = np.full(len(y), 1.4)
    binary, _ = solve_certified(
        Problem(as_operator(X), y, penalty, loss, Quadratic(None, X.shape[1]), C=1.4),
        Newton(tol=1e-7, max_iter=1000),
    )
    w, b = joint.coef[1] - joint.coef[0], joint.intercept[1] - joint.intercept[0]
    psi = -2.0 * y * joint.multipliers[:, 1]
    same = certify(X, y, w, b, psi, C=1.4, loss=loss, tol=1e-5)
    assert same.certified
    assert same.objective == pytest.approx(2.0 * joint.objective, rel=1e-9)
    assert 2.0 * joint.objective == pytest.approx(binary.objective, rel=1e-3)
    if np.isinf(cap):
        np.testing.assert_allclose(w, binary.coef, atol=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_truncated_solution_against_the_global_optimum(seed):
    X, labels = data(seed, m=7, n=1, k=3, noise=0.0)
    C = [0.5, 2.0][seed % 2]
    loss = HybridTruncated()
    best, bound = solve_multiclass_globally(X, labels, 3, C=C, loss=loss, seconds=20.0)
    problem = stated(X, labels, C=C)
    result, certificate = solve_certified(problem, Newton(tol=1e-5, max_iter=500, n_restarts=30))
    assert certificate.certified
    assert result.objective >= bound - 1e-4 * abs(bound)
    assert result.objective <= best * 1.02 + 1e-6


@pytest.mark.parametrize("cap", [1.0, 1.5])
@pytest.mark.parametrize("by_sweeps", [False, True])
def test_classes_are_found_where_none_has_a_majority(request, cap, by_sweeps):
    """A label is right with probability 0.4, else any other class."""
    if by_sweeps:
        request.getfixturevalue("sweeps")
    rng = np.random.default_rng(0)
    m, k = 1500, 6
    true = rng.integers(k, size=m)
    X = rng.normal(size=(m, 8)) + 2.0 * rng.normal(size=(k, 8))[true]
    moved = (true + rng.integers(1, k, size=m)) % k
    labels = np.where(rng.random(m) < 0.4, true, moved).astype(np.intp)
    without = stated(X, labels, C=0.01, loss=HybridTruncated(cap=np.inf))
    convex, _ = solve_certified(without, Newton())
    problem = stated(X, labels, C=0.01, loss=HybridTruncated(cap=cap))
    assert abs(convex.objective / (1.2 * problem.penalty.sum()) - 1.0) < 0.01
    start = convex.coef, convex.intercept, convex.multipliers
    cold, certificate = solve_certified(problem, Newton())
    warm, _ = solve_certified(problem, Newton(), start=start)
    assert certificate.certified
    for result in (cold, warm):
        assert result.objective < 0.95 * problem.objective_at(*start[:2])
        guess = (X @ result.coef.T + result.intercept).argmax(axis=1)
        assert np.mean(guess == true) > 0.9


@pytest.mark.parametrize("cap", [0.5, 1.0, 3.0])
def test_never_above_the_convex_start_or_a_constant_classifier(cap):
    for seed in range(5):
        X, labels = data(seed, noise=0.5)
        problem = stated(X, labels, C=0.05 * 10.0**seed, loss=HybridTruncated(cap=cap))
        result, certificate = solve_certified(problem, Newton())
        assert certificate.certified
        assert result.objective <= certificate.trivial_objective * (1.0 + 1e-6)
        if not np.isnan(result.convex_objective):
            assert result.objective <= result.convex_objective


def test_sparse_equals_dense_and_a_scaled_regulariser_scales():
    X, labels = data(7)
    X[np.abs(X) < 0.5] = 0.0
    dense, _ = solve_certified(stated(X, labels), Newton(tol=1e-9))
    csr, _ = solve_certified(stated(sp.csr_matrix(X), labels), Newton(tol=1e-9))
    np.testing.assert_allclose(csr.coef, dense.coef, atol=1e-6)
    scaled, _ = solve_certified(stated(X, labels, C=2.0, R=2.0 * np.eye(X.shape[1])), PRECISE)
    plain, _ = solve_certified(stated(X, labels), PRECISE)
    assert scaled.objective == pytest.approx(2.0 * plain.objective, rel=1e-3)


def test_certificate_rejects_what_is_not_stationary():
    from htsvm.optimality.multiclass import certify_multiclass

    X, labels = data(10)
    problem = stated(X, labels)
    result, good = solve_certified(problem, Newton())
    given = {"C": 1.0, "loss": problem.loss}
    moved = certify_multiclass(
        X, labels, 1.1 * result.coef, result.intercept, result.multipliers, **given
    )
    shifted = result.intercept + np.array([0.3, 0.0, -0.3])
    tilted = certify_multiclass(X, labels, result.coef, shifted, result.multipliers, **given)
    none = certify_multiclass(
        X, labels, result.coef, result.intercept, 0 * result.multipliers, **given
    )
    assert good.certified
    assert not moved.certified
    assert moved.stationarity > 1e-2
    assert tilted.prox_residual > 1e-2
    assert not none.certified
    with pytest.raises(ValueError, match="pulls must have shape"):
        certify_multiclass(
            X, labels, result.coef, result.intercept, result.multipliers[:5], **given
        )


def test_kernels_agree_with_their_twins():
    compiled = pytest.importorskip("htsvm.linalg._vectors")
    rng = np.random.default_rng(0)
    for m, k in ((1, 2), (50, 3), (3000, 12)):
        alpha, U = rng.random((m, k)), 3.0 * rng.normal(size=(m, k))
        sigma, c = rng.random(m), rng.random(m) * (rng.random(m) > 0.2)
        labels = rng.integers(k, size=m).astype(np.intp)
        outs = []
        for one in (compiled, twin):
            out, counts, q = np.empty((m, k)), np.empty(m, dtype=np.intc), np.empty(m)
            one.simplex_step(alpha + U, c, out, counts)
            one.top_rivals(U, labels, q)
            S, several = U.copy(), np.maximum(counts, 1).astype(np.intc)
            one.spread_products(S, (out > 0.0).view(np.uint8), several, sigma)
            outs.append((out, counts, q, S))
        for ours, theirs in zip(*outs, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(outs[0][0].sum(axis=1), c, atol=1e-12)


def test_projection_ends_where_rounding_brings_entries_back():
    """Equal levels but for the last digits used to make the compiled kernel go round forever."""
    rng = np.random.default_rng(0)
    m, k = 20_000, 6
    V = 1.0 + rng.integers(-4, 5, size=(m, k)) * np.finfo(float).eps
    V -= rng.choice([0.0, 1.0 / 3.0, 0.1], size=(m, k))
    c = rng.choice([0.1, 1.0 / 3.0, 0.3, 0.012], size=m)
    out, counts = np.empty_like(V), np.empty(m, dtype=np.intc)
    kernels.active.simplex_step(V, c, out, counts)
    np.testing.assert_allclose(out.sum(axis=1), c, rtol=1e-12)
    np.testing.assert_array_equal(np.count_nonzero(out, axis=1), counts)


@pytest.mark.parametrize("k", [3, 5, 8])
def test_projection_ends_where_all_but_one_are_tied(k):
    for c in (0.1, 0.03 * 5.5 * 1.2):
        for tied in (0.9 * 0.198, 0.9 * 1.32, 0.3 * 0.198):
            U = np.full((1, k), tied)
            U[0, -1] += c
            out, counts = np.empty((1, k)), np.empty(1, dtype=np.intc)
            kernels.active.simplex_step(U, np.array([c]), out, counts)
            np.testing.assert_allclose(out[0], np.r_[np.zeros(k - 1), c], atol=1e-15)


@pytest.mark.parametrize("R", [None, "diagonal", "matrix"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_all_forms_of_the_newton_system_give_one_direction(monkeypatch, R, fit_intercept):
    """By ties, by factors of H, by conjugate gradients with either preconditioner: H d = -g."""
    rng = np.random.default_rng(0)
    X, labels = data(4, n=6, k=5)
    root = rng.normal(size=(6, 6))
    R = {None: None, "diagonal": 1.0 + rng.random(6), "matrix": root @ root.T + np.eye(6)}[R]
    problem = stated(X, labels, R=R, fit_intercept=fit_intercept)
    a = np.maximum(rng.normal(size=(len(X), 5)), 0.0)
    counts = np.count_nonzero(a, axis=1).astype(np.intc)
    sigma = 8.0 * rng.random(len(X)) * (np.arange(len(X)) % 9 > 0)
    gradient = rng.normal(size=(5, 7))
    gradient -= gradient.mean(axis=0)
    gradient[:, 6] *= fit_intercept
    monkeypatch.setattr(multiclass_system, "ACCURACY", 1e-12)
    monkeypatch.setattr(multiclass_system, "MOST_STEPS", 2000)
    smooth = np.zeros((7, 7))
    Quadratic(R, 6).add_to(smooth[:6, :6])
    H = np.kron(np.eye(5), smooth)
    for x, row, s in zip(X, a > 0.0, sigma, strict=True):
        if row.sum() > 1:
            P = np.diag(row.astype(float)) - np.outer(row, row) / row.sum()
            z = np.append(x, float(fit_intercept))
            H += s * np.kron(P, np.outer(z, z))
    forms = {
        "ties": {"ties": 10_000}, "formed": {"ties": 0},
        "spectrum": {"ties": 0, "formed": 0}, "diagonal": {"ties": 0, "formed": 0, "correlated": 0},
    }  # fmt: skip
    for name, sizes in forms.items():
        rows = Undecided(problem, sigma, a, counts)
        split = gradient[:, :6].copy(), gradient[:, 6].copy()
        dW, db = NewtonSystem(problem, **sizes).direction(rows, 1.0, split)
        d = np.column_stack([dW, db * fit_intercept])
        ridge = multiclass_system.RIDGE * np.pad(d[:, 6:], ((0, 0), (6, 0))) * fit_intercept
        left = (H @ d.ravel()).reshape(5, 7) + ridge
        np.testing.assert_allclose(left, -gradient, atol=1e-6, err_msg=name)


def weighted(seed, k=4):
    """Return a problem, a random stage for it, and a point."""
    rng = np.random.default_rng(seed)
    X, labels = data(seed, k=k)
    problem = stated(X, labels)
    shift = rng.dirichlet(np.full(k, 0.5), size=len(X))
    stage = RoundedMaximum(0.7, shift, rng.random(len(X)) * (np.arange(len(X)) % 7 > 0))
    W, b = rng.normal(size=(k, 4)), rng.normal(size=k)
    return problem, stage, W - W.mean(axis=0), b - b.mean()


def stage_value(problem, stage, W, b):
    """Return the function of a stage by a general solver of each small maximisation."""
    U = problem.levels(W, b)
    U -= U[np.arange(len(U)), problem.labels][:, None]
    a = project_to_simplex(stage.shift + U / stage.width, np.ones(len(U)))
    H = (a * U).sum(axis=1) - 0.5 * stage.width * np.square(a - stage.shift).sum(axis=1)
    return problem.energy(W) + float(stage.weights @ H)


def test_the_gradient_of_a_stage_is_its_derivative():
    problem, stage, W, b = weighted(3)
    newton = MulticlassSteps(problem, NewtonSystem(problem))
    at = Iterate(W, b, problem.levels(W, b), np.empty((problem.n_samples, 4)))
    newton._maximise(at, at.U, 0.0, stage)
    gW, gb = newton._gradient(at, stage)
    rng, step = np.random.default_rng(0), 1e-6
    for _ in range(5):
        dW, db = rng.normal(size=W.shape), rng.normal(size=b.shape)
        ends = [stage_value(problem, stage, W + t * dW, b + t * db) for t in (step, -step)]
        along = float(np.vdot(gW, dW) + gb @ db)
        assert (ends[0] - ends[1]) / (2.0 * step) == pytest.approx(along, rel=1e-5)


def test_newton_steps_minimise_a_stage():
    problem, stage, W, b = weighted(4)
    newton = MulticlassSteps(problem, NewtonSystem(problem))
    at = Iterate(W, b, problem.levels(W, b), np.empty((problem.n_samples, 4)))
    newton.minimise(at, stage, tol=1e-10, most=50)
    assert at.gradient <= 1e-10
    lowest = stage_value(problem, stage, at.W, at.b)
    rng = np.random.default_rng(0)
    for size in (1e-3, 0.1, 1.0):
        dW, db = size * rng.normal(size=W.shape), size * rng.normal(size=b.shape)
        assert stage_value(problem, stage, at.W + dW, at.b + db) > lowest


def test_rows_elsewhere_add_a_linear_rest():
    """Rows on which the majorant is linear near the solution may be left to their sums."""
    X, labels = data(11, m=80, k=3, noise=0.3)
    problem = stated(X, labels, loss=Hinge())
    record, how = lambda **_: None, {"tol": 1e-8, "most": 200, "rng": np.random.default_rng(0)}
    zero = np.zeros((3, 4)), np.zeros(3), None
    whole = finish(problem, zero, record=record, sweeping=None, **how)
    F = X @ whole.W.T + whole.b
    rivals = np.where(np.eye(3, dtype=bool)[labels], -np.inf, F)
    q = 1.0 + rivals.max(axis=1) - F[np.arange(80), labels]
    margin = np.sort(rivals, axis=1)[:, -1] - np.sort(rivals, axis=1)[:, -2]
    linear = (q > 0.05) & (margin > 0.05)
    assert linear.sum() > 5
    pulls = np.eye(3)[rivals.argmax(axis=1)] - np.eye(3)[labels]
    sums = pulls[linear].T @ np.column_stack([X, np.ones(80)])[linear]
    rest = Rest(float(linear.sum()), sums, float(np.abs(pulls[linear]).sum()))
    start = 1.01 * whole.W, whole.b + np.array([0.01, 0.0, -0.01]), None
    part = problem.take(np.flatnonzero(~linear))
    end = finish(part, start, record=record, rest=rest, **how)
    np.testing.assert_allclose(end.W, whole.W, atol=1e-4)
    np.testing.assert_allclose(end.b, whole.b, atol=1e-4)


def test_a_line_search_ends_where_the_slope_is_small():
    for scale in (1e-3, 1.0, 1e3):
        root = line_search(lambda t, s=scale: (t / s - 3.0) / s)
        assert abs(root / scale - 3.0) <= 0.2 * 3.0
    assert line_search(lambda t: 1.0) == 0.0


@pytest.mark.parametrize("kind", ["sigmoid", "rounded", "convex"])
def test_smoothed_losses_have_the_slopes_that_they_say(kind):
    shapes = {"sigmoid": [1.2, 0.5, 0.4], "rounded": [1.2, 2 / 3, 1.0, 0.15]}
    shape = np.array(shapes.get(kind, [1.2, np.inf, np.inf, 0.15]))
    rng = np.random.default_rng(1)
    m, k = 40, 5
    F, labels = rng.normal(size=(m, k)), rng.integers(k, size=m).astype(np.intp)
    penalty = rng.random(m) * (rng.random(m) > 0.2)
    others = [kernels.active, twin]

    def total(one, scores, out):
        return one.smooth_losses(scores, labels, penalty, 0.3, int(kind == "sigmoid"), shape, out)

    outs = [np.empty((m, k)), np.empty((m, k))]
    values = [total(one, F, out) for one, out in zip(others, outs, strict=True)]
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    np.testing.assert_allclose(outs[0], outs[1], atol=1e-12)
    D, spare = rng.normal(size=(m, k)), np.empty((m, k))
    step = 1e-6
    difference = total(twin, F + step * D, spare) - total(twin, F - step * D, spare)
    assert difference / (2.0 * step) == pytest.approx(float(np.vdot(outs[0], D)), rel=1e-5)


def test_rough_rows_multiply_like_the_rows_themselves():
    X, labels = data(5, m=80, n=40, k=4)
    problem = stated(X, labels)
    rng = np.random.default_rng(5)
    a = rng.random((80, 4)) * (rng.random((80, 4)) < 0.6)
    counts = np.count_nonzero(a, axis=1).astype(np.intc)
    rows = Undecided(problem, 2.0 * problem.penalty, a, counts)
    V = rng.normal(size=(4, 41))
    exact = rows.product(V)
    rows.go_rough()
    np.testing.assert_allclose(rows.product(V), exact, rtol=0.0, atol=1e-5 * np.abs(exact).max())


def test_the_rounded_maximum_is_that_of_its_twin():
    compiled = pytest.importorskip("htsvm.linalg._vectors")
    rng = np.random.default_rng(0)
    for m, k in ((1, 2), (50, 3), (3000, 12)):
        U, D, shift = rng.normal(size=(m, k)), rng.normal(size=(m, k)), rng.dirichlet(np.ones(k), m)
        labels, found = rng.integers(k, size=m).astype(np.intp), []
        for one in (compiled, twin):
            a, counts = np.empty((m, k)), np.empty(m, dtype=np.intc)
            h, along, ahead = np.empty(m), np.empty(m), np.empty(m)
            one.rounded_maximum(shift, U, D, 0.3 + 1e-6, 0.4, labels, a, counts, ahead, along)
            one.rounded_maximum(shift, U, D, 0.3, 0.4, labels, a, counts, h, along)
            found.append((a, counts, h, along))
            np.testing.assert_allclose((ahead - h) / 1e-6, along, atol=1e-4)
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
