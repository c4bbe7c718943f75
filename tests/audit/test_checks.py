"""Duplicates, outliers and odd columns."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import average_precision_score

from htsvm.audit import audit_labels
from htsvm.audit.checks import column_findings, copies_of, duplicates, learnable, outliers
from htsvm.audit.scoring import folds_of
from tests.audit.data import blobs


def test_duplicates_with_different_labels_only():
    X = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, -0.0], [-0.0, 0.0], [1.0, 2.0], [3.0, 3.0]])
    codes = np.array([0, 1, 1, 1, 0, 0])
    expected = [0, 0, -1, -1, 0, -1]
    assert duplicates(X, codes).tolist() == expected
    assert duplicates(sp.csr_matrix(X), codes).tolist() == expected
    assert duplicates({"a": X[:, :1], "b": X[:, 1:]}, codes).tolist() == expected


def test_swapped_columns_are_no_duplicates():
    X = np.array([[1.0, 2.0], [2.0, 1.0]])
    assert duplicates(X, np.array([0, 1])).tolist() == [-1, -1]


def test_outlier():
    X, y, _, _ = blobs(200)
    X[7] = 80.0
    audit = audit_labels(X, y)
    assert audit.outlier[7]
    assert audit.outlier.sum() <= 4
    assert not outliers(None, 3).any()


def test_columns():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(50), np.full(50, 3.0), rng.normal(size=50), rng.permutation(50)])
    X[4, 2] = np.nan
    found = {(f.kind, f.where) for f in column_findings(X, ["number", "flat", "x", "shuffled"])}
    assert found == {
        ("identifier", "number"), ("constant", "flat"), ("missing", "x"), ("identifier", "shuffled")
    }  # fmt: skip


def test_rare_class_is_named():
    X, y, _, _ = blobs(300, rate=0.0)
    y = np.where(np.arange(300) % 2, 0, y)
    y[:3], y[3:] = 9, np.where(y[3:] == 9, 0, y[3:])
    audit = audit_labels(X, y)
    assert [f.where for f in audit.findings if f.kind == "rare class"] == ["9"]


def test_many_columns_of_a_kind_are_counted():
    X = np.column_stack([np.zeros((30, 7)), np.tile([0.0, 1.0], 15)])
    X[3, 7] = np.nan
    found = column_findings(X, [f"c{j}" for j in range(8)])
    assert [f.kind for f in found] == ["missing", "constant"]
    assert found[1].text.startswith("7 columns have the same value in every row: 'c0', 'c1', 'c2'")


def wdbc(rate=0.1, seed=0):
    X, y = load_breast_cancer(return_X_y=True)
    wrong = np.random.default_rng(seed).random(len(y)) < rate
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(wrong, 1 - y, y), wrong


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_copies_of_rows_do_not_vouch_for_each_other(noise):
    X, y, wrong = wdbc()
    alone = average_precision_score(wrong, -audit_labels(X, y, quality="fast").trust)
    X, y, wrong = np.vstack([X, X]), np.tile(y, 2), np.tile(wrong, 2)
    X = X + noise * np.random.default_rng(1).normal(size=X.shape)
    audit = audit_labels(X, y, quality="fast")
    assert audit.findings[0].kind == "copies"
    found = average_precision_score(wrong, -audit.trust)
    told = audit_labels(X, y, quality="fast", groups=np.tile(np.arange(569), 2))
    blind = audit_labels(X, y, quality="fast", groups=np.arange(2 * 569))
    assert found > alone - 0.04
    assert average_precision_score(wrong, -told.trust) > alone - 0.04
    assert average_precision_score(wrong, -blind.trust) < alone - 0.1


def test_equal_rows_of_few_values_are_no_copies():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (800, 5)).astype(float)
    assert copies_of(X, None, 0)[0] is None
    assert copies_of(rng.normal(size=(800, 5)), None, 0)[0] is None
    text = sp.random(400, 3000, density=0.01, format="csr", random_state=0)
    assert copies_of(text, None, 0)[0] is None
    groups, findings = copies_of(sp.vstack([text, text[:40]]).tocsr(), None, 0)
    assert np.array_equal(groups[400:], groups[:40])
    assert "80 rows" in findings[0].text


def test_many_copies_of_one_row_are_copies():
    X = np.random.default_rng(0).normal(size=(300, 5))
    groups, _ = copies_of(np.vstack([X, np.repeat(X[:1], 100, axis=0)]), None, 0)
    assert set(groups[300:]) == {groups[0]}
    assert len(set(groups[:300])) == 300


def test_groups_of_a_user_stay_together():
    folds = folds_of(np.arange(300) % 3, 5, np.arange(300) // 7, 0)
    assert all(len(set(folds[np.arange(300) // 7 == g])) == 1 for g in range(43))
    even = folds_of(np.repeat([0, 1], [250, 50]), 5, None, 0)
    assert np.bincount(even[250:]).tolist() == [10] * 5


@pytest.mark.parametrize("written", [lambda y: y, lambda y: y + 1, lambda y: 2 * y - 1])
def test_a_copy_of_the_labels_is_left_out(written):
    X, y, _ = wdbc()
    expected = audit_labels(X, y, quality="fast")
    audit = audit_labels(np.column_stack([X, written(y)]), y, quality="fast")
    assert audit.findings[0].kind == "label"
    np.testing.assert_allclose(audit.trust, expected.trust)


def test_a_column_that_tells_the_labels_is_named():
    X, y, _, _ = blobs(120)
    frame = pd.DataFrame(X).assign(
        price=np.array([10.5, 20.5, 99.0])[y], copy=np.array(list("abc"))[y]
    )
    audit = audit_labels(frame, np.array(list("abc"))[y], quality="fast")
    told = [f for f in audit.findings if f.kind == "label"]
    assert [f.where for f in told] == ["price", "copy"]
    assert "left out" in told[1].text
    assert "leave it out" in told[0].text


@pytest.mark.parametrize("classes", [2, 5])
def test_random_labels_name_nobody(classes):
    rng = np.random.default_rng(classes)
    named = []
    for _ in range(15):
        X, y = rng.normal(size=(200, 4)), rng.integers(0, classes, 200)
        audit = audit_labels(X, y, quality="fast")
        named.append(audit.is_issue().sum())
        if not audit.learnable:
            assert audit.findings[0].kind == "nothing"
    assert sum(n > 0 for n in named) <= 2


def test_learnable_is_a_permutation_test():
    """Against permutations one by one: more than two deviations above chance, or not."""
    rng = np.random.default_rng(0)
    codes, rows, seen = rng.integers(0, 3, 60), np.arange(60), set()
    for strength in np.linspace(0.0, 1.2, 25):
        scores = rng.normal(size=(60, 3)) + strength * np.eye(3)[codes]
        sums = [scores[rows, rng.permutation(codes)].sum() for _ in range(3000)]
        above = (scores[rows, codes].sum() - np.mean(sums)) / np.std(sums)
        if abs(above - 2.0) > 0.15:
            assert learnable(scores, codes, np.ones(60)) == (above > 2.0)
            seen.add(bool(above > 2.0))
    assert seen == {True, False}
    assert not learnable(np.zeros((60, 3)), codes, np.ones(60))


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array, sp.coo_array, sp.dok_matrix])
def test_sparse_matrices_and_arrays(kind):
    X, y, _, _ = blobs(120)
    expected = audit_labels(sp.csr_matrix(X), y, quality="fast").trust
    np.testing.assert_allclose(audit_labels(kind(X), y, quality="fast").trust, expected)
    named = audit_labels(kind(np.hstack([X, np.eye(3)[y]])), y, quality="fast")
    assert named.findings[0].kind == "label"
