"""`AuditedClassifier` as an estimator, and what it gains."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from htsvm import AuditedClassifier
from tests.audit.data import blobs


def test_labels_that_are_wrong_are_left_out():
    X, y, _, wrong = blobs(600, rate=0.3, spread=1.5)
    X_test, _, y_test, _ = blobs(2000, seed=1, spread=1.5)
    plain = RandomForestClassifier(30, random_state=0)
    audited = AuditedClassifier(plain, quality="fast").fit(X, y)
    assert audited.kept_[wrong].mean() < 0.1 < 0.9 < audited.kept_[~wrong].mean()
    assert audited.score(X_test, y_test) > plain.fit(X, y).score(X_test, y_test) + 0.03
    assert audited.predict_proba(X_test).shape == (2000, 3)
    assert np.array_equal(audited.classes_, [0, 1, 2])
    assert not hasattr(clone(audited), "audit_")


@pytest.mark.parametrize("estimator", [LinearSVC(), KNeighborsClassifier(), Perceptron()])
def test_any_estimator(estimator):
    X, y, true, _ = blobs(200)
    audited = AuditedClassifier(estimator, quality="fast").fit(X.tolist(), np.array(list("abc"))[y])
    assert np.mean(audited.predict(X) == np.array(list("abc"))[true]) > 0.95
    assert hasattr(audited, "predict_proba") == hasattr(estimator, "predict_proba")
    assert hasattr(audited, "decision_function") == hasattr(estimator, "decision_function")


def test_frames_weights_and_folds():
    X, y, true, _ = blobs(240)
    frame = pd.DataFrame(X, columns=list("abcd"))
    audited = AuditedClassifier(LogisticRegression(), quality="fast")
    weights = np.random.default_rng(0).uniform(0.5, 1.5, 240)
    assert audited.fit(frame, y, sample_weight=weights).score(frame, true) > 0.95
    assert cross_val_score(audited, X, y, cv=3).mean() > 0.7


def test_no_class_is_given_up_and_random_labels_stay():
    X, y, _, _ = blobs(240)
    y[:2] = 7
    audited = AuditedClassifier(LogisticRegression(), quality="fast").fit(X, y)
    assert 7 in audited.classes_
    assert 7 in audited.estimator_.classes_
    rng = np.random.default_rng(0)
    audited.fit(rng.normal(size=(200, 3)), rng.integers(0, 2, 200))
    assert audited.kept_.all()
