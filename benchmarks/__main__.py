"""The benchmark: ``python -m benchmarks [--quick] [--only speed,memory] [--sets a9a,w8a]``."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from pathlib import Path

THREADS = "2"
if __name__ == "__main__":
    # Read once, when the libraries are loaded; processes started from here inherit them.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = THREADS

from benchmarks import (  # noqa: E402
    accuracy,
    audit,
    distributed,
    kernels,
    memory,
    multiview_speed,
    path,
    report,
    speed,
    stale,
    startup,
)
from benchmarks.bars import Bar  # noqa: E402
from benchmarks.plan import Plan  # noqa: E402
from benchmarks.sets import SOURCES, select  # noqa: E402
from htsvm import __version__  # noqa: E402
from htsvm_paper.experiments.environment import environment  # noqa: E402

PARTS = {
    "speed": speed,
    "path": path,
    "accuracy": accuracy,
    "memory": memory,
    "startup": startup,
    "multiview-speed": multiview_speed,
    "audit": audit,
    "distributed": distributed,
    "kernels": kernels,
}
RESULTS = Path(__file__).parent / "results"
FULL_REPEATS, QUICK_REPEATS = 5, 3


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="small sets, few repeats: under a minute"
    )
    parser.add_argument("--only", metavar="PARTS", type=_names, help=f"some of {','.join(PARTS)}")
    parser.add_argument(
        "--sets", type=_names, help=f"some of {','.join(source.name for source in SOURCES)}"
    )
    parser.add_argument("--repeats", type=int, help=f"of each timing; {FULL_REPEATS} by default")
    parser.add_argument(
        "--rows", type=int, help="the most training rows of the parts accuracy, audit and kernels"
    )
    parser.add_argument(
        "--out", type=Path, help="folder for results; narrowed runs go to results/partial"
    )
    parser.add_argument(
        "--summary", action="store_true",
        help="measure nothing: write the summary of stored results again, and which are stale",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    unknown = [name for name in options.only or () if name not in PARTS]
    if unknown:
        parser.error(f"unknown parts {unknown}; there are {', '.join(PARTS)}")
    if options.repeats is not None and options.repeats < 1:
        parser.error(f"--repeats must be at least 1, got {options.repeats}")
    return options


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def parts_of(options: argparse.Namespace) -> list[str]:
    """Return the parts to run."""
    return options.only or list(PARTS)


def folder_of(options: argparse.Namespace) -> Path:
    """Return where results go: only runs on all sets with all repeats replace the full ones."""
    narrowed = options.quick or options.sets or options.rows
    narrowed = narrowed or (options.repeats or FULL_REPEATS) < FULL_REPEATS
    return options.out or (RESULTS / "partial" if narrowed else RESULTS)


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    if options.summary:
        write_summary(folder_of(options))
        return 0
    try:
        sources = select(options.sets, options.quick)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    default = QUICK_REPEATS if options.quick else FULL_REPEATS
    plan = Plan(sources, options.repeats or default, quick=options.quick, rows=options.rows)
    folder = folder_of(options)
    done: list[str] = []
    failed: list[str] = []
    try:
        for name in parts_of(options):
            try:
                with stale.kept_until_written():
                    run_part(name, plan, folder)
                done.append(name)
            except Exception:
                traceback.print_exc()
                failed.append(name)
    except KeyboardInterrupt:
        print(f"\ninterrupted; results kept of: {', '.join(done) or 'no part'}", file=sys.stderr)
        return 130
    finally:
        if done:
            write_summary(folder)
    if failed:
        print(f"failed, nothing written: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def run_part(name: str, plan: Plan, folder: Path) -> None:
    """Measure one part and write its results."""
    plan.say(f"== {name}")
    described = environment() | stale.noted(name)
    part = PARTS[name]
    rows = part.run(plan)
    if not rows:
        plan.say(f"{name}: nothing measured, nothing written")
        return
    page = report.part_page(name, part.bars(rows), part.tables(rows), described)
    report.write(folder / f"{name}.csv", report.csv_text(rows))
    report.write(folder / f"{name}.md", page)
    report.remember(folder, name, described)


def write_summary(folder: Path) -> None:
    """Collect the promises of all parts that have results, mark the stale ones, and print."""
    runs = report.recall(folder)
    sections = ["# Benchmark: what was promised"]
    for name, part in PARTS.items():
        if name not in runs or not (folder / f"{name}.csv").exists():
            sections.append(f"## {name}\n\nnot measured")
            continue
        bars: list[Bar] = part.bars(report.read_csv(folder / f"{name}.csv"))
        why = stale.reason(runs[name], __version__, name)
        report.mark_stale(folder / f"{name}.md", why)
        when = f"{runs[name]['date']}, commit {runs[name]['commit']}; details in {name}.md"
        if why:
            when += f"\n\n{report.stale_line(why)}"
        sections.append(f"## {name}\n\n{when}\n\n{report.bars_table(bars)}")
    text = "\n\n".join(sections)
    report.write(folder / "summary.md", text + "\n")
    print(f"\n{text}")


if __name__ == "__main__":
    sys.exit(main())
