"""What can be done with an audit."""

import joblib
import numpy as np
import pytest

from htsvm.audit import audit_labels
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


def test_joblib_keeps_an_audit(audit, tmp_path):
    joblib.dump(audit, tmp_path / "audit.joblib")
    again = joblib.load(tmp_path / "audit.joblib")
    assert again.to_frame().equals(audit.to_frame())
    assert again.findings == audit.findings
    rows = audit.rows_to_review()
    assert np.array_equal(again.rows_to_review(), rows)
    one, other = (part.update(rows, part.classes[part.best[rows]]) for part in (audit, again))
    np.testing.assert_allclose(one.trust, other.trust)


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
