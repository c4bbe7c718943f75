"""The folder data/ of the repository."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from htsvm_paper.datasets.files import checkout_folder, checksums

BOX = Path(__file__).parents[3] / "data"
ROW = re.compile(r"^\| (\w+/\S+) \| (.+) \| (.+) \| (.+) \| `([0-9a-f]{64})` \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def rows():
    return ROW.findall((BOX / "README.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def files():
    return [path for path in BOX.glob("*/*") if path.suffix != ".pyc"]


def test_it_is_the_folder_that_load_looks_into():
    assert checkout_folder() == BOX


def test_it_is_small(files):
    assert sum(path.stat().st_size for path in files) < 10_000_000


def test_the_table_names_every_file_with_source_licence_changes_and_checksum(rows, files):
    assert sorted(row[0] for row in rows) == sorted(str(p.relative_to(BOX)) for p in files)
    for name, source, licence, changes, sha256 in rows:
        assert len(source) > 3
        assert len(changes) > 3
        assert licence.startswith(("CC BY 4.0", "none stated", "features: none stated"))
        assert hashlib.sha256((BOX / name).read_bytes()).hexdigest() == sha256
        assert checksums()[name] == sha256
