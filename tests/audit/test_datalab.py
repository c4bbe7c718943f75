"""Our scores in a Datalab."""

import numpy as np
import pytest

from htsvm.audit import audit_labels
from tests.audit.data import blobs

pytest.importorskip(
    "cleanlab.datalab.datalab", reason="Datalab is not installed", exc_type=ImportError
)


def test_issue_manager():
    from cleanlab import Datalab

    import htsvm.audit.datalab  # noqa: F401

    X, y, _, wrong = blobs(150)
    lab = Datalab({"X": X, "y": y}, label_name="y", verbosity=0)
    lab.find_issues(issue_types={"htsvm_label": {"features": X, "threshold": 0.4}})
    found = lab.get_issues("htsvm_label")
    audit = audit_labels(X, y)
    np.testing.assert_allclose(found["htsvm_label_score"], audit.trust)
    np.testing.assert_array_equal(found["is_htsvm_label_issue"], audit.is_issue(0.4))
    assert found["is_htsvm_label_issue"][wrong].mean() > 0.9
    assert lab.get_info("htsvm_label")["share_wrong"] == pytest.approx(audit.share_wrong)
