"""Fixtures that several test files share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def only_named_folders(monkeypatch, tmp_path) -> None:
    """Look for data in $HTSVM_DATA and an empty cache alone, not in the checkout."""
    monkeypatch.setattr("htsvm.datasets._files.checkout_folder", lambda: None)
    monkeypatch.setattr("htsvm.datasets._files._unreachable", {})
    monkeypatch.setenv("HTSVM_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of the large data sets, or skip the (slow) test where there is none."""
    named = os.environ.get("HTSVM_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        reason = f"HTSVM_DATA={named} is not a folder" if named else "HTSVM_DATA is not set"
        pytest.skip(f"needs data sets on disk: {reason}")
    return folder
