"""The benchmarks of wrong labels, and of several classes, on small data."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.multiclass_data import NOISES, Noisy, digits
from benchmarks.plan import Plan
from benchmarks.report import csv_text, read_csv
from sklearn.metrics import auc, roc_auc_score

from benchmarks import label_issues, multiclass_speed
from htsvm import HTSVC


@pytest.fixture
def some_digits(monkeypatch):
    """Leave a few hundred digits, and a few parameters to choose from."""
    full = digits(*NOISES[1])
    rows = slice(0, 300)
    some = Noisy(
        full.name, full.noise, full.X[rows], full.y[rows], full.y_true[rows], full.X_test,
        full.y_test,
    )  # fmt: skip
    monkeypatch.setattr(label_issues, "digits", lambda *noise: some)
    monkeypatch.setattr(label_issues, "CAPS", (np.inf, 1.0))
    return some


def test_wrong_labels_from_scores_to_tables_and_curves(some_digits, tmp_path):
    rows = label_issues.run(Plan([], quick=True))
    by_method = {row["method"]: row for row in rows}
    ours = by_method[label_issues.JOINT]
    wrong = some_digits.y != some_digits.y_true
    model = HTSVC().fit(some_digits.X, some_digits.y)
    score = model.margin_violation(some_digits.X, some_digits.y)
    assert ours["roc"] == pytest.approx(roc_auc_score(wrong, score))
    assert (ours["named"], ours["named_wrong"]) == (
        len(model.ignored_), wrong[model.ignored_].sum(),
    )  # fmt: skip
    # The stored curve has the area, but for its few places.
    curve = np.array(ours["roc_curve"].split(), dtype=float)
    assert auc(label_issues.PLACES, curve) == pytest.approx(ours["roc"], abs=0.02)
    chosen = by_method[label_issues.CHOSEN]
    assert 0.0 < chosen["choice_seconds"] < chosen["seconds"]
    path = tmp_path / "label-issues.csv"
    path.write_text(csv_text(rows))
    stored = read_csv(path)
    assert label_issues.tables(stored) == label_issues.tables(rows)
    for row in stored:
        row["set"] = label_issues.DRAWN[0]
    label_issues.draw(stored, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 10_000


def test_without_cleanlab_its_probabilities_are_compared(some_digits, monkeypatch):
    monkeypatch.setattr(label_issues, "find_spec", lambda name: None)
    rows = label_issues.run(Plan([], quick=True))
    assert [row["method"] for row in rows][-1] == label_issues.CONFIDENCE
    assert len(rows) == 4
    bars = label_issues.bars(rows)
    assert all(bar.met is not None for bar in bars)
    assert not any("cleanlab" in bar.promise for bar in bars)


def test_a_lost_comparison_is_lost():
    def row(method, roc, seconds):
        return {"set": "toy", "method": method, "roc": roc, "seconds": seconds}

    rows = [
        row(label_issues.JOINT, 0.8, 1.0), row(label_issues.CHOSEN, 0.95, 0.1),
        row(label_issues.CLEANLAB, 0.9, 2.0),
    ]  # fmt: skip
    assert [bar.met for bar in label_issues.bars(rows)] == [False, False, True, True]


def test_speed_of_several_classes_is_measured_beside_rivals():
    rows = multiclass_speed.run(Plan([], quick=True, repeats=1))
    assert [row["set"] for row in rows] == ["digits, clean"]
    assert rows[0]["over_LogisticRegression"] > 0.0
    assert rows[0]["certified"]
    bars = {bar.promise: bar for bar in multiclass_speed.bars(rows)}
    assert bars["certified"].met
    assert bars["many classes: time of a fit / crammer_singer <= 2"].met is None
    assert "| digits, clean |" in multiclass_speed.tables(rows)


def test_uneven_columns_are_uneven():
    X, y = multiclass_speed.uneven_columns()
    assert X.shape == (694, 324)
    assert len(np.unique(y)) == 27
    assert X.std(axis=0).max() > 1e4 * X.std(axis=0).min()
