"""The sets and tables of the multi-view benchmark."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.multiview_sets import IMAGE_SETS, UCI_SETS, ViewSet
from benchmarks.plan import Plan
from benchmarks.sets import MissingData

from benchmarks import multiview, multiview_accuracy

# Samples, columns, and samples of the positive class, as in the paper's tables.
KNOWN = {
    "Balance": (576, 4, 288), "Bankruptcy": (250, 6, 107), "BUPA": (345, 6, 145),
    "German": (1000, 24, 700), "Haberman": (306, 3, 225), "Heart": (270, 13, 150),
    "Hepatitis": (155, 19, 32), "Iris": (150, 4, 50), "Vote": (435, 16, 168),
    "Wine": (130, 13, 59),
}  # fmt: skip


@pytest.mark.parametrize("source", UCI_SETS, ids=lambda source: source.name)
def test_the_sets_of_the_paper(source):
    X, y = source.load()
    assert (*X.shape, int((y == 1).sum())) == KNOWN[source.name]
    assert np.isnan(X).any() == (source.name == "Hepatitis")


def test_two_classes_of_images():
    (hog, lbp), y = IMAGE_SETS[0].load()
    assert hog.shape == (789, 900)
    assert lbp.shape == (789, 944)
    assert int((y == 1).sum()) == 402


def test_sets_that_cannot_be_had_are_told_apart(tmp_path, monkeypatch, only_named_folders):
    monkeypatch.setenv("HTSVM_DATA", str(tmp_path))
    with pytest.raises(MissingData, match="not published for download"):
        IMAGE_SETS[0].load()


def test_a_quick_run_from_measurement_to_tables(monkeypatch):
    y = np.tile([1, -1], 30)
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.column_stack([y == 1, y == 0])
    toy = (ViewSet("Iris", lambda: (X, y)),)
    monkeypatch.setattr(multiview, "UCI_SETS", toy)
    monkeypatch.setattr(multiview, "IMAGE_SETS", ())
    monkeypatch.setattr(multiview_accuracy, "UCI_SETS", toy)
    plan = Plan([], repeats=1, quick=True)
    rows = multiview.run(plan)
    assert rows[0]["ratio"] == rows[0]["multiview_seconds"] / rows[0]["htsvc_seconds"]
    assert "| Iris | 60 | 2 + 2 |" in multiview.tables(rows)
    assert [bar.met for bar in multiview.bars(rows)[1:3]] == [None, None]
    rows = multiview_accuracy.run(plan)
    assert "| Iris | 60 | 2 + 2 |" in multiview_accuracy.tables(rows)
    assert 0.4 < rows[0]["C = 1"] <= 1.0
