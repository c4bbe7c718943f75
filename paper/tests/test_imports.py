"""The package uses of htsvm what anybody may use: `htsvm`, `htsvm.extend` and public packages."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import htsvm_paper

ROOT = Path(htsvm_paper.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))


def imports(path):
    """Yield the module and the name of every import of a file; relative ones have no module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_of_htsvm_only_public_names_are_used(path):
    wrong = [
        (module, name)
        for module, name in imports(path)
        if module.split(".")[0] == "htsvm"
        and (module not in ("htsvm", "htsvm.extend") or (name.startswith("_") and name[:2] != "__"))
    ]
    assert wrong == []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = [
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        and node.value.id in {name for module, name in imports(path) if module == "htsvm"}
        and node.attr.startswith("_")
    ]  # fmt: skip
    assert inside == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_private_name_of_another_package_is_used(path):
    wrong = [
        (module, name)
        for module, name in imports(path)
        if module.split(".")[0] not in ("", "htsvm_paper", "__future__")
        if any(part.startswith("_") for part in [*module.split("."), name] if part != "__version__")
    ]
    assert wrong == []


def test_no_class_has_the_name_of_another():
    places = defaultdict(list)
    for path in FILES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.name)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
