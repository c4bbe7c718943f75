"""Many fits side by side: values, gradients and ends, against one at a time."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from htsvm.logistic.batch import Batch, Rows
from htsvm.logistic.pool import SearchColumns
from htsvm.losses.cross_entropy import CorrectedEntropy, TruncatedEntropy

FLIPS = np.array([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.05, 0.05, 0.9]])


def problem(classes, weighted=False, sparse=False, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(60, 4)), np.ones(60)])
    codes = rng.integers(0, classes, size=60)
    weights = rng.uniform(0.5, 2.0, size=60) if weighted else None
    return Rows(sp.csr_matrix(X) if sparse else X, codes, weights, classes)


RIDGE = np.array([1.0, 2.0, 0.5, 1.0, 0.0])
PENALTY = np.array([0.1, 1.0, 0.7])


def batch(rows, kind):
    """Three members: plain ones, some truncated and one not, or with a flip matrix each."""
    if kind == "plain":
        loss = TruncatedEntropy()
    elif kind == "truncated":
        caps = np.array([0.5, 1.0, np.inf])
        loss = TruncatedEntropy.of_classes(caps, 2.0 / 3.0, rows.classes)
    else:
        flips = FLIPS if rows.classes == 3 else np.array([[0.9, 0.1], [0.3, 0.7]])
        even = np.full_like(flips, 1.0 / len(flips))
        loss = CorrectedEntropy(np.array([s * flips + (1.0 - s) * even for s in (1.0, 0.7, 0.2)]))
    return Batch(rows, loss, PENALTY, np.tile(RIDGE[:, None], (1, 3)))


def by_hand(rows, loss, points, k):
    """The objective of one member, from its definition."""
    scores = np.asarray(rows.X @ points[:, k])
    if rows.classes == 2:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    logs = log_softmax(scores, axis=1)
    each, penalty = np.arange(len(scores)), PENALTY[k]
    if isinstance(loss, CorrectedEntropy):
        flips = loss.flips[k]
        values = -np.log((np.exp(logs) * flips.T[rows.codes]).sum(axis=1))
        penalty /= max((np.trace(flips) - 1.0) / (rows.classes - 1), 0.2)
    else:
        s = -logs[each, rows.codes]
        knee, cap = (np.broadcast_to(edge, 3)[k] for edge in (loss.knee, loss.cap))
        values = s
        if np.isfinite(cap):
            bent = s - np.square(s - knee) / (2.0 * (cap - knee))
            values = np.where(s <= knee, s, np.where(s < cap, bent, knee + 0.5 * (cap - knee)))
    weights = np.ones(len(scores)) if rows.weights is None else rows.weights
    return penalty * weights @ values + 0.5 * np.sum(RIDGE[:, None] * points[:, k] ** 2)


@pytest.mark.parametrize("kind", ["plain", "truncated", "corrected"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_values_and_gradients(kind, classes, weighted, sparse):
    rows = problem(classes, weighted, sparse)
    members = batch(rows, kind)
    points = np.random.default_rng(1).normal(size=(5, 3, rows.scores))
    values, gradient = members.at(points)
    expected = [by_hand(rows, members.loss, points, k) for k in range(3)]
    np.testing.assert_allclose(values, expected, rtol=1e-10)
    some = members.some(np.array([2, 0])).at(points[:, [2, 0]])
    np.testing.assert_allclose(some[0], values[[2, 0]])
    np.testing.assert_allclose(some[1], gradient[:, [2, 0]])
    step = 1e-6
    for place in np.ndindex(points.shape):
        up, down = points.copy(), points.copy()
        up[place] += step
        down[place] -= step
        ends = [by_hand(rows, members.loss, end, place[1]) for end in (up, down)]
        slope = (ends[0] - ends[1]) / (2.0 * step)
        assert gradient[place] == pytest.approx(slope, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("kind", ["plain", "corrected"])
@pytest.mark.parametrize("classes", [2, 3])
def test_members_end_where_each_would_alone(kind, classes):
    rows = problem(classes)
    members = batch(rows, kind)
    points = members.minimised(rows.started(3, True), 200)
    alone = rows.started(1, True)
    for k in range(3):

        def value(z, k=k):
            full = np.zeros((5, 3, rows.scores))
            full[:, k] = z.reshape(5, -1)
            return by_hand(rows, members.loss, full, k)

        best = minimize(value, alone[:, 0].ravel(), method="BFGS", options={"gtol": 1e-8})
        assert value(points[:, k].ravel()) <= best.fun + 1e-4 * abs(best.fun)


def test_plain_members_are_logistic_regressions():
    rows = problem(2)
    ridge = np.tile([[1.0]] * 4 + [[0.0]], (1, 2))
    members = Batch(rows, TruncatedEntropy(), np.array([0.3, 3.0]), ridge)
    points = members.minimised(rows.started(2, True), 100)
    for k, C in enumerate((0.3, 3.0)):
        other = LogisticRegression(C=C, tol=1e-10).fit(rows.X[:, :4], rows.codes)
        np.testing.assert_allclose(points[:4, k, 0], other.coef_[0], atol=2e-3)


def test_large_scores_neither_overflow_nor_lose_their_slope():
    rows = Rows(np.array([[1.0], [1.0]]), np.array([0, 2]), None, 3)
    points = np.array([[[800.0, 0.0, -800.0]]])
    values, gradient = Batch(rows, TruncatedEntropy(), np.ones(1), np.zeros((1, 1))).at(points)
    np.testing.assert_allclose(values, [1600.0])
    np.testing.assert_allclose(gradient[0, 0], [1.0, 0.0, -1.0], atol=1e-12)


def test_truncated_entropy_is_smooth_and_flat_beyond_its_cap():
    loss = TruncatedEntropy.of_classes(1.0, 0.5, 4)
    s = np.linspace(0.0, 4.0, 4001)
    value, slope = loss.value_slope(s)
    np.testing.assert_allclose(np.gradient(value, s)[1:-1], slope[1:-1], atol=2e-3)
    np.testing.assert_allclose(value[s < loss.knee], s[s < loss.knee])
    assert np.ptp(value[s > loss.cap]) == 0.0
    inner = np.abs(s - loss.knee) > 2e-3
    inner &= np.abs(s - loss.cap) > 2e-3
    np.testing.assert_allclose(np.gradient(slope, s)[inner], loss.curvature(s)[inner], atol=1e-6)
    assert TruncatedEntropy.of_classes(np.inf, 0.5, 4) == TruncatedEntropy()


@pytest.mark.parametrize("sparse", [False, True])
def test_columns_go_there_and_back(sparse):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3)) * [1.0, 1e4, 1e-3] + [0.0, 1e8, 5.0]
    given = sp.csr_matrix(X) if sparse else X
    columns = SearchColumns(given, np.ones(50), True)
    inside = columns.inside(given, np.float32)
    dense = inside.toarray() if sparse else inside
    np.testing.assert_allclose(dense[:, :3].mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(dense[:, :3].std(axis=0), 1.0, rtol=1e-5)
    points = rng.normal(size=(4, 1))
    coef, intercept = columns.outside(points)
    np.testing.assert_allclose(X @ coef[0] + intercept[0], (dense @ points)[:, 0], atol=1e-5)
    assert columns.variance == pytest.approx(X.var(axis=0).sum())
