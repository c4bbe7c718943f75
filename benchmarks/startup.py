"""What a fresh process pays: the first fit, and the import."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median

from benchmarks.bars import Bar, Row, at_most
from benchmarks.plan import Plan
from benchmarks.report import table
from benchmarks.stored import fresh_python, store

FIRST_FIT_LIMIT = 1.3
IMPORT_LIMIT = 0.1
LATER_FITS = 5
# The first fit is looked at on these sets, or else on the first one there is.
PREFERRED = ("a9a", "w8a", "reuters", "gaussians-1e4", "gaussians-1e5", "dense-small")
ESTIMATORS = (("HTSVC", "htsvm", "HTSVC"), ("LinearSVC", "sklearn.svm", "LinearSVC"))
TIMED_IMPORT = (
    "import time; began = time.perf_counter(); {first}; middle = time.perf_counter(); {second}; "
    "end = time.perf_counter(); print(end - began, end - middle)"
)


def run(plan: Plan) -> list[Row]:
    """Time first fits, then imports."""
    chosen = [s for s in plan.sources if s.name in PREFERRED] or plan.sources[:1]
    chosen = chosen[:1] if plan.quick else chosen
    rows = []
    with tempfile.TemporaryDirectory() as place:
        byte_code = Path(place)
        for data in replace(plan, sources=chosen).datasets():
            with tempfile.TemporaryDirectory() as folder:
                store(Path(folder), data.X, data.y)
                rows += _first_fits(plan, data.name, folder, byte_code)
        return [*rows, _imports(plan, byte_code)]


def _first_fits(plan: Plan, name: str, folder: str, byte_code: Path) -> list[Row]:
    """Time fits in fresh processes, by turns; the first turn only compiles what is imported."""
    script = str(Path(__file__).with_name("child_first_fit.py"))
    found: dict[str, list[tuple[float, float]]] = {label: [] for label, _, _ in ESTIMATORS}
    for turn in range(plan.repeats + 1):
        for label, module, estimator in ESTIMATORS:
            options = (folder, module, estimator, str(LATER_FITS))
            first, *later = json.loads(fresh_python(script, *options, byte_code=byte_code))
            if turn:
                found[label].append((first, median(later)))
    rows = []
    for label, pairs in found.items():
        row = {
            "kind": "first fit",
            "set": name,
            "estimator": label,
            "processes": len(pairs),
            "first_seconds": median(first for first, _ in pairs),
            "later_seconds": median(later for _, later in pairs),
            "ratio": median(first / later for first, later in pairs),
        }
        rows.append(row)
        plan.say(f"{name}, {label}: first fit {row['ratio']:.2f} times a later one")
    return rows


def _imports(plan: Plan, byte_code: Path) -> Row:
    """Time both imports in fresh processes, by turns; the first turn only compiles and reads."""
    alone, after, peer = [], [], []
    for turn in range(plan.repeats + 1):
        ours, _ = _seconds("pass", "import htsvm", byte_code)
        both, added = _seconds("import sklearn.svm", "import htsvm", byte_code)
        if turn:
            alone.append(ours)
            after.append(added)
            peer.append(both - added)
    row = {
        "kind": "import",
        "set": "import",
        "processes": len(alone),
        "htsvm_seconds": median(alone),
        "sklearn_svm_seconds": median(peer),
        "difference_seconds": median(alone) - median(peer),
        "added_seconds": median(after),
    }
    plan.say(
        f"import htsvm {row['htsvm_seconds']:.3f} s, sklearn.svm {row['sklearn_svm_seconds']:.3f} s"
    )
    return row


def _seconds(first: str, second: str, byte_code: Path) -> tuple[float, float]:
    script = TIMED_IMPORT.format(first=first, second=second)
    total, added = fresh_python("-c", script, byte_code=byte_code).split()
    return float(total), float(added)


# ----------------------------------------------------------------------------------- report


def bars(rows: list[Row]) -> list[Bar]:
    """Compare with what was promised."""
    ours = [row for row in rows if row["kind"] == "first fit" and row["estimator"] == "HTSVC"]
    imports = [row for row in rows if row["kind"] == "import"]
    first = "first fit in a fresh process"
    promise = f"import htsvm adds <= {IMPORT_LIMIT} s to import sklearn.svm"
    return [
        at_most(f"{first} <= {FIRST_FIT_LIMIT} times a later one", ours, "ratio", FIRST_FIT_LIMIT),
        at_most(f"{promise}: imported after it", imports, "added_seconds", IMPORT_LIMIT),
        at_most(f"{promise}: instead of it", imports, "difference_seconds", IMPORT_LIMIT),
    ]


def tables(rows: list[Row]) -> str:
    """Render as Markdown."""
    fits = {
        "set": lambda row: row["set"], "estimator": lambda row: row["estimator"],
        "first fit (s)": "first_seconds", "later fit (s)": "later_seconds",
        "first / later": "ratio",
    }  # fmt: skip
    imports = {
        "import htsvm (s)": "htsvm_seconds", "import sklearn.svm (s)": "sklearn_svm_seconds",
        "difference (s)": "difference_seconds", "htsvm after sklearn.svm (s)": "added_seconds",
    }  # fmt: skip
    return "\n\n".join(
        [
            "## First fit\n\nC = 1; medians over fresh processes; a later fit is the median of "
            f"{LATER_FITS} in the same process.",
            table([row for row in rows if row["kind"] == "first fit"], fits),
            "## Import\n\nMedians over fresh processes, files in the disk cache.",
            table([row for row in rows if row["kind"] == "import"], imports),
        ]
    )
