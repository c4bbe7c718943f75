"""What can be done with an audit."""

import json

import numpy as np
import pytest

from htsvm.audit import LabelAudit, audit_labels
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
    blank = audit.corrected_labels("blank")
    assert all(value is None for value in blank[issue])
    assert np.array_equal(blank[~issue], given[~issue])
    with pytest.raises(ValueError, match="policy must"):
        audit.corrected_labels("guess")


def test_save_and_load(audit, tmp_path):
    path = audit.save(tmp_path / "audit")
    again = LabelAudit.load(path)
    assert again.to_frame().equals(audit.to_frame())
    assert again.findings == audit.findings
    assert again.share_wrong == audit.share_wrong
    np.testing.assert_array_equal(again.noise_matrix, audit.noise_matrix)
    rows = audit.rows_to_review()
    assert np.array_equal(again.rows_to_review(), rows)
    one, other = (part.update(rows, part.classes[part.best[rows]]) for part in (audit, again))
    np.testing.assert_allclose(one.trust, other.trust)
    with pytest.raises(FileExistsError, match="new folder"):
        audit.save(path)


def test_load_refuses_other_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match="not a saved audit"):
        LabelAudit.load(tmp_path)
    (tmp_path / "audit.json").write_text(json.dumps({"format": "other"}))
    with pytest.raises(ValueError, match="another version"):
        LabelAudit.load(tmp_path)


def test_a_failed_save_leaves_nothing(audit, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr("htsvm.audit.store.json.dumps", fail)
    with pytest.raises(OSError, match="disk full"):
        audit.save(tmp_path / "audit")
    assert list(tmp_path.iterdir()) == []


def test_plots(audit):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    left, right = audit.plot()
    assert "of the labels are wrong" in left.get_title()
    assert len(right.texts) == 9
    matplotlib.pyplot.close("all")


def test_repr_and_estimate(audit):
    assert "at most" in repr(audit)
    assert "at most" in str(audit.share_wrong)
    assert "<table" in audit._repr_html_()
