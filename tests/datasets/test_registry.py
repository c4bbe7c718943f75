from __future__ import annotations

import csv

import numpy as np
import pytest
import scipy.sparse as sp

from htsvm.datasets import describe, load, names

SINGLE = names("single-view")
# Text files of many rows take seconds to read; one of them is enough for the quick tests.
SLOW = [n for n in names() if describe(n).rows + describe(n).test_rows > 30_000 and n != "a1a"]
SLOW += ["reuters", "reuters-1200"]


@pytest.fixture(autouse=True)
def _data(data_dir, monkeypatch):
    monkeypatch.setenv("HTSVM_DATA", str(data_dir))


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in names()]
)
def test_every_set_loads_with_its_size_and_balance(name):
    data = load(name)  # checks itself: sizes and class balance of the registry
    entry = describe(name)
    assert sum(entry.balance.values()) == entry.rows == len(data.y)
    assert set(data.class_names) == set(np.unique(data.y))
    if data.view_widths:
        assert sum(data.view_widths) == data.X.shape[1]
    if sp.issparse(data.X):
        assert data.X.indices.dtype == data.X.indptr.dtype == np.int32
    for other in data.other_labels.values():
        assert other.shape == data.y.shape


def test_there_are_the_papers_sets(data_dir):
    table = data_dir.parent / "paper" / "tables" / "sv-datasets.csv"
    if not table.is_file():
        pytest.skip("needs the paper's tables")
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


def test_mushroom_in_numeric_codes_is_not_separable(data_dir):
    from sklearn.svm import LinearSVC

    rows = np.loadtxt(data_dir / "uci" / "agaricus-lepiota.data", delimiter=",", dtype=str)
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
    data = load("cifar10n")
    rates = {name: (labels != data.y).mean() for name, labels in data.other_labels.items()}
    assert rates["worse"] == pytest.approx(0.40, abs=0.01)
    assert rates["aggre"] == pytest.approx(0.09, abs=0.01)


def test_pair_of_classes():
    data = load("stl10")
    pair = data.pair("airplane", "bird")
    assert pair.X.shape == (402 + 387, 1844)
    assert (pair.y == 1).sum() == 402
    assert pair.view_widths == (900, 944)
    np.testing.assert_array_equal(data.pair(1, 2).y, pair.y)
    with pytest.raises(ValueError, match=r"stl10 has no class 'frog'; it has 1 \(airplane\)"):
        data.pair("frog", "bird")
    with pytest.raises(ValueError, match="same class"):
        data.pair("bird", "bird")
    cifar = load("cifar10n").pair("cat", "dog")
    assert len(cifar.X_test) == 389 + 388 == len(cifar.y_test)
