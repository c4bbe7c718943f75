"""House rules that a machine can check: sizes, and words that are not of the field."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import htsvm

ROOT = Path(htsvm.__file__).parent
SOURCES = sorted(path for path in ROOT.rglob("*") if path.suffix in (".py", ".pyx"))
# "About 400" lines of a file and "about 60" of a function, docstring aside.
LONGEST_FILE, LONGEST_FUNCTION = 420, 70
BANNED = re.compile(r"\b(on_blocks|slots|says_nothing|go_convex|so-manieth|def go)\b")


def test_files_are_short():
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert len(lengths) > 100
    assert {name: n for name, n in lengths.items() if n > LONGEST_FILE} == {}


def test_functions_fit_on_a_screen():
    long = []
    for path in SOURCES:
        if path.suffix != ".py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                docstring = (ast.get_docstring(node, clean=False) or "").count("\n") + 1
                if node.end_lineno - node.lineno + 1 - docstring > LONGEST_FUNCTION:
                    long.append(f"{path.name}: {node.name}")
    assert long == []


def test_words_of_the_field():
    found = [
        f"{path.name}: {match[0]}"
        for path in SOURCES
        for match in BANNED.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []
