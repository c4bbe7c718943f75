"""The benchmark of the audit: its noise, its pairs and its verdicts."""

import numpy as np
import pytest
from benchmarks.audit import PAGE, bars, draw, tables
from benchmarks.audit_data import KINDS, wrong_labels
from benchmarks.audit_methods import BOOSTED, LOGISTIC, OURS


@pytest.mark.parametrize("kind", KINDS, ids=[kind[0] for kind in KINDS])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_shares_of_wrong_labels(kind, n_classes):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, 400)
    X = rng.normal(size=(400, 3)) + y[:, None]
    wrong = wrong_labels(X, y, kind[1], kind[2], seed=0) != y
    base = y == np.bincount(y).argmax() if kind[2] == "shifted" and n_classes == 2 else y >= 0
    assert wrong.sum() == round(kind[1] * base.sum())
    assert not wrong[~base].any()


SHARED = {
    "set": "german, 20 % at random",
    "samples": 100,
    "wrong": 0.2,
    "roc": 0.9,
    "precision": 0.8,
    "estimate": 0.2,
    "left": 0.7,
    "accuracy": 0.8,
    "seconds": 1.0,
}


def row(method, **values):
    return {**SHARED, "method": method, **values}


def one_draw(ours, logistic, boosted, estimate, **more):
    """Return the rows of one draw with these areas."""
    rival = row(LOGISTIC, roc=logistic, estimate=estimate, seconds=4.0, **more)
    return [row(OURS, roc=ours, **more), rival, row(BOOSTED, roc=boosted, **more)]


def test_means_over_draws_are_compared():
    rows = one_draw(0.95, 0.9, 0.97, 0.3) + one_draw(0.85, 0.8, 0.82, 0.1)
    rows.append({"set": PAGE, "method": PAGE, "frames": 60.0})
    assert all(bar.met for bar in bars(rows))
    assert "0.9000 against 0.8950 (1 settings)" in bars(rows)[0].figure
    # Errors of the share do not cancel: cleanlab's are 0.1 and 0.1.
    assert "0.0000 against 0.0500" in bars(rows)[4].figure
    assert "german" in tables(rows)


def test_a_single_setting_behind_is_seen():
    other = {"set": "vote, 20 % at random"}
    rows = one_draw(0.99, 0.8, 0.8, 0.3) + one_draw(0.9, 0.906, 0.8, 0.3, **other)
    found = [bar for bar in bars(rows) if bar.promise.startswith("ROC area")]
    assert [bar.met for bar in found] == [True, False]
    assert "1 of 2 behind" in found[1].figure


def test_slow_or_wrong_is_not_met():
    rows = [row(OURS, seconds=3.0, estimate=0.4), row(LOGISTIC, seconds=4.0, estimate=0.3)]
    unmet = [bar.promise.split(":")[0] for bar in bars(rows) if bar.met is False]
    assert unmet == ["share of wrong labels", "time"]


def test_reliability_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    draw([row(OURS, said="0.1 0.9", seen="0.2 0.95")], tmp_path / "r.png")
    assert (tmp_path / "r.png").stat().st_size > 1000
