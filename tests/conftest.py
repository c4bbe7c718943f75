"""Fixtures that several test files share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of the larger data sets, or skip the test where there is none."""
    named = os.environ.get("HTSVM_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        reason = f"HTSVM_DATA={named} is not a folder" if named else "HTSVM_DATA is not set"
        pytest.skip(f"needs data sets on disk: {reason}")
    return folder
