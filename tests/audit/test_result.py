"""What can be done with an audit."""

import json

import numpy as np
import pytest

from htsvm.audit import LabelAudit, audit_labels, result
from htsvm.audit.plot import plot_reliability
from tests.audit.data import blobs


@pytest.fixture(scope="module")
def audit():
    X, y, _, _ = blobs()
    return audit_labels(X, np.array(["a", "b", "c"])[y])


def test_issues_are_sorted_and_below_the_threshold(audit):
    frame = audit.issues(0.3)
    assert frame["label_score"].is_monotonic_increasing
    assert (frame["label_score"] < 0.3).all()
    assert (frame["given_label"] != frame["predicted_label"]).all()
    assert len(audit.issues(0.0)) == 0
    with pytest.raises(ValueError, match="threshold must"):
        audit.issues(2.0)


def test_corrected_labels(audit):
    issue = audit.is_issue()
    given = audit.classes[audit.codes]
    marked = audit.corrected_labels()
    assert np.array_equal(np.asarray(marked), given)
    assert np.array_equal(marked.mask, issue)
    replaced, blank = audit.corrected_labels("replace"), audit.corrected_labels("blank")
    assert np.array_equal(replaced[~issue], given[~issue])
    assert np.all(replaced[issue] != given[issue])
    assert all(value is None for value in blank[issue])
    assert np.array_equal(blank[~issue], given[~issue])
    with pytest.raises(ValueError, match="policy must"):
        audit.corrected_labels("guess")


def test_save_and_load(audit, tmp_path):
    path = audit.save(tmp_path / "audit")
    assert {file.suffix for file in path.iterdir()} == {".json", ".csv"}
    again = LabelAudit.load(path)
    assert again.to_frame().equals(audit.to_frame())
    assert again.findings == audit.findings
    assert again.share_wrong_interval == audit.share_wrong_interval
    np.testing.assert_array_equal(again.noise_intervals[0], audit.noise_intervals[0])
    with pytest.raises(FileExistsError, match="new folder"):
        audit.save(path)


def test_load_refuses_other_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match="not a saved audit"):
        LabelAudit.load(tmp_path)
    (tmp_path / "audit.json").write_text(json.dumps({"format": "other"}))
    with pytest.raises(ValueError, match="format 'other'"):
        LabelAudit.load(tmp_path)


def test_a_failed_save_leaves_nothing(audit, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("htsvm.audit.store._write_matrix", fail)
    with pytest.raises(OSError, match="disk full"):
        audit.save(tmp_path / "audit")
    assert list(tmp_path.iterdir()) == []


def test_plots(audit):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    left, right = audit.plot()
    assert "labels are wrong" in left.get_title()
    assert len(right.texts) == 9
    ax = plot_reliability(audit.trust, audit.trust > 0.5)
    assert len(ax.lines) == 2
    matplotlib.pyplot.close("all")


def test_repr_and_estimate(audit):
    assert "wrong labels" in repr(audit)
    assert " to " in str(audit.share_wrong_interval)


def test_intervals_of_many_classes_take_fewer_draws(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(250), 2)
    asked = []
    monkeypatch.setattr(
        result, "bootstrap_rates",
        lambda scores, codes, model, options, draws, seed: asked.append(draws) or model.rates[None],
    )  # fmt: skip
    # Intervals are computed when they are looked at, which is all that is done with them here.
    audit_labels(y[:, None] + rng.normal(size=(500, 3)), y).noise_intervals  # noqa: B018
    audit_labels(rng.normal(size=(60, 3)), np.arange(60) % 3).noise_intervals  # noqa: B018
    assert asked == [16, 40]
