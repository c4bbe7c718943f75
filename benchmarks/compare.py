"""Two versions of the library side by side: ``python -m benchmarks.compare COMMIT``.

The commit is checked out and installed in a temporary folder; the other side is the working tree.
Each side has one process, and the two take turns. Ends with 1 if the working tree is slower by both
thresholds, or has failed, in any case; what looks slower is measured once more before it counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits, make_moons

from benchmarks.report import markdown_table, number
from benchmarks.sets import dense, gaussians, published, text
from benchmarks.stored import ROOT, store

RELATIVE, ABSOLUTE, REPEATS = 1.1, 0.01, 7
# A case gets fewer repeats than that, but three, if they would take longer than so many seconds.
BUDGET, FEWEST = 4.0, 3
# An objective this much higher is another, worse minimum.
HIGHER = 1.005
THREADS = "2"

Data = tuple[Any, np.ndarray]


class Case(NamedTuple):
    """One fit that is compared: what the table calls it, a key of `DATA`, a class, arguments."""

    name: str
    data: str
    estimator: str = "HTSVC"
    parameters: dict[str, Any] = {}  # noqa: RUF012
    module: str = "htsvm"


def _published(name: str) -> Data:
    data = published(name)
    return data.X, data.y


DATA: dict[str, Callable[[], Data]] = {
    **{name: partial(_published, name) for name in ("a1a", "a9a", "w5a", "w8a")},
    "dense": lambda: dense(20_000, 50, 1)[:2],
    "gaussians": lambda: gaussians(100_000, 1)[:2],
    "text": lambda: text(10_000, 10_000, 1)[:2],
    "digits": lambda: load_digits(return_X_y=True),
    "few digits": lambda: tuple(part[:300] for part in load_digits(return_X_y=True)),
    "moons": lambda: make_moons(2000, noise=0.3, random_state=0),
}
CASES = (
    Case("a1a", "a1a"),
    Case("a9a, C = 1/16", "a9a", parameters={"C": 0.0625}),
    Case("a9a", "a9a"),
    Case("w8a, C = 1/16", "w8a", parameters={"C": 0.0625}),
    Case("w8a, C = 16", "w8a", parameters={"C": 16.0}),
    Case("dense 20,000 x 50", "dense"),
    Case("gaussians 100,000 x 2", "gaussians"),
    Case("text 10,000 x 10,000", "text"),
    Case("digits, 10 classes", "digits", parameters={"C": 0.01}),
    Case("digits, one against the rest", "digits", parameters={"C": 0.01, "multi_class": "ovr"}),
    Case("a1a, HTSVCCV", "a1a", "HTSVCCV"),
    Case("w5a, HingeSVC", "w5a", "HingeSVC", module="htsvm.baselines"),
    Case("w5a, RampSVC", "w5a", "RampSVC", module="htsvm.baselines"),
    Case("moons, KernelHTSVC", "moons", "KernelHTSVC"),
    Case("300 digits, two views", "few digits", "MultiViewHTSVC", {"views": [32, 32], "C": 0.01}),
)


# ------------------------------------------------------------------------------- the verdict


@dataclass
class Compared:
    """What both sides, the commit and the working tree, needed for one case.

    Seconds, the objectives of the last fits, and why a side could not do it, or "".
    """

    name: str
    base: list[float] = field(default_factory=list)
    head: list[float] = field(default_factory=list)
    base_objective: float | None = None
    head_objective: float | None = None
    base_error: str = ""
    head_error: str = ""

    def add(self, side: str, answer: dict[str, Any]) -> None:
        """Take in what a side has answered."""
        if "error" in answer:
            setattr(self, f"{side}_error", answer["error"])
        else:
            getattr(self, side).append(answer["seconds"])
            setattr(self, f"{side}_objective", answer["objective"])

    @property
    def ratio(self) -> float:
        """Median seconds of the working tree over those of the commit; NaN without either."""
        return median(self.head) / median(self.base) if self.head and self.base else float("nan")

    @property
    def objectives(self) -> float:
        """The objective of the working tree over that of the commit; NaN without either."""
        if not self.base_objective or self.head_objective is None:
            return float("nan")
        return self.head_objective / self.base_objective

    @property
    def verdict(self) -> str:
        """Return "slower", "faster" or "same"; "failed", or "new" where the commit cannot do it."""
        if self.head_error:
            return "failed"
        if self.base_error:
            return "new"
        difference = median(self.head) - median(self.base)
        if self.ratio > RELATIVE and difference > ABSOLUTE:
            return "slower"
        return "faster" if self.ratio < 1.0 / RELATIVE and -difference > ABSOLUTE else "same"


def table(found: list[Compared]) -> str:
    """Return the comparison as a table."""
    return markdown_table(
        [
            {
                "case": one.name,
                "commit (s)": number(median(one.base)) if one.base else "",
                "now (s)": number(median(one.head)) if one.head else "",
                "now / commit": number(one.ratio),
                "objective, now / commit": number(one.objectives, 6),
                "verdict": one.verdict + (", higher objective" if one.objectives > HIGHER else ""),
            }
            for one in found
        ]
    )


# --------------------------------------------------------------------------- the two sides


@contextmanager
def installed(commit: str) -> Iterator[Path]:
    """Check out a commit and install it, compiled, in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="htsvm-compare-") as folder:
        tree, target = Path(folder) / "tree", Path(folder) / "installed"
        _run(["git", "worktree", "add", "--detach", str(tree), commit], ROOT)
        try:
            print(f"compiling {commit} ...", flush=True)
            # pip brings what is needed to compile.
            _run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps",
                  "--target", str(target), str(tree)], tree)  # fmt: skip
            yield target
        finally:
            _run(["git", "worktree", "remove", "--force", str(tree)], ROOT)


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr.strip()[-2000:]}")


