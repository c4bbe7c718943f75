"""Duplicates, outliers and odd columns."""

import numpy as np
import scipy.sparse as sp

from htsvm.audit import audit_labels
from htsvm.audit.checks import column_findings, duplicates, outliers
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
