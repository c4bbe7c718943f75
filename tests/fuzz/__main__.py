"""Hostile fits for as long as you like: ``python -m tests.fuzz --minutes 10 --seed 1``."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

# One thread per process: fits are small, and results do not depend on the machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


# Minutes of each stream before the next has its turn, in a campaign of many fits.
TURNS = {0: 2.0, 2: 2.5, 1: 1.0}


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
    parser.add_argument("--streams", action="store_true", help="sum up by stream")
    parser.add_argument(
        "--fits", type=int, default=0,
        help="streams SEED (all sizes), SEED + 1 (many rows) and SEED + 2 (tiny) in turns, until "
        "the table has so many fits from SEED on or the minutes are over; SEED ends with 0",
    )  # fmt: skip
    options = parser.parse_args()
    if options.fits and options.seed % 10:
        parser.error("with --fits the seed must end with 0")

    from tests.fuzz import campaign

    options.table.parent.mkdir(parents=True, exist_ok=True)
    bad = _in_turns(options) if options.fits else _one_stream(options)
    if options.table.exists():
        print(campaign.summary(options.table, options.since, options.streams))
    print(f"{bad} wrong or slow")
    return 1 if bad else 0


def _in_turns(options: argparse.Namespace) -> int:
    """Run the three streams in turns; return what was wrong or slow."""
    from tests.fuzz import campaign

    end, seed, bad = time.monotonic() + 60.0 * options.minutes, options.seed, 0
    while campaign.fits_since(options.table, seed) < options.fits and time.monotonic() < end:
        for digit, minutes in TURNS.items():
            one = argparse.Namespace(**vars(options))
            one.seed, one.minutes = seed + digit, minutes
            one.many, one.tiny = digit == 1, digit == 2
            bad += _one_stream(one)
    return bad


def _one_stream(options: argparse.Namespace) -> int:
    """Go on with a stream for some minutes; return what was wrong or slow."""
    from tests.fuzz import campaign

    failures = options.table.with_name(options.table.stem + "-failures.txt")
    first, name = campaign.next_number(options.table, options.seed), campaign.commit()
    tallies, after = campaign.run(
        options.seed, first, options.minutes, options.cases, failures, options.shrink,
        options.tiny, options.many,
    )  # fmt: skip
    campaign.append(options.table, options.seed, first, after, tallies, name)
    bad = sum(t.counts["wrong"] + t.counts["slow"] for t in tallies.values())
    print(f"cases {first} to {after - 1} of stream {options.seed}: {bad} wrong or slow", flush=True)
    return bad


if __name__ == "__main__":
    raise SystemExit(main())
