"""Many cases one after the other, and the table of what became of them."""

from __future__ import annotations

import csv
import re
import subprocess
import time
import tracemalloc
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import htsvm
from tests.fuzz.cases import LINEAR, Case, draw
from tests.fuzz.oracles import RELATIONS, Outcome, fit, judge
from tests.fuzz.shrink import as_test, shrink

COLUMNS = (
    "version", "commit", "seed", "first", "last", "estimator", "cases", "fits", "certified",
    "warned", "refused", "valley", "wrong", "slow", "seconds", "memory",
)  # fmt: skip
# Memory is measured where the data is large enough to count; it makes the fit slower.
MEASURED = 100_000
# Up to so many values all relations are tried.
FEW = 1000
# One case in so many is compared with its fit on Dask arrays.
BLOCKS = 25
# What the streams of a long campaign hold, by the last digit of their seeds.
KINDS = {0: "all sizes", 1: "many rows", 2: "tiny"}
# Cases up to so many values are tiny.
TINY = 120


@dataclass
class Tally:
    """What became of the cases of one estimator."""

    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    # The largest peak of memory during a fit, in sizes of X.
    memory: float = 0.0

    def add(self, outcome: Outcome, memory: float) -> None:
        """Count a case."""
        self.counts["cases"] += 1
        self.counts["fits"] += outcome.fits
        self.counts[outcome.verdict] += 1
        self.counts["valley"] += outcome.valley
        self.counts["wrong"] += outcome.wrong
        self.counts["slow"] += outcome.slow
        self.seconds += outcome.seconds
        self.memory = max(self.memory, memory)


def relations_of(case: Case, number: int) -> tuple[str, ...]:
    """Return the relations that case `number` is tried with: all where fits are quick."""
    # Fits on Dask arrays take long.
    names = [name for name in RELATIONS if name != "blocks" or number % BLOCKS == 0]
    quick = case.params.get("solver") != "admm" and case.estimator in LINEAR
    if quick and case.X.size <= FEW and len(np.unique(case.y)) == 2:
        return tuple(names)
    return (names[number % len(names)],)


def is_tiny(case: Case) -> bool:
    """Whether fits of a case take milliseconds: a convex or truncated loss, a few values."""
    tiny = case.X.size <= TINY and len(np.unique(case.y)) == 2
    return tiny and case.estimator in LINEAR[:5] and case.params.get("solver") != "admm"


def measured(case: Case) -> float:
    """Return the peak of memory during a fit, beside X and in units of it."""
    tracemalloc.start()
    try:
        X = case.data()
        size = X.nbytes if hasattr(X, "nbytes") else X.data.nbytes + X.indices.nbytes
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        fit(case)
        return (tracemalloc.get_traced_memory()[1] - before) / max(size, 1)
    finally:
        tracemalloc.stop()


def run(
    seed: int,
    first: int,
    minutes: float,
    most: int,
    failures: Path,
    shrinking: float = 20.0,
    tiny: bool = False,
    many: bool = False,
) -> tuple[dict[str, Tally], int]:
    """Try cases from number `first` on; return the tallies and the number of the next case.

    Failures are shrunk, printed as tests, and appended to the file `failures`. If `tiny`, larger
    cases are left out; if `many`, all cases have thousands of rows.
    """
    tallies: dict[str, Tally] = {}
    end, number = time.monotonic() + 60.0 * minutes, first
    while time.monotonic() < end and number < first + most:
        case = draw(seed, number, many)
        if tiny and not is_tiny(case):
            number += 1
            continue
        outcome = judge(case, relations_of(case, number))
        large = case.X.size >= MEASURED and outcome.model is not None
        memory = measured(case) if large else 0.0
        outcome.fits += large
        tallies.setdefault(case.estimator, Tally()).add(outcome, memory)
        for oracle, text in outcome.complaints.items():
            _report(seed, number, case, oracle, text, failures, shrinking)
        number += 1
    return tallies, number


def _report(
    seed: int,
    number: int,
    case: Case,
    oracle: str,
    text: str,
    failures: Path,
    shrinking: float,
) -> None:
    named = re.match(r"(?:\(twin by |twin )(\w+)", text if text.startswith("(twin") else oracle)
    twin = (named.group(1),) if named else ()
    small = case
    if oracle not in ("slow", "overdue") and shrinking > 0.0:
        small = shrink(case, lambda c: oracle in judge(c, twin).complaints, shrinking)
    lines = f"# seed {seed}, case {number}: {oracle}: {text}\n# {case}\n"
    lines += as_test(small, oracle, twin, text) if small.X.size <= 400 else f"# {small}\n"
    print(lines, flush=True)
    with failures.open("a") as file:
        file.write(lines)


def commit() -> str:
    """Return the short name of the commit, with a plus sign where files have changed since."""
    try:
        name = _git("rev-parse", "--short", "HEAD")
        return name + ("+" if _git("status", "--porcelain", "--", "src") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*args: str) -> str:
    done = subprocess.run(["git", *args], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def next_number(table: Path, seed: int) -> int:
    """Return the first case of a stream that is not in the table yet."""
    if not table.exists():
        return 0
    with table.open() as file:
        done = [int(row["last"]) for row in csv.DictReader(file) if int(row["seed"]) == seed]
    return max(done, default=-1) + 1


def append(
    table: Path, seed: int, first: int, after: int, tallies: dict[str, Tally], name: str
) -> None:
    """Add a row per estimator to the table; `name` is the commit that the run began with."""
    new = not table.exists()
    table.parent.mkdir(parents=True, exist_ok=True)
    with table.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        for estimator, tally in sorted(tallies.items()):
            counts = [tally.counts[column] for column in COLUMNS[6:14]]
            where = [htsvm.__version__, name, seed, first, after - 1, estimator]
            writer.writerow([*where, *counts, f"{tally.seconds:.1f}", f"{tally.memory:.2f}"])


def fits_since(table: Path, since: int) -> int:
    """Return how many fits a table holds from a stream on."""
    if not table.exists():
        return 0
    with table.open() as file:
        return sum(int(row["fits"]) for row in csv.DictReader(file) if int(row["seed"]) >= since)


def summary(table: Path, since: int = 0, by_stream: bool = False) -> str:
    """Return the totals of a table from a stream on, by estimator or by stream, and of all."""
    totals: dict[str, Counter[str]] = {}
    with table.open() as file:
        for row in csv.DictReader(file):
            if int(row["seed"]) < since:
                continue
            kind = KINDS.get(int(row["seed"]) % 10, "other sizes")
            one = f"{row['seed']}, {kind}" if by_stream else row["estimator"]
            for name in (one, "all"):
                totals.setdefault(name, Counter()).update(
                    {column: int(row[column]) for column in COLUMNS[6:14]}
                )
    first = "streams" if by_stream else "estimator"
    lines = [f"{first:18}" + "".join(f"{c:>11}" for c in COLUMNS[6:14])]
    for name in sorted(totals, key=lambda one: (one == "all", one)):
        cells = "".join(f"{totals[name][c]:>11,}" for c in COLUMNS[6:14])
        lines.append(f"{name:18}{cells}")
    return "\n".join(lines)
