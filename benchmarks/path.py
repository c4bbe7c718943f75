"""A whole grid of C by warm starts, in units of one fit."""

from __future__ import annotations

from functools import partial
from statistics import mean
from typing import Any

import numpy as np

import htsvm
from benchmarks.bars import Bar, Row, at_most, every
from benchmarks.plan import Plan
from benchmarks.report import number, table
from benchmarks.sets import Dataset
from benchmarks.timing import Timings, interleaved

GRID = tuple(2.0**k for k in range(-4, 5))
LIMIT = 3.0


def run(plan: Plan) -> list[Row]:
    """Time the path and the single fits, by turns."""
    ht_path = getattr(htsvm, "ht_path", None)
    if ht_path is None:
        plan.say("path: not measured, this htsvm has no ht_path")
        return []
    rows = []
    for data in plan.datasets():
        works = {f"{C:g}": partial(_single, data, C) for C in GRID}
        works["path"] = partial(ht_path, data.X, data.y, Cs=np.array(GRID))
        row = _row(data, interleaved(works, 1 if plan.quick else plan.repeats))
        rows.append(row)
        plan.say(
            f"{data.name}: path {number(row['path_seconds'])} s = {number(row['in_mean_fits'])} "
            f"mean fits = {number(row['in_fits_at_1'])} fits at C = 1 {row['error']}"
        )
    return rows


def _single(data: Dataset, C: float) -> Any:
    return htsvm.HTSVC(C=C).fit(data.X, data.y)


def _row(data: Dataset, timings: dict[str, Timings]) -> Row:
    path = timings.pop("path")
    single_mean = mean(t.median for t in timings.values())
    m, n = data.X.shape
    row = {
        "set": data.name,
        "m": m,
        "n": n,
        "path_seconds": path.median,
        "sum_seconds": sum(t.median for t in timings.values()),
        "mean_seconds": single_mean,
        "seconds_at_1": timings["1"].median,
        "in_mean_fits": path.median / single_mean,
        "in_fits_at_1": path.median / timings["1"].median,
        "error": path.error,
    }
    if path.result is None:
        return {**row, "certified": False}
    certificates = [one for group in path.result.certificates for one in group]
    singles = np.array([float(t.result.objective_[0]) for t in timings.values()])
    return {
        **row,
        "certified": all(one.certified for one in certificates),
        "objective_ratio": float((np.ravel(path.result.objective) / singles).max()),
    }


# ----------------------------------------------------------------------------------- report


def bars(rows: list[Row]) -> list[Bar]:
    """Compare with what was promised."""
    promise = f"{len(GRID)}-point path of C <= {LIMIT:g}"
    return [
        at_most(f"{promise} mean single fits", rows, "in_mean_fits", LIMIT),
        at_most(f"{promise} single fits at C = 1", rows, "in_fits_at_1", LIMIT),
        every("path certified at every C", rows, "certified"),
    ]


def tables(rows: list[Row]) -> str:
    """Render as Markdown."""
    intro = (
        f"## A path of {len(GRID)} values of C, 2^-4 … 2^4\n\n*objective*: the worst ratio, over "
        "C, of the path's objective to that of a single fit."
    )
    return f"{intro}\n\n" + table(rows, {
        "set": lambda row: row["set"],
        "path (s)": "path_seconds",
        "all single fits (s)": "sum_seconds",
        "fit at C = 1 (s)": "seconds_at_1",
        "path / mean fit": "in_mean_fits",
        "path / fit at C = 1": "in_fits_at_1",
        "certified": lambda row: "yes" if row["certified"] else "NO",
        "objective": lambda row: number(row.get("objective_ratio"), 5),
    })  # fmt: skip
