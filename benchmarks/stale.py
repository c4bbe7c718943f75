"""What stored results depend on: which are stale, and which rows of a broken run are kept."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from benchmarks.bars import Row
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


# ----------------------------------------------------------------------- rows of a long run

FOLDER = ROOT / "benchmarks" / "results" / "partial"

_complete: list[Kept] = []


class Kept:
    """Rows by name, each written as soon as it is measured.

    Rows that other sources have measured are not taken over.

    Parameters
    ----------
    name : str
        The name of the run.
    folder : Path
        Where its rows are kept.
    sources : str, optional
        What the rows depend on; by default every file of the library and of the benchmark.
    """

    def __init__(self, name: str, folder: Path = FOLDER, sources: str | None = None) -> None:
        self.path = folder / f".{name}.jsonl"
        self.sources = sources or _fingerprint()
        self.rows: dict[str, list[Row]] = {}
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                stored = json.loads(line)
                if stored["sources"] == self.sources:
                    self.rows[stored["name"]] = stored["rows"]

    def get(self, name: str, measure: Callable[[], list[Row]]) -> list[Row]:
        """Return the rows of that name; measure and keep them if there are none."""
        if name not in self.rows:
            self.rows[name] = measure()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                line = {"sources": self.sources, "name": name, "rows": self.rows[name]}
                file.write(json.dumps(line) + "\n")
        return self.rows[name]

    def done(self) -> None:
        """Say that the run is complete: its rows are kept until all is written."""
        _complete.append(self)


@contextmanager
def kept_until_written() -> Iterator[None]:
    """Forget the rows of the runs that are completed within, but only if nothing fails there."""
    _complete.clear()
    yield
    while _complete:
        _complete.pop().path.unlink(missing_ok=True)


def _fingerprint() -> str:
    """Return a digest of the library and of the benchmark."""
    digest = hashlib.sha256()
    for folder in ("src", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py*")):
            if path.suffix in (".py", ".pyx", ".pxd"):
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
