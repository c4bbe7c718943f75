"""Fixtures of the paper's tests; those of the library's serve as well."""

from __future__ import annotations

import pytest
from tests.conftest import data_dir, no_network

__all__ = ["data_dir", "no_network"]


@pytest.fixture
def only_named_folders(monkeypatch, tmp_path) -> None:
    """Look for data in $HTSVM_DATA and an empty cache alone, not in the checkout."""
    monkeypatch.setattr("htsvm_paper.datasets.files.checkout_folder", lambda: None)
    monkeypatch.setattr("htsvm_paper.datasets.files._unreachable", {})
    monkeypatch.setenv("HTSVM_CACHE", str(tmp_path / "cache"))
