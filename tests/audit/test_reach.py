"""Probabilities of other models, pages from Python, and wrong labels that any detector finds."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

from htsvm import audit_labels
from tests.audit.data import blobs


def probabilities(X, y):
    return cross_val_predict(LogisticRegression(max_iter=500), X, y, method="predict_proba")


def test_probabilities_of_any_model_without_samples():
    X, y, true, wrong = blobs(400, rate=0.2, spread=2.0)
    shares = probabilities(X, y)
    audit = audit_labels(y=y, pred_probs=shares)
    rows = np.arange(400)
    others = shares.copy()
    others[rows, y] = 0.0
    margin = shares[rows, y] - others.max(axis=1)  # What cleanlab calls the normalized margin.
    assert roc_auc_score(wrong, -audit.trust) == pytest.approx(roc_auc_score(wrong, -margin))
    after = audit.update(audit.rows_to_review(), true[audit.rows_to_review()])
    assert after.share_wrong.low <= wrong.mean() <= after.share_wrong.high
    assert not audit.outlier.any()
    with pytest.raises(ValueError, match="holds no samples"):
        audit.neighbours([0])
    with_samples = audit_labels(X, y, pred_probs=shares)
    np.testing.assert_allclose(with_samples.trust, audit.trust)
    assert len(with_samples.neighbours([0])[0]["given"]) == 3


@pytest.mark.parametrize(
    ("shares", "words"),
    [(np.ones((30, 2)), "60 x 2"), (-np.ones((60, 2)), "not negative"),
     (np.full((60, 2), np.nan), "finite")],
)  # fmt: skip
def test_odd_probabilities(shares, words):
    with pytest.raises(ValueError, match=words):
        audit_labels(y=np.arange(60) % 2, pred_probs=shares)
    with pytest.raises(ValueError, match="labels y, and samples X or"):
        audit_labels(y=np.arange(60) % 2)


def test_a_page_from_python(tmp_path):
    X, y, _, _ = blobs(120)
    frame = pd.DataFrame(X, columns=["width", "height", "age", "label"])
    audit = audit_labels(X, y, quality="fast")
    for table in (None, frame):
        page = audit.to_html(tmp_path / "p.html", table).read_text()
        assert page.startswith("<!doctype html>")
    assert '"width"' in page
    assert "at most" in page
    with pytest.raises(ValueError, match="119 rows"):
        audit.to_html(tmp_path / "p.html", frame.iloc[1:])
    sparse = audit_labels(sp.csr_matrix(X), y)
    with pytest.raises(ValueError, match="needs frame="):
        sparse.to_html(tmp_path / "q.html")


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("quality", ["best", "fast"])
def test_detectors_find_wrong_labels_among_blobs(classes, quality):
    """As the tests of mislabeled ask of a detector: wrong labels of blobs are less trusted."""
    rng = np.random.default_rng(1)
    X, y = make_blobs(n_samples=1000, centers=classes, random_state=1)
    moved = rng.choice(1000, 50, replace=False)
    noisy = y.copy()
    noisy[moved] = (y[moved] + rng.integers(1, classes, 50)) % classes
    trust = audit_labels(X, noisy, quality=quality).trust
    wrong = noisy != y
    assert roc_auc_score(wrong, -trust) > 0.95
    assert np.mean(wrong[np.argsort(trust)[:50]]) > 0.8


def test_orders_of_the_best_audit_need_no_scaling():
    X, y, _, wrong = blobs(300, spread=2.0)
    one = audit_labels(X, y)
    other = audit_labels(X * 1000.0 + 5.0, y)
    assert abs(roc_auc_score(wrong, -one.trust) - roc_auc_score(wrong, -other.trust)) < 0.02
