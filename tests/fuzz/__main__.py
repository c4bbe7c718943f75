"""Hostile fits for as long as you like: ``python -m tests.fuzz --minutes 10 --seed 1``."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

# One thread per process: fits are small, and results do not depend on the machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main() -> int:
    """Run the campaign from where the table ends; return 1 if anything is wrong or slow."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0, help="which stream of problems")
    parser.add_argument("--cases", type=int, default=10**9, help="at most so many")
    parser.add_argument("--table", type=Path, default=Path("build/fuzz/results.csv"))
    parser.add_argument("--shrink", type=float, default=20.0, help="seconds per failure")
    parser.add_argument("--tiny", action="store_true", help="only fits of milliseconds")
    parser.add_argument("--many", action="store_true", help="only fits on thousands of rows")
    parser.add_argument("--since", type=int, default=0, help="sum up from this stream on")
    options = parser.parse_args()

    from tests.fuzz import campaign

    failures = options.table.with_name(options.table.stem + "-failures.txt")
    failures.parent.mkdir(parents=True, exist_ok=True)
    first, name = campaign.next_number(options.table, options.seed), campaign.commit()
    tallies, after = campaign.run(
        options.seed, first, options.minutes, options.cases, failures, options.shrink,
        options.tiny, options.many,
    )  # fmt: skip
    campaign.append(options.table, options.seed, first, after, tallies, name)
    print(campaign.summary(options.table, options.since))
    bad = sum(t.counts["wrong"] + t.counts["slow"] for t in tallies.values())
    print(f"cases {first} to {after - 1} of stream {options.seed}: {bad} wrong or slow")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
