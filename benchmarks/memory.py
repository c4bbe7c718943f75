"""Memory that a fit takes beyond its data, each fit in a fresh process."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.bars import Bar, Row, at_most
from benchmarks.plan import Plan
from benchmarks.report import markdown_table, number, table
from benchmarks.rivals import DEFAULT, OURS, Rival
from benchmarks.sets import dense, gaussians, nbytes
from benchmarks.stored import fresh_python, store

# The limit holds from so many bytes on: below that what a fit holds anyway is most of it.
LIMIT, LARGE = 1.3, 10_000_000
# "Linear" leaves this much room for the slope of log memory over log m.
SLOPE_LIMIT = 1.1
GROWTH_SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
GROWTH: dict[str, Callable[[int], tuple[Any, np.ndarray, Any, np.ndarray]]] = {
    "gaussians, n = 2": lambda m: gaussians(m, 1),
    "dense, n = 20": lambda m: dense(m, 20, 1),
}
# Resident memory comes in pages and arenas: for data smaller than this take a median of three.
SMALL = 20_000_000


def run(plan: Plan) -> list[Row]:
    """Measure all sets, then the growth with m."""
    rows = []
    for data in plan.datasets():
        penalties = (1.0,) if plan.quick else plan.penalties
        cases = [(OURS, C) for C in penalties] + [(DEFAULT, 1.0)]
        rows += _measure(plan, "set", data.name, data.X, data.y, cases)
    sizes = GROWTH_SIZES[:3:2] if plan.quick else GROWTH_SIZES
    for family, build in GROWTH.items():
        for m in sizes:
            X, y, _, _ = build(m)
            rows += _measure(plan, "growth", family, X, y, [(OURS, 1.0), (DEFAULT, 1.0)])
    return rows


def _measure(
    plan: Plan, kind: str, name: str, X: Any, y: np.ndarray, cases: list[tuple[Rival, float]]
) -> list[Row]:
    rows = []
    size = nbytes(X)
    with tempfile.TemporaryDirectory() as folder:
        store(Path(folder), X, y)
        for rival, C in cases:
            row: Row = {"kind": kind, "set": name, "m": X.shape[0], "n": X.shape[1]}
            row.update({"estimator": rival.label, "C": C, "data_bytes": size})
            row.update(_repeated(folder, rival, C, 1 if plan.quick or size > SMALL else 3))
            row["times_data"] = row["extra_bytes"] / size
            row["bytes_per_sample"] = row["extra_bytes"] / X.shape[0]
            rows.append(row)
            plan.say(_progress(row))
    return rows


def _repeated(folder: str, rival: Rival, C: float, repeats: int) -> Row:
    found = [
        json.loads(fresh_python("-m", "benchmarks.child_memory", folder, rival.key, repr(C)))
        for _ in range(repeats)
    ]
    traced = median(one["traced"] for one in found)
    resident = [one["resident"] for one in found if one["resident"] is not None]
    return {
        "extra_bytes": median(resident) if resident else traced,
        "seen_by": "resident memory" if resident else "tracemalloc",
        "traced_bytes": traced,
    }


def _progress(row: Row) -> str:
    return (
        f"{row['set']} (m = {row['m']:,}), {row['estimator']}, C = {row['C']:g}: "
        f"{row['extra_bytes'] / 1e6:.1f} MB, {row['times_data']:.2f} times X, "
        f"{row['bytes_per_sample']:.0f} bytes a sample"
    )


def slope(rows: list[Row], column: str = "extra_bytes") -> float:
    """Return the slope of log memory over log m."""
    points = [(row["m"], row[column]) for row in rows if row[column] > 0]
    if len(points) < 2:
        return math.nan
    m, extra = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(m, extra, 1)[0])


# ----------------------------------------------------------------------------------- report


def bars(rows: list[Row]) -> list[Bar]:
    """Compare with what was promised."""
    ours = [row for row in rows if row["estimator"] == OURS.label]
    sets = [row for row in ours if row["kind"] == "set" and row["data_bytes"] >= LARGE]
    slopes = [
        {"set": family, "slope": slope([row for row in ours if row["set"] == family])}
        for family in GROWTH
    ]
    promise = f"memory grows linearly with m (slope of log-log <= {SLOPE_LIMIT})"
    return [
        at_most(
            f"extra memory during fit <= {LIMIT} times X of 10 MB and more",
            sets,
            "times_data",
            LIMIT,
        ),
        at_most(promise, slopes, "slope", SLOPE_LIMIT),
    ]


def tables(rows: list[Row]) -> str:
    """Render as Markdown."""
    growth = [row for row in rows if row["kind"] == "growth"]
    slopes = [
        {
            "data": family,
            "estimator": rival.label,
            "slope, all m": number(slope(_pick(growth, family, rival))),
            "slope, last two": number(slope(_pick(growth, family, rival)[-2:])),
            "slope, NumPy only": number(slope(_pick(growth, family, rival), "traced_bytes")),
        }
        for family in GROWTH
        for rival in (OURS, DEFAULT)
    ]
    return "\n\n".join(
        [
            "## Extra memory during fit\n\nPeak of resident memory during the fit minus resident "
            "memory just before, in a fresh process after a small warm-up fit. *NumPy*: the same "
            "as seen by tracemalloc, which misses what C and C++ code allocates (liblinear).",
            table([row for row in rows if row["kind"] == "set"], CELLS),
            "## Growth with m (C = 1)",
            table(growth, CELLS),
            markdown_table(slopes),
        ]
    )


def _pick(rows: list[Row], family: str, rival: Rival) -> list[Row]:
    return [row for row in rows if row["set"] == family and row["estimator"] == rival.label]


CELLS: dict[str, Any] = {
    "set": lambda row: row["set"],
    "m x n": lambda row: f"{row['m']:,} x {row['n']:,}",
    "estimator": lambda row: row["estimator"],
    "C": lambda row: f"{row['C']:g}",
    "X (MB)": lambda row: number(row["data_bytes"] / 1e6),
    "extra (MB)": lambda row: number(row["extra_bytes"] / 1e6),
    "extra / X": "times_data",
    "bytes per sample": "bytes_per_sample",
    "NumPy (MB)": lambda row: number(row["traced_bytes"] / 1e6),
}
