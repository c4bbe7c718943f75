"""Which stored results were measured with another version or other sources than today's."""

from __future__ import annotations

import ast
import hashlib
from functools import lru_cache
from pathlib import Path

from benchmarks.stored import ROOT

LIBRARY = ROOT / "src" / "htsvm"
CORE = ("losses", "linalg", "problems", "optimality", "solvers", "svm")
PREFIX = "sources of "
# What parts depend on besides, by a word of their names.
FURTHER = {
    "multiview": ("multiview", "baselines"),
    "accuracy": ("baselines",),
    "audit": ("audit",),
    "distributed": ("distributed",),
}


def sources_of(part: str) -> dict[str, str]:
    """Return a digest of each package that the figures of a part depend on."""
    further = {name for word, names in FURTHER.items() if word in part for name in names}
    return {name: digest(LIBRARY / name) for name in (*CORE, *sorted(further))}


@lru_cache
def digest(folder: Path) -> str:
    """Return a digest of the code in a folder; comments, docstrings and layout do not count."""
    result = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".py", ".pyx", ".pxd"):
            result.update(path.relative_to(folder).as_posix().encode())
            result.update(_code(path).encode())
    return result.hexdigest()[:12]


def _code(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        lines = (line.split("#", 1)[0].rstrip() for line in text.splitlines())
        return "\n".join(line for line in lines if line)
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if (
            isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
            and ast.get_docstring(node, clean=False) is not None
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def reason(run: dict[str, str], version: str, part: str) -> str:
    """Return why a run no longer speaks of the library as it is, or ""."""
    if run.get("htsvm") != version:
        return f"measured with version {run.get('htsvm', 'unknown')}, this is {version}"
    known = {name[len(PREFIX) :]: value for name, value in run.items() if name.startswith(PREFIX)}
    if not known:
        return "measured with sources that were not noted"
    changed = [name for name, value in sources_of(part).items() if known.get(name) != value]
    return f"changed since: {', '.join(changed)}" if changed else ""


def noted(part: str) -> dict[str, str]:
    """Return the digests as entries of the description of a run."""
    return {PREFIX + name: value for name, value in sources_of(part).items()}
