from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from htsvm import HTSVC, IgnoredClassWarning, SampleStatus, ht_path


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
