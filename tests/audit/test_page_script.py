"""The script of the page without a browser: it asks for fifty rows, and is calibrated by them."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import htsvm.audit
from htsvm.audit import audit_labels
from tests.audit.data import blobs


def test_the_page_asks_for_fifty_rows_and_learns_from_them(tmp_path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node to run the script of the page")
    X, y, true, _ = blobs(400, rate=0.2, spread=2.0)
    audit = audit_labels(X, y, quality="fast")
    page = audit.to_html(tmp_path / "p.html", pd.DataFrame(X, columns=list("abcd")))
    (tmp_path / "true.json").write_text(json.dumps(true.tolist()))
    stub = Path(__file__).with_name("page_stub.js")
    words = [node, stub, page, tmp_path / "true.json", Path(htsvm.audit.__file__).parent]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["before"].startswith("Review 50 more of the rows that come first")
    assert found["asked"] == found["first"]
    rows = np.array(found["rows"])[found["asked"]]
    assert np.array_equal(rows, audit.rows_to_review())
    after = audit.update(rows, true[rows])
    assert "as 50 reviewed rows show" in found["after"]
    expected = after.calibration.trust(after.evidence)[found["rows"]]
    np.testing.assert_allclose(found["trust"], expected, atol=2e-3)
    left = np.setdiff1d(found["rows"], rows)
    assert found["next"] == left[np.argmin(after.trust[left])]
    assert found["lines"] == 52  # The header, fifty rows, and the end.
