"""Data sets and second views of the paper say where they are."""

from __future__ import annotations

import importlib

import pytest

import htsvm.datasets
import htsvm.multiview

MOVED = [("htsvm.datasets", name) for name in htsvm.datasets.MOVED]
MOVED += [("htsvm.multiview", name) for name in ("PrincipalViews", "make_views")]


@pytest.mark.parametrize(("package", "name"), MOVED)
def test_a_moved_name_says_where_it_is_and_is_there(package, name):
    with pytest.raises(ImportError, match=rf"^{name} moved to htsvm_paper\.datasets: pip install"):
        exec(f"from {package} import {name}")
    assert hasattr(importlib.import_module("htsvm_paper.datasets"), name)


def test_what_has_another_name_says_so():
    with pytest.raises(ImportError, match=r"Entry moved to htsvm_paper\.datasets\.Description"):
        exec("from htsvm.datasets import Entry")
    assert htsvm.multiview.MultiViewHTSVCCV.__name__ == "MultiViewHTSVCCV"
