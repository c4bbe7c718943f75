from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning

from htsvm import HTSVC, HTSVCCV, IgnoredClassWarning, SampleStatus, ht_path


def blobs(seed=0, m=150, flip=0.1):
    X, y = make_blobs(m, 3, centers=4, cluster_std=2.0, random_state=seed)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    rng = np.random.default_rng(seed)
    wrong = rng.choice(m, size=int(flip * m), replace=False)
    noisy = y.copy()
    noisy[wrong] = (noisy[wrong] + 1) % 4
    return X, noisy, wrong


def test_one_problem_for_all_classes():
    X, y, _ = blobs()
    clf = HTSVC().fit(X, np.array(["a", "b", "c", "d"])[y])
    assert clf.coef_.shape == (4, 3)
    assert clf.intercept_.shape == (4,)
    assert clf.objective_.shape == (1,)
    assert len(clf.certificate_) == 1
    assert clf.certificate_[0].certified
    assert "certified" in str(clf.certificate_[0])
    assert clf.sample_status_.shape == (150,)
    assert clf.dual_coef_.shape == (4, len(clf.support_))
    assert clf.n_support_.sum() == len(clf.support_)
    assert len(pd.DataFrame(clf.history_)) == clf.n_iter_
    explicit = HTSVC(multi_class="joint").fit(X, y)
    np.testing.assert_array_equal(explicit.coef_, clf.coef_)


def test_ignored_samples_are_those_beyond_the_cap():
    X, y, wrong = blobs()
    clf = HTSVC(cap=1.5, tol=1e-5).fit(X, y)
    q = clf.margin_violation(X, y)
    clear = np.abs(q - 1.5) > 1e-3
    marked = np.isin(np.arange(len(y)), clf.ignored_)
    np.testing.assert_array_equal(marked[clear], (q > 1.5)[clear])
    np.testing.assert_array_equal(clf.ignored_, np.flatnonzero(clf.sample_status_ == 4))
    assert np.isin(wrong, clf.ignored_).mean() > 0.5
    safe = clf.sample_status_ == SampleStatus.SAFE
    assert np.all(q[safe] < 1e-3)
    assert not set(clf.ignored_) & set(clf.support_)


def test_margin_violation_of_two_classes_and_its_errors():
    X, y, _ = blobs()
    two = y < 2
    clf = HTSVC().fit(X[two], y[two])
    expected = 1.0 - (2 * y[two] - 1) * clf.decision_function(X[two])
    np.testing.assert_allclose(clf.margin_violation(X[two], y[two]), expected)
    with pytest.raises(ValueError, match="not fitted on"):
        clf.margin_violation(X, y)
    with pytest.raises(ValueError, match="inconsistent"):
        clf.margin_violation(X[:5], y[:4])


def test_multiclass_and_admm_do_not_go_together_but_auto_does():
    X, y, _ = blobs()
    with pytest.raises(ValueError, match="multi_class='joint' needs solver='newton'"):
        HTSVC(multi_class="joint", solver="admm").fit(X, y)
    clf = HTSVC(solver="admm", max_iter=5)
    with pytest.warns(ConvergenceWarning, match="max_iter=5"):
        clf.fit(X, y)
    assert len(clf.certificate_) == 4
    with pytest.raises(ValueError, match="multi_class"):
        HTSVC(multi_class="crammer").fit(X, y)
    with pytest.raises(ValueError, match="multi_class"):
        ht_path(X, y, multi_class="crammer")


def test_a_fit_that_gives_up_a_class_says_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = np.r_[np.zeros(60), np.ones(36), np.full(4, 2)].astype(int)
    with pytest.warns(IgnoredClassWarning, match="of the samples of class"):
        HTSVC(C=1e-3).fit(X, y)


def test_warm_start_and_sparse_and_class_weight():
    X, y, _ = blobs()
    clf = HTSVC(warm_start=True).fit(X, y)
    first, rounds = clf.coef_, clf.n_iter_
    clf.fit(X, y)
    assert clf.n_iter_ < rounds
    np.testing.assert_allclose(clf.coef_, first, atol=0.05)
    csr = HTSVC().fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(csr.coef_, first, atol=1e-6)
    weights = {0: 1.0, 1: 2.0, 2: 1.0, 3: 0.5}
    by_class = HTSVC(class_weight=weights).fit(X, y)
    by_sample = HTSVC().fit(X, y, sample_weight=[weights[k] for k in y])
    np.testing.assert_allclose(by_class.coef_, by_sample.coef_, rtol=1e-6, atol=1e-9)


def test_path_and_cross_validation_are_multiclass_too():
    X, y, _ = blobs(flip=0.2)
    path = ht_path(X, y, Cs=[0.1, 1.0, 10.0])
    assert path.coef.shape == (3, 4, 3)
    assert path.intercept.shape == (3, 4)
    assert path.objective.shape == (3, 1)
    assert all(c.certified for row in path.certificates for c in row)
    for i, C in enumerate(path.Cs):
        alone = HTSVC(C=C).fit(X, y)
        assert path.objective[i, 0] <= alone.objective_[0] * 1.05
    chosen = HTSVCCV(Cs=[0.1, 1.0], caps=[np.inf, 2.0, 1.0], cv=3).fit(X, y)
    assert len(chosen.certificate_) == 1
    assert chosen.scores_.shape == (3, 3, 2)
    assert chosen.as_htsvc().get_params()["cap"] == chosen.cap_


def test_truncation_resists_labels_moved_to_the_next_class():
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(900) < 0.4, (y[:900] + 1) % 10, y[:900])
    convex = HTSVC(C=0.3, cap=np.inf).fit(X[:900], noisy).score(X[900:], y[900:])
    truncated = HTSVC(C=0.3, cap=2.0).fit(X[:900], noisy).score(X[900:], y[900:])
    assert truncated > convex + 0.05


def test_a_class_left_without_weight_is_no_trouble():
    X, y = load_iris(return_X_y=True)
    clf = HTSVC().fit(X, y, sample_weight=(y != 2).astype(float))
    assert clf.coef_.shape == (3, 4)
    assert (clf.predict(X[y != 2]) == y[y != 2]).mean() > 0.9
