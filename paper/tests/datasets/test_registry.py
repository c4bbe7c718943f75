from __future__ import annotations

import csv
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from htsvm_paper.datasets import describe, load, names

ROOT = Path(__file__).parents[3]
SINGLE = names("single-view")
# What is not in the repository: too large, or not ours to pass on (data/README.md).
ELSEWHERE = [
    "ijcnn1", "reuters", "skin", "susy", "stl10", "cifar10n",
    "3sources", "bbcsport", "100leaves", "reuters-1200", "wikipedia",
]  # fmt: skip
# Text files of many rows take a second to read; one of them is enough for the quick tests.
LONG = [n for n in names() if describe(n).rows + describe(n).test_rows > 30_000 and n != "a1a"]


def marked(names, slow):
    return [pytest.param(n, marks=pytest.mark.slow if n in slow else ()) for n in names]


@pytest.mark.parametrize("name", marked([n for n in names() if n not in ELSEWHERE], LONG))
def test_every_set_of_the_checkout_loads(name, monkeypatch, only_checkout):
    data = load(name)
    assert "(the checkout)" in data.source
    assert str(ROOT / "data") in data.source
    check(name, data)


@pytest.mark.slow
@pytest.mark.parametrize("name", ELSEWHERE)
def test_every_other_set_loads(name, data_dir, monkeypatch):
    monkeypatch.setenv("HTSVM_DATA", str(data_dir))
    data = load(name)
    assert "(HTSVM_DATA)" in data.source
    check(name, data)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["handwritten", "iris", "stl10:airplane:bird"])
def test_packed_files_hold_the_same_values(name, data_dir, monkeypatch):
    packed = load(name)
    monkeypatch.setenv("HTSVM_DATA", str(data_dir))
    monkeypatch.setattr("htsvm_paper.datasets.files.checkout_folder", lambda: None)
    monkeypatch.setattr("htsvm_paper.datasets.catalogue.SMALL_PAIRS", {})
    original = load(name)
    assert original.source != packed.source
    np.testing.assert_array_equal(packed.X, original.X)
    np.testing.assert_array_equal(packed.y, original.y)
    assert packed.view_widths == original.view_widths


@pytest.fixture
def only_checkout(monkeypatch, tmp_path):
    """Whatever else is on this machine is not to be used."""
    monkeypatch.delenv("HTSVM_DATA", raising=False)
    monkeypatch.setenv("HTSVM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HTSVM_OFFLINE", "1")


def check(name, data):
    entry = describe(name)
    assert sum(entry.balance.values()) == entry.rows == len(data.y)
    assert set(data.class_names) == set(np.unique(data.y))
    if data.view_widths:
        assert sum(data.view_widths) == data.X.shape[1]
    if sp.issparse(data.X):
        assert data.X.indices.dtype == data.X.indptr.dtype == np.int32
    for other in data.other_labels.values():
        assert other.shape == data.y.shape


def test_there_are_the_papers_sets():
    table = resources.files("htsvm_paper.experiments") / "paper" / "sv-datasets.csv"
    with table.open() as file:
        for row in csv.DictReader(file):
            entry = describe(row["Datasets"])
            assert entry.kind == "single-view"
            assert entry.rows == int(row["m"])
            assert entry.test_rows == (0 if row["m_t"] == "--" else int(row["m_t"]))
            # Mushroom is one-hot here; see its description.
            assert entry.features == int(row["n"]) or entry.name == "mushroom"
    assert len(SINGLE) == 15
    assert len(names("two-view")) == 10


def test_mushroom_is_separable_one_hot():
    from sklearn.svm import LinearSVC

    data = load("mushroom")
    np.testing.assert_array_equal(data.X.sum(axis=1), 22)
    assert LinearSVC(C=10).fit(data.X, data.y).score(data.X, data.y) == 1.0


def test_mushroom_in_numeric_codes_is_not_separable():
    from sklearn.svm import LinearSVC

    path = ROOT / "data" / "uci" / "agaricus-lepiota.data.bz2"
    rows = np.loadtxt(path, delimiter=",", dtype=str)
    codes = np.column_stack([np.unique(c, return_inverse=True)[1] for c in rows[:, 1:].T])
    scaled = 2.0 * codes / np.maximum(codes.max(axis=0), 1) - 1.0
    accuracy = LinearSVC(C=16).fit(scaled, rows[:, 0]).score(scaled, rows[:, 0])
    assert 0.9 < accuracy < 0.97


def test_missing_values():
    assert np.isnan(load("hepatitis").X).sum() == 167
    vote = load("vote").X
    assert set(np.unique(vote)) == {-1.0, 0.0, 1.0}
    assert (vote == 0.0).sum() == 392


def test_cifar_labels_have_the_published_noise():
    data = load("cifar10n-small")
    rates = {name: (labels != data.y).mean() for name, labels in data.other_labels.items()}
    assert rates["worse"] == pytest.approx(0.40, abs=0.03)
    assert rates["aggre"] == pytest.approx(0.09, abs=0.02)


def test_pair_of_classes():
    data = load("stl10-pair")
    pair = data.pair("airplane", "bird")
    assert pair.X.shape == (402 + 387, 1844)
    assert (pair.y == 1).sum() == 402
    assert pair.view_widths == (900, 944)
    np.testing.assert_array_equal(data.pair(1, 2).y, pair.y)
    with pytest.raises(ValueError, match=r"stl10-pair has no class 'frog'; it has 1 \(airplane\)"):
        data.pair("frog", "bird")
    with pytest.raises(ValueError, match="same class"):
        data.pair("bird", "bird")
    cifar = load("cifar10n-small:cat:dog")
    assert len(cifar.X_test) == len(cifar.y_test) > 100
    assert set(cifar.y_test) == {1, -1}
    assert load("stl10:airplane:bird").X.shape == pair.X.shape
    with pytest.raises(ValueError, match="should name two classes"):
        load("iris:1")