@contextmanager
def side(sources: Path) -> Iterator[Callable[[dict[str, Any]], dict[str, Any]]]:
    """Start a process that fits with the library in `sources`; yield a function that asks it."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    path = os.pathsep.join([str(sources), str(ROOT)])
    child = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("child_compare.py")), str(sources)],
        env={**os.environ, **dict.fromkeys(threads, THREADS), "PYTHONPATH": path},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip

    def ask(task: dict[str, Any]) -> dict[str, Any]:
        child.stdin.write(json.dumps(task) + "\n")
        child.stdin.flush()
        line = child.stdout.readline()
        if not line:
            raise SystemExit(f"the process of {sources} has ended: {child.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    try:
        yield ask
    finally:
        child.stdin.close()
        child.wait()


def measure(
    case: Case, folder: Path, sides: dict[str, Callable[[dict[str, Any]], Any]], repeats: int
) -> Compared:
    """Let the two sides take turns, after one fit each that does not count."""
    task = {**case._asdict(), "folder": str(folder)}
    first = [ask(task) for ask in sides.values()]
    slowest = max(one.get("seconds", 0.0) for one in first)
    repeats = min(repeats, max(FEWEST, int(BUDGET / max(slowest, 1e-9))))
    found = Compared(case.name)
    for _ in range(2):
        for turn in range(repeats):
            names = list(sides) if turn % 2 else list(sides)[::-1]
            for name in names:
                found.add(name, sides[name](task))
            if found.base_error or found.head_error:
                return found
        if found.verdict != "slower":
            break
    return found


def compare(sources: dict[str, Path], cases: list[Case], repeats: int) -> list[Compared]:
    """Measure all cases on the libraries in the folders `sources`, of "base" and "head"."""
    found = []
    with (
        tempfile.TemporaryDirectory(prefix="htsvm-compare-") as place,
        side(sources["base"]) as base,
        side(sources["head"]) as head,
    ):
        kernels = [ask({"versions": True})["kernels"] for ask in (base, head)]
        if kernels[0] != kernels[1]:
            raise SystemExit(f"the kernels of the commit are {kernels[0]}, here {kernels[1]}")
        for case in cases:
            folder = Path(place) / case.data
            if not folder.exists():
                folder.mkdir()
                store(folder, *DATA[case.data]())
            sides = {"base": base, "head": head}
            one = measure(case, folder, sides, repeats)
            reason = one.head_error or one.base_error
            print(f"{one.name}: {number(one.ratio) or reason}", flush=True)
            found.append(one)
    return found


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("commit", help="what the working tree is compared with")
    parser.add_argument("--repeats", type=int, default=REPEATS, help=f"default {REPEATS}")
    parser.add_argument("--only", help="cases whose name contains this word")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    cases = [case for case in CASES if not options.only or options.only in case.name]
    if not cases:
        names = "; ".join(case.name for case in CASES)
        print(f"no case is called {options.only!r}; there are {names}", file=sys.stderr)
        return 2
    with installed(options.commit) as base:
        sources = {"base": base, "head": ROOT / "src"}
        found = compare(sources, cases, options.repeats)
    print(f"\n{table(found)}\n")
    verdicts = [one.verdict for one in found]
    ratios = [one.ratio for one in found if one.ratio == one.ratio]
    if ratios:
        print(f"median of now / {options.commit}: {number(median(ratios))}")
    slow = [one.name for one, verdict in zip(found, verdicts, strict=True)
            if verdict in ("slower", "failed")]  # fmt: skip
    if slow:
        print(f"slower than {options.commit} or failed: {'; '.join(slow)}", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
