"""Lines of the library by folder, in version 0.1 and now: ``python -m benchmarks.lines``.

Counts .py, .pyx, .pxd and .h files. Of the present ones, those that belong to something that
version 0.1 did not have are told apart by whole files; what old files have gained counts as old.
Another commit to compare with may be named.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]
KINDS = (".py", ".pyx", ".pxd", ".h")
LAST_OF_0_1 = "789948b"
# What version 0.1 did not have, and its files.
FEATURES = {
    "starts": ("solvers/starts/*", "solvers/newton/*valley*", "solvers/newton/rounded.py",
               "linalg/_loops.h", "solvers/multiclass/ties.py"),
    "kernels": ("svm/kernel*.py", "svm/_kernels.py", "svm/directions.py", "linalg/kernel_*.py",
                "linalg/landmarks.py", "solvers/newton/kernel_rounds.py"),
    "choosing C and cap": ("svm/choosing.py", "svm/folds.py", "svm/grid.py", "multiview/cv.py",
                           "solvers/smooth.py", "plotting/_grid.py"),
    "audit of labels": ("audit/*",),
    "claims, several runs at once, further experiments": (
        "experiments/as_printed_views.py", "experiments/claims.py", "experiments/data_tables.py",
        "experiments/differences.py", "experiments/estimate.py", "experiments/losses_between.py",
        "experiments/paper_pages.py", "experiments/prose.py", "experiments/publish*.py",
        "experiments/rates.py", "experiments/truncated_logistic.py", "experiments/two_view_rbf.py"),
    "tools around it": ("persistence.py", "svm/doc_links.py", "svm/memory.py", "files.py",
                        "datasets/small.py", "datasets/_contents.py", "multiview/column_views.py",
                        "refusals.py"),
}  # fmt: skip


def feature_of(path: str) -> str | None:
    """Return which new feature a file below src/htsvm belongs to."""
    for name, patterns in FEATURES.items():
        if any(fnmatch(path, pattern) for pattern in patterns):
            return name
    return None


def folder_of(path: str) -> str:
    """Return the folder of a file; the demonstration was one of its own."""
    first, *rest = path.split("/")
    return ("experiments" if first == "demo" else first) if rest else "(files)"


def lines_now() -> dict[str, int]:
    """Return the lines of every file below src/htsvm."""
    base = ROOT / "src" / "htsvm"
    return {
        path.relative_to(base).as_posix(): path.read_text(encoding="utf-8").count("\n")
        for path in base.rglob("*")
        if path.suffix in KINDS
    }


def lines_at(commit: str) -> dict[str, int]:
    """Return the same of a commit."""
    names = _git("ls-tree", "-r", "--name-only", commit, "src/htsvm").split()
    return {
        name.removeprefix("src/htsvm/"): _git("show", f"{commit}:{name}").count("\n")
        for name in names
        if name.endswith(KINDS)
    }


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, capture_output=True, encoding="utf-8"
    ).stdout


def table(before: dict[str, int], now: dict[str, int]) -> str:
    """Return a table by folder, and one of the new features."""
    old, kept, new = Counter[str](), Counter[str](), Counter[str]()
    features = Counter[str]()
    for path, count in before.items():
        old[folder_of(path)] += count
    for path, count in now.items():
        feature = feature_of(path)
        (new if feature else kept)[folder_of(path)] += count
        if feature:
            features[feature] += count
    rows = ["| folder | 0.1 | now: what 0.1 had | now: new features |", "|---|---:|---:|---:|"]
    rows += [
        f"| `{name}` | {old[name]:,} | {kept[name]:,} | {new[name]:,} |"
        for name in sorted(set(old) | set(kept) | set(new))
    ]
    sums = f"| all | {old.total():,} | {kept.total():,} | {new.total():,} |"
    shares = ", ".join(f"{name} {count:,}" for name, count in features.most_common())
    return "\n".join([*rows, sums, "", f"New features: {shares}."])


if __name__ == "__main__":
    print(table(lines_at((sys.argv[1:] or [LAST_OF_0_1])[0]), lines_now()))
