"""CONTRIBUTING names files and commands that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
# Where a path in the text may begin.
BASES = (
    "", "src/htsvm", "src/htsvm/linalg", "src/htsvm/optimality", "src/htsvm/distributed",
    "src/htsvm/multiview", "src/htsvm/datasets", "src/htsvm/problems", "src/htsvm/solvers",
    "paper/src/htsvm_paper/datasets", "paper/src/htsvm_paper/experiments", "tests",
    "tests/optimality",
)  # fmt: skip
NAMED = sorted(set(re.findall(r"`([\w./*-]+(?:/|\.(?:py|pyx|txt|md|rst)))`", TEXT)))


@pytest.mark.parametrize("name", NAMED)
def test_files_that_are_named_exist(name):
    assert any(list((ROOT / base).glob(name)) for base in BASES), name


def test_paths_were_found():
    assert len(NAMED) > 30


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\bmake ([a-z][a-z-]+)", TEXT))))
def test_targets_exist(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
