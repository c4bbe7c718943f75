"""The count of lines tells new features apart."""

from fnmatch import fnmatch

import pytest
from benchmarks.lines import FEATURES, feature_of, folder_of, lines_now, table


@pytest.mark.parametrize("pattern", [one for many in FEATURES.values() for one in many])
def test_every_pattern_names_files(pattern):
    assert any(fnmatch(path, pattern) for path in lines_now())


def test_table():
    before = {"svm/base.py": 10, "demo/data.py": 5, "cli.py": 1}
    now = {"svm/base.py": 8, "experiments/demo/data.py": 4, "cli.py": 2, "audit/page.py": 7}
    text = table(before, now)
    assert "| `svm` | 10 | 8 | 0 |" in text
    assert "| `experiments` | 5 | 4 | 0 |" in text
    assert "| `audit` | 0 | 0 | 7 |" in text
    assert "| all | 16 | 14 | 7 |" in text
    assert feature_of("audit/page.py") == "audit of labels"
    assert folder_of("cli.py") == "(files)"
