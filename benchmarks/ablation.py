"""What each part of the search is worth: ``python -m benchmarks.ablation --seed 11 12 13``.

The fits of the family "two" of `benchmarks.switch` with the library as it is, and with one constant
changed at a time. Objectives and CPU times are over those of the library as it is, accuracy is that
on clean test labels, with the standard error of the difference. One thread.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.switch import ONE_THREAD, ROOT, cases, fitted
from htsvm.solvers import finish, search

Constants = dict[tuple[Any, str], Any]


def variants() -> dict[str, Constants]:
    """Return the constants to set, by what is changed."""
    out: dict[str, Constants] = {"as it is": {}}
    for one in search.NAMES:
        rest = tuple(name for name in search.NAMES if name != one)
        out[f'without "{one}"'] = {(search, "NAMES"): rest}
    for what, share in (("four times", 4), ("sixteen times", 16)):
        bounds = (search, "PUSHES"), tuple(share * n for n in search.PUSHES)
        values = (search, "PUSHED_VALUES"), share * search.PUSHED_VALUES
        out[f"{what} the pushes"] = dict((bounds, values))
    out["sigmoids of width 0.35 alone"] = {(search, "WIDEST"): search.LAST}
    out["one larger cap, 2"] = {(search.Search.led, "__defaults__"): ((2.0,),)}
    out["convex: width 0.15 alone"] = {(search, "FIRST_WIDTH"): search.WIDTH}
    out["no width before the shifts"] = {(finish, "NARROWING"): finish.WIDTH}
    return out


def changed(case: dict[str, Any], constants: Constants) -> dict[str, Any]:
    """Fit with other constants."""
    with ExitStack() as stack:
        for (module, name), value in constants.items():
            stack.enter_context(patch.object(module, name, value))
        return fitted(case)


def table(rows: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| | objective: mean | worst | accuracy | difference | time: median | certified |"
    yield "|---|---|---|---|---|---|---|"
    keys = "objective", "accuracy", "seconds", "certified"
    level, right, pace, _ = (np.array([one[k] for one in rows["as it is"]]) for k in keys)
    for name, found in rows.items():
        objective, accuracy, seconds, sure = (np.array([one[k] for one in found]) for k in keys)
        ratio, more = objective / level, accuracy - right
        error = more.std(ddof=1) / np.sqrt(len(more))
        yield (
            f"| {name} | {ratio.mean():.4f} | {ratio.max():.3f} | {accuracy.mean():.2f} % | "
            f"{more.mean():+.2f} ± {error:.2f} | {np.median(seconds / pace):.2f} | "
            f"{100.0 * sure.mean():.1f} % |"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, nargs="+", default=[11, 12, 13], help="of the noise")
    seeds = parser.parse_args().seed
    if os.environ.get("OMP_NUM_THREADS") != "1":
        data = {"HTSVM_DATA": str(ROOT.parent / "shared" / "data")}
        os.execve(sys.executable, sys.orig_argv, data | os.environ | ONE_THREAD)
    warnings.simplefilter("ignore")
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in variants()}
    for case in (case for seed in seeds for case in cases(seed, ["two"])):
        fitted(case)  # So that the first of those that are timed finds the data at hand.
        for name, constants in variants().items():
            rows[name].append(changed(case, constants))
    print(*table(rows), sep="\n")


if __name__ == "__main__":
    main()
