"""The examples, the pages and the reference of the documentation, short of building it."""

from __future__ import annotations

import ast
import importlib
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
PAGES = sorted(
    page
    for page in (ROOT / "docs").rglob("*.md")
    if page.name != "report.md" and "auto_examples" not in page.parts
)
PUBLIC = [
    "htsvm", "htsvm.svm", "htsvm.multiview", "htsvm.baselines", "htsvm.optimality", "htsvm.audit",
    "htsvm.datasets", "htsvm.plotting", "htsvm.distributed", "htsvm.losses", "htsvm.solvers",
]  # fmt: skip


def test_there_are_twelve_examples_and_the_gallery_orders_them():
    assert len(EXAMPLES) >= 12
    order = (ROOT / "docs" / "gallery_order.py").read_text(encoding="utf-8")
    assert all(f'"{path.name}"' in order for path in EXAMPLES)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_explains_itself_and_draws(path):
    text = path.read_text(encoding="utf-8")
    title, underline, _, *rest = ast.get_docstring(ast.parse(text), clean=True).splitlines()
    assert set(underline) == {"="}
    assert len(underline) == len(title)
    assert len(" ".join(rest)) > 60
    assert "plt.show()" in text


def test_least_trusted_digits_are_wrong(monkeypatch, capsys):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    found = runpy.run_path(str(ROOT / "examples" / "plot_digits_wrong_labels.py"))
    assert np.isin(found["suspects"], found["wrong"]).mean() >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, recwarn):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    runpy.run_path(str(path))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT / "docs")))
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    """All Python of a page, one block after the other, as a reader would run it."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)


def test_the_reference_has_every_public_object():
    listed = set()
    for page in (ROOT / "docs" / "reference").glob("*.rst"):
        module = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith(".. currentmodule:: "):
                module = line.split()[-1]
            elif re.fullmatch(r"   \w+", line) and module:
                listed.add(f"{module}.{line.strip()}")
    things = {
        id(getattr(importlib.import_module(name.rpartition(".")[0]), name.rpartition(".")[2]))
        for name in listed
    }
    for name in PUBLIC:
        module = importlib.import_module(name)
        for word in module.__all__:
            if word not in ("__version__", "baselines"):
                assert id(getattr(module, word)) in things, f"{name}.{word} is not in the reference"
