"""House rules that a machine can check: sizes, names, and words that are not of the field."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import htsvm
import htsvm.baselines
import htsvm.multiview
from htsvm._seeds import generator_of, seed_of
from htsvm.audit import audit_labels
from htsvm.datasets import flip_labels, make_two_gaussians

ROOT = Path(htsvm.__file__).parent
SOURCES = sorted(path for path in ROOT.rglob("*") if path.suffix in (".py", ".pyx"))
# Lines of a function, docstring aside.
LONGEST_FUNCTION = 60
# Functions called with more than they need, and by whom.
CALLED_WITH_MORE = {
    "certify_problem": "chooses by the type of its first argument",
    "get_params": "scikit-learn passes deep",
    "get_feature_names_out": "scikit-learn passes the names of the columns",
    "options": "typer acts on the option by itself",
}
BANNED = re.compile(r"\b(on_blocks|slots|says_nothing|go_convex|so-manieth|def go)\b")


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


def test_a_class_name_is_used_once():
    names = Counter(
        node.name
        for path in SOURCES
        if path.suffix == ".py"
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_private_scikit_learn_stands_in_one_module():
    found = set()
    for path in SOURCES:
        if path.suffix != ".py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn"):
                names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
                if any(name.startswith("_") for name in names):
                    found.add(path.name)
    assert found == {"_sklearn.py"}


def test_words_of_the_field():
    found = [
        f"{path.name}: {match[0]}"
        for path in SOURCES
        for match in BANNED.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def functions():
    for path in SOURCES:
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef):
                    yield path, node


def test_no_parameter_is_ignored():
    """Of functions whose name is defined once; methods of one name keep to one signature."""
    count = Counter(node.name for _, node in functions())
    ignored = []
    for path, node in functions():
        if count[node.name] > 1 or node.name in CALLED_WITH_MORE:
            continue
        read = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        given = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
        unread = {name for name in given - read if not name.startswith("_")} - {"self", "cls"}
        ignored += [f"{path.name}: {node.name}({name})" for name in sorted(unread)]
    assert ignored == []
    assert set(CALLED_WITH_MORE) <= set(count)


def test_only_linalg_tells_operators_apart():
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in SOURCES
        if path.relative_to(ROOT).parts[0] != "linalg"
        for match in re.finditer(
            r"isinstance\([^()]*Operator\b[^()]*\)", path.read_text(encoding="utf-8")
        )
    ]
    assert found == []


# ----------------------------------------------------------------------------- random_state

DRIVEN = [
    kind
    for module in (htsvm, htsvm.baselines, htsvm.multiview)
    for kind in (getattr(module, name) for name in module.__all__)
    if "random_state : " in (inspect.getdoc(kind) or "")
] + [audit_labels, flip_labels, make_two_gaussians]


@pytest.mark.parametrize("kind", DRIVEN, ids=lambda kind: kind.__name__)
def test_random_state_means_the_same_everywhere(kind):
    """An int, a RandomState or None, which always takes the same seed."""
    assert inspect.signature(kind).parameters["random_state"].default is None
    text = re.search(r"random_state : (.*?)(?:\n *\w+ : |\n\n)", inspect.getdoc(kind), re.S)[1]
    assert text.startswith("int, RandomState")
    assert re.search(r"None\s+always\s+takes\s+the\s+same\s+seed", text)


def test_seeds():
    assert seed_of(None) == seed_of(0) == seed_of(np.int64(0)) == 0
    assert seed_of(7) == 7
    assert seed_of(np.random.RandomState(3)) == seed_of(np.random.RandomState(3))
    given = np.random.default_rng(0)
    assert generator_of(given) is given
    assert generator_of(None).random() == generator_of(0).random()
    first, again = (flip_labels(np.arange(40) % 2, 0.3)[1] for _ in range(2))
    np.testing.assert_array_equal(first, again)
