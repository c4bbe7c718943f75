"""Warnings of fits: where they point, and what they say."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from htsvm import HTSVC, ht_path
from htsvm.exceptions import IgnoredClassWarning, warn_user
from htsvm.solvers import ADMM


def data(classes=2, m=120):
    rng = np.random.default_rng(0)
    y = rng.integers(classes, size=m)
    X = rng.normal(size=(m, 4))
    X[:, 0] += 0.7 * y
    return X, y


def caught(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return found


@pytest.mark.parametrize(
    "call",
    [
        lambda X, y: HTSVC(max_iter=1, tol=1e-9).fit(X, y),
        lambda X, y: HTSVC(max_iter=1, tol=1e-9, multi_class="ovr", n_jobs=2).fit(X, y),
        lambda X, y: make_pipeline(StandardScaler(), HTSVC(max_iter=1, tol=1e-9)).fit(X, y),
        lambda X, y: GridSearchCV(HTSVC(max_iter=1, tol=1e-9), {"C": [1.0]}, cv=2).fit(X, y),
        lambda X, y: ht_path(X, y, Cs=[1.0], max_iter=1, tol=1e-9),
    ],
)
def test_warnings_point_at_the_line_of_the_user(call):
    found = [w for w in caught(lambda: call(*data(3))) if w.category is ConvergenceWarning]
    assert found
    assert all(w.filename == __file__ for w in found)


def test_a_direct_call_is_the_line_of_the_user():
    (one,) = caught(lambda: warn_user("said", UserWarning))
    assert one.filename == __file__


def test_advice_of_the_solver_reaches_the_user():
    X, y = data()
    for solver in ("admm", ADMM(safeguards=())):
        (one,) = [
            w
            for w in caught(lambda s=solver: HTSVC(solver=s, max_iter=3).fit(X, y))
            if w.category is ConvergenceWarning
        ]
        text = str(one.message)
        assert "solver='newton'" in text
        assert ("default safeguards" in text) == (solver != "admm")


def test_the_path_warns_of_points_that_are_not_certified():
    X, y = data()
    found = caught(lambda: ht_path(X, y, Cs=[0.1, 1.0], max_iter=1))
    (one,) = [w for w in found if w.category is ConvergenceWarning]
    assert "ht_path did not converge in " in str(one.message)
    assert "max_iter=1" in str(one.message)
    quiet = caught(lambda: ht_path(X, y, Cs=[0.1, 1.0]))
    assert not [w for w in quiet if w.category is ConvergenceWarning]


def test_what_floating_point_cannot_tell_is_said():
    rng = np.random.default_rng(0)
    X = 1e17 * (1.0 + 1e-15 * rng.normal(size=(40, 2)))
    y = np.arange(40) % 2
    found = caught(lambda: HTSVC(C=1.0, cap=np.inf, max_iter=20).fit(X, y))
    texts = [str(w.message) for w in found if w.category is ConvergenceWarning]
    clf = HTSVC(C=1.0, cap=np.inf, max_iter=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(X, y)
    certificate = clf.certificate_[0]
    assert certificate.certified or any("floating point" in text for text in texts)
    assert not (certificate.certified and certificate.residual > 1e-3)


def test_crammer_singer_is_another_name():
    X, y = data(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IgnoredClassWarning)
        one, other = (HTSVC(multi_class=name).fit(X, y) for name in ("joint", "crammer_singer"))
    np.testing.assert_array_equal(one.coef_, other.coef_)
    with pytest.raises(ValueError, match="crammer_singer"):
        HTSVC(multi_class="crammer_singer", solver="admm").fit(X, y)


def test_one_evaluation_of_the_objective():
    for classes in (2, 3):
        clf = HTSVC().fit(*data(classes))
        assert clf.objective_[0] == clf.certificate_[0].objective


def lopsided():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.r_[np.ones(12, dtype=int), np.zeros(108, dtype=int)]
    return X, y


def test_cross_validation_still_warns():
    X, y = lopsided()
    with pytest.warns(IgnoredClassWarning):
        cross_val_score(HTSVC(C=1e-3), X, y, cv=3)


def test_an_ignored_class_has_two_explanations():
    X, y = lopsided()
    found = caught(lambda: HTSVC(C=1e-3).fit(X, y))
    (one,) = [str(w.message) for w in found if w.category is IgnoredClassWarning]
    assert "Either most labels of this class are wrong, or the fit has given up a class" in one
    assert "htsvm.audit_labels" in one
    assert "If their labels are right, try a larger C, a larger cap" in one
